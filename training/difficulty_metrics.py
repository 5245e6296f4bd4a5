"""How well levels are predicted: weighted kappa, errors in levels, rank correlation, each with an interval.

All but the rank correlation are functions of the confusion matrix, so one cluster bootstrap of its cells serves them all.

D draws, Q questions, L levels.
"""

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.agreement import kappa_of
from ttc import statistics
from ttc.statistics import Interval

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Quality:
    """Predicted levels against the true ones."""

    kappa: Interval
    """Quadratic weighted (Cohen 1968): 1 is perfect, 0 what chance with the same frequencies gives, or a constant."""
    mae: Interval
    """Mean distance in levels."""
    macro_mae: Interval
    """The mean over the true levels of their mean distances: a rare level counts as much as a common one."""
    spearman: Interval
    """Rank correlation of scores and levels; the ranks are those of the whole, not of each resample."""
    confusion: tuple[tuple[int, ...], ...]
    """Questions by true level, then by predicted level."""


def quality(
    true_Q: IntArray,
    predicted_Q: IntArray,
    scores_Q: FloatArray,
    clusters: Sequence[Hashable],
    *,
    levels: int,
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> Quality:
    """All measures of one predictor.

    Args:
        scores_Q: what was predicted before it was rounded to a level.
        clusters: questions that may be resampled together only.
    """
    cells = _cells(true_Q, predicted_Q, levels)
    ranks = _products(scores_Q, true_Q)
    drawn_DK = statistics.bootstrap_means(np.hstack([cells, ranks]), clusters, draws=draws, seed=seed)
    count = len(statistics.cluster_sums(cells, clusters)[1])

    def interval(measure: Callable[[FloatArray], FloatArray], whole: FloatArray, drawn: FloatArray) -> Interval:
        low, high = np.percentile(measure(drawn), [2.5, 97.5])
        return Interval(float(measure(whole)[0]), float(low), float(high), count, "bootstrap")

    share_DLL, whole_LL = (_matrix(part, levels) for part in (drawn_DK, cells.mean(axis=0)[None]))
    return Quality(
        kappa=interval(_weighted_kappa, whole_LL, share_DLL),
        mae=interval(_mae, whole_LL, share_DLL),
        macro_mae=interval(_macro_mae, whole_LL, share_DLL),
        spearman=interval(_correlation, ranks.mean(axis=0)[None], drawn_DK[:, levels * levels :]),
        confusion=tuple(tuple(row) for row in np.rint(whole_LL[0] * len(true_Q)).astype(int).tolist()),
    )


def kappa_difference(
    true_Q: IntArray,
    first_Q: IntArray,
    second_Q: IntArray,
    clusters: Sequence[Hashable],
    *,
    levels: int,
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> Interval:
    """Weighted kappa of the first predictor minus that of the second, paired over the same resamples."""
    cells = np.hstack([_cells(true_Q, one, levels) for one in (first_Q, second_Q)])
    drawn_DK = statistics.bootstrap_means(cells, clusters, draws=draws, seed=seed)

    def difference(share: FloatArray) -> FloatArray:
        first, second = (_weighted_kappa(_matrix(part, levels)) for part in np.hsplit(share, 2))
        return first - second

    low, high = np.percentile(difference(drawn_DK), [2.5, 97.5])
    mean = float(difference(cells.mean(axis=0)[None])[0])
    return Interval(mean, float(low), float(high), len(statistics.cluster_sums(cells, clusters)[1]), "bootstrap")


def _weighted_kappa(share_DLL: FloatArray) -> FloatArray:
    return kappa_of(share_DLL, level="ordinal")


def _mae(share_DLL: FloatArray) -> FloatArray:
    return (_distance(share_DLL) * share_DLL).sum(axis=(1, 2)) / share_DLL.sum(axis=(1, 2))


def _macro_mae(share_DLL: FloatArray) -> FloatArray:
    """Levels that a resample lacks are left out of its mean."""
    held_DL = share_DLL.sum(axis=2)
    missed_DL = np.divide(
        (_distance(share_DLL) * share_DLL).sum(axis=2), held_DL, out=np.zeros_like(held_DL), where=held_DL > 0
    )
    return missed_DL.sum(axis=1) / (held_DL > 0).sum(axis=1)


def _distance(share_DLL: FloatArray) -> IntArray:
    place = np.arange(share_DLL.shape[-1])
    return np.abs(place[:, None] - place)


def _cells(true_Q: IntArray, predicted_Q: IntArray, levels: int) -> FloatArray:
    """One column per cell of the confusion matrix, 1 where a question is in it."""
    return np.eye(levels * levels)[true_Q * levels + predicted_Q]


def _matrix(cells_DK: FloatArray, levels: int) -> FloatArray:
    return cells_DK[:, : levels * levels].reshape(-1, levels, levels)


def _products(scores_Q: FloatArray, true_Q: IntArray) -> FloatArray:
    """x, y, x^2, y^2 and xy of the ranks: their means give the correlation of any resample."""
    from scipy.stats import rankdata

    x, y = ((rankdata(column) - (len(true_Q) + 1) / 2) / len(true_Q) for column in (scores_Q, true_Q))
    return np.stack([x, y, x * x, y * y, x * y], axis=1)


def _correlation(means_D5: FloatArray) -> FloatArray:
    x, y, xx, yy, xy = means_D5.T
    spread = np.sqrt(np.maximum(xx - x * x, 0) * np.maximum(yy - y * y, 0))
    return np.where(spread > 1e-12, (xy - x * y) / np.where(spread > 1e-12, spread, 1), 0.0)
