"""Concurrency that follows a server, on a clock of the test's own."""

import asyncio

import pytest

from ttc.backends.limiter import Limiter, Shut


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def busy(limiter: Limiter, calls: int) -> list[float]:
    """So many calls under way; their starting times."""

    async def enter() -> list[float]:
        return [await limiter.enter() for _ in range(calls)]

    return asyncio.run(enter())


@pytest.fixture
def clock() -> Clock:
    return Clock()


def test_it_doubles_per_round_until_a_429_then_back_to_three_quarters_then_grows_by_one(clock: Clock):
    limiter = Limiter(4, 100, clock=clock)
    started = busy(limiter, 4)
    for _ in range(4):
        limiter.succeeded(clock.now)
    assert limiter.limit == 8
    limiter.refused(started[0], 0)
    assert limiter.limit == 4
    for _ in range(2):
        limiter.succeeded(clock.now)
    assert limiter.limit == 6
    for _ in range(6):
        limiter.succeeded(clock.now)
    assert limiter.limit == pytest.approx(7, abs=0.1)


def test_it_never_passes_the_most_nor_falls_below_one(clock: Clock):
    limiter = Limiter(2, 3, clock=clock)
    busy(limiter, 2)
    for _ in range(5):
        limiter.succeeded(clock.now)
    assert limiter.limit == 3
    for _ in range(5):
        clock.now += 1
        limiter.refused(clock.now, 0)
    assert limiter.limit == 1


def test_it_shrinks_once_for_all_calls_of_one_episode(clock: Clock):
    limiter = Limiter(16, 100, clock=clock)
    started = busy(limiter, 16)
    clock.now += 1
    for start in started:
        limiter.refused(start, 0)
    assert limiter.limit == 8
    clock.now += 1
    limiter.refused(clock.now, 0)
    assert limiter.limit == 4


def test_it_does_not_grow_on_places_that_nobody_uses(clock: Clock):
    limiter = Limiter(8, 100, clock=clock)
    busy(limiter, 1)
    limiter.succeeded(clock.now)
    assert limiter.limit == 8


def test_slow_calls_end_the_growth_before_a_queue_ends_in_time_outs(clock: Clock):
    limiter = Limiter(2, 100, slow_seconds=5, clock=clock)
    busy(limiter, 2)
    limiter.succeeded(clock.now - 2)
    assert limiter.limit == 3
    limiter.succeeded(clock.now - 5.1)
    assert limiter.limit == 3
    limiter.succeeded(clock.now - 2)
    assert limiter.limit == pytest.approx(3 + 1 / 3)


def test_a_server_that_is_slow_from_the_first_call_may_still_be_asked_more(clock: Clock):
    limiter = Limiter(2, 100, slow_seconds=5, clock=clock)
    busy(limiter, 2)
    limiter.succeeded(clock.now - 8)
    limiter.succeeded(clock.now - 15)
    assert limiter.limit == 4
    limiter.succeeded(clock.now - 17)
    assert limiter.limit == 4


def test_after_a_server_error_only_calls_that_started_later_make_it_grow(clock: Clock):
    limiter = Limiter(2, 100, clock=clock)
    before = busy(limiter, 2)[0]
    clock.now += 1
    limiter.faltered(before, 0, timed_out=False)
    clock.now += 1
    limiter.succeeded(before)
    assert limiter.limit == 2
    limiter.succeeded(clock.now)
    assert limiter.limit == 3


def test_a_round_of_time_outs_halves_it_and_a_stray_one_hardly_matters(clock: Clock):
    limiter = Limiter(16, 100, clock=clock)
    started = busy(limiter, 16)
    limiter.faltered(started[0], 0, timed_out=True)
    assert limiter.limit == 15.5
    for start in started[1:]:
        limiter.faltered(start, 0, timed_out=True)
    assert limiter.limit == 8


def test_what_waited_for_a_retry_after_keeps_to_the_limit_that_shrank_meanwhile():
    async def run() -> tuple[int, int]:
        limiter = Limiter(4, 4)
        started = [await limiter.enter() for _ in range(4)]
        waiting = [asyncio.create_task(limiter.enter()) for _ in range(8)]
        limiter.refused(started[0], 0.05)
        for _ in started:
            limiter.leave()
        await asyncio.sleep(0.02)
        early = sum(task.done() for task in waiting)
        await asyncio.sleep(0.3)
        entered = sum(task.done() for task in waiting)
        limiter.shut()
        await asyncio.gather(*waiting, return_exceptions=True)
        return early, entered

    assert asyncio.run(run()) == (0, 2)


def test_once_shut_whoever_waits_for_a_place_or_sleeps_is_turned_away():
    async def run() -> list[object]:
        limiter = Limiter(1, 1)
        await limiter.enter()
        waiting = [asyncio.create_task(limiter.enter()), asyncio.create_task(limiter.pause(60))]
        await asyncio.sleep(0)
        limiter.shut()
        return await asyncio.gather(*waiting, return_exceptions=True)

    assert [type(result) for result in asyncio.run(run())] == [Shut, Shut]
