"""The one door to compute for a strategy: everything it draws goes through its session, and only here is compute counted."""

from collections.abc import Callable, Sequence
from typing import Protocol

from ttc import answers as reading
from ttc.compute import ModelShape, sample_flops
from ttc.draw import Draw, Style
from ttc.errors import BudgetSpent
from ttc.records import Answer, Prompt, Question, Sample, Sampling, Selection, Usage


class Source(Protocol):
    """Where samples come from: the bank first, then the engine. See `ttc.dispatcher`."""

    async def samples(
        self, question: Question, prompt: Prompt, sampling: Sampling, n: int, prefix: tuple[int, ...] = ()
    ) -> list[Sample]:
        """Samples 0 to n - 1 of a prompt."""
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
    ) -> None:
        self.question = question
        self.usage = Usage(flops=None if shape is None else 0.0)
        self._source, self._render, self._sampling, self._shape = source, render, sampling, shape
        self._budget_tokens = budget_tokens
        self._drawn: dict[tuple[str, bool], int] = {}

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
        prompt = self._render(self.question, draw.style)
        samples = (await self._source.samples(self.question, prompt, sampling, before + draw.n))[before:]
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

    def answers(self, samples: Sequence[Sample]) -> list[Answer]:
        """What each reply says, by the careful rules."""
        return [reading.extract(self.question, sample) for sample in samples]

    def classes(self, answers: Sequence[Answer]) -> tuple[int | None, ...]:
        """Equivalence class of each answer, from the replies alone; None does not vote."""
        return reading.classes(self.question, answers)

    def stand_by(self, samples: Sequence[Sample], position: int | None, reason: str) -> Selection:
        """The selection of the sample at `position`, or an abstention."""
        if position is None:
            return Selection(None, reason="abstain")
        return Selection(self.answers([samples[position]])[0], samples[position].index, reason)
