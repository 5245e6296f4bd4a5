"""One question's samples as the estimators see them: classes, credits, costs. Built once, read by every parallel strategy."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum

from ttc import select
from ttc.estimators.counting import among_k, longest_of_k


@dataclass(frozen=True, slots=True)
class Fall:
    """A sample's running score reaches a new low."""

    tokens: int
    """Drawn by then."""
    score: float
    flops: float | None
    """Of decoding so far; None where the model's shape is unknown."""


@dataclass(frozen=True, slots=True)
class PoolPrompt:
    """One of several prompts that the samples of a pool answer."""

    number: int
    tokens: float
    """NaN where it is unknown."""
    flops: float | None
    """Of reading it and its images; None where the model's shape is unknown."""


@dataclass(frozen=True, slots=True)
class Pool:
    """The n graded samples of one question under one draw and one sampling; all sequences have length n, in index order."""

    question_id: str
    classes: tuple[int | None, ...]
    """Equivalence class of each sample's answer, made from the replies alone; None where there is no answer."""
    credits: tuple[float, ...]
    """Credit of each sample in [0, 1]. Only estimators and oracles read it."""
    prompt_tokens: float
    """NaN where it is unknown."""
    completion_tokens: tuple[float, ...]
    """NaN where a reply was not counted, so that what is made of it is unknown too."""
    prefill_flops: float | None
    """Prompt and images, once; None where the model's shape is unknown."""
    decode_flops: tuple[float, ...] | None
    scores: Mapping[str, tuple[float | None, ...]] = field(default_factory=dict)
    """By verifier name; None where scoring failed."""
    verifier_tokens: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    """By verifier name, what scoring each sample costs."""
    verifier_flops: Mapping[str, tuple[float, ...] | None] = field(default_factory=dict)
    """None where the verifier's shape is unknown."""
    falls: Mapping[str, tuple[tuple[Fall, ...], ...]] = field(default_factory=dict)
    """By name of a verifier that scores while a sample is drawn: the lows of each sample, in order."""
    n_options: int = 0
    """Number of options; 0 for an open question."""
    greedy: "Pool | None" = None
    """The one greedy sample, for strategies that fall back on it."""
    prompts: tuple[PoolPrompt, ...] = ()
    """Of each sample, where they answer several, each of which is paid for as one; empty where all answer the same."""

    @property
    def n(self) -> int:
        """Samples in the pool."""
        return len(self.credits)

    @property
    def answered(self) -> tuple[float, ...]:
        """1 for each sample with an answer, 0 for the others: the credits of coverage."""
        return tuple(float(answer is not None) for answer in self.classes)

    def eligible(self, verifier: str) -> list[float | None]:
        """A verifier's scores of the samples that a strategy may stand by; see `ttc.select.eligible`."""
        return select.eligible(self.classes, self.scores[verifier])

    def sample_flops(self, verifier: str | None = None) -> tuple[float, ...] | None:
        """FLOPs of decoding each sample, and of scoring it where a verifier is named; None where one of them is unknown."""
        if verifier is None or self.decode_flops is None:
            return self.decode_flops
        scoring = self.verifier_flops[verifier]
        return None if scoring is None else tuple(map(sum, zip(self.decode_flops, scoring, strict=True)))


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
    """Of the model and the verifier."""
    verifier_tokens: float = 0.0
    reread_tokens: float | None = None
    """Prompt tokens of samples whose prompt was paid before: what a server charges again where every sample is a call."""
    path_prompt_tokens: float | None = None
    """Of the critical path (`ttc.records.CriticalPath`), as are the next two; None in runs from before it was counted."""
    path_completion_tokens: float | None = None
    path_verifier_tokens: float | None = None


def outcome(pool: Pool, k: int, *, credit: float, coverage: float, verifier: str | None = None) -> Outcome:
    """The outcome of a strategy that draws exactly k samples: costs are k times the pool's mean, each prompt paid once.

    Its critical path is the prompt, the longest of k replies drawn side by side, and then the longest of their scorings.

    Args:
        verifier: name of the one that scores each of them.

    Raises:
        ValueError: k is not in 1..n.
    """
    if not 1 <= k <= pool.n:
        raise ValueError(f"question {pool.question_id}: k={k} with {pool.n} samples; k must be 1 to {pool.n}")
    prompt_tokens = longest_prompt = float(pool.prompt_tokens)
    prefill, sent_tokens = pool.prefill_flops, k * prompt_tokens
    if pool.prompts:
        chances, lengths = among_k(pool.prompts, k), tuple(prompt.tokens for prompt in pool.prompts)
        prompt_tokens = fsum(chance * prompt.tokens for prompt, chance in chances.items())
        longest_prompt, sent_tokens = longest_of_k(lengths, k), k * sum(lengths) / pool.n
        prefill = None if prefill is None else fsum(chance * (one.flops or 0.0) for one, chance in chances.items())
    each, flops = pool.sample_flops(verifier), None
    if prefill is not None and each is not None:
        flops = prefill + k * sum(each) / pool.n
    tokens = k * sum(pool.completion_tokens) / pool.n
    scoring = pool.verifier_tokens[verifier] if verifier else (0,) * pool.n
    return Outcome(
        credit,
        coverage,
        samples=float(k),
        prompt_tokens=prompt_tokens,
        completion_tokens=tokens,
        flops=flops,
        verifier_tokens=k * sum(scoring) / pool.n,
        reread_tokens=sent_tokens - prompt_tokens,
        path_prompt_tokens=longest_prompt,
        path_completion_tokens=longest_of_k(pool.completion_tokens, k),
        path_verifier_tokens=longest_of_k(scoring, k),
    )
