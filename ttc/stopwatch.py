"""How long an engine is at work."""

from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic


class Stopwatch:
    """Runs from its start, but for the spans inside `paused`. Lives on one thread."""

    def __init__(self) -> None:
        self._mark = monotonic()

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Inside, no time passes."""
        begun = monotonic()
        try:
            yield
        finally:
            self._mark += monotonic() - begun

    def lap(self) -> float:
        """Seconds since the lap before."""
        before, self._mark = self._mark, monotonic()
        return self._mark - before
