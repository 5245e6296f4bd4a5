"""One number per curve: its mean accuracy over the logarithm of a cost, on the range that all curves compared have."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from experiments.axes import AXES
from experiments.panel import Panel
from ttc import statistics


@dataclass(frozen=True, slots=True)
class Area:
    """The area under one curve over log2(cost), divided by the width of the range; with its 95 % interval."""

    strategy: str
    axis: str
    area: float
    low: float
    high: float
    begin: float
    """Cost per question from which on all curves of this axis are there."""
    end: float


def areas(
    panel: Panel, rows: Sequence[int], *, skip: Collection[str] = (), draws: int = statistics.DRAWS, seed: int = 0
) -> tuple[Area, ...]:
    """On every axis, of the strategies with several budgets but those to skip; none where their curves share no range.

    An area is linear in the credits, hence exact where they are; its interval resamples questions at the costs as they are.
    """
    columns: list[np.ndarray] = []
    places: list[tuple[str, str, float, float]] = []
    for axis in AXES:
        curves = _curves(panel, rows, axis, skip)
        begin = max((costs[0] for costs, _ in curves.values()), default=0.0)
        end = min((costs[-1] for costs, _ in curves.values()), default=0.0)
        if not 0 < begin < end:
            continue
        for name, (costs, at) in curves.items():
            columns.append(panel.credit_QC[np.ix_(rows, at)] @ statistics.area_weights(costs, begin, end))
            places.append((name, axis, begin, end))
    if not places:
        return ()
    clusters = [panel.clusters[row] for row in rows]
    found = statistics.intervals(np.stack(columns, axis=1), clusters, draws=draws, seed=seed)
    return tuple(
        Area(name, axis, one.mean, one.low, one.high, begin, end)
        for (name, axis, begin, end), one in zip(places, found, strict=True)
    )


def _curves(panel: Panel, rows: Sequence[int], axis: str, skip: Collection[str]) -> Mapping[str, tuple[list[float], list[int]]]:
    """Costs and columns of the curves that rise on this axis: one whose cost does not grow with k has no area."""
    cost_C = panel.mean_cost(axis, rows)
    found = {}
    for name, at in panel.columns.items():
        columns = list(at.values())
        costs = cost_C[columns].tolist()
        if len(costs) > 1 and name not in skip and costs[0] > 0 and all(right > left for left, right in pairwise(costs)):
            found[name] = (costs, columns)
    return found
