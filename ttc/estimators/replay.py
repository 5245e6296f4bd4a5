"""Permutations of a question's samples, shared by all methods and budgets: the first k of each is a fresh run of k samples.

Axes: M permutations, N samples.
"""

import numpy as np
from numpy.typing import NDArray

DEFAULT_PERMUTATIONS = 1000


def permutations(n: int, *, count: int = DEFAULT_PERMUTATIONS, seed: int = 0, stream: int = 0) -> NDArray[np.int64]:
    """orders_MN: `count` random orders of n samples.

    Args:
        stream: number of the question, so that questions are permuted independently while all methods and budgets share `seed`.
    """
    orders_MN = np.tile(np.arange(n), (count, 1))
    return np.random.default_rng([seed, stream]).permuted(orders_MN, axis=1)
