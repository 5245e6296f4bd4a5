"""The inbox of an engine: orders wait here until a thread of the engine takes them."""

import threading
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass

from ttc import keys, media
from ttc.errors import MediaError
from ttc.records import Prompt, Request, SampleStatus, Sampling
from ttc.stopwatch import Stopwatch


@dataclass(frozen=True, slots=True)
class Order:
    """A request whose media are not decoded yet."""

    key: str
    question_id: str
    prompt: Prompt
    sampling: Sampling
    first: int
    n: int
    prefix: tuple[int, ...]
    run_seed: int


class Queue:
    """The inbox of an engine. Decodes media as requests are taken; what cannot be asked becomes samples at once.

    An engine that never looks at media is given none, so that it can serve questions whose media are not at hand.
    """

    def __init__(self, refuse: Callable[[Order, SampleStatus, str], None], *, decode: bool = True) -> None:
        self._orders: deque[Order] = deque()
        self._condition = threading.Condition()
        self._over = False
        self._stopped = False
        self._refuse, self._decode = refuse, decode
        self.at_work = Stopwatch()
        """On the engine's thread; it pauses while the engine has nothing to do."""

    @property
    def stopped(self) -> bool:
        """See `ttc.protocols.Inbox`."""
        return self._stopped

    def put(self, orders: Iterable[Order]) -> None:
        """Queue orders behind those that wait."""
        with self._condition:
            self._orders.extend(orders)
            self._condition.notify()

    def end(self, *, drop: bool = False) -> None:
        """No more orders will come; with `drop`, those that wait are given up too."""
        with self._condition:
            self._over = True
            if drop:
                self._stopped = True
                self._orders.clear()
            self._condition.notify()

    def take(self, *, wait: bool) -> Request | None:
        """See `ttc.protocols.Inbox`."""
        while (order := self._next(wait)) is not None:
            if order.prompt.problem:
                self._refuse(order, "rejected", order.prompt.problem)
                continue
            try:
                parts = order.prompt.media_parts if self._decode else ()
                images = tuple(media.load_images(part) for part in parts)
            except MediaError as error:
                self._refuse(order, "media", str(error))
                continue
            seed = keys.base_seed(order.key) + order.first
            return Request(
                order.key,
                order.question_id,
                order.prompt,
                images,
                order.sampling,
                order.first,
                order.n,
                seed,
                order.prefix,
            )
        return None

    def _next(self, wait: bool) -> Order | None:
        with self._condition:
            with self.at_work.paused():
                while wait and not self._orders and not self._over:
                    self._condition.wait()
            return self._orders.popleft() if self._orders else None
