"""Permutations of a question's samples, shared by all methods and budgets: the first k of each is a fresh run of k samples.

Axes: Q questions, M permutations, N samples.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

DEFAULT_PERMUTATIONS = 1000


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over questions and the error that permuting, instead of enumerating, left in it."""

    value: float
    standard_error: float
    """Of the permutations alone, 0 where the value is exact; it says nothing about other questions."""


def permutations(n: int, *, count: int = DEFAULT_PERMUTATIONS, seed: int = 0, stream: int = 0) -> NDArray[np.int64]:
    """orders_MN: `count` random orders of n samples.

    Args:
        stream: number of the question, so that questions are permuted independently while all methods and budgets share `seed`.
    """
    orders_MN = np.tile(np.arange(n), (count, 1))
    return np.random.default_rng([seed, stream]).permuted(orders_MN, axis=1)


def estimate(credits_QM: Sequence[ArrayLike]) -> Estimate:
    """Mean over questions and permutations; its error from the means of single permutations, so that dependence counts."""
    means_M = np.mean(np.asarray(credits_QM, dtype=float), axis=0)
    if len(means_M) < 2:
        raise ValueError(f"a standard error needs at least 2 permutations, not {len(means_M)}")
    return Estimate(float(means_M.mean()), float(means_M.std(ddof=1) / np.sqrt(len(means_M))))
