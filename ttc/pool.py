"""One question's samples as the estimators see them: classes, credits, costs. Built once, read by every parallel strategy."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Pool:
    """The n graded samples of one question under one prompt and one sampling; all sequences have length n, in index order."""

    question_id: str
    classes: tuple[int | None, ...]
    """Equivalence class of each sample's answer, made from the replies alone; None where there is no answer."""
    credits: tuple[float, ...]
    """Credit of each sample in [0, 1]. Only estimators and oracles read it."""
    prompt_tokens: int
    completion_tokens: tuple[int, ...]
    prefill_flops: float | None
    """Prompt and images, once; None where the model's shape is unknown."""
    decode_flops: tuple[float, ...] | None
    scores: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    """By verifier name; None where scoring failed."""
    n_options: int = 0
    """Number of options; 0 for an open question."""

    @property
    def n(self) -> int:
        """Samples in the pool."""
        return len(self.credits)


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a strategy achieves in expectation at one budget on one question."""

    credit: float
    """Expected credit over all questions, abstentions counting 0."""
    coverage: float
    """Probability that an answer is given."""
    samples: float
    """Expected samples drawn."""
    prompt_tokens: float
    completion_tokens: float
    flops: float | None


def outcome(pool: Pool, k: int, *, credit: float, coverage: float) -> Outcome:
    """The outcome of a strategy that draws exactly k samples: costs are k times the pool's mean, the prompt paid once.

    Raises:
        ValueError: k is not in 1..n.
    """
    if not 1 <= k <= pool.n:
        raise ValueError(f"question {pool.question_id}: k={k} with {pool.n} samples; k must be 1 to {pool.n}")
    flops = None
    if pool.prefill_flops is not None and pool.decode_flops is not None:
        flops = pool.prefill_flops + k * sum(pool.decode_flops) / pool.n
    tokens = k * sum(pool.completion_tokens) / pool.n
    return Outcome(credit, coverage, float(k), float(pool.prompt_tokens), tokens, flops)
