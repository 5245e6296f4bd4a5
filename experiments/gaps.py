"""The gap between an easy and a hard level along a strategy's curve, at equal k and at equal compute on any axis.

Replies to hard questions are longer, so that equal k is not equal compute: at equal compute the easy level is further along.

Q questions, C columns: every (strategy, k), D draws, K budgets of one strategy.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from experiments.axes import COSTS
from experiments.panel import Panel
from ttc import statistics

TAILS = (0.025, 0.975)
"""Quantiles that a 95 % interval of resamples lies between."""

Scale = Literal["accuracy", "logits"]


@dataclass(frozen=True, slots=True)
class Estimate:
    """A number with its 95 % interval over resampled clusters of questions."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, value: float, draws_D: np.ndarray) -> "Estimate":
        """A value with the spread of its resamples."""
        return cls(float(value), *map(float, np.quantile(draws_D, TAILS)))


@dataclass(frozen=True, slots=True)
class Difference:
    """Accuracy on the easiest level minus accuracy on the hardest at equal k, with its 95 % interval."""

    k: int
    gap: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Change:
    """gap(last k) - gap(first k), paired by resample, with its 95 % interval. Below 0 the gap narrows."""

    first: int
    last: int
    change: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Gap:
    """Does the gap between the levels narrow with compute?"""

    strategy: str
    points: tuple[Difference, ...]
    change: Change | None
    """None for a strategy with one k."""


@dataclass(frozen=True, slots=True)
class LevelGap:
    """The easiest level minus the hardest, along one strategy's curve."""

    strategy: str
    axis: str
    """`samples`: both levels at the same k. Any other: both at the same mean cost per question, between two k by a straight
    line over the logarithm of the cost."""
    scale: Scale
    """`logits`: log odds of the levels' accuracies, half a question added to both sides: an easy level has a ceiling."""
    at: tuple[float, ...]
    """k, or the cost, in rising order."""
    gaps: tuple[Estimate, ...]
    change: Estimate | None
    """Last gap minus first, paired by resample: below 0 the gap narrows. None for a single budget."""


def gaps_at_equal_k(found: Iterable[LevelGap]) -> tuple[Gap, ...]:
    """Those of level gaps that are in accuracy and on the axis of samples."""
    gaps = []
    for one in found:
        if (one.axis, one.scale) == ("samples", "accuracy"):
            points = tuple(Difference(int(k), at.value, at.low, at.high) for k, at in zip(one.at, one.gaps, strict=True))
            change = one.change and Change(points[0].k, points[-1].k, one.change.value, one.change.low, one.change.high)
            gaps.append(Gap(one.strategy, points, change))
    return tuple(gaps)


