"""Bank first, then engine: gathers the draws of many questions, orders only what is missing, and commits what comes back.

Strategies wait on the event loop; the engine blocks on a thread of its own and pulls requests from an inbox, so that it never
idles between batches. Every sample goes to the bank before anybody sees it.
"""

import asyncio
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TypeVar

from ttc import keys
from ttc.bank import Bank, Writer
from ttc.errors import BackendUnavailable, UserError
from ttc.inbox import Order, Queue
from ttc.protocols import Backend
from ttc.records import Prompt, Question, Sample, SampleStatus, Sampling, Usage

Loaded = TypeVar("Loaded")


class Stopped(BackendUnavailable):
    """The run was asked to stop; what was in flight is committed."""


@dataclass(slots=True)
class _Line:
    """All samples of one key, here or on their way."""

    question_id: str
    samples: dict[int, Sample] = field(default_factory=dict)
    ordered: int = 0
    """Indices below this are in `samples` or with the engine."""
    waiting: list[tuple[int, asyncio.Future[None]]] = field(default_factory=list)
    missing: set[int] = field(default_factory=set)

    def arrive(self, sample: Sample) -> None:
        self.samples.setdefault(sample.index, sample)
        self.missing.discard(sample.index)
        self.wake()

    def wake(self) -> None:
        first_missing = min(self.missing, default=self.ordered)
        for n, future in self.waiting:
            if n <= first_missing and not future.done():
                future.set_result(None)
        self.waiting = [(n, future) for n, future in self.waiting if not future.done()]


