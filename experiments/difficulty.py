"""What difficulty does to compute: gaps between levels, what stays unsolved, and which budget suits which level.

Levels are a field of the data, or bins made from the samples. Bins judged on the samples that made them are biased: chance
alone puts a lucky question among the easy ones. So one half of a question's samples makes its bin and the other half is judged
there, and the reverse; each question is then two rows of one cluster, and everything else works as with levels of the data.

Q questions, C columns: every (strategy, k), D draws, K budgets of one strategy.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from pydantic import TypeAdapter

from experiments import folder
from experiments.curves import TAILS, Curves, curves, values_of
from experiments.halves import Halves
from experiments.panel import Outcomes, Panel
from experiments.policy import Policies, policies
from ttc import statistics
from ttc.errors import UserError
from ttc.records import Question

LEVEL = "topic_difficulty"
BIN = "difficulty_bin"
"""Field that holds a question's cross-fitted bin."""


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


Scale = Literal["accuracy", "logits"]
Axis = Literal["samples", "tokens"]


@dataclass(frozen=True, slots=True)
class Gap:
    """The easiest level minus the hardest, along one strategy's curve."""

    strategy: str
    axis: Axis
    """`samples`: both levels at the same k. `tokens`: both at the same mean tokens per question, prompt and verifier included,
    between two k by a straight line over log tokens."""
    scale: Scale
    """`logits`: log odds of the levels' accuracies, half a question added to both sides: an easy level has a ceiling."""
    at: tuple[float, ...]
    """k, or tokens, in rising order."""
    gaps: tuple[Estimate, ...]
    change: Estimate | None
    """Last gap minus first, paired by resample: below 0 the gap narrows. None for a single budget."""


