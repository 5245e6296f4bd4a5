"""SmolLM2, a text model of the wild, on MMVU's words alone. Its begin-of-text token is also its turn marker, so a doubled one
shows only in the ids themselves. The engine is killed at the end."""

import multiprocessing
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttc.backends import VLLM, Transformers
from ttc.benchmarks.mmvu import MMVU
from ttc.errors import BackendUnavailable
from ttc.prompts import PromptConfig
from ttc.protocols import Engine
from ttc.records import Request, Sampling

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]

SHORT = Sampling(temperature=0, max_tokens=16)


@pytest.fixture(scope="module")
def requests(shared: Path, ask) -> list[Request]:
    questions = MMVU(path=shared / "data" / "mmvu" / "validation.json").load().questions
    return [ask(question, SHORT, config=PromptConfig(vision="none")) for question in questions[:20]]


@pytest.fixture(scope="module")
def own_ids(model_of_smollm: Path, requests: list[Request]) -> list[list[int]]:
    """The tokenizer's own template and encoding in one go."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(model_of_smollm)
    talks = [
        [{"role": turn.role, "content": "".join(part.text for part in turn.parts)} for turn in request.prompt.messages]
        for request in requests
    ]
    return [tokenizer.apply_chat_template(talk, add_generation_prompt=True, tokenize=True)["input_ids"] for talk in talks]


@pytest.fixture(scope="module")
def engine(model_of_smollm: Path) -> Iterator[Engine]:
    opened = VLLM(model=str(model_of_smollm), eager=True, max_sequences=32, max_context=2048).open()
    yield opened
    opened.close()


def sane(samples, expected_ids) -> bool:
    return all(
        (sample.finish == "length") == (sample.completion_tokens == 16 and sample.token_ids[-1] != 2)
        and sample.status == "ok"
        and sample.prompt_tokens == len(ids)
        and "<|im_end|>" not in sample.text
        for sample, ids in zip(samples, expected_ids, strict=True)
    )


def test_vllm_is_given_the_tokenizers_own_prompt(engine, own_ids, requests, draw):
    for request, ids in zip(requests, own_ids, strict=True):
        assert engine._runner.run(engine._prompt(request))["prompt_token_ids"] == ids
    in_order = {request.question_id: ids for request, ids in zip(requests, own_ids, strict=True)}
    drawn = draw(engine, *requests)
    assert sane(drawn, [in_order[sample.question_id] for sample in drawn])


def test_transformers_is_given_the_tokenizers_own_prompt(model_of_smollm, own_ids, requests, draw):
    engine = Transformers(model=str(model_of_smollm)).open()
    for request, ids in zip(requests, own_ids, strict=True):
        assert list(engine._chat.encode(request.prompt, request.images).ids) == ids
    in_order = {request.question_id: ids for request, ids in zip(requests, own_ids, strict=True)}
    drawn = draw(engine, *requests)
    engine.close()
    assert sane(drawn, [in_order[sample.question_id] for sample in drawn])


def test_a_dead_engine_ends_the_run_in_one_line_with_the_way_out(engine, requests, draw):
    for process in multiprocessing.active_children():
        process.kill()
    with pytest.raises(BackendUnavailable, match="the same command goes on"):
        draw(engine, *requests)