class Dispatcher:
    """Serves the sessions of one run from one bank and one backend. Use as an async context manager.

    `executed` counts what this run really drew from the engine, as opposed to what the bank already held.
    """

    def __init__(
        self,
        backend: Backend,
        bank: Bank,
        *,
        run_seed: int = 0,
        run: str = "",
        on_sample: Callable[[Sample], None] = lambda sample: None,
    ) -> None:
        self.executed = Usage(flops=None)
        self._backend, self._bank, self._run_seed, self._run = backend, bank, run_seed, run
        self._on_sample = on_sample
        self._identity = dict(backend.identity())
        self._lines: dict[str, _Line] = {}
        self._unread: list[tuple[Order, Question]] = []
        self._reading: asyncio.Task[None] | None = None
        self._queue = Queue(self._refused, decode=getattr(backend, "reads_media", True))
        self._writer: Writer = bank.writer(run=run)
        self._serving: asyncio.Future[None] | None = None
        self._failure: BaseException | None = None
        self._encoder: asyncio.Task[Callable[[str], tuple[int, ...]]] | None = None
        self._loading = threading.Lock()

    @property
    def writer(self) -> Writer:
        """Where the samples go; what is said about them goes there too, and is sealed behind them."""
        return self._writer

    @property
    def failure(self) -> BaseException | None:
        """Why nothing can be drawn any more; None while it can."""
        return self._failure

    async def __aenter__(self) -> "Dispatcher":
        self._loop = asyncio.get_running_loop()
        return self

    async def __aexit__(self, *exception: object) -> None:
        self._queue.end(drop=exception[0] is not None)
        if self._serving is not None:
            await asyncio.wait([self._serving])
        self._writer.close()

    def key(self, question: Question, prompt: Prompt, sampling: Sampling, prefix: tuple[int, ...] = ()) -> str:
        """The content key of a draw under this run's backend and seed."""
        return keys.request_key(question, prompt, self._identity, sampling, self._run_seed, prefix)

    async def samples(
        self,
        question: Question,
        prompt: Prompt,
        sampling: Sampling,
        n: int,
        prefix: tuple[int, ...] = (),
        *,
        run_seed: int | None = None,
    ) -> list[Sample]:
        """Samples 0 to n - 1 of a prompt, drawn only where the bank has none.

        Args:
            run_seed: in place of the run's own.

        Raises:
            BackendUnavailable: the engine gave up or the run was stopped; what was finished is committed.
        """
        seed = self._run_seed if run_seed is None else run_seed
        key = keys.request_key(question, prompt, self._identity, sampling, seed, prefix)
        line = self._lines.get(key)
        if line is None or n > line.ordered:
            await self._read(Order(key, question.id, prompt, sampling, 0, n, prefix, seed), question)
            line = self._lines[key]
        if self._failure is not None:
            raise self._failure
        future: asyncio.Future[None] = self._loop.create_future()
        line.waiting.append((n, future))
        line.wake()
        await future
        return [line.samples[index] for index in range(n)]

    async def token_ids(self, text: str) -> tuple[int, ...]:
        """The text as the backend's tokens.

        Raises:
            UserError: it cannot be told, since the backend takes no tokens or its tokenizer is missing.
        """
        if self._encoder is None:
            encoder = getattr(self._backend, "encoder", None)
            if encoder is None:
                kind = getattr(self._backend, "kind", type(self._backend).__name__)
                raise UserError(
                    f"backend {kind} takes no tokens, so nothing can be put into its replies; use vllm or transformers"
                )
            self._encoder = self._loop.create_task(asyncio.to_thread(self._load, encoder))
        return (await self._encoder)(text)

    def _load(self, opening: Callable[[], Loaded]) -> Loaded:
        with self._loading:  # the heavy libraries do not bear being imported from two threads at once
            return opening()

    async def _read(self, order: Order, question: Question) -> None:
        """Join the next look into the bank: all draws of one turn of the event loop share one query."""
        self._unread.append((order, question))
        if self._reading is None:
            self._reading = self._loop.create_task(self._look_up())
        await self._reading

    async def _look_up(self) -> None:
        batch, self._unread, self._reading = self._unread, [], None
        fresh = {order.key for order, _ in batch if order.key not in self._lines}
        found = await asyncio.to_thread(self._bank.samples, fresh) if fresh else {}
        for order, question in batch:
            if order.key not in self._lines:
                self._lines[order.key] = _Line(order.question_id, dict(found.get(order.key, {})))
            missing = self._missing(order)
            if missing and self._failure is None:
                self._describe(order, question)
                self._start()
                self._queue.put(missing)

    def _describe(self, order: Order, question: Question) -> None:
        what = keys.description(question, order.prompt, self._identity, order.sampling, order.run_seed, order.prefix)
        self._writer.describe(order.key, order.question_id, what)

    def _missing(self, order: Order) -> list[Order]:
        """The contiguous gaps between what the line has and what the order wants; marks them as ordered."""
        line = self._lines[order.key]
        gaps = {index for index in range(line.ordered, order.n) if index not in line.samples}
        line.missing |= gaps
        line.ordered = max(line.ordered, order.n)
        starts = sorted(index for index in gaps if index - 1 not in gaps)
        ends = sorted(index + 1 for index in gaps if index + 1 not in gaps)
        return [replace(order, first=start, n=end - start) for start, end in zip(starts, ends, strict=True)]

    def forget(self, question_id: str) -> None:
        """Let go of a question's samples, which the bank holds, and of what is known of them. Nobody may be waiting for it."""
        settled = [key for key, line in self._lines.items() if line.question_id == question_id and not line.missing]
        for key in settled:
            del self._lines[key]

    def stop(self) -> None:
        """Let the engine finish what it has taken, commit it, and end the run with `Stopped`."""
        self._queue.end(drop=True)
        if self._serving is None:
            self._fail(Stopped("nothing was drawn yet; the same command starts it again"))

    @contextmanager
    def stopping_on_signals(self) -> Iterator[None]:
        """Inside, SIGTERM and Ctrl-C call `stop`; a second one has its usual effect, for who will not wait.

        Signals reach the main thread only; elsewhere this changes nothing.
        """
        numbers = (signal.SIGTERM, signal.SIGINT) if threading.current_thread() is threading.main_thread() else ()

        def release() -> None:
            for number in numbers:
                self._loop.remove_signal_handler(number)

        def stop() -> None:
            release()
            self.stop()

        for number in numbers:
            self._loop.add_signal_handler(number, stop)
        try:
            yield
        finally:
            release()

    def _start(self) -> None:
        if self._serving is None:
            self._serving = self._loop.run_in_executor(None, self._serve)
            self._serving.add_done_callback(self._served)

    def _serve(self) -> None:
        """On the engine's thread: open, serve, commit."""
        engine = self._load(self._backend.open)
        try:
            self._queue.at_work.lap()
            for sample in engine.serve(self._queue):
                self._commit(self._timed(sample))
        finally:
            engine.close()

    def _timed(self, sample: Sample) -> Sample:
        """With its share of the time of the devices, where they are ours."""
        devices: int | None = getattr(self._backend, "devices", None)
        return sample if devices is None else replace(sample, device_seconds=devices * self._queue.at_work.lap())

    def _served(self, serving: asyncio.Future[None]) -> None:
        stopped = Stopped("what was in flight is committed, and the same command goes on")
        self._fail(serving.exception() or stopped)

    def _commit(self, sample: Sample) -> None:
        self._writer.add(sample)
        self._loop.call_soon_threadsafe(self._arrive, sample)

    def _refused(self, order: Order, status: SampleStatus, reason: str) -> None:
        for index in range(order.first, order.first + order.n):
            self._commit(Sample(order.key, index, order.question_id, "", status=status, reason=reason))

    def _arrive(self, sample: Sample) -> None:
        prompt_tokens = 0 if self._lines[sample.key].samples else sample.prompt_tokens
        self.executed += Usage(1, prompt_tokens, sample.completion_tokens, flops=None)
        self._lines[sample.key].arrive(sample)
        self._on_sample(sample)

    def _fail(self, error: BaseException) -> None:
        """Wake everybody who still waits with the reason; a run that has all it wanted has nobody waiting."""
        self._failure = error
        for line in self._lines.values():
            for _, future in line.waiting:
                if not future.done():
                    future.set_exception(error)
