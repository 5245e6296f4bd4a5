"""Choosing among the m best scored of k samples: which m those are, and how likely, exactly.

Axes: S sets of m samples, N samples, M permutations.
"""

from collections.abc import Sequence
from itertools import chain, combinations
from math import comb

import numpy as np
from numpy.typing import NDArray

from ttc.estimators.counting import require_budget


def ranks(scores: Sequence[float | None]) -> NDArray[np.int64]:
    """rank_N: 0 for the best score, equal ones sharing a rank; a sample without a score loses to any."""
    keys = [(score is not None, score or 0.0) for score in scores]
    number = {key: rank for rank, key in enumerate(sorted(set(keys), reverse=True))}
    return np.array([number[key] for key in keys], dtype=np.int64)


def sets_of_best(scores: Sequence[float | None], k: int, m: int) -> int:
    """How many sets `best_sets` goes through: C(n - k + m, m) where no scores are equal, else more. Raises as it does."""
    return comb(_reach(ranks(scores), k, m), m)


def _reach(rank_N: NDArray[np.int64], k: int, m: int) -> int:
    """How many samples can be among the m best of k: those with at least k - m others that are ranked no better."""
    n = len(rank_N)
    require_budget(k, n)
    if not 1 <= m <= k:
        raise ValueError(f"the {m} best of {k} samples: there must be 1 to {k}")
    ranked = np.sort(rank_N)
    return int(np.searchsorted(ranked, ranked[n - k + m - 1], side="right"))


def best_sets(scores: Sequence[float | None], k: int, m: int) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Every set that can be the m best of k samples, with its probability; ties at the last place are broken uniformly.

    A set with b members at the lowest of its scores stems from those choices of k that hold it, c others of the same score,
    which lost b of b + c places by lot, and k - m - c of a lower one:

        P = sum_c C(ties - b, c) C(lower, k - m - c) / C(b + c, b) / C(n, k)

    Returns:
        member_SN and probability_S, which sums to 1.

    Raises:
        ValueError: k is not in 1..n, or m not in 1..k.
    """
    n, rank_N = len(scores), ranks(scores)
    within = np.argsort(rank_N, kind="stable")[: _reach(rank_N, k, m)]
    chosen = np.fromiter(chain.from_iterable(combinations(within, m)), dtype=np.int64).reshape(-1, m)
    worst_S = rank_N[chosen].max(axis=1)
    at_worst_S = (rank_N[chosen] == worst_S[:, None]).sum(axis=1)
    size_R = np.bincount(rank_N)
    known: dict[tuple[int, int], float] = {}
    for worst, b in {(int(w), int(b)) for w, b in zip(worst_S, at_worst_S, strict=True)}:
        ties, lower = int(size_R[worst]), int(size_R[worst + 1 :].sum())
        ways = sum(comb(ties - b, c) * comb(lower, k - m - c) / comb(b + c, b) for c in range(min(ties - b, k - m) + 1))
        known[worst, b] = ways / comb(n, k)
    probability_S = np.array([known[int(w), int(b)] for w, b in zip(worst_S, at_worst_S, strict=True)])
    member_SN = np.zeros((len(chosen), n), dtype=bool)
    np.put_along_axis(member_SN, chosen, True, axis=1)
    return member_SN[probability_S > 0], probability_S[probability_S > 0]


def best_of_orders(scores: Sequence[float | None], orders_MN: NDArray[np.int64], k: int, m: int) -> NDArray[np.bool_]:
    """member_MN: the m best of the first k of each permutation; ties go to the earlier, as in a live run."""
    require_budget(k, len(scores))
    first_MK = orders_MN[:, :k]
    rank_N = ranks(scores).astype(np.min_scalar_type(len(scores)))  # a stable sort of short integers goes by digits
    places_MK = np.argsort(rank_N[first_MK], axis=1, kind="stable")[:, :m]
    member_MN = np.zeros(orders_MN.shape, dtype=bool)
    np.put_along_axis(member_MN, np.take_along_axis(first_MK, places_MK, axis=1), True, axis=1)
    return member_MN
