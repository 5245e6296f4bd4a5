"""Is the difference real? Intervals, paired tests and the power of a comparison, with clusters of questions as the unit.

Questions that share an image, a video or a source are one cluster; an empty name means alone, as in `Question.cluster`.
Resampling clusters already contains the noise of sampling, since every question brings its own. Intervals by bootstrap or by t
cover about 90 % in place of 95 % with 8 to 15 clusters and 94 % with 30, which is why every interval says how many it had.

Axes: Q questions, C clusters, K columns (budgets, methods), D draws.
"""

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import ArrayLike, NDArray

FloatArray = NDArray[np.float64]

DRAWS = 10_000
LEVEL = 0.95
FEW = 5
"""Clusters below which a bootstrap of what departs from a bound is a bootstrap of next to nothing."""
ROUNDING = 1e-12
"""A question this near to a bound is at it: an expectation of credits that are all 1 may end beside 1."""
CELLS = 1 << 18
"""Random numbers held at once: a block should fit into the cache."""


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over questions and what can be said about it."""

    mean: float
    low: float
    high: float
    clusters: int
    """Independent units behind it: below 30, read the interval as too narrow."""
    method: str
    """`bootstrap`, `t`, `clopper-pearson` (or wider), or `vacuous` where a single cluster says nothing."""


def cluster_sums(values_QK: ArrayLike, clusters: Sequence[Hashable]) -> tuple[FloatArray, FloatArray]:
    """sums_CK of the values in each cluster, and sizes_C."""
    table_QK = np.asarray(values_QK, dtype=float)
    if table_QK.ndim != 2 or len(table_QK) != len(clusters) or not len(clusters):
        raise ValueError(f"one row of values per question is needed: {table_QK.shape} values, {len(clusters)} clusters")
    number: dict[Hashable, int] = {}
    code_Q = np.array([number.setdefault((i,) if name == "" else name, len(number)) for i, name in enumerate(clusters)])
    sums_CK = np.zeros((len(number), table_QK.shape[1]))
    np.add.at(sums_CK, code_Q, table_QK)
    return sums_CK, np.bincount(code_Q).astype(float)


def bootstrap_means(values_QK: ArrayLike, clusters: Sequence[Hashable], *, draws: int = DRAWS, seed: int = 0) -> FloatArray:
    """means_DK: in each draw, as many clusters as there are, with replacement, and the mean over their questions.

    All columns share the drawn clusters, so differences between columns are paired.
    """
    sums_CK, sizes_C = cluster_sums(values_QK, clusters)
    blocks = resamples(len(sizes_C), draws=draws, seed=seed)
    return np.concatenate([(times_DC @ sums_CK) / (times_DC @ sizes_C)[:, None] for times_DC in blocks])


def resamples(count: int, *, draws: int = DRAWS, seed: int = 0) -> Iterator[FloatArray]:
    """times_DC: how often each of `count` clusters is drawn, with replacement, as many as there are; block by block."""
    rng = np.random.default_rng(seed)
    most = max(1, CELLS // count)
    for start in range(0, draws, most):
        rows = min(most, draws - start)
        picks = rng.integers(0, count, (rows, count), dtype=np.int32) + np.arange(rows)[:, None] * count
        yield np.bincount(picks.ravel(), minlength=rows * count).reshape(rows, count).astype(float)


def intervals(
    values_QK: ArrayLike,
    clusters: Sequence[Hashable],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    level: float = LEVEL,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> list[Interval]:
    """One interval per column by percentile of the cluster bootstrap.

    Resamples know nothing that the sample lacks. Where fewer than `FEW` clusters carry all that departs from a bound (a level
    with all wrong, or nearly all), the interval is widened to Clopper-Pearson's over the clusters; one cluster alone says
    nothing, and gets the bounds.

    Args:
        bounds: the range of the values; (-1, 1) for differences.
    """
    sums_CK, sizes_C = cluster_sums(values_QK, clusters)
    count, mean_K = len(sizes_C), sums_CK.sum(axis=0) / sizes_C.sum()
    if count == 1:
        return [Interval(float(mean), *bounds, 1, "vacuous") for mean in mean_K]
    tail = 100 * (1 - level) / 2
    low_K, high_K = np.percentile(bootstrap_means(values_QK, clusters, draws=draws, seed=seed), [tail, 100 - tail], axis=0)
    few_K = _carriers(sums_CK, sizes_C) < FEW if bounds == (0.0, 1.0) else np.zeros(len(mean_K), dtype=bool)
    out = []
    for mean, low, high, few in zip(mean_K.tolist(), low_K.tolist(), high_K.tolist(), few_K, strict=True):
        if few:
            least, most = clopper_pearson(count * min(mean, 1.0), count, level=level)
            out.append(Interval(mean, min(low, least), max(high, most), count, "clopper-pearson"))
        else:
            out.append(Interval(mean, low, high, count, "bootstrap"))
    return out


def _carriers(sums_CK: FloatArray, sizes_C: FloatArray) -> FloatArray:
    """How many clusters carry what departs from the nearer bound, 0 or 1: as many equal ones would have such squares."""
    found_K = np.full(sums_CK.shape[1], np.inf)
    for departure_CK in (sums_CK, sizes_C[:, None] - sums_CK):
        departure_CK = np.where(departure_CK > ROUNDING * sizes_C[:, None], departure_CK, 0.0)
        squares_K = (departure_CK**2).sum(axis=0)
        share_K = np.divide(departure_CK.sum(axis=0) ** 2, squares_K, out=np.zeros_like(squares_K), where=squares_K > 0)
        found_K = np.minimum(found_K, share_K)
    return found_K


def interval(
    values: ArrayLike, clusters: Sequence[Hashable], *, draws: int = DRAWS, seed: int = 0, level: float = LEVEL
) -> Interval:
    """`intervals` of one column of credits in [0, 1]."""
    return intervals(np.asarray(values, dtype=float)[:, None], clusters, draws=draws, seed=seed, level=level)[0]


def clopper_pearson(right: float, n: int, *, level: float = LEVEL) -> tuple[float, float]:
    """Exact interval of a proportion: 0 of 20 allows up to 0.168. Between whole numbers it goes on smoothly."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    low = 0.0 if right == 0 else float(betaincinv(right, n - right + 1, tail))
    high = 1.0 if right == n else float(betaincinv(right + 1, n - right, 1 - tail))
    return low, high


