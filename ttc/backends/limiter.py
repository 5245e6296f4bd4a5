"""How many calls a server is given at once: grow until it says 429, shrink once per episode, obey Retry-After."""

import asyncio
from collections.abc import Callable
from time import monotonic


class Shut(Exception):
    """No call may start any more: another one has ended the run."""


class Limiter:
    """Concurrency that follows the server, by additive increase and multiplicative decrease (Chiu and Jain 1989).

    Doubles per round of successes until the first 429, then grows by one per round; only while at least half of it is used. A
    429 halves it, but only once for all calls that were sent before the last cut: they are one episode. Server errors and
    time-outs end the growth for a while. Lives on one event loop.
    """

    PAUSE_SECONDS = 5.0

    def __init__(self, start: int, most: int, clock: Callable[[], float] = monotonic) -> None:
        self.limit = float(min(start, most))
        self._most, self._clock = most, clock
        self._steep = True
        self._cut_at = self._grow_from = self._closed_until = 0.0
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

    def succeeded(self) -> None:
        """A call that still holds its place came back well."""
        if self._clock() >= self._grow_from and 2 * self._running >= self.limit:
            self.limit = min(self._most, self.limit + (1.0 if self._steep else 1.0 / self.limit))

    def refused(self, started: float, retry_after: float) -> None:
        """A call that started then got a 429: nobody calls for `retry_after` seconds."""
        now = self._clock()
        self._closed_until = max(self._closed_until, now + retry_after)
        if started >= self._cut_at:
            self._cut_at, self._steep = now, False
            self.limit = max(1.0, self.limit / 2)

    def faltered(self, retry_after: float = 0.0) -> None:
        """A call met a server error or a time-out: no growth for a while, and no call for `retry_after` seconds."""
        now = self._clock()
        self._grow_from = now + self.PAUSE_SECONDS
        self._closed_until = max(self._closed_until, now + retry_after)

    def _wake(self) -> None:
        self._change.set()
        self._change = asyncio.Event()
