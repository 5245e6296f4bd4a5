"""Runs an asynchronous engine under a blocking `serve`: keeps it full, and hands out samples as they finish."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

from ttc.protocols import Inbox
from ttc.records import Request, Sample

Emit = Callable[[Sample], None]
Start = Callable[[Request, Emit], Iterable[Coroutine[Any, Any, None]]]

GLANCE_SECONDS = 0.02
"""How long a finished or a newly ordered request may go unnoticed."""


def pump(runner: asyncio.Runner, inbox: Inbox, start: Start, room: Callable[[int], bool]) -> Iterator[Sample]:
    """Start requests while there is room, and yield their samples in the order in which they finish.

    Args:
        runner: the event loop that the engine lives on; it runs only inside this generator.
        start: the calls that draw the samples of one request; each emits its samples as soon as they are there. What a call
            raises ends the run, after everything that was emitted before.
        room: whether another request may start beside so many calls in flight.
    """
    ready: list[Sample] = []
    flying: set[asyncio.Task[None]] = set()
    loop = runner.get_loop()
    try:
        while True:
            while room(len(flying)) and (request := inbox.take(wait=not flying)) is not None:
                flying.update(loop.create_task(call) for call in start(request, ready.append))
            if not flying:
                return
            done, flying = runner.run(_wait(flying))
            yield from ready
            ready.clear()
            for task in done:
                task.result()
    finally:
        for task in flying:
            task.cancel()
        if flying:
            runner.run(_settle(flying))


async def _wait(flying: set[asyncio.Task[None]]) -> tuple[set[asyncio.Task[None]], set[asyncio.Task[None]]]:
    return await asyncio.wait(flying, timeout=GLANCE_SECONDS, return_when=asyncio.FIRST_COMPLETED)


async def _settle(flying: set[asyncio.Task[None]]) -> None:
    await asyncio.gather(*flying, return_exceptions=True)
