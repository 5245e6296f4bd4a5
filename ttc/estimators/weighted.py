"""The weighted vote has no closed form: enumerate the subsets where they are few, else average over shared permutations.

Axes: S subsets, N samples, J answer classes, M permutations.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain, combinations

import numpy as np
from numpy.typing import NDArray

from ttc.estimators.counting import require_budget, require_parallel
from ttc.select import SUM_TOLERANCE


@dataclass(frozen=True)
class WeightedPool:
    """The samples of one question with the weight of each vote."""

    answers: Sequence[Hashable]
    """Equivalence class of each sample's answer; None does not vote."""
    credits: Sequence[float]
    """A class counts with the mean credit of its members."""
    weights: Sequence[float | None]
    """A probability, a clipped logit or any number; a sample with None does not vote."""
    fallback_credit: float = 0.0
    """Credit where nobody votes."""
    log_odds: bool = False
    """Weights are log-odds, under which independent votes multiply. Only shares depend on it."""

    def __post_init__(self) -> None:
        require_parallel(answers=self.answers, credits=self.credits, weights=self.weights)

    @property
    def n(self) -> int:
        """Samples in the pool."""
        return len(self.credits)

    @cached_property
    def _votes(self) -> tuple[NDArray[np.bool_], NDArray[np.float64], NDArray[np.float64]]:
        """casts_NJ, who votes for what; weight_N; credit_J."""
        number = {name: j for j, name in enumerate(dict.fromkeys(answer for answer in self.answers if answer is not None))}
        votes_N = np.array([weight is not None for weight in self.weights], dtype=bool)
        weight_N = np.array([0.0 if weight is None else weight for weight in self.weights], dtype=float)
        class_N = np.array([-1 if answer is None else number[answer] for answer in self.answers])
        of_NJ = class_N[:, None] == np.arange(len(number))
        credit_J = np.asarray(self.credits, dtype=float) @ of_NJ / of_NJ.sum(axis=0)
        return of_NJ & votes_N[:, None], weight_N, credit_J

    def subset_credits(self, member_SN: NDArray[np.bool_]) -> NDArray[np.float64]:
        """credits_S: credit of the weighted vote in each subset. Ties: larger single weight, then more votes, then uniform."""
        casts_NJ, weight_N, credit_J = self._votes
        if not casts_NJ.any():
            return np.full(len(member_SN), float(self.fallback_credit))
        chosen_SN = np.asarray(member_SN, dtype=float)
        count_SJ = chosen_SN @ casts_NJ
        sum_SJ = np.where(count_SJ > 0, chosen_SN @ (casts_NJ * weight_N[:, None]), -np.inf)
        top_SJ = (sum_SJ >= sum_SJ.max(axis=1, keepdims=True) - SUM_TOLERANCE) & (count_SJ > 0)
        tied = np.flatnonzero(top_SJ.sum(axis=1) > 1)
        if len(tied):
            voting_TNJ = np.asarray(member_SN, dtype=bool)[tied][:, :, None] & casts_NJ
            largest_TJ = np.where(voting_TNJ, weight_N[:, None], -np.inf).max(axis=1)
            for key_TJ in (largest_TJ, count_SJ[tied]):
                key_TJ = np.where(top_SJ[tied], key_TJ, -np.inf)
                top_SJ[tied] &= key_TJ == key_TJ.max(axis=1, keepdims=True)
        winners_S = top_SJ.sum(axis=1)
        return np.where(winners_S > 0, top_SJ @ credit_J / np.maximum(winners_S, 1), self.fallback_credit)

    def subset_shares(self, member_SN: NDArray[np.bool_]) -> NDArray[np.float64]:
        """share_S: what part of a subset's weight the winner has, samples without an answer counting against it.

        Of log-odds, the probability of the winner where either one of the answers is right or none. NaN where nobody votes.
        """
        casts_NJ, weight_N, _ = self._votes
        chosen_SN = np.asarray(member_SN, dtype=float)
        sum_SJ = np.where(chosen_SN @ casts_NJ > 0, chosen_SN @ (casts_NJ * weight_N[:, None]), -np.inf)
        top_S = sum_SJ.max(axis=1, initial=-np.inf)
        if self.log_odds:
            none_S = np.maximum(top_S, 0)  # the larger exponent is taken out
            whole_S = np.exp(sum_SJ - none_S[:, None]).sum(axis=1) + np.exp(-none_S)
            share_S = np.exp(top_S - none_S) / whole_S
        else:
            whole_S = chosen_SN @ weight_N
            share_S = np.divide(top_S, whole_S, out=np.zeros_like(whole_S), where=whole_S > 0)
        return np.where(top_S > -np.inf, share_S, np.nan)

    def enumerate(self, k: int) -> float:
        """Expected credit at budget k over all C(n, k) subsets."""
        require_budget(k, self.n)
        return float(self.subset_credits(subsets(self.n, k)).mean())

    def replay(self, orders_MN: NDArray[np.int64], k: int) -> NDArray[np.float64]:
        """credits_M at budget k, for each permutation."""
        require_budget(k, self.n)
        return self.subset_credits(first_of_orders(orders_MN, k))


def first_of_orders(orders_MN: NDArray[np.int64], k: int) -> NDArray[np.bool_]:
    """member_MN: the first k of each permutation."""
    member_MN = np.zeros(orders_MN.shape, dtype=bool)
    np.put_along_axis(member_MN, orders_MN[:, :k], True, axis=1)
    return member_MN


@lru_cache(maxsize=32)
def subsets(n: int, k: int) -> NDArray[np.bool_]:
    """member_SN of all C(n, k) subsets, for few of them: they are kept for the next question."""
    chosen = np.fromiter(chain.from_iterable(combinations(range(n), k)), dtype=np.int64).reshape(-1, k)
    member_SN = np.zeros((len(chosen), n), dtype=bool)
    np.put_along_axis(member_SN, chosen, True, axis=1)
    return member_SN
