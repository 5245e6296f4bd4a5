"""The one door to compute for a strategy: everything it draws goes through its session, and only here is compute counted."""

from collections.abc import Callable, Hashable, Sequence
from typing import Protocol

from ttc import answers as reading
from ttc.compute import ModelShape, sample_flops
from ttc.draw import Draw, Style
from ttc.errors import BudgetSpent, UserError
from ttc.records import Answer, Prompt, Question, Reply, Sample, Sampling, Selection, StepScores, Usage


class Source(Protocol):
    """Where samples come from: the bank first, then the engine. See `ttc.dispatcher`."""

    async def samples(
        self, question: Question, prompt: Prompt, sampling: Sampling, n: int, prefix: tuple[int, ...] = ()
    ) -> list[Sample]:
        """Samples 0 to n - 1 of a prompt."""
        ...


class Verification(Protocol):
    """Where scores come from: the bank first, then the verifiers of the run. See `ttc.scoring`."""

    async def scores(self, name: str, replies: Sequence[Reply]) -> list[StepScores]:
        """One record per reply, in order."""
        ...

    def flops(self, name: str, scores: StepScores) -> float | None:
        """What scoring one reply cost."""
        ...


class Session:
    """One strategy at work on one question.

    `usage` is the *attributed* compute: a fixed convention that depends on no engine and no bank, as if the strategy ran alone.
    A distinct prompt is paid once, every drawn token once, whatever becomes of its sample.
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
        self._source, self._render, self._sampling, self._shape = source, render, sampling, shape
        self._budget_tokens, self._verification = budget_tokens, verification
        self._drawn: dict[Hashable, int] = {}

    @property
    def spent_tokens(self) -> int:
        """Completion and verifier tokens so far: what a budget limits."""
        return self.usage.completion_tokens + self.usage.verifier_tokens

    async def draw(self, draw: Draw) -> list[Sample]:
        """`draw.n` further samples, in index order.

        Raises:
            BudgetSpent: the budget was used up before this draw.
        """
        if self._budget_tokens is not None and self.spent_tokens >= self._budget_tokens:
            raise BudgetSpent(
                f"question {self.question.id}: {self.spent_tokens} of {self._budget_tokens} tokens are spent; "
                "lower the strategy's n or raise budget_tokens"
            )
        before = self._drawn.get(draw.pool, 0)
        sampling = self._sampling.model_copy(update={"temperature": 0.0}) if draw.greedy else self._sampling
        asked = draw.shown(self.question)
        stored = await self._source.samples(asked, self._render(asked, draw.style), sampling, before + draw.n)
        samples = [draw.capped(sample) for sample in stored[before:]]
        self._drawn[draw.pool] = before + draw.n
        for position, sample in enumerate(samples):
            self._count(sample, prompt_is_new=before + position == 0)
        return samples

    def _count(self, sample: Sample, *, prompt_is_new: bool) -> None:
        self.usage += Usage(
            samples=1,
            prompt_tokens=sample.prompt_tokens if prompt_is_new else 0,
            completion_tokens=sample.completion_tokens,
            flops=sample_flops(self._shape, sample, prompt_is_new=prompt_is_new),
        )

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
            self.usage += Usage(verifier_tokens=scores.tokens, flops=self._verification.flops(verifier, scores))
        return found

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
