"""Do those who label agree more than chance would? Cohen's kappa for two, Krippendorff's alpha for any number of them.

Both are functions of sums over units, so one cluster bootstrap of those sums gives their intervals.

Axes: U units (what is labelled), R raters, L labels, D draws.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ttc import statistics
from ttc.errors import UserError
from ttc.statistics import Interval

FloatArray = NDArray[np.float64]
Level = Literal["nominal", "ordinal"]


def kappa(
    first: Sequence[str],
    second: Sequence[str],
    labels: Sequence[str],
    *,
    level: Level = "nominal",
    clusters: Sequence[Hashable] | None = None,
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> Interval:
    """Cohen's kappa of two raters (Cohen 1960), quadratically weighted for ordered labels (Cohen 1968).

    1 is full agreement, 0 what raters with these frequencies reach by chance; 0 too where one of them says the same of all.

    Args:
        labels: all there are; in order where they have one.
        clusters: units of one cluster are resampled together; each alone where None.

    Raises:
        UserError: nothing that both labelled, or an unknown label.
    """
    table_RU = _numbers([first, second], labels)
    if not len(table_RU[0]) or (table_RU < 0).any():
        raise UserError(f"kappa takes two raters that labelled the same units: {len(first)} and {len(second)} labels")
    size = len(labels)
    cells_UK = np.eye(size * size)[table_RU[0] * size + table_RU[1]]

    def measure(mean_DK: FloatArray) -> FloatArray:
        return kappa_of(mean_DK.reshape(-1, size, size), level=level)

    return _interval(cells_UK, measure, clusters, draws, seed)


def kappa_of(share_DLL: FloatArray, *, level: Level = "nominal") -> FloatArray:
    """Kappa of each confusion matrix, in shares or counts; 0 where one side is constant, which agrees by chance alone."""
    size = share_DLL.shape[-1]
    place = np.arange(size)
    weight_LL = (place[:, None] - place) ** 2 if level == "ordinal" else 1.0 - np.eye(size)
    rows_DL, columns_DL = share_DLL.sum(axis=2), share_DLL.sum(axis=1)
    by_chance_DLL = rows_DL[:, :, None] * columns_DL[:, None, :] / share_DLL.sum(axis=(1, 2))[:, None, None]
    missed_D, expected_D = ((weight_LL * part).sum(axis=(1, 2)) for part in (share_DLL, by_chance_DLL))
    constant_D = np.minimum(np.count_nonzero(rows_DL, axis=1), np.count_nonzero(columns_DL, axis=1)) < 2
    return np.where(constant_D, 0.0, 1 - missed_D / np.where(constant_D, 1, expected_D))


def alpha(
    ratings: Sequence[Sequence[str | None]],
    labels: Sequence[str],
    *,
    level: Level = "nominal",
    clusters: Sequence[Hashable] | None = None,
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> Interval:
    """Krippendorff's alpha of any number of raters, each of whom may have left units out (Krippendorff 2004).

    Args:
        ratings: per rater one label or None for each unit.
        labels: all there are; in order where they have one.

    Raises:
        UserError: no unit that two labelled, or an unknown label.
    """
    table_RU = _numbers(ratings, labels)
    size = len(labels)
    counts_UL = np.stack([(table_RU == label).sum(axis=0) for label in range(size)], axis=1).astype(float)
    paired_U = counts_UL.sum(axis=1) > 1
    if not paired_U.any():
        raise UserError(f"alpha takes units that two raters labelled, and none of {table_RU.shape[1]} is")
    counts_UL = counts_UL[paired_U]
    pairs_ULL = counts_UL[:, :, None] * counts_UL[:, None, :]
    pairs_ULL -= counts_UL[:, :, None] * np.eye(size)  # nobody is paired with himself
    cells_UK = (pairs_ULL / (counts_UL.sum(axis=1) - 1)[:, None, None]).reshape(len(counts_UL), -1)
    total = len(counts_UL)

    def measure(mean_DK: FloatArray) -> FloatArray:
        return _alpha(total * mean_DK.reshape(-1, size, size), level)

    kept = None if clusters is None else [clusters[unit] for unit in np.flatnonzero(paired_U).tolist()]
    return _interval(cells_UK, measure, kept, draws, seed)


def _alpha(coincidence_DLL: FloatArray, level: Level) -> FloatArray:
    """Of each coincidence matrix; 0 where all labels are the same."""
    values_DL = coincidence_DLL.sum(axis=2)
    total_D = values_DL.sum(axis=1)
    distance_DLL = _distance(values_DL, level)
    observed_D = (distance_DLL * coincidence_DLL).sum(axis=(1, 2))
    expected_D = (distance_DLL * values_DL[:, :, None] * values_DL[:, None, :]).sum(axis=(1, 2)) / (total_D - 1)
    return np.where(expected_D > 0, 1 - observed_D / np.where(expected_D > 0, expected_D, 1), 0.0)


def _distance(values_DL: FloatArray, level: Level) -> FloatArray:
    """Squared distance of labels; of ordered ones, how many values lie between them, the two at the ends counted half."""
    if level == "nominal":
        return np.broadcast_to(1.0 - np.eye(values_DL.shape[1]), (*values_DL.shape, values_DL.shape[1]))
    middle_DL = np.cumsum(values_DL, axis=1) - values_DL / 2
    return (middle_DL[:, :, None] - middle_DL[:, None, :]) ** 2


def confusion(first: Sequence[str], second: Sequence[str], labels: Sequence[str]) -> tuple[tuple[int, ...], ...]:
    """How often the first said the row's label and the second the column's. Raises UserError for an unknown label."""
    table_RU = _numbers([first, second], labels)
    found = np.zeros((len(labels), len(labels)), dtype=int)
    np.add.at(found, (table_RU[0], table_RU[1]), 1)
    return tuple(tuple(row) for row in found.tolist())


def macro_f1(
    true: Sequence[str],
    found: Sequence[str],
    *,
    clusters: Sequence[Hashable] | None = None,
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> Interval:
    """Mean F1 of the kinds that are true of something here. Raises UserError where nothing is."""
    labels = sorted({*true, *found})
    table_RU = _numbers([true, found], labels)
    if not len(true):
        raise UserError("macro-F1 of no labels is undefined")
    kept_L = np.isin(labels, list(set(true)))
    size = len(labels)
    cells_UK = np.eye(size * size)[table_RU[0] * size + table_RU[1]]

    def measure(mean_DK: FloatArray) -> FloatArray:
        share_DLL = mean_DK.reshape(-1, size, size)
        both_DL = share_DLL.sum(axis=2) + share_DLL.sum(axis=1)
        right_DL = np.diagonal(share_DLL, axis1=1, axis2=2)
        f1_DL = np.divide(2 * right_DL, both_DL, out=np.zeros_like(both_DL), where=both_DL > 0)
        return f1_DL[:, kept_L].mean(axis=1)

    return _interval(cells_UK, measure, clusters, draws, seed)


def _numbers(ratings: Sequence[Sequence[str | None]], labels: Sequence[str]) -> NDArray[np.int64]:
    """table_RU: the place of each label, -1 where there is none."""
    if len({len(row) for row in ratings}) != 1:
        raise UserError(f"raters with {', '.join(str(len(row)) for row in ratings)} labels; each needs one, or None, a unit")
    place: dict[str | None, int] = {label: at for at, label in enumerate(labels)} | {None: -1}
    if unknown := {label for row in ratings for label in row} - place.keys():
        raise UserError(f"label {sorted(map(str, unknown))[0]!r} is none of {', '.join(labels)}")
    return np.array([[place[label] for label in row] for row in ratings], dtype=np.int64)


def _interval(
    cells_UK: FloatArray,
    measure: Callable[[FloatArray], FloatArray],
    clusters: Sequence[Hashable] | None,
    draws: int,
    seed: int,
) -> Interval:
    """The measure of the whole, and percentiles over resampled clusters of units."""
    groups = [""] * len(cells_UK) if clusters is None else clusters
    value = float(measure(cells_UK.mean(axis=0)[None])[0])
    count = len(statistics.cluster_sums(cells_UK, groups)[1])
    if count == 1:
        return Interval(value, -1.0, 1.0, 1, "vacuous")
    drawn_D = measure(statistics.bootstrap_means(cells_UK, groups, draws=draws, seed=seed))
    low, high = np.percentile(drawn_D, [2.5, 97.5])
    return Interval(value, float(low), float(high), count, "bootstrap")
