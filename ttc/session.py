"""The one door to compute for a strategy: everything it draws goes through its session, and only here is compute counted."""

import asyncio
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from itertools import chain
from typing import Protocol

from ttc import answers as reading
from ttc.compute import ModelShape, continuation_flops, sample_flops
from ttc.draw import Draw, Style
from ttc.errors import BudgetSpent, UserError
from ttc.records import Answer, CriticalPath, Prompt, Question, Reply, Sample, Sampling, Selection, StepScores, Usage

_OWN_POOL = Draw().pool
"""Chains of thought from `Session.prompt`."""


class Source(Protocol):
    """Where samples come from: the bank first, then the engine. See `ttc.dispatcher`."""

    async def samples(
        self, question: Question, prompt: Prompt, sampling: Sampling, n: int, prefix: tuple[int, ...] = ()
    ) -> list[Sample]:
        """Samples 0 to n - 1 of a prompt."""
        ...

    async def token_ids(self, text: str) -> tuple[int, ...]:
        """The text as the engine's tokens, to be put into a reply."""
        ...


class Verification(Protocol):
    """Where scores come from: the bank first, then the verifiers of the run. See `ttc.scoring`."""

    async def scores(self, name: str, replies: Sequence[Reply]) -> list[StepScores]:
        """One record per reply, in order."""
        ...

    def flops(self, name: str, scores: StepScores) -> float | None:
        """What scoring one reply cost."""
        ...

    def falls(self, name: str, sample: Sample) -> Sequence[tuple[int, float]]:
        """Tokens and score of each low of the running score of a sample."""
        ...


