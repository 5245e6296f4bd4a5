"""Verifiers at work: scores from the bank first, then from the verifier, and what is new is committed.

One pass scores what parallel strategies read; live strategies ask reply by reply, and their requests are gathered into batches.
"""

import asyncio
import json
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from types import MappingProxyType, TracebackType
from typing import Self

from ttc import keys
from ttc.bank import Bank, Writer
from ttc.errors import UserError
from ttc.protocols import KeepingVerifier, RunningVerifier, Scorer, Verifier
from ttc.records import Reply, Sample, StepScores, Usage


def verifier_id(verifier: Verifier) -> str:
    """Under what a verifier's scores are kept: its kind and the hash of what determines them, whatever a config calls it."""
    described = json.dumps(verifier.identity(), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return f"{verifier.kind}-{keys.key_of(described)[:16]}"


class Scoring:
    """A run's verifiers by name. Use in a `with` block; verifiers are opened when first needed and work on one thread."""

    def __init__(
        self,
        verifiers: Mapping[str, Verifier],
        bank: Bank,
        writer: Writer,
        *,
        calibrated: Mapping[str, Callable[[StepScores], float | None]] = MappingProxyType({}),
    ) -> None:
        """Nothing is opened yet.

        Args:
            writer: the one that the samples are added to, or they are sealed already: no score before its sample.
            calibrated: by verifier, what makes the reply's score of what is stored, in place of `response_score`.
        """
        self.executed = Usage(flops=None)
        self._verifiers, self._bank, self._writer = verifiers, bank, writer
        self._response_scores = {name: verifier.response_score for name, verifier in verifiers.items()} | dict(calibrated)
        self._ids = {name: verifier_id(verifier) for name, verifier in verifiers.items()}
        self._known: dict[str, dict[tuple[str, int], StepScores]] = {name: {} for name in verifiers}
        self._scorers: dict[str, Scorer] = {}
        self._waiting: dict[str, list[Reply]] = {name: [] for name in verifiers}
        self._batches: dict[str, asyncio.Task[None]] = {}
        self._turn = asyncio.Lock()
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="verifier")
        self._closing = threading.Event()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._closing.set()
        self._thread.shutdown()
        for scorer in self._scorers.values():
            scorer.close()

    def flops(self, name: str, scores: StepScores) -> float | None:
        """What scoring that reply costs; None where the verifier's shape is unknown."""
        return self._verifiers[name].flops(scores) if scores.tokens else 0.0

    def falls(self, name: str, sample: Sample) -> Sequence[tuple[int, float]]:
        """The lows of the running score of a sample; see `ttc.protocols.RunningVerifier`."""
        verifier = self._verifiers[name]
        return verifier.falls(sample) if isinstance(verifier, RunningVerifier) else ()

    def score_all(self, name: str, replies: Sequence[Reply]) -> list[StepScores]:
        """Scores of many replies in one pass, in order. One without text costs nothing, and has none.

        Raises:
            UserError: the verifier cannot be opened, or cannot score such questions.
        """
        self._complete(name, replies)
        return self._stored(name, replies)

    async def scores(self, name: str, replies: Sequence[Reply]) -> list[StepScores]:
        """As `score_all`, for a strategy at work: what is asked while a batch is scored makes up the next one."""
        if name not in self._verifiers:
            bound = ", ".join(self._verifiers) or "none"
            raise UserError(f"there is no verifier {name!r}; bind it under verifiers (bound: {bound})")
        self._waiting[name] += replies
        if name not in self._batches:
            self._batches[name] = asyncio.create_task(self._next_batch(name))
        await self._batches[name]
        return self._stored(name, replies)

    async def _next_batch(self, name: str) -> None:
        async with self._turn:
            batch, self._waiting[name] = self._waiting[name], []
            del self._batches[name]
            await asyncio.get_running_loop().run_in_executor(self._thread, self._complete, name, batch)

    def _complete(self, name: str, replies: Sequence[Reply]) -> None:
        """Make all of these known."""
        known, identity = self._known[name], self._ids[name]
        wanted = {(reply.sample.key, reply.sample.index): reply for reply in replies if reply.text.strip()}
        unknown = {place: reply for place, reply in wanted.items() if place not in known}
        if not unknown:
            return
        for by_index in self._bank.scores({key for key, _ in unknown}, identity).values():
            known.update(((scores.key, scores.index), scores) for scores in by_index.values())
        missing = [reply for place, reply in unknown.items() if place not in known]
        for scores in self._scorer(name).score(missing) if missing else ():
            scores = replace(scores, verifier=identity)
            self._writer.add_score(scores)
            known[scores.key, scores.index] = scores
            self.executed += Usage(verifier_tokens=scores.tokens)
            if self._closing.is_set():
                return

    def _scorer(self, name: str) -> Scorer:
        if name not in self._scorers:
            verifier = self._verifiers[name]
            keeps = isinstance(verifier, KeepingVerifier)
            self._scorers[name] = verifier.open_in(self._bank, self._writer) if keeps else verifier.open()
        return self._scorers[name]

    def _stored(self, name: str, replies: Sequence[Reply]) -> list[StepScores]:
        response_score, known, found = self._response_scores[name], self._known[name], []
        for reply in replies:
            scores = known[reply.sample.key, reply.sample.index] if reply.text.strip() else reply.scored(None, status="empty")
            if scores.score is not None and (score := response_score(scores)) != scores.score:
                scores = replace(scores, score=score)
            found.append(scores)
        return found
