"""What choosing by a verifier gains over the vote: best-of-k and weighted vote at every budget, exact from the bank's samples.

Axes: Q questions, K columns, D draws.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ttc import estimators
from ttc.pool import Pool
from ttc.statistics import Interval, PairedDifference, paired_difference
from ttc.strategies.best_of_n import BestOfN
from ttc.strategies.weighted_vote import WeightedVote
from verifiers.metrics import of_means

Method = Literal["best_of_n", "weighted_vote"]
METHODS: tuple[Method, ...] = ("best_of_n", "weighted_vote")

MOST_SAMPLES = 64
"""Largest budget at which a verifier is judged."""


@dataclass(frozen=True, slots=True)
class Gain:
    """One method at one budget against the vote over the same samples."""

    method: Method
    k: int
    accuracy: float
    vote: float
    oracle: float
    """pass@k."""
    over_vote: PairedDifference
    recovered: Interval | None
    """(accuracy - mean) / (oracle - mean), mean being one sample's accuracy; None where the samples leave nothing to choose."""
    vote_recovered: float | None
    """The same of the vote."""

    @property
    def reading(self) -> str:
        """What the interval says; where it says nothing, the true difference in points that would be found with power 0.8."""
        low, high = self.over_vote.interval.low, self.over_vote.interval.high
        if low == high == 0:
            return "the same as the vote on every question"
        if low > 0 or high < 0:
            return "above the vote" if low > 0 else "below the vote"
        if self.over_vote.detectable is None:
            return "unclear: a single cluster of questions shows nothing"
        return f"unclear; finds {100 * self.over_vote.detectable:.1f} or more"


@dataclass(frozen=True, slots=True)
class Credits:
    """Expected credit of every question, at each k."""

    ks: tuple[int, ...]
    mean_Q: NDArray[np.float64]
    vote_QK: NDArray[np.float64]
    oracle_QK: NDArray[np.float64]
    method_QK: dict[Method, NDArray[np.float64]]


def budgets(pools: Sequence[Pool]) -> tuple[int, ...]:
    """1, 2, 4 ... as far as every question has samples, at most 64, and that last number itself."""
    most = min((pool.n for pool in pools), default=0)
    top = min(most, MOST_SAMPLES)
    return tuple(sorted({*(2**i for i in range(top.bit_length()) if 2**i <= top), top} - {0}))


def rescored(pool: Pool, verifier: str, scores: Sequence[float | None]) -> Pool:
    """The same samples under other scores, which cost nothing."""
    return replace(
        pool, scores={verifier: tuple(scores)}, verifier_tokens={verifier: (0,) * pool.n}, verifier_flops={verifier: None}
    )


def credits_of(pools: Sequence[Pool], verifier: str, ks: Sequence[int], *, methods: Sequence[Method] = METHODS) -> Credits:
    """Exact expectations; the weighted vote's over permutations that all ks share where subsets are many.

    Args:
        verifier: its name in `Pool.scores`.
    """
    strategies = {
        "best_of_n": BestOfN(n=max(ks), verifier=verifier),
        "weighted_vote": WeightedVote(n=max(ks), verifier=verifier),
    }

    def table(value) -> NDArray[np.float64]:
        return np.array([[value(pool, k) for k in ks] for pool in pools])

    return Credits(
        tuple(ks),
        np.array([float(np.mean(pool.credits)) for pool in pools]),
        table(lambda pool, k: estimators.vote_at_k(pool.classes, pool.credits, k)),
        table(lambda pool, k: estimators.pass_at_k(pool.credits, k)),
        {name: table(lambda pool, k, of=strategies[name]: of.expected(pool, k).credit) for name in methods},
    )


def gains(found: Credits, units: Sequence[str], rows: Sequence[int] | None = None, *, seed: int = 0) -> list[Gain]:
    """Every method at every k above 1, over all questions or those of the given rows.

    Args:
        units: cluster of each question.
    """
    kept = list(range(len(units)) if rows is None else rows)
    of_kept, out = [units[row] for row in kept], []
    mean_Q = found.mean_Q[kept]
    for method, credit_QK in found.method_QK.items():
        for place, k in enumerate(found.ks):
            if k == 1:
                continue
            own, vote, oracle = (table[kept, place] for table in (credit_QK, found.vote_QK, found.oracle_QK))
            shares = [_recovered(column, mean_Q, oracle, of_kept) for column in (own, vote)]
            difference = paired_difference(own, vote, of_kept, seed=seed)
            means = float(own.mean()), float(vote.mean()), float(oracle.mean())
            out.append(Gain(method, k, *means, difference, shares[0], shares[1].mean if shares[1] else None))
    return out


def _recovered(
    own_Q: NDArray[np.float64], mean_Q: NDArray[np.float64], oracle_Q: NDArray[np.float64], units: Sequence[str]
) -> Interval | None:
    columns_QK = np.stack([own_Q - mean_Q, oracle_Q - mean_Q], axis=1)
    if columns_QK[:, 1].sum() < 1e-12:
        return None

    def ratio(mean_DK: NDArray[np.float64]) -> NDArray[np.float64]:
        possible = mean_DK[:, 1] > 1e-12
        return np.where(possible, mean_DK[:, 0] / np.where(possible, mean_DK[:, 1], 1), np.nan)

    return of_means(columns_QK, units, ratio, bounds=(-1.0, 1.0))
