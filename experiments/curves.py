"""Accuracy against compute, for all questions and for every value of a field such as the difficulty level.

    questions + exact outcomes per question and k -> Curves -> table, curves.json, the report page

Every mean is over all questions of a group: one without an outcome (an error) has credit 0 and stays in the denominator.
Definitions: design of losses and gaps after the identity 1 - acc = selection + budget + capability.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import TypeAdapter

from ttc.errors import UserError
from ttc.pool import Outcome
from ttc.records import Question

LEVELS = ("Easy", "Medium", "Hard")
DRAWS = 10_000

Outcomes = Mapping[str, Mapping[str, Sequence[tuple[int, Outcome]]]]
"""Strategy name -> question id -> (k, expectation at k), for the questions that have one."""


@dataclass(frozen=True, slots=True)
class Point:
    """One strategy at one budget on one group of questions. Costs are means per question over those with an outcome."""

    k: int
    accuracy: float
    """Mean expected credit over all questions of the group, in [0, 1]."""
    low: float
    high: float
    """95 % interval of the accuracy over resampled clusters of questions."""
    coverage: float
    """Mean probability that an answer is given, over all questions."""
    samples: float
    completion_tokens: float
    total_tokens: float
    """Prompt, once per question, and completion."""
    flops: float | None
    """None where a model's shape is unknown."""


@dataclass(frozen=True, slots=True)
class Curve:
    """One strategy on one group: points in order of k; empty where no question has an outcome."""

    strategy: str
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Loss:
    """Where the missing accuracy went: 1 - accuracy = selection + budget + capability."""

    strategy: str
    k: int
    accuracy: float
    selection: float
    """pass@k - accuracy: a right sample was there and was not chosen."""
    budget: float
    """pass@n - pass@k: a right sample comes only with more samples."""
    capability: float
    """1 - pass@n: none of the n samples is right."""


@dataclass(frozen=True, slots=True)
class Group:
    """The questions that have one value of one field."""

    field: str
    """Empty for all questions."""
    value: str
    questions: int
    clusters: int
    curves: tuple[Curve, ...]
    losses: tuple[Loss, ...]

    def points(self, strategy: str) -> tuple[Point, ...]:
        """The points of a strategy by name."""
        return next(curve.points for curve in self.curves if curve.strategy == strategy)


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
class Entrant:
    """A strategy of the run."""

    name: str
    oracle: str
    """The strategy with gold that reads the same samples; its own name for an oracle, empty where there is none."""
    errors: int
    """Questions without an outcome; they count as credit 0."""

    @property
    def uses_gold(self) -> bool:
        """True for an oracle, which is no method."""
        return self.name == self.oracle


@dataclass(frozen=True, slots=True)
class Curves:
    """All curves of a run. `groups` starts with all questions, then each field's values in order."""

    fields: tuple[str, ...]
    entrants: tuple[Entrant, ...]
    groups: tuple[Group, ...]
    gaps: tuple[Gap, ...]
    """Easy minus Hard, by strategy; empty where the exam has no such levels."""
    draws: int
    """Resamples behind each interval."""
    seed: int

    @property
    def overall(self) -> Group:
        """All questions."""
        return self.groups[0]

    def by(self, field: str) -> tuple[Group, ...]:
        """The groups of one field. Raises UserError naming the fields there are."""
        if field not in self.fields:
            raise UserError(f"the curves have no groups by {field!r}; fields computed: {', '.join(self.fields) or 'none'}")
        return tuple(group for group in self.groups if group.field == field)

    def to_json(self) -> str:
        """The text of `curves.json`."""
        return TypeAdapter(Curves).dump_json(self, indent=1).decode()

    @staticmethod
    def from_json(text: str) -> "Curves":
        """Read `curves.json` back."""
        return TypeAdapter(Curves).validate_json(text)


def values_of(question: Question, field: str) -> tuple[str, ...]:
    """The values of a field, none or several; a question with several counts once under each."""
    value = question.fields.get(field, ())
    return (value,) if isinstance(value, str) else tuple(dict.fromkeys(value))


def level_order(value: str) -> tuple[int, str]:
    """Sort key: Easy, Medium, Hard, then everything else by name."""
    return (LEVELS.index(value) if value in LEVELS else len(LEVELS), value)


