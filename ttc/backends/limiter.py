"""How many calls a server is given at once: grow until it says 429, shrink once per episode, obey Retry-After."""

import asyncio
from collections.abc import Awaitable, Callable
from time import monotonic


class Limiter:
    """Concurrency that follows the server, by additive increase and multiplicative decrease (Chiu and Jain 1989).

    Doubles per round of successes until the first 429, then grows by one per round. A 429 halves it, but only once for all
    calls that were sent before the last cut: they are one episode. Server errors and time-outs end the growth for a while.
    """

    PAUSE_SECONDS = 5.0

    def __init__(self, start: int, most: int, clock: Callable[[], float] = monotonic) -> None:
        self.limit = float(min(start, most))
        self._most, self._clock = most, clock
        self._steep = True
        self._cut_at = self._grow_from = self._closed_until = 0.0
        self._running = 0
        self._free = asyncio.Condition()

    async def enter(self, sleep: Callable[[float], Awaitable[None]] = asyncio.sleep) -> float:
        """Wait for a place; returns the time at which the call starts, to be given back with its outcome."""
        async with self._free:
            await self._free.wait_for(lambda: self._running < int(self.limit))
            self._running += 1
        while (wait := self._closed_until - self._clock()) > 0:
            await sleep(wait)
        return self._clock()

    async def leave(self) -> None:
        """Give the place back."""
        async with self._free:
            self._running -= 1
            self._free.notify_all()

    def succeeded(self) -> None:
        """A call came back well."""
        if self._clock() >= self._grow_from:
            self.limit = min(self._most, self.limit + (1.0 if self._steep else 1.0 / self.limit))

    def refused(self, started: float, retry_after: float) -> None:
        """A call that started then got a 429: nobody calls for `retry_after` seconds."""
        now = self._clock()
        self._closed_until = max(self._closed_until, now + retry_after)
        if started >= self._cut_at:
            self._cut_at, self._steep = now, False
            self.limit = max(1.0, self.limit / 2)

    def faltered(self) -> None:
        """A call met a server error or a time-out: no growth for a while."""
        self._grow_from = self._clock() + self.PAUSE_SECONDS
