"""Does a verifier reward length? Its scores against the number of steps, with right and wrong replies held apart.

Axes: N replies, H kinds of reply that are held apart, D draws.
"""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttc.statistics import Interval
from verifiers.metrics import Ranks, of_means

FloatArray = NDArray[np.float64]


def length_correlation(
    scores: ArrayLike, lengths: ArrayLike, apart: Sequence[Hashable], units: Sequence[Hashable], *, seed: int = 0
) -> Interval | None:
    """Spearman correlation of score and length given what is held apart, in [-1, 1]: pooled within replies that are alike.

    So long replies being wrong more often counts for nothing. None where scores or lengths do not vary.

    Args:
        apart: of each reply what must not count, such as whether its answer and its steps are right.
    """
    from scipy.stats import rankdata

    x_N, y_N = ((rankdata(np.asarray(values, dtype=float)) - 0.5) / len(apart) for values in (scores, lengths))
    member_NH = np.array([[one == kind for kind in dict.fromkeys(apart)] for one in apart], dtype=float)
    powers = [np.ones(len(apart)), x_N, y_N, x_N * x_N, y_N * y_N, x_N * y_N]
    columns_NK = np.hstack([member_NH * power[:, None] for power in powers])

    def correlation(mean_DK: FloatArray) -> FloatArray:
        n, x, y, xx, yy, xy = np.split(mean_DK, len(powers), axis=1)
        n = np.where(n == 0, 1, n)
        spread_x, spread_y, both = ((sums - a * b / n).sum(axis=1) for sums, a, b in ((xx, x, x), (yy, y, y), (xy, x, y)))
        flat = (spread_x < 1e-12) | (spread_y < 1e-12)
        return np.where(flat, np.nan, both / np.sqrt(np.where(flat, 1, spread_x * spread_y)))

    return of_means(columns_NK, units, correlation, seed=seed, bounds=(-1.0, 1.0))


def matched_auroc(right: ArrayLike, scores: ArrayLike, lengths: ArrayLike) -> float | None:
    """`auroc` over pairs of equal length alone; None where there is no such pair of a right and a wrong one."""
    right_N, score_N, length_N = np.asarray(right, dtype=bool), np.asarray(scores, dtype=float), np.asarray(lengths)
    won, pairs = 0.0, 0
    for length in np.unique(length_N):
        same = length_N == length
        count = int(right_N[same].sum()) * int((~right_N[same]).sum())
        if count:
            won += count * Ranks(right_N[same], score_N[same]).auroc()
            pairs += count
    return won / pairs if pairs else None