@dataclass(frozen=True, slots=True)
class Unsolved:
    """Questions of a level without any right sample."""

    level: str
    questions: int
    share: Estimate
    n: int
    """Fewest samples that any of its questions had."""
    bound: float
    """Success rate that a question without a right one among n may still have, at 95 % confidence: 0.046 for 64."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """The whole analysis of one run."""

    levels: tuple[str, ...]
    """From the easiest to the hardest."""
    source: str
    """The field that the levels come from; `difficulty_bin` for cross-fitted bins."""
    curves: Curves
    """Accuracy and losses by level."""
    gaps: tuple[Gap, ...]
    unsolved: tuple[Unsolved, ...]
    policies: Policies | None
    """None where no strategy has two samples."""

    def to_json(self) -> str:
        """For other programs."""
        return TypeAdapter(Difficulty).dump_json(self, indent=1).decode()


def analyse(run: Path, *, by: str = "", bins: int = 0, draws: int = statistics.DRAWS, seed: int = 0) -> Difficulty:
    """Analyse a finished run; nothing is drawn.

    Args:
        by: the field with the levels; topic_difficulty where the data have it and `bins` is 0.
        bins: number of cross-fitted bins; 5 where there are no levels.

    Raises:
        UserError: no such field, both given, or too few samples for halves.
    """
    if by and bins:
        raise UserError(f"--by {by} --bins {bins}: levels come from a field or from bins; give one of them")
    asked, outcomes = folder.read_outcomes(run)
    halves, credits = folder.read_halves(run), folder.read_credits(run)
    facts = folder.read_manifest(run)["strategies"]
    golds = frozenset(name for name, strategy in facts.items() if strategy["uses_gold"])
    oracles = {name: strategy["oracle"] for name, strategy in facts.items() if strategy["oracle"]}
    questions, field = asked, by or ("" if bins or not any(values_of(q, LEVEL) for q in asked) else LEVEL)
    if field:
        labels = {q.id: values[0] for q in asked if (values := values_of(q, field))}
        levels = labels, labels
    else:
        field, levels = BIN, crossfit(asked, credits, bins or 5)
        questions, outcomes, credits = doubled(asked, halves, credits, levels)
    found = curves(
        questions, outcomes, by=(field,), oracles=oracles, golds=golds - set(oracles.values()), draws=draws, seed=seed
    )
    names = tuple(group.value for group in found.by(field))
    rows = {level: [row for row, q in enumerate(questions) if level in values_of(q, field)] for level in names}
    easy, hard = ("Easy", "Hard") if {"Easy", "Hard"} <= rows.keys() else (names[0], names[-1])
    panel = Panel.build(questions, outcomes)
    gaps = level_gaps(panel, rows[easy], rows[hard], skip=golds, draws=draws, seed=seed) if easy != hard else ()
    stuck = tuple(unsolved([questions[row] for row in rows[level]], credits, level) for level in names)
    return Difficulty(names, field, found, gaps, stuck, policies(asked, halves, levels, golds, draws=draws, seed=seed))


Levels = tuple[Mapping[str, str], Mapping[str, str]]
"""For judging on the first and on the second half: question id -> level."""


def crossfit(questions: Sequence[Question], credits: Mapping[str, Sequence[float]], bins: int) -> Levels:
    """Bins of equal size for judging on one half of the samples, each made from the other half.

    Args:
        credits: of the samples of each question, in index order; a question without any counts as never solved.
    """
    halves = [{q.id: credits.get(q.id, ())[which::2] for q in questions} for which in (1, 0)]
    if min((len(column) for half in halves for i, column in half.items() if i in credits), default=0) < 1:
        raise UserError("bins need two samples of every question; add a strategy with a larger n, or give a field of the data")
    first, second = (binned({i: sum(c) / max(len(c), 1) for i, c in half.items()}, bins) for half in halves)
    return first, second


def binned(rates: Mapping[str, float], bins: int) -> dict[str, str]:
    """Question id -> bin, by falling rate of success; ties go by a hash of the id, hence not by the order of the data."""
    ranked = sorted(rates, key=lambda i: (-rates[i], hashlib.sha256(i.encode()).digest()))
    words = {0: " (easiest)", bins - 1: " (hardest)"}
    return {i: f"{(b := rank * bins // len(ranked)) + 1}{words.get(b, '')}" for rank, i in enumerate(ranked)}


def doubled(
    questions: Sequence[Question], halves: Halves, credits: Mapping[str, Sequence[float]], levels: Levels
) -> tuple[list[Question], Outcomes, dict[str, Sequence[float]]]:
    """Every question twice, as a cluster: under the bin that one half gave it, with the outcomes of the other."""
    twice, outcomes, tries = [], {name: {} for name in halves.outcomes[0]}, {}
    for half in (0, 1):
        for question in questions:
            name = f"{question.id} half {half}"
            cluster = question.cluster or f"alone {question.id}"
            twice.append(replace(question, id=name, cluster=cluster, fields={BIN: levels[half][question.id]}))
            tries[name] = credits.get(question.id, ())[half::2]
            for strategy, by_id in halves.outcomes[half].items():
                if question.id in by_id:
                    outcomes[strategy][name] = by_id[question.id]
    return twice, outcomes, tries


def level_gaps(
    panel: Panel, easy: Sequence[int], hard: Sequence[int], *, skip: frozenset[str], draws: int, seed: int
) -> tuple[Gap, ...]:
    """The gap of two groups of rows on both axes and scales, for every strategy but those to skip."""
    means = [_Means(panel, group) for group in (easy, hard)]
    table_QX = np.hstack([mean.table_QX for mean in means])
    drawn_DX = statistics.bootstrap_means(
        table_QX, [name or f"alone {row}" for row, name in enumerate(panel.clusters)], draws=draws, seed=seed
    )
    whole_X = table_QX.mean(axis=0)[None]
    columns_X = len(means[0].table_QX[0])
    drawn_DX = drawn_DX[(drawn_DX[:, [0, columns_X]] > 0).all(axis=1)]  # a draw without one of the levels says nothing
    found = []
    for name, columns in panel.columns.items():
        if name in skip or not columns:
            continue
        for axis in ("samples", "tokens"):
            lines = [[m.line(x_DX[:, i * columns_X :], columns) for i, m in enumerate(means)] for x_DX in (whole_X, drawn_DX)]
            if not (at := _places(list(columns), lines[0], axis)):
                continue  # the levels' curves share no range of tokens
            sides = [[line.heights(at, axis, list(columns)) for line in pair] for pair in lines]
            found += [_gap(name, axis, scale, at, sides, len(easy), len(hard)) for scale in ("accuracy", "logits")]
    return tuple(found)


@dataclass(frozen=True, slots=True)
class _Line:
    """One strategy on one level, in every draw."""

    accuracy_DK: np.ndarray
    tokens_DK: np.ndarray

    def heights(self, at: Sequence[float], axis: Axis, ks: Sequence[int]) -> np.ndarray:
        """Accuracy at each place; beyond its ends a line goes on level."""
        if axis == "samples":
            return self.accuracy_DK[:, [ks.index(int(k)) for k in at]]
        if self.tokens_DK.shape[1] == 1:
            return self.accuracy_DK
        log_DK, out = np.log2(self.tokens_DK), []
        for x in np.log2(at):
            left_D1 = np.clip((log_DK <= x).sum(axis=1) - 1, 0, log_DK.shape[1] - 2)[:, None]
            (x0, x1), (y0, y1) = (
                (np.take_along_axis(v, left_D1, 1), np.take_along_axis(v, left_D1 + 1, 1)) for v in (log_DK, self.accuracy_DK)
            )
            out.append(y0 + np.clip((x - x0) / np.maximum(x1 - x0, 1e-12), 0, 1) * (y1 - y0))
        return np.hstack(out)


class _Means:
    """Sums from which a resample's accuracy and tokens on one level follow."""

    def __init__(self, panel: Panel, rows: Sequence[int]) -> None:
        member_Q1 = np.zeros((len(panel.clusters), 1))
        member_Q1[list(rows)] = 1
        tokens_QC, present_QC = np.nan_to_num(panel.tokens_QC), ~np.isnan(panel.tokens_QC) * member_Q1
        self._width = panel.credit_QC.shape[1]
        self.table_QX = np.hstack([member_Q1, panel.credit_QC * member_Q1, tokens_QC * member_Q1, present_QC])

    def line(self, means_DX: np.ndarray, columns: Mapping[int, int]) -> _Line:
        """One strategy's line from means of the table; `means_DX` starts with this level's columns."""
        chosen = np.array(list(columns.values()))
        count_D1, credit_DK = means_DX[:, :1], means_DX[:, 1 + chosen]
        tokens_DK, present_DK = (means_DX[:, 1 + part * self._width + chosen] for part in (1, 2))
        return _Line(credit_DK / count_D1, tokens_DK / np.maximum(present_DK, 1e-12))