def level_gaps(
    panel: Panel,
    easy: Sequence[int],
    hard: Sequence[int],
    *,
    skip: Collection[str] = (),
    axes: Sequence[str] = ("samples", *COSTS),
    scales: Sequence[Scale] = ("accuracy", "logits"),
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> tuple[LevelGap, ...]:
    """The gap of two groups of rows, for every strategy but those to skip, on the axes that are known for it."""
    kept = {name: at for name, at in panel.columns.items() if name not in skip}
    known = {axis: [name for name, at in kept.items() if _known(panel, at, axis)] for axis in axes}
    axes = [axis for axis in axes if known[axis]]
    # one pass for all axes: to resample costs more than to sum, and every difference is paired
    means = [_Means(panel, group, axes) for group in (easy, hard)]
    rows = sorted({*easy, *hard})
    clusters = [panel.clusters[row] for row in rows]
    table_QX = np.hstack([mean.table_QX for mean in means])[rows]
    drawn_DX = statistics.bootstrap_means(table_QX, clusters, draws=draws, seed=seed)
    width = means[0].table_QX.shape[1]
    drawn_DX = drawn_DX[(drawn_DX[:, [0, width]] > 0).all(axis=1)]  # a draw without one of the levels says nothing
    whole_X = table_QX.mean(axis=0)[None]
    found = []
    for name, at_k in kept.items():
        for axis in (axis for axis in axes if name in known[axis]):
            chosen = np.array(list(at_k.values()))
            lines = [[m.line(x_DX[:, i * width :], chosen, axis) for i, m in enumerate(means)] for x_DX in (whole_X, drawn_DX)]
            if not (at := _places(list(at_k), lines[0], axis)):
                continue  # the levels' curves share no range of this cost
            sides = [[line.heights(at, axis, list(at_k)) for line in pair] for pair in lines]
            found += [_gap(name, axis, scale, at, sides, len(easy), len(hard)) for scale in scales]
    return tuple(found)


def _known(panel: Panel, at: Mapping[int, int], axis: str) -> bool:
    """Whether there is a curve, and every question with an outcome has a cost on this axis."""
    columns = list(at.values())
    present_QC = ~np.isnan(panel.costs["samples"][:, columns])
    return bool(present_QC.any()) and not np.isnan(panel.costs[axis][:, columns][present_QC]).any()


@dataclass(frozen=True, slots=True)
class _Line:
    """One strategy on one level, in every draw."""

    accuracy_DK: np.ndarray
    cost_DK: np.ndarray

    def heights(self, at: Sequence[float], axis: str, ks: Sequence[int]) -> np.ndarray:
        """Accuracy at each place; beyond its ends a line goes on level."""
        if axis == "samples":
            return self.accuracy_DK[:, [ks.index(int(k)) for k in at]]
        if self.cost_DK.shape[1] == 1:
            return self.accuracy_DK
        log_DK, out = np.log2(np.maximum(self.cost_DK, 1e-300)), []
        for x in np.log2(at):
            left_D1 = np.clip((log_DK <= x).sum(axis=1) - 1, 0, log_DK.shape[1] - 2)[:, None]
            (x0, x1), (y0, y1) = (
                (np.take_along_axis(v, left_D1, 1), np.take_along_axis(v, left_D1 + 1, 1)) for v in (log_DK, self.accuracy_DK)
            )
            out.append(y0 + np.clip((x - x0) / np.maximum(x1 - x0, 1e-12), 0, 1) * (y1 - y0))
        return np.hstack(out)


class _Means:
    """Sums from which a resample's accuracy and costs on one level follow."""

    def __init__(self, panel: Panel, rows: Sequence[int], axes: Sequence[str]) -> None:
        member_Q1 = np.zeros((len(panel.clusters), 1))
        member_Q1[list(rows)] = 1
        present_QC = ~np.isnan(panel.costs["samples"]) * member_Q1
        costs = [np.nan_to_num(panel.costs[axis]) * member_Q1 for axis in axes]
        self._width = panel.credit_QC.shape[1]
        self._axes = list(axes)
        self.table_QX = np.hstack([member_Q1, panel.credit_QC * member_Q1, present_QC, *costs])

    def line(self, means_DX: np.ndarray, chosen: np.ndarray, axis: str) -> _Line:
        """One strategy's line from means of the table; `means_DX` starts with this level's columns."""
        parts = 0, 1, 2 + self._axes.index(axis)
        credit_DK, present_DK, cost_DK = (means_DX[:, 1 + part * self._width + chosen] for part in parts)
        return _Line(credit_DK / means_DX[:, :1], cost_DK / np.maximum(present_DK, 1e-12))


def _places(ks: Sequence[int], lines: Sequence[_Line], axis: str) -> list[float]:
    """Every k; or the hard level's cost at each k as far as the easy level goes, and the last cost that both reach."""
    if axis == "samples":
        return [float(k) for k in ks]
    easy_K, hard_K = (line.cost_DK[0] for line in lines)
    low, high = max(easy_K[0], hard_K[0]), min(easy_K[-1], hard_K[-1])
    return sorted({low, high, *(float(x) for x in hard_K if low <= x <= high)}) if low < high else []


def _gap(
    strategy: str, axis: str, scale: Scale, at: Sequence[float], sides: list[list[np.ndarray]], easy: int, hard: int
) -> LevelGap:
    """From accuracies of the whole and of the draws, of both levels."""
    if scale == "logits":
        sides = [[_log_odds(y_DK, count) for y_DK, count in zip(pair, (easy, hard), strict=True)] for pair in sides]
    whole_K, drawn_DK = sides[0][0][0] - sides[0][1][0], sides[1][0] - sides[1][1]
    gaps = tuple(Estimate.of(whole_K[i], drawn_DK[:, i]) for i in range(len(at)))
    change = Estimate.of(whole_K[-1] - whole_K[0], drawn_DK[:, -1] - drawn_DK[:, 0]) if len(at) > 1 else None
    return LevelGap(strategy, axis, scale, tuple(map(float, at)), gaps, change)


def _log_odds(accuracy: np.ndarray, questions: int) -> np.ndarray:
    return np.log((accuracy * questions + 0.5) / ((1 - accuracy) * questions + 0.5))
