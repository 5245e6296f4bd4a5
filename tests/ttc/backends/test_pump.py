"""An asynchronous engine under a blocking `serve`."""

import asyncio
from collections.abc import Coroutine, Iterator

import pytest

from ttc.backends.pump import Emit, cancel_others, pump
from ttc.errors import BackendUnavailable
from ttc.records import Prompt, Request, Sample, Sampling


class Orders:
    stopped = False

    def __init__(self, ids: str) -> None:
        self.left = list(ids)

    def take(self, *, wait: bool) -> Request | None:
        return Request("k" * 64, self.left.pop(0), Prompt(()), (), Sampling(), 0, 1, 0) if self.left else None


@pytest.fixture
def runner() -> Iterator[asyncio.Runner]:
    with asyncio.Runner() as runner:
        yield runner


def sample(request: Request) -> Sample:
    return Sample(request.key, 0, request.question_id, "")


def test_samples_come_in_the_order_in_which_they_finish(runner: asyncio.Runner):
    async def call(request: Request, emit: Emit) -> None:
        await asyncio.sleep({"a": 0.2, "b": 0.1, "c": 0.0}[request.question_id])
        emit(sample(request))

    found = pump(runner, Orders("abc"), lambda request, emit: [call(request, emit)], lambda flying: flying < 3)
    assert "".join(one.question_id for one in found) == "cba"


def test_no_more_is_taken_than_there_is_room_for(runner: asyncio.Runner):
    orders, most = Orders("abcdef"), 0
    flying: set[str] = set()

    async def call(request: Request, emit: Emit) -> None:
        nonlocal most
        flying.add(request.question_id)
        most = max(most, len(flying))
        await asyncio.sleep(0.01)
        flying.remove(request.question_id)
        emit(sample(request))

    assert len(list(pump(runner, orders, lambda request, emit: [call(request, emit)], lambda count: count < 2))) == 6
    assert most == 2


def test_the_calls_of_a_request_are_made_one_by_one_as_there_is_room(runner: asyncio.Runner):
    made = 0

    async def call(request: Request, emit: Emit) -> None:
        await asyncio.sleep(0)
        emit(sample(request))

    def calls(request: Request, emit: Emit) -> Iterator[Coroutine[None, None, None]]:
        nonlocal made
        for _ in range(100):
            made += 1
            yield call(request, emit)

    found = pump(runner, Orders("a"), calls, lambda flying: flying < 2)
    next(found)
    assert made == 2
    assert len(list(found)) == 99


def test_a_failure_ends_the_run_after_the_calls_in_flight_and_nothing_new_starts(runner: asyncio.Runner):
    orders = Orders("abcdef")

    async def call(request: Request, emit: Emit) -> None:
        if request.question_id == "a":
            raise BackendUnavailable("gone")
        await asyncio.sleep(0.05)
        emit(sample(request))

    found: list[Sample] = []
    with pytest.raises(BackendUnavailable, match="gone"):
        found.extend(pump(runner, orders, lambda request, emit: [call(request, emit)], lambda flying: flying < 3))
    assert sorted(one.question_id for one in found) == ["b", "c"]
    assert orders.left == ["d", "e", "f"]


def test_what_a_consumer_left_in_flight_can_be_cancelled(runner: asyncio.Runner):
    ended: list[str] = []

    async def call(request: Request, emit: Emit) -> None:
        try:
            await asyncio.sleep(60 if request.question_id == "b" else 0)
            emit(sample(request))
        finally:
            ended.append(request.question_id)

    found = pump(runner, Orders("ab"), lambda request, emit: [call(request, emit)], lambda flying: flying < 2)
    assert next(found).question_id == "a"
    found.close()
    runner.run(cancel_others())
    assert ended == ["a", "b"]
