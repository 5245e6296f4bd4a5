"""Rejection sampling from the bank: draw one sample at a time, take the first whose score reaches a threshold, at most k.

Only the order of samples is random, so all is a ratio of binomials. Draws are sequential: latency is a sum, not a maximum.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import compress, pairwise
from math import comb, fsum
from typing import Literal

from ttc.estimators.counting import best_of_k, require_budget, require_parallel
from ttc.estimators.voting import vote_at_k

Fallback = Literal["abstain", "vote", "best", "greedy"]


@dataclass(frozen=True, slots=True)
class Rejection:
    """What rejection sampling is expected to achieve on one question with at most k draws."""

    coverage: float
    """Probability that one of the k draws is accepted; the fallback has the rest."""
    accepted_credit: float
    """Expected credit of accepted samples, the other case counting 0."""
    fallback_credit: float
    """Expected credit of the fallback, the accepted case counting 0."""
    draws: float
    """Expected samples drawn; those of a greedy fallback are not among them."""
    accepted: tuple[bool, ...]
    """For each sample, whether its score reaches the threshold."""

    @property
    def credit(self) -> float:
        """Expected credit in all."""
        return self.accepted_credit + self.fallback_credit

    def cost(self, costs: Sequence[float], fallback_cost: float = 0.0) -> float:
        """Expected total of an additive cost, such as tokens, FLOPs, money, or the verifier's pass.

        Args:
            costs: of each sample. Give FLOPs here, never tokens to be turned into FLOPs later: they are not linear in length.
            fallback_cost: what the fallback costs beyond the samples drawn, such as a greedy reply.
        """
        require_parallel(accepted=self.accepted, costs=costs)
        taken = list(compress(costs, self.accepted))
        refused = [cost for cost, accepted in zip(costs, self.accepted, strict=True) if not accepted]
        total = (1 - self.coverage) * fallback_cost
        if taken:
            total += self.coverage * (fsum(taken) / len(taken))
        if refused:
            total += (self.draws - self.coverage) * (fsum(refused) / len(refused))
        return total


def rejection_at_k(
    scores: Sequence[float | None],
    credits: Sequence[float],
    threshold: float,
    k: int,
    *,
    fallback: Fallback = "abstain",
    answers: Sequence[Hashable] = (),
    greedy_credit: float = 0.0,
) -> Rejection:
    """Exact expectation of rejection sampling with at most k draws.

    With credits of 1 for an answer and 0 for none, the result's `credit` is the probability that an answer is given.

    Args:
        scores: a sample without a score is never accepted.
        fallback: what happens when none of k draws is accepted: abstain; vote over them (needs `answers`); take the best scored
            of them; or a greedy reply, worth `greedy_credit`.
    """
    n = require_parallel(scores=scores, credits=credits)
    require_budget(k, n)
    accepted, refused = _parted(tuple(scores), threshold)
    coverage, draws = _chances(n, len(refused), k)
    good = list(compress(credits, accepted))
    accepted_credit = coverage * (fsum(good) / len(good)) if good else 0.0

    rest, all_refused = 0.0, comb(len(refused), k)
    if all_refused and fallback == "greedy":
        rest = greedy_credit
    elif all_refused and fallback != "abstain":  # else too few refused samples to vote or rank k of them
        rest = _among(refused, scores, credits, k, fallback, answers)
    return Rejection(coverage, accepted_credit, all_refused / comb(n, k) * rest, draws, accepted)


@lru_cache(maxsize=64)
def _parted(scores: tuple[float | None, ...], threshold: float) -> tuple[tuple[bool, ...], tuple[int, ...]]:
    """For each sample whether it is accepted, and the places of the others."""
    accepted = tuple(score is not None and score >= threshold for score in scores)
    return accepted, tuple(place for place, taken in enumerate(accepted) if not taken)


@lru_cache(maxsize=1 << 14)
def _chances(n: int, refused: int, k: int) -> tuple[float, float]:
    """Coverage, and expected draws."""
    every = comb(n, k)
    return (every - comb(refused, k)) / every, fsum(comb(refused, j) / comb(n, j) for j in range(k))


def _among(
    refused: Sequence[int],
    scores: Sequence[float | None],
    credits: Sequence[float],
    k: int,
    fallback: Fallback,
    answers: Sequence[Hashable],
) -> float:
    """Credit of choosing among k refused samples: exactly the vote or the best of that smaller pool."""
    pool = [credits[i] for i in refused]
    if fallback == "best":
        return best_of_k([scores[i] for i in refused], pool, k)
    require_parallel(answers=answers, credits=credits)
    return vote_at_k([answers[i] for i in refused], pool, k)


@dataclass(frozen=True, slots=True)
class RiskCoverage:
    """Selective answering over all thresholds, the strictest first; points of coverage 0 have no risk and are left out."""

    thresholds: tuple[float, ...]
    coverage: tuple[float, ...]
    """Mean over all questions of the probability that a sample is accepted."""
    accuracy: tuple[float, ...]
    """Credit per accepted answer (selective accuracy); the risk is 1 minus it."""

    @property
    def area(self) -> float | None:
        """Mean risk over the range of coverage, by trapezoid; None where coverage takes one value only."""
        span = self.coverage[-1] - self.coverage[0] if self.coverage else 0.0
        if span <= 0:
            return None
        points = list(zip(self.coverage, self.accuracy, strict=True))
        return fsum((right - left) * (2 - low - high) / 2 for (left, low), (right, high) in pairwise(points)) / span


def risk_coverage(scores: Sequence[Sequence[float | None]], credits: Sequence[Sequence[float]], k: int) -> RiskCoverage:
    """Selective accuracy against coverage of rejection sampling with at most k draws, over every distinct threshold.

    The ratio over a data set is not an expectation over fresh samples question by question, so it has a bias of order 1/n.

    Args:
        scores: per question, per sample. `credits` has the same shape.
    """
    require_parallel(scores=scores, credits=credits)
    steps: list[tuple[float, float, float]] = []  # threshold, gain in coverage, gain in credit
    for row_scores, row_credits in zip(scores, credits, strict=True):
        n = require_parallel(scores=row_scores, credits=row_credits)
        require_budget(k, n)
        every, earned, before = comb(n, k), 0.0, (0.0, 0.0)
        ranked = sorted(((s, z) for s, z in zip(row_scores, row_credits, strict=True) if s is not None), reverse=True)
        for taken, (score, credit) in enumerate(ranked, start=1):
            earned += credit
            covered = (every - comb(n - taken, k)) / every
            after = (covered, covered * earned / taken)
            steps.append((score, after[0] - before[0], after[1] - before[1]))
            before = after
    steps.sort(reverse=True)
    thresholds, coverage, accuracy = [], [], []
    covered = credit = 0.0
    for i, (threshold, more_covered, more_credit) in enumerate(steps):
        covered += more_covered
        credit += more_credit
        if covered > 0 and (i + 1 == len(steps) or steps[i + 1][0] != threshold):
            thresholds.append(threshold)
            coverage.append(covered / len(scores))
            accuracy.append(credit / covered)
    return RiskCoverage(tuple(thresholds), tuple(coverage), tuple(accuracy))