def curves(
    questions: Sequence[Question],
    outcomes: Outcomes,
    *,
    by: Sequence[str] = ("topic_difficulty",),
    oracles: Mapping[str, str] | None = None,
    seed: int = 0,
    draws: int = DRAWS,
) -> Curves:
    """Curves with intervals, losses and gaps of every strategy.

    Args:
        questions: all questions of the run, those without an outcome too.
        outcomes: exact expectations; a strategy's curve has the ks that all its questions have.
        by: fields whose values get curves of their own.
        oracles: for each strategy that has one, the oracle over the same samples (an oracle is its own); only these get losses.
        seed: of the resamples.
        draws: resamples of the clusters per group.

    Raises:
        UserError: no question has a field named in `by`.
    """
    by = tuple(dict.fromkeys(by))
    for field in by:
        if not any(values_of(question, field) for question in questions):
            known = sorted({name for question in questions for name in question.fields})
            raise UserError(f"no question has the field {field!r}; fields there are: {', '.join(known) or 'none'}")
    oracles = oracles or {}
    panel = _Panel.build(questions, outcomes)
    groups = [panel.group("", "all", np.arange(len(questions)), oracles, draws, seed)]
    levels: dict[str, np.ndarray] = {}
    for field in by:
        rows: dict[str, list[int]] = {}
        for row, question in enumerate(questions):
            for value in values_of(question, field):
                rows.setdefault(value, []).append(row)
        groups += [
            panel.group(field, value, np.array(rows[value]), oracles, draws, seed) for value in sorted(rows, key=level_order)
        ]
        if not levels and {LEVELS[0], LEVELS[-1]} <= rows.keys():
            levels = {value: np.array(rows[value]) for value in (LEVELS[0], LEVELS[-1])}
    entrants = tuple(
        Entrant(name, oracles.get(name, ""), sum(question.id not in found for question in questions))
        for name, found in outcomes.items()
    )
    gaps = panel.gaps(levels[LEVELS[0]], levels[LEVELS[-1]], draws, seed) if levels else ()
    return Curves(by, entrants, tuple(groups), gaps, draws, seed)


_COSTS = ("samples", "prompt_tokens", "completion_tokens", "flops")


@dataclass(frozen=True, slots=True)
class _Panel:
    """Outcomes as arrays. Q questions, C columns: every (strategy, k)."""

    clusters: list[str]
    columns: Mapping[str, Mapping[int, int]]
    """Strategy -> k -> column."""
    credit_QC: np.ndarray
    coverage_QC: np.ndarray
    costs: Mapping[str, np.ndarray]
    """By cost, QC; NaN where a question has no outcome, and for unknown FLOPs."""

    @classmethod
    def build(cls, questions: Sequence[Question], outcomes: Outcomes) -> "_Panel":
        shared = {
            name: sorted(set.intersection(*({k for k, _ in found} for found in by_id.values()))) if by_id else []
            for name, by_id in outcomes.items()
        }
        columns: dict[str, dict[int, int]] = {}
        for name, ks in shared.items():
            start = sum(map(len, columns.values()))
            columns[name] = {k: start + offset for offset, k in enumerate(ks)}
        shape = (len(questions), sum(map(len, columns.values())))
        credit, coverage = np.zeros(shape), np.zeros(shape)
        costs = {cost: np.full(shape, np.nan) for cost in _COSTS}
        for name, by_id in outcomes.items():
            for row, question in enumerate(questions):
                for k, outcome in by_id.get(question.id, ()):
                    if (column := columns[name].get(k)) is None:
                        continue
                    credit[row, column], coverage[row, column] = outcome.credit, outcome.coverage
                    for cost in _COSTS:
                        value = getattr(outcome, cost)
                        costs[cost][row, column] = np.nan if value is None else value
        return cls([question.cluster or question.id for question in questions], columns, credit, coverage, costs)

    def group(self, field: str, value: str, rows: np.ndarray, oracles: Mapping[str, str], draws: int, seed: int) -> Group:
        clusters = [self.clusters[row] for row in rows]
        credit_QC = self.credit_QC[rows]
        low_C, high_C = _intervals(credit_QC, clusters, draws, seed)
        accuracy_C, coverage_C = credit_QC.mean(axis=0), self.coverage_QC[rows].mean(axis=0)
        cost_C = {cost: self._mean_cost(cost, rows) for cost in _COSTS}
        found = []
        for name, columns in self.columns.items():
            points = tuple(
                Point(
                    k=k,
                    accuracy=float(accuracy_C[c]),
                    low=float(low_C[c]),
                    high=float(high_C[c]),
                    coverage=float(coverage_C[c]),
                    samples=float(cost_C["samples"][c]),
                    completion_tokens=float(cost_C["completion_tokens"][c]),
                    total_tokens=float(cost_C["prompt_tokens"][c] + cost_C["completion_tokens"][c]),
                    flops=None if np.isnan(cost_C["flops"][c]) else float(cost_C["flops"][c]),
                )
                for k, c in columns.items()
            )
            found.append(Curve(name, points))
        return Group(field, value, len(rows), len(set(clusters)), tuple(found), _losses(found, oracles))

    def gaps(self, easy: np.ndarray, hard: np.ndarray, draws: int, seed: int) -> tuple[Gap, ...]:
        """One resample of the clusters of both levels serves every strategy and k, so differences are paired."""
        level_Q2 = np.zeros((len(self.clusters), 2))
        level_Q2[easy, 0] = level_Q2[hard, 1] = 1
        rows = np.flatnonzero(level_Q2.any(axis=1))
        weighted = np.hstack(
            [level_Q2[rows], self.credit_QC[rows] * level_Q2[rows, :1], self.credit_QC[rows] * level_Q2[rows, 1:]]
        )
        sums_RX = _resampled_sums(weighted, [self.clusters[row] for row in rows], draws, seed)
        sums_RX = sums_RX[(sums_RX[:, :2] > 0).all(axis=1)]  # a resample without one of the levels says nothing
        easy_RC, hard_RC = np.split(sums_RX[:, 2:], 2, axis=1)
        gap_RC = easy_RC / sums_RX[:, :1] - hard_RC / sums_RX[:, 1:2]
        gap_C = self.credit_QC[easy].mean(axis=0) - self.credit_QC[hard].mean(axis=0)
        low_C, high_C = np.quantile(gap_RC, _TAILS, axis=0)
        found = []
        for name, columns in self.columns.items():
            if columns:
                (first, a), (last, b) = min(columns.items()), max(columns.items())
                low, high = np.quantile(gap_RC[:, b] - gap_RC[:, a], _TAILS)
                change = Change(first, last, float(gap_C[b] - gap_C[a]), float(low), float(high))
                points = tuple(Difference(k, float(gap_C[c]), float(low_C[c]), float(high_C[c])) for k, c in columns.items())
                found.append(Gap(name, points, change if first < last else None))
        return tuple(found)

    def _mean_cost(self, cost: str, rows: np.ndarray) -> np.ndarray:
        present_QC = ~np.isnan(self.costs["samples"][rows])
        total_C = np.where(present_QC, self.costs[cost][rows], 0.0).sum(axis=0)
        return total_C / np.maximum(present_QC.sum(axis=0), 1)