class Session:
    """One strategy at work on one question.

    `usage` is the *attributed* compute: a fixed convention that depends on no engine and no bank, as if the strategy ran alone.
    A distinct prompt is paid once, every drawn token once, whatever becomes of its sample. `path` is its critical path: what
    one call draws or scores runs side by side, and calls follow one another unless they stand inside `side_by_side`.
    """

    def __init__(
        self,
        question: Question,
        source: Source,
        render: Callable[[Question, Style], Prompt],
        sampling: Sampling,
        *,
        shape: ModelShape | None = None,
        budget_tokens: int | None = None,
        verification: Verification | None = None,
    ) -> None:
        self.question = question
        self.usage = Usage(flops=None if shape is None else 0.0)
        self.path = CriticalPath()
        self.counted = True
        """Whether the engine told how many tokens each sample has; else they are unknown."""
        self.reread_tokens = 0
        """Prompt tokens of samples whose prompt was paid before; a server charges them where every sample is a call."""
        self._source, self._render, self._sampling, self._shape = source, render, sampling, shape
        self._budget_tokens, self._verification = budget_tokens, verification
        self._drawn: dict[Hashable, int] = {}
        self._paid: set[Hashable] = set()
        self._beside: CriticalPath | None = None
        self._prompt_tokens = 0

    @property
    def spent_tokens(self) -> int:
        """Completion and verifier tokens so far: what a budget limits."""
        return self.usage.completion_tokens + self.usage.verifier_tokens

    @property
    def reply_tokens(self) -> int:
        """Most completion tokens of a whole reply."""
        return self._sampling.max_tokens

    @property
    def reply_stops(self) -> tuple[str, ...]:
        """Strings that end a whole reply, be they drawn in one step or over several."""
        return self._sampling.stop

    @contextmanager
    def side_by_side(self) -> Iterator[None]:
        """Inside, calls run at the same time: the critical path grows by the longest of them."""
        self._beside = CriticalPath()
        try:
            yield
        finally:
            together, self._beside = self._beside, None
            self.path += together

    @cached_property
    def prompt(self) -> Prompt:
        """What asks for a chain of thought: the beginning of every conversation about the question."""
        return self._render(self.question, "cot")

    async def draw(self, draw: Draw, ended: Callable[[Sample], Sample] = lambda sample: sample) -> list[Sample]:
        """`draw.n` further samples, in index order.

        Args:
            ended: what is left of a sample where its drawing is stopped on the way; it costs what is left.

        Raises:
            BudgetSpent: the budget was used up before this draw.
        """
        self._check_budget()
        indices = self._reserve(draw.pool, draw.n)
        sampling = self._sampling.model_copy(update={"temperature": 0.0}) if draw.greedy else self._sampling
        asked = draw.shown(self.question)
        stored = await self._source.samples(asked, self._render(asked, draw.style), sampling, indices.stop)
        samples = [ended(draw.capped(stored[index])) for index in indices]
        prompt_tokens = self.usage.prompt_tokens
        for sample in samples:
            is_new = self._is_new(draw.pool, sample)
            self._count(sample, sample.prompt_tokens if is_new else 0, sample_flops(self._shape, sample, prompt_is_new=is_new))
            if is_new and draw.pool == _OWN_POOL:
                self._prompt_tokens = sample.prompt_tokens
        self._wait_for(samples, self.usage.prompt_tokens - prompt_tokens)
        return samples

    async def ask(self, prompt: Prompt, n: int = 1) -> list[Sample]:
        """`n` further replies to a prompt that goes on where `self.prompt` ends.

        What it costs to read are its tokens beyond those of `self.prompt`, which is paid once, with all images.

        Raises:
            BudgetSpent: the budget was used up before this.
        """
        self._check_budget()
        indices = self._reserve(prompt, n)
        samples = (await self._source.samples(self.question, prompt, self._sampling, indices.stop))[indices.start :]
        prompt_tokens, shared = self.usage.prompt_tokens, self._prompt_tokens
        for sample in samples:
            is_new = self._is_new(prompt, sample)
            flops = sample_flops(self._shape, sample, prompt_is_new=is_new, shared_tokens=shared)
            self._count(sample, max(0, sample.prompt_tokens - shared) if is_new else 0, flops)
        self._wait_for(samples, self.usage.prompt_tokens - prompt_tokens)
        return samples

    async def token_ids(self, text: str) -> tuple[int, ...]:
        """The text as tokens, to be put into a reply that is continued.

        Raises:
            UserError: the engine takes no tokens.
        """
        return await self._source.token_ids(text)

    async def extend(
        self,
        prefixes: Sequence[tuple[int, ...]],
        stop: str = "",
        n: int = 1,
        *,
        most_tokens: int | None = None,
        appended: int = 0,
    ) -> list[list[Sample]]:
        """`n` further continuations of each partial chain of thought, up to the next `stop`: one round of a search.

        The budget is looked at once, so a round is drawn whole or not at all. The new tokens are what a continuation costs; the
        question's prompt is paid once.

        Args:
            prefixes: token ids of each reply so far; empty begins one. The same one twice gets further continuations.
            stop: where a step ends. A sample whose `tail` begins with it ended there, and can be continued. Empty: at the
                reply's own end.
            most_tokens: of each continuation; what `reply_tokens` leaves where not given.
            appended: how many tokens at the end of each prefix were put there and not drawn. They count as prompt.

        Raises:
            BudgetSpent: the budget was used up before this round.
            UserError: the engine does not tell token ids, so nothing can be continued.
        """
        self._check_budget()
        drawn = await asyncio.gather(*(self._continuations(prefix, stop, n, most_tokens) for prefix in prefixes))
        prompt_tokens = self.usage.prompt_tokens
        for prefix, samples in zip(prefixes, drawn, strict=True):
            for sample in samples:
                self._count_continuation(sample, prefix, appended)
        self._wait_for(chain.from_iterable(drawn), self.usage.prompt_tokens - prompt_tokens)
        return drawn

    async def _continuations(self, prefix: tuple[int, ...], stop: str, n: int, most_tokens: int | None) -> list[Sample]:
        most = self.reply_tokens - len(prefix) if most_tokens is None else most_tokens
        indices = self._reserve((prefix, stop, most), n)
        settings = {"stop": (*self._sampling.stop, *filter(None, [stop])), "max_tokens": most}
        sampling = self._sampling.model_copy(update=settings)
        samples = (await self._source.samples(self.question, self.prompt, sampling, indices.stop, prefix))[indices.start :]
        if mute := next((one for one in samples if (one.completion_tokens or not one.counted) and not one.token_ids), None):
            raise UserError(
                f"question {self.question.id}: {mute.engine} does not tell token ids, so its replies cannot be continued "
                "step by step; use the backend transformers or vllm"
            )
        return samples

    def _check_budget(self) -> None:
        if self._budget_tokens is not None and self.spent_tokens >= self._budget_tokens:
            raise BudgetSpent(
                f"question {self.question.id}: {self.spent_tokens} of {self._budget_tokens} tokens are spent; "
                "lower the strategy's n or raise budget_tokens"
            )

    def _reserve(self, pool: Hashable, n: int) -> range:
        """The next n indices of a pool. Taken before anything is awaited, so that draws at the same time get different ones."""
        first = self._drawn.get(pool, 0)
        self._drawn[pool] = first + n
        return range(first, first + n)

    def _is_new(self, prompt: Hashable, sample: Sample) -> bool:
        """Whether this sample is the first that is paid for a prompt or prefix; one refused unread is paid for none."""
        if not sample.prompt_tokens:
            return False
        is_new = prompt not in self._paid
        self._paid.add(prompt)
        return is_new

    def _count_continuation(self, sample: Sample, prefix: tuple[int, ...], appended: int) -> None:
        prompt_is_new, prefix_is_new = self._is_new(_OWN_POOL, sample), self._is_new(prefix, sample)
        if prefix:
            flops = continuation_flops(self._shape, sample, len(prefix), prefix_is_new=prefix_is_new, appended_tokens=appended)
        else:
            flops = sample_flops(self._shape, sample, prompt_is_new=prompt_is_new)
        self._count(sample, sample.prompt_tokens if prompt_is_new else 0, flops)
        if prefix_is_new and appended:
            self.usage += Usage(prompt_tokens=appended)

    def _count(self, sample: Sample, prompt_tokens: int, flops: float | None) -> None:
        self.counted = self.counted and sample.counted
        self.reread_tokens += sample.prompt_tokens - prompt_tokens
        self.usage += Usage(1, prompt_tokens, sample.completion_tokens, flops=flops)

    def _wait_for(self, samples: Iterable[Sample], prompt_tokens: int) -> None:
        """A round of samples on the critical path, its new prompt ahead of the longest."""
        self._follow(CriticalPath(prompt_tokens, max((sample.completion_tokens for sample in samples), default=0)))

    def _follow(self, path: CriticalPath) -> None:
        if self._beside is None:
            self.path += path
        else:
            self._beside = self._beside.beside(path)

    async def score(self, samples: Sequence[Sample], verifier: str, *, before: str = "") -> list[StepScores]:
        """The named verifier's scores, in order. Scoring again costs again.

        Args:
            before: the text that the samples continue.

        Raises:
            UserError: the run binds no verifier of this name.
        """
        if self._verification is None:
            raise UserError(f"question {self.question.id}: no verifier is at hand for {verifier!r}; bind it under verifiers")
        found = await self._verification.scores(verifier, [Reply(self.question, sample, before) for sample in samples])
        for scores in found:
            if scores.tokens:
                self.usage += Usage(verifier_tokens=scores.tokens, flops=self._verification.flops(verifier, scores))
        self._follow(CriticalPath(verifier_tokens=max((scores.tokens for scores in found), default=0)))
        return found

    def falls(self, sample: Sample, verifier: str) -> Sequence[tuple[int, float]]:
        """Tokens and score of each low of the named verifier's running score."""
        return () if self._verification is None else self._verification.falls(verifier, sample)

    def answers(self, samples: Sequence[Sample], draw: Draw | None = None) -> list[Answer]:
        """What each reply says, by the careful rules; `draw` is needed where it showed the options in another order."""
        if draw is None:
            return [reading.extract(self.question, sample) for sample in samples]
        asked = draw.shown(self.question)
        return [draw.meant(self.question, reading.extract(asked, sample)) for sample in samples]

    def classes(self, answers: Sequence[Answer]) -> tuple[int | None, ...]:
        """Equivalence class of each answer, from the replies alone; None does not vote."""
        return reading.classes(self.question, answers)

    def stand_by(self, samples: Sequence[Sample], position: int | None, reason: str) -> Selection:
        """The selection of the sample at `position`, or an abstention where there is none or it has no answer."""
        answer = None if position is None else self.answers([samples[position]])[0]
        if position is None or answer is None or not answer.values:
            return Selection(None, reason="abstain")
        return Selection(answer, samples[position].index, reason)
