"""Accuracy against compute, for all questions and for every value of a field such as the difficulty level.

    questions + exact outcomes per question and k -> Curves -> table, curves.json, the report page

Every mean is over all questions of a group: one without an outcome (an error) has credit 0 and stays in the denominator.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from pydantic import TypeAdapter

from experiments.areas import Area, areas
from experiments.axes import COSTS
from experiments.gaps import Gap, LevelGap, gaps_at_equal_k, level_gaps
from experiments.panel import Outcomes, Panel
from experiments.risk import Risk
from experiments.tariffs import Tariffs
from ttc import statistics
from ttc.errors import UserError
from ttc.records import Question

LEVELS = ("Easy", "Medium", "Hard")


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
    completion_tokens: float | None
    """None where the engine did not count."""
    total_tokens: float | None
    """Prompt, once per question, completion, and verifier."""
    flops: float | None
    """None where a model's shape is unknown."""
    money: float | None = None
    """In the currency of the curves; None without prices, as the seconds are without speeds."""
    device_seconds: float | None = None
    path_tokens: float | None = None
    """On the critical path: what has to follow one another."""
    path_seconds: float | None = None


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
class Entrant:
    """A strategy of the run."""

    name: str
    oracle: str
    """The strategy with gold that reads the same samples; its own name for an oracle, empty where there is none."""
    errors: int
    """Questions without an outcome; they count as credit 0."""
    gold: bool = False
    """Its verifier knows the truth."""

    @property
    def uses_gold(self) -> bool:
        """True for what is no method: an oracle, or a strategy whose verifier knows the truth."""
        return self.gold or self.name == self.oracle


@dataclass(frozen=True, slots=True)
class Curves:
    """All curves of a run. `groups` starts with all questions, then each field's values in order."""

    fields: tuple[str, ...]
    entrants: tuple[Entrant, ...]
    groups: tuple[Group, ...]
    gaps: tuple[Gap, ...]
    """Easy minus Hard at equal k, by strategy; empty where the exam has no such levels."""
    draws: int
    """Resamples behind each interval."""
    seed: int
    matched: tuple[LevelGap, ...] = ()
    """Easy minus Hard at equal compute, by strategy and axis."""
    areas: tuple[Area, ...] = ()
    """Over all questions, by axis and strategy."""
    currency: str = ""
    """Of money; empty where none is known."""
    risks: tuple[Risk, ...] = ()
    """Risk against coverage of the strategies that one score decides, at every k over all questions, at the last by field."""

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


def check_fields(questions: Sequence[Question], fields: Iterable[str]) -> None:
    """Refuse a field that no question has, naming those there are."""
    for field in fields:
        if not any(question.values(field) for question in questions):
            known = sorted({name for question in questions for name in question.fields})
            raise UserError(f"no question has the field {field!r}; fields there are: {', '.join(known) or 'none'}")


def rows_of(questions: Sequence[Question], field: str) -> dict[str, list[int]]:
    """Value of a field -> numbers of the questions that have it, in the order of levels."""
    rows: dict[str, list[int]] = {}
    for row, question in enumerate(questions):
        for value in question.values(field):
            rows.setdefault(value, []).append(row)
    return {value: rows[value] for value in sorted(rows, key=level_order)}


def level_order(value: str) -> tuple[int, str]:
    """Sort key: Easy, Medium, Hard, then everything else by name."""
    return (LEVELS.index(value) if value in LEVELS else len(LEVELS), value)


def curves(
    questions: Sequence[Question],
    outcomes: Outcomes,
    *,
    by: Sequence[str] = ("topic_difficulty",),
    oracles: Mapping[str, str] | None = None,
    golds: Collection[str] = (),
    tariffs: Tariffs = Tariffs(),
    seed: int = 0,
    draws: int = statistics.DRAWS,
) -> Curves:
    """Curves with intervals, losses and gaps of every strategy.

    Args:
        questions: all questions of the run, those without an outcome too.
        outcomes: exact expectations; a strategy's curve has the ks that all its questions have.
        by: fields whose values get curves of their own.
        oracles: for each strategy that has one, the oracle over the same samples (an oracle is its own); only these get losses.
        golds: strategies that know the truth; like oracles they are no methods, and get no losses.
        tariffs: what the tokens of each strategy cost in money and seconds.
        seed: of the resamples.
        draws: resamples of the clusters per group.

    Raises:
        UserError: no question has a field named in `by`.
    """
    by = tuple(dict.fromkeys(by))
    check_fields(questions, by)
    oracles = oracles or {}
    ceilings = {name: oracle for name, oracle in oracles.items() if name not in golds}
    panel = Panel.build(questions, outcomes, tariffs.strategies)
    groups = [_group(panel, "", "all", range(len(questions)), ceilings, draws, seed)]
    gaps: tuple[Gap, ...] = ()
    matched: tuple[LevelGap, ...] = ()
    for field in by:
        rows = rows_of(questions, field)
        groups += [_group(panel, field, value, members, ceilings, draws, seed) for value, members in rows.items()]
        if not gaps and {"Easy", "Hard"} <= rows.keys():
            levels = rows["Easy"], rows["Hard"]
            both = level_gaps(panel, *levels, scales=("accuracy",), draws=draws, seed=seed)
            gaps, matched = gaps_at_equal_k(both), tuple(one for one in both if one.axis != "samples")
    entrants = tuple(
        Entrant(name, oracles.get(name, ""), sum(question.id not in found for question in questions), name in golds)
        for name, found in outcomes.items()
    )
    under = areas(panel, range(len(questions)), draws=draws, seed=seed)
    return Curves(by, entrants, tuple(groups), gaps, draws, seed, matched, under, tariffs.currency)


def _group(
    panel: Panel, field: str, value: str, rows: Sequence[int], oracles: Mapping[str, str], draws: int, seed: int
) -> Group:
    interval_C = panel.intervals(rows, draws=draws, seed=seed)
    coverage_C = panel.mean_coverage(rows)
    samples_C = panel.mean_cost("samples", rows)
    cost_C = {axis: panel.mean_cost(axis, rows) for axis in COSTS}
    found = []
    for name, columns in panel.columns.items():
        points = tuple(
            Point(
                k=k,
                accuracy=interval_C[c].mean,
                low=interval_C[c].low,
                high=interval_C[c].high,
                coverage=float(coverage_C[c]),
                samples=float(samples_C[c]),
                **{axis: _known(costs[c]) for axis, costs in cost_C.items()},
            )
            for k, c in columns.items()
        )
        found.append(Curve(name, points))
    return Group(field, value, len(rows), panel.clusters_of(rows), tuple(found), _losses(found, oracles))


def _known(cost: float) -> float | None:
    return None if np.isnan(cost) else float(cost)


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
