"""How many calls a server is given at once: grow until it says 429, shrink once per episode, obey Retry-After."""

import asyncio
from collections.abc import Callable
from math import inf
from time import monotonic


class Shut(Exception):
    """No call may start any more: another one has ended the run."""


class Limiter:
    """Concurrency that follows the server, by additive increase and multiplicative decrease (Chiu and Jain 1989).

    Doubles per round of successes until the first 429, then grows by one per round; only while at least half of it is used. A
    429 halves it, but only once for all calls that were sent before the last cut: they are one episode. From there it doubles
    back to three quarters of what it was, so that a few stray 429s do not starve a run. After a server error or a time-out,
    only calls that are sent later make it grow. A server that lets calls queue never says 429: there, calls that take over
    `slow_seconds` and twice the quickest one do not make it grow and end the doubling, before the queue ends in time-outs; each
    time-out takes half a place away. Lives on one event loop.
    """

    def __init__(self, start: int, most: int, *, slow_seconds: float = inf, clock: Callable[[], float] = monotonic) -> None:
        self.limit = float(min(start, most))
        self._most, self._slow_seconds, self._clock = most, slow_seconds, clock
        self._steep_below = self._quickest = inf
        self._cut_at = self._faltered_at = self._closed_until = 0.0
        self._running = 0
        self._change = asyncio.Event()
        self._shut = asyncio.Event()

    async def enter(self) -> float:
        """Wait for a place; returns the time at which the call starts, to be given back with its outcome.

        A place is taken only once calls may start: the limit may have shrunk while all waited for a Retry-After.

        Raises:
            Shut: no call may start any more.
        """
        while not self._shut.is_set():
            if (wait := self._closed_until - self._clock()) > 0:
                await self.pause(wait)
            elif self._running < int(self.limit):
                self._running += 1
                return self._clock()
            else:
                await self._change.wait()
        raise Shut

    def leave(self) -> None:
        """Give the place back."""
        self._running -= 1
        self._wake()

    async def pause(self, seconds: float) -> None:
        """Sleep. Raises Shut as soon as no call may start any more."""
        try:
            await asyncio.wait_for(self._shut.wait(), seconds)
        except TimeoutError:
            return
        raise Shut

    def shut(self) -> None:
        """Let no further call start; those that run go on."""
        self._shut.set()
        self._wake()

    def succeeded(self, started: float) -> None:
        """A call that started then, and still holds its place, came back well."""
        took = self._clock() - started
        self._quickest = min(self._quickest, took)
        if took > max(self._slow_seconds, 2 * self._quickest):
            self._steep_below = 0.0
        elif started >= self._faltered_at and 2 * self._running >= self.limit:
            self.limit = min(self._most, self.limit + (1.0 if self.limit < self._steep_below else 1.0 / self.limit))

    def refused(self, started: float, retry_after: float) -> None:
        """A call that started then got a 429: nobody calls for `retry_after` seconds."""
        now = self._clock()
        self._closed_until = max(self._closed_until, now + retry_after)
        if started >= self._cut_at:
            self._cut_at, self._steep_below = now, 0.75 * self.limit
            self.limit = max(1.0, self.limit / 2)

    def faltered(self, started: float, retry_after: float, *, timed_out: bool) -> None:
        """A call that started then met a server error or a time-out: nobody calls for `retry_after` seconds, if it asked so."""
        now = self._clock()
        self._closed_until = max(self._closed_until, now + retry_after)
        if timed_out:
            self.limit, self._steep_below = max(1.0, self.limit - 0.5), 0.0
        if started >= self._faltered_at:
            self._faltered_at = now

    def _wake(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