_TAILS = (0.025, 0.975)
_CHUNK = 1_000


def _resampled_sums(values_QC: np.ndarray, clusters: Sequence[str], draws: int, seed: int) -> np.ndarray:
    """Column sums over `draws` resamples of whole clusters with replacement, RC. All columns share the resamples."""
    names, member_Q = np.unique(np.array(clusters), return_inverse=True)
    size = len(names)
    sums_GC = np.zeros((size, values_QC.shape[1]))
    np.add.at(sums_GC, member_Q, values_QC)
    generator = np.random.default_rng(seed)
    parts = []
    for start in range(0, draws, _CHUNK):  # counts for all draws at once would fill the memory of a laptop
        rows = min(_CHUNK, draws - start)
        picks = generator.integers(0, size, (rows, size)) + size * np.arange(rows)[:, None]
        parts.append(np.bincount(picks.ravel(), minlength=rows * size).reshape(rows, size).astype(float) @ sums_GC)
    return np.concatenate(parts)


def _intervals(values_QC: np.ndarray, clusters: Sequence[str], draws: int, seed: int) -> np.ndarray:
    """Low and high of the 95 % interval of each column's mean; exact for columns that are all 0 or all 1."""
    ones = np.ones((len(values_QC), 1))
    sums_RX = _resampled_sums(np.hstack([values_QC, ones]), clusters, draws, seed)
    low_C, high_C = np.quantile(sums_RX[:, :-1] / sums_RX[:, -1:], _TAILS, axis=0)
    # Every resample of a constant column is the same: Clopper-Pearson over the clusters instead of an interval of width 0.
    tail = _TAILS[0] ** (1 / len(set(clusters)))
    high_C[(values_QC == 0).all(axis=0)] = 1 - tail
    low_C[(values_QC == 1).all(axis=0)] = tail
    return np.stack([low_C, high_C])


def _losses(found: Sequence[Curve], oracles: Mapping[str, str]) -> tuple[Loss, ...]:
    """Losses of every strategy at the ks that it shares with its oracle."""
    points = {curve.strategy: curve.points for curve in found}
    losses = []
    for name, oracle in oracles.items():
        ceiling = {point.k: point.accuracy for point in points.get(oracle, ())}
        if name == oracle or not ceiling:
            continue
        best = ceiling[max(ceiling)]
        for point in points.get(name, ()):
            if point.k in ceiling:
                reach = ceiling[point.k]
                losses.append(Loss(name, point.k, point.accuracy, reach - point.accuracy, best - reach, 1 - best))
    return tuple(losses)