def _places(ks: Sequence[int], lines: Sequence[_Line], axis: Axis) -> list[float]:
    """Every k; or the hard level's tokens at each k as far as the easy level goes, and the last tokens that both reach."""
    if axis == "samples":
        return [float(k) for k in ks]
    easy_K, hard_K = (line.tokens_DK[0] for line in lines)
    low, high = max(easy_K[0], hard_K[0]), min(easy_K[-1], hard_K[-1])
    return sorted({low, high, *(float(x) for x in hard_K if low <= x <= high)}) if low < high else []


def _gap(
    strategy: str, axis: Axis, scale: Scale, at: Sequence[float], sides: list[list[np.ndarray]], easy: int, hard: int
) -> Gap:
    """From accuracies of the whole and of the draws, of both levels."""
    if scale == "logits":
        sides = [[_log_odds(y_DK, count) for y_DK, count in zip(pair, (easy, hard), strict=True)] for pair in sides]
    whole_K, drawn_DK = sides[0][0][0] - sides[0][1][0], sides[1][0] - sides[1][1]
    gaps = tuple(Estimate.of(whole_K[i], drawn_DK[:, i]) for i in range(len(at)))
    change = Estimate.of(whole_K[-1] - whole_K[0], drawn_DK[:, -1] - drawn_DK[:, 0]) if len(at) > 1 else None
    return Gap(strategy, axis, scale, tuple(map(float, at)), gaps, change)


def _log_odds(accuracy: np.ndarray, questions: int) -> np.ndarray:
    return np.log((accuracy * questions + 0.5) / ((1 - accuracy) * questions + 0.5))


def unsolved(questions: Sequence[Question], credits: Mapping[str, Sequence[float]], level: str) -> Unsolved:
    """The share of a level's questions without any right sample; one without samples is among them."""
    tries = [credits.get(question.id, ()) for question in questions]
    stuck = [float(not any(one)) for one in tries]
    share = statistics.interval(stuck, [question.cluster for question in questions])
    n = min((len(one) for one in tries if one), default=0)
    return Unsolved(level, len(stuck), Estimate(share.mean, share.low, share.high), n, 1 - 0.05 ** (1 / n) if n else 1.0)