def standard_error(values: ArrayLike, clusters: Sequence[Hashable]) -> float:
    """Cluster-robust standard error of the mean over questions. Raises ValueError for fewer than two clusters."""
    sums_CK, sizes_C = cluster_sums(np.asarray(values, dtype=float)[:, None], clusters)
    count, total = len(sizes_C), sizes_C.sum()
    if count < 2:
        raise ValueError("a standard error needs at least two clusters of questions")
    residual_C = sums_CK[:, 0] - sums_CK.sum() / total * sizes_C
    return float(np.sqrt(count / (count - 1) * (residual_C**2).sum()) / total)


def t_interval(values: ArrayLike, clusters: Sequence[Hashable], *, level: float = LEVEL) -> Interval:
    """Mean and cluster-robust standard error times the t quantile with one degree of freedom less than clusters."""
    from scipy.special import stdtrit

    column = np.asarray(values, dtype=float)
    count = len(cluster_sums(column[:, None], clusters)[1])
    half = standard_error(column, clusters) * float(stdtrit(count - 1, (1 + level) / 2))
    mean = float(column.mean())
    return Interval(mean, mean - half, mean + half, count, "t")


def sign_flip_p(differences: ArrayLike, clusters: Sequence[Hashable], *, draws: int = DRAWS, seed: int = 0) -> float:
    """Two-sided p-value of paired differences under random signs, one sign per cluster.

    A sign per question would reject far too often where questions of a cluster go together.
    """
    sums_CK, _ = cluster_sums(np.asarray(differences, dtype=float)[:, None], clusters)
    sums_C = sums_CK[:, 0]
    # equal sums in another order must count as equal
    observed = abs(sums_C.sum()) - 1e-12 * np.abs(sums_C).sum()
    rng, extreme = np.random.default_rng(seed), 0
    rows = max(1, CELLS // len(sums_C))
    for start in range(0, draws, rows):
        heads_DC = rng.integers(0, 2, (min(rows, draws - start), len(sums_C)), dtype=np.int8)
        extreme += int((np.abs(2 * (heads_DC @ sums_C) - sums_C.sum()) >= observed).sum())
    return (1 + extreme) / (1 + draws)


@dataclass(frozen=True, slots=True)
class PairedDifference:
    """Method against method on the same questions."""

    interval: Interval
    """Of the first minus the second."""
    p_value: float
    """By sign flips of clusters; adjust with `holm` over the family compared."""
    detectable: float | None
    """Smallest true difference that a comparison of this size would show; None with a single cluster, or where no two questions
    differ: nothing is then known of the spread."""


def paired_difference(
    first: ArrayLike, second: ArrayLike, clusters: Sequence[Hashable], *, draws: int = DRAWS, seed: int = 0
) -> PairedDifference:
    """Compare two methods by their credits on the same questions."""
    differences = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    spread = intervals(differences[:, None], clusters, draws=draws, seed=seed, bounds=(-1.0, 1.0))[0]
    detectable = detectable_difference(differences, clusters) if spread.clusters > 1 else 0.0
    return PairedDifference(spread, sign_flip_p(differences, clusters, draws=draws, seed=seed), detectable or None)


def detectable_difference(differences: ArrayLike, clusters: Sequence[Hashable]) -> float:
    """Smallest difference found with power 0.8 at the 5 % level: 2.80 standard errors of the paired difference."""
    return 2.80 * standard_error(differences, clusters)


def mcnemar_p(first: ArrayLike, second: ArrayLike) -> float:
    """Exact two-sided McNemar test of two single 0/1 runs, for questions without clusters."""
    from scipy.stats import binomtest

    left, right = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if left.shape != right.shape or not np.isin(np.concatenate([left, right]), (0.0, 1.0)).all():
        raise ValueError("McNemar's test takes two runs of 0/1 credits on the same questions; use sign_flip_p otherwise")
    only_left, only_right = int((left > right).sum()), int((left < right).sum())
    return float(binomtest(only_left, only_left + only_right).pvalue) if only_left + only_right else 1.0


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values adjusted for the family, in the order given (Holm 1979): reject where at most the level."""
    adjusted, running = [0.0] * len(p_values), 0.0
    for rank, i in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        running = max(running, min(1.0, (len(p_values) - rank) * p_values[i]))
        adjusted[i] = running
    return adjusted


def curve_areas(costs: Sequence[Sequence[float]], values: Sequence[Sequence[float]]) -> list[float]:
    """One number per curve: its mean height over log2(cost), on the range of cost common to all curves compared.

    Raises ValueError where costs are not positive and rising, or where the curves have no range in common.
    """
    logs = []
    for row in costs:
        if min(row) <= 0 or any(right <= left for left, right in pairwise(row)):
            raise ValueError(f"costs of a curve must be positive and rising: {list(row)}")
        logs.append(np.log2(row))
    low, high = max(x[0] for x in logs), min(x[-1] for x in logs)
    if low >= high:
        raise ValueError("the curves share no range of cost, so their areas cannot be compared; extend the cheaper one")
    return [
        float(area_weights(row, 2**low, 2**high) @ np.asarray(y, dtype=float)) for row, y in zip(costs, values, strict=True)
    ]


def area_weights(costs: Sequence[float], begin: float, end: float) -> FloatArray:
    """weights_K of the heights of a curve in its area over log2(cost) from `begin` to `end`, divided by that range's width.

    The area is linear in the heights, so that the same weights serve every question and every resample.

    Args:
        costs: positive and rising, from `begin` or before to `end` or beyond.
    """
    x, low, high = np.log2(costs), np.log2(begin), np.log2(end)
    at = np.unique(np.concatenate([[low, high], x[(x > low) & (x < high)]]))
    heights_AK = np.stack([np.interp(at, x, unit) for unit in np.eye(len(x))], axis=1)
    return np.trapezoid(heights_AK, at, axis=0) / (high - low)
