"""Runs an asynchronous engine under a blocking `serve`: keeps it full, and hands out samples as they finish."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

from ttc.protocols import Inbox
from ttc.records import Request, Sample

Emit = Callable[[Sample], None]
Call = Coroutine[Any, Any, None]
Start = Callable[[Request, Emit], Iterable[Call]]

GLANCE_SECONDS = 0.02
"""How long a newly ordered request may go unnoticed while others are in flight."""


def pump(
    runner: asyncio.Runner,
    inbox: Inbox,
    start: Start,
    room: Callable[[int], bool],
    on_stop: Callable[[], None] = lambda: None,
) -> Iterator[Sample]:
    """Start requests while there is room, and yield their samples in the order in which they finish.

    What a call raises ends the run, but only after the calls in flight: they are paid for, and their samples are yielded.

    Args:
        runner: the event loop that the engine lives on; it runs only inside this generator. Closing it cancels what a consumer
            that gave up has left in flight.
        start: the calls that draw the samples of one request, made one by one as there is room; each emits its samples.
        room: whether another call may start beside so many in flight. Once the inbox is stopped, none does.
        on_stop: lets go the calls that were started and wait for something; called again and again once the inbox is stopped.
    """
    ready: list[Sample] = []
    flying: set[asyncio.Task[None]] = set()
    waiting: Iterator[Call] = iter(())
    failure: BaseException | None = None
    loop = runner.get_loop()

    def next_call() -> Call | None:
        nonlocal waiting
        while (call := next(waiting, None)) is None:
            if (request := inbox.take(wait=not flying)) is None:
                return None
            waiting = iter(start(request, ready.append))
        return call

    while True:
        while failure is None and not inbox.stopped and room(len(flying)) and (call := next_call()) is not None:
            flying.add(loop.create_task(call))
        if not flying:
            break
        if inbox.stopped:
            on_stop()
        done, flying = runner.run(_wait(flying))
        yield from ready
        ready.clear()
        for task in done:
            error = task.exception()  # asked of every task: asyncio complains about errors that nobody looked at
            failure = failure or error
    if failure is not None:
        raise failure


async def cancel_others() -> None:
    """Cancel every other task of the running loop, and wait until they have ended."""
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


async def _wait(flying: set[asyncio.Task[None]]) -> tuple[set[asyncio.Task[None]], set[asyncio.Task[None]]]:
    return await asyncio.wait(flying, timeout=GLANCE_SECONDS, return_when=asyncio.FIRST_COMPLETED)
