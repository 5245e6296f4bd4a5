"""Scores of one step verifier through vLLM and transformers. Its weights are the pocket model's: it never learned verdicts."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from ttc.backends.engine import load_model
from ttc.backends.folder import locate
from ttc.backends.transformers import Transformers
from ttc.benchmarks.pocket import Pocket
from ttc.errors import UserError
from ttc.records import Reply, Sample, StepScores
from verifiers.prm_vllm import VLLMStepScorer, VLLMStepVerifier
from verifiers.render import Rendering
from verifiers.step_model import batch_of
from verifiers.steps import split

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]

SHOWN = Rendering(heading="", between="\n", good="A:", bad="B:")
MODEL = str(locate("pocket").folder)


@pytest.fixture(scope="module")
def chains() -> list[Reply]:
    """Two hundred: explanations of the exam, every other one with a line of the next question's"""
    exam = Pocket(split="test").load()
    asked = list(exam.questions)[:: len(exam.questions) // 200][:200]
    texts = [exam.golds[question.id].explanation for question in asked]
    others = zip(texts, texts[1:] + texts[:1], strict=True)
    mixed = ["\n".join([*text.splitlines()[:-1], other.splitlines()[-1]]) for text, other in others]
    chosen = [other if place % 2 else text for place, (text, other) in enumerate(zip(texts, mixed, strict=True))]
    return [Reply(question, Sample("k" * 64, place, question.id, chosen[place])) for place, question in enumerate(asked)]


@pytest.fixture(scope="module")
def vocabulary() -> int:
    return load_model(Transformers(model="pocket"))[0].config.get_text_config().vocab_size


@pytest.fixture(scope="module")
def scorer(vocabulary: int) -> Iterator[VLLMStepScorer]:
    """Told of every token, so that no score is a bound."""
    verifier = VLLMStepVerifier(model=MODEL, rendering=SHOWN, eager=True, max_sequences=64, alternatives=vocabulary)
    opened = verifier.open()
    yield opened
    opened.close()


def in_order(scores: Iterator[StepScores]) -> list[StepScores]:
    return sorted(scores, key=lambda one: one.index)


def plainly(scorer: VLLMStepScorer, replies: list[Reply]) -> list[list[float]]:
    """The two-way softmax at each slot, from all of the logits of a plain forward pass."""
    model, _ = load_model(Transformers(model="pocket", threads=1))
    verdicts, found = [scorer._renderer.word_id, scorer._renderer.bad_id], []
    for start in range(0, len(replies), 20):
        rendered = [
            scorer._renderer.render(one.question, [step.text for step in split(one.text)])
            for one in replies[start : start + 20]
        ]
        inputs = batch_of(rendered, model.device, model.dtype)
        slots_BS = inputs.pop("logits_to_keep")
        with torch.inference_mode():
            logits_BTV = model(**inputs).logits
        for logits_TV, slots_S, one in zip(logits_BTV, slots_BS, rendered, strict=True):
            found.append(logits_TV[slots_S[: len(one.slots)]][:, verdicts].float().softmax(-1)[:, 0].tolist())
    return found


def test_scores_of_two_hundred_chains_are_those_of_transformers(scorer, chains):
    found, expected = in_order(scorer.score(chains)), plainly(scorer, chains)
    assert len(found) == 200
    assert all(one.status == "ok" for one in found)
    largest = max(abs(a - b) for one, steps in zip(found, expected, strict=True) for a, b in zip(one.steps, steps, strict=True))
    assert largest < 1e-3
    assert len({round(step, 3) for steps in expected for step in steps}) > 20
    assert sum(one.image_tokens > 0 for one in found) > 20


def test_where_the_other_verdict_is_not_told_the_score_is_a_lower_bound_and_says_so(scorer, chains, monkeypatch):
    exact = in_order(scorer.score(chains[:40]))
    few = scorer._settings.model_copy(update={"alternatives": 3})
    monkeypatch.setattr(scorer, "_settings", few)
    sampling = scorer._sampling.clone()
    sampling.prompt_logprobs = 3
    monkeypatch.setattr(scorer, "_sampling", sampling)
    found = in_order(scorer.score(chains[:40]))
    bounded = [one for one in found if one.status.startswith("lower bound at steps")]
    assert bounded
    for one, other in zip(found, exact, strict=True):
        assert all(bound <= step + 1e-3 for bound, step in zip(one.steps, other.steps, strict=True))


def test_a_reply_that_is_too_long_has_a_status_beside_one_that_has_scores(scorer, chains):
    long = replace(chains[0], sample=replace(chains[0].sample, text="r1: 4 + 5 = 9\n" * 400))
    found = in_order(scorer.score([long, chains[1]]))
    assert (found[0].score, found[0].status[:9]) == (None, "too long:")
    assert found[1].status == "ok"


def test_a_verifier_with_a_head_is_refused(tmp_path: Path):
    with pytest.raises(UserError, match="its head is not in what vLLM runs"):
        VLLMStepVerifier(model=MODEL, rendering=replace_form(SHOWN)).open()


def replace_form(rendering: Rendering) -> Rendering:
    return rendering.model_copy(update={"form": "marker", "marker": "<|system|>"})
