"""Estimators that only count: pass@k, pass^k and best-of-k. Binomials are integers, so nothing overflows or cancels."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from functools import lru_cache
from itertools import accumulate
from math import comb, fsum, isnan, nan
from typing import TypeVar

T = TypeVar("T")


def require_budget(k: int, n: int) -> None:
    """Raise ValueError unless 1 <= k <= n: an estimate beyond the samples drawn would be a guess."""
    if not 1 <= k <= n:
        raise ValueError(f"a budget of k = {k} needs 1 <= k <= n, and there are n = {n} samples; draw more or lower k")


def require_parallel(**columns: Sequence[object]) -> int:
    """The common length n of columns that describe the same samples. Raises ValueError where they differ."""
    lengths = {name: len(column) for name, column in columns.items()}
    if len(set(lengths.values())) != 1:
        raise ValueError(f"one entry per sample is needed in each of {lengths}")
    return next(iter(lengths.values()))


def pass_at_k(credits: Sequence[float], k: int) -> float:
    """Expected best credit among k samples; for 0/1 credits the probability that one of them is right.

    Source: the unbiased form of Chen et al. 2021, arXiv:2107.03374; for fractional credit, best-of-k by the credit itself.
    """
    n = len(credits)
    require_budget(k, n)
    right = sum(1 for credit in credits if credit == 1)
    if right + sum(1 for credit in credits if credit == 0) < n:
        return best_of_k(credits, credits, k)
    every = comb(n, k)
    return (every - comb(n - right, k)) / every


def pass_hat_k(credits: Sequence[float], k: int) -> float:
    """Probability that all of k samples are right (pass^k, Yao et al. 2024, arXiv:2406.12045). Credits must be 0 or 1."""
    n = len(credits)
    require_budget(k, n)
    right = sum(1 for credit in credits if credit == 1)
    if right + sum(1 for credit in credits if credit == 0) < n:
        raise ValueError("pass^k is defined for credits 0 and 1 only; threshold fractional credits first")
    return comb(right, k) / comb(n, k)


def best_of_k(scores: Sequence[float | None], credits: Sequence[float], k: int) -> float:
    """Expected credit of the highest-scored of k samples, ties broken uniformly.

    `credits` may be any per-sample quantity: the scores themselves give the expected highest score (`longest_of_k`); 1 for an
    answer and 0 for none give the coverage.

    Args:
        scores: None where scoring failed: such a sample wins only when all k lack a score.
    """
    n = require_parallel(scores=scores, credits=credits)
    require_budget(k, n)
    every, below, terms = comb(n, k), 0, []
    for upto, mean in _ranked(tuple(scores), tuple(credits)):
        ways = comb(upto, k)
        terms.append((ways - below) / every * mean)
        below = ways
    return fsum(terms)


@lru_cache(maxsize=64)
def _ranked(scores: tuple[float | None, ...], credits: tuple[float, ...]) -> list[tuple[int, float]]:
    """From the lowest score up: how many samples score at most so much, and the mean credit of those that score just that."""
    groups: dict[tuple[bool, float], list[float]] = defaultdict(list)
    for score, credit in zip(scores, credits, strict=True):
        if score is not None and isnan(score):
            raise ValueError("a score is NaN, which has no rank; give None where scoring failed")
        groups[(False, 0.0) if score is None else (True, score)].append(credit)
    ends = accumulate(len(groups[score]) for score in sorted(groups))
    return [(end, fsum(groups[score]) / len(groups[score])) for end, score in zip(ends, sorted(groups), strict=True)]


@lru_cache(maxsize=1 << 14)
def longest_of_k(lengths: tuple[float, ...], k: int) -> float:
    """Expected largest of k lengths, drawn without replacement: what k replies side by side take until the last is there.

    By order statistics: the m-th smallest of n is the largest of k with probability C(m - 1, k - 1) / C(n, k).
    """
    require_budget(k, len(lengths))
    if any(map(isnan, lengths)):  # NaN has no rank: one unknown length makes the longest unknown
        return nan
    ranked = sorted(lengths)[k - 1 :]
    return fsum(comb(k - 1 + place, k - 1) * length for place, length in enumerate(ranked)) / comb(len(lengths), k)


def among_k(kinds: Sequence[T], k: int) -> dict[T, float]:
    """By kind, the probability that it is among k of the n samples: 1 - C(n - c, k) / C(n, k) where it is that of c."""
    n = len(kinds)
    require_budget(k, n)
    every = comb(n, k)
    return {kind: (every - comb(n - count, k)) / every for kind, count in Counter(kinds).items()}
