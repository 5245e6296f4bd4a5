"""Foreign outputs as an engine."""

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from ttc import prompts
from ttc.backends.replay import Replay
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.errors import UserError
from ttc.records import Media, Message, Prompt, Question, Request, Sample, Sampling, Text


class Orders:
    """An inbox with a fixed list of requests."""

    stopped = False

    def __init__(self, *requests: Request) -> None:
        self._requests: Iterator[Request] = iter(requests)

    def take(self, *, wait: bool) -> Request | None:
        return next(self._requests, None)


def drawn(backend: Replay, id: str, first: int, n: int) -> list[Sample]:
    prompt = Prompt((Message("user", (Text("?"),)),))
    return list(backend.open().serve(Orders(Request("k" * 64, id, prompt, (), Sampling(), first, n, seed=0))))


@pytest.fixture
def backend(tmp_path: Path) -> Replay:
    file = tmp_path / "out.jsonl"
    file.write_text(json.dumps({"id": "q", "question_type": "open", "gold": "x", "response": ["one", "two", None]}) + "\n")
    return Replay(outputs=file)


def test_sample_i_is_the_ith_reply_wherever_the_range_starts(backend: Replay):
    assert [(sample.index, sample.text) for sample in drawn(backend, "q", 1, 1)] == [(1, "two")]
    assert [sample.text for sample in drawn(backend, "q", 0, 2)] == ["one", "two"]


def test_a_reply_that_the_other_program_failed_to_get_is_a_rejected_sample_with_its_reason(backend: Replay):
    (failed,) = drawn(backend, "q", 2, 1)
    assert (failed.status, failed.reason) == ("rejected", "no reply stored")


def test_no_sample_stands_for_a_reply_that_the_file_does_not_hold(backend: Replay):
    with pytest.raises(UserError, match="3 replies to question q, and the run wants 5; lower n"):
        drawn(backend, "q", 2, 3)
    with pytest.raises(UserError, match="0 replies to question unknown"):
        drawn(backend, "unknown", 0, 1)


def test_pictures_that_are_not_at_hand_do_not_stop_a_replay(backend: Replay, tmp_path: Path):
    lost = Media("image", 1, "00", problem="not here")
    asked = Question("q", "exam", "open", "What is <image 1>?", media=(lost,))

    async def draw() -> list[Sample]:
        async with Dispatcher(backend, Bank(tmp_path / "bank")) as source:
            return await source.samples(asked, prompts.render(asked, style="cot"), Sampling(), 2)

    assert [(sample.status, sample.text) for sample in asyncio.run(draw())] == [("ok", "one"), ("ok", "two")]


def test_the_identity_follows_the_content_and_not_the_name(backend: Replay, tmp_path: Path):
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes(backend.outputs.read_bytes())
    assert Replay(outputs=copy).identity() == backend.identity()
    copy.write_text("{}")
    assert Replay(outputs=copy).identity() != backend.identity()
    with pytest.raises(UserError, match="No such file"):
        Replay(outputs=tmp_path / "gone.jsonl").identity()


def test_one_file_read_in_two_forms_has_two_identities(backend: Replay, tmp_path: Path):
    row = {"id": "q", "question": "?", "options": "['x', 'y']", "answer": "A", "response": "A"}
    (tmp_path / "pro.jsonl").write_text(json.dumps(row))
    pro = Replay(outputs=tmp_path / "pro.jsonl", benchmark="mmmu_pro")
    plain = pro.model_copy(update={"benchmark": "jsonl"})
    named = backend.model_copy(update={"form": "samples"})
    assert [one.identity().get("form") for one in (pro, plain, backend, named)] == [None, "jsonl", None, "samples"]


def test_released_replies_of_a_whole_model_can_be_drawn(shared: Path):
    backend = Replay(outputs=shared / "data/mmmu/llava1.5_13b", benchmark="mmmu")
    assert drawn(backend, "validation_Accounting_1", 0, 1)[0].text == "D"
