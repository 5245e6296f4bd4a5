"""The compute-optimal policy: for each level of difficulty the strategy and budget that do best within so much compute.

A choice is made on one fold of questions and judged on the other, on samples that did not make the levels (Snell et al. 2024,
arXiv:2408.03314). Beside it stand the best single choice for all questions, made and judged in the same way, and the oracle:
the choice for every question on one half of its samples, judged on the other. In-sample, all three would read too high. Of each
the budget is a mean over all questions: what one level saves, another may spend. The intervals are over questions, for the
choices as they were made: the luck of choosing comes on top.

Q questions, C candidates: every (strategy, k). L levels, P plans: a candidate for each level.
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from experiments.halves import Halves
from experiments.panel import NO_TARIFFS, Panel
from ttc import statistics
from ttc.compute.tariff import Tariff
from ttc.records import Question
from ttc.statistics import Interval


@dataclass(frozen=True, slots=True)
class Policy:
    """Policies that may spend so much per question on average."""

    budget: float
    """On the axis of the policies, as the mean over all questions."""
    by_level: Interval
    """Accuracy of the best candidate for each level, all together within the budget."""
    uniform: Interval
    """Accuracy of the best single candidate."""
    oracle: Interval
    """Accuracy of the best candidate for each question, all together within the budget, but for those that read one sample."""
    gain: Interval
    """By level minus uniform, paired."""
    cost_by_level: float
    """What the policy by level spends."""
    cost_uniform: float
    choices: Mapping[str, tuple[str, ...]]
    """Level -> the candidate chosen in each fold and half."""


@dataclass(frozen=True, slots=True)
class Policies:
    """Policies at rising budgets."""

    candidates: tuple[str, ...]
    """Those whose cost is known."""
    points: tuple[Policy, ...]
    axis: str = "total_tokens"
    """What a budget counts: a key of `experiments.axes.AXES`."""


def policies(
    questions: Sequence[Question],
    halves: Halves,
    levels: tuple[Mapping[str, str], Mapping[str, str]],
    golds: Collection[str],
    *,
    axis: str = "total_tokens",
    tariffs: Mapping[str, Tariff] = NO_TARIFFS,
    budgets: Sequence[float] = (),
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> Policies | None:
    """Policies over all candidates of known cost but those with gold; None where there is none to choose per question.

    Args:
        levels: for judging on the first and on the second half, question id -> level.
        axis: what a budget counts.
        tariffs: of each strategy, for money and seconds.
        budgets: cost per question; by default one between any two budgets of the finest strategy.
    """
    panels = [Panel.build(questions, outcomes, tariffs) for outcomes in halves.outcomes]
    choice = _Choice.build(questions, panels, axis, levels, golds, halves.indivisible)
    if not choice.divisible.any():
        return None
    clusters = [question.cluster for question in questions]
    points = []
    for budget in budgets or choice.budgets():
        scored = choice.at(budget)
        bootstrap = {"draws": draws, "seed": seed}
        level, uniform, oracle = (
            statistics.interval(scored[name], clusters, **bootstrap) for name in ("by level", "uniform", "oracle")
        )
        gain = statistics.intervals(
            (scored["by level"] - scored["uniform"])[:, None], clusters, bounds=(-1.0, 1.0), **bootstrap
        )[0]
        spent = float(scored["cost by level"].mean()), float(scored["cost uniform"].mean())
        points.append(Policy(float(budget), level, uniform, oracle, gain, *spent, choice.chosen(budget)))
    return Policies(choice.names, tuple(points), axis)


@dataclass(frozen=True)
class _Choice:
    """All that a choice rests on; two of each, for the two halves of the samples."""

    names: tuple[str, ...]
    divisible: np.ndarray
    """Candidates that may be chosen per question."""
    credit_QC: tuple[np.ndarray, np.ndarray]
    cost_QC: tuple[np.ndarray, np.ndarray]
    level_Q: tuple[np.ndarray, np.ndarray]
    """Empty for a question without a level."""
    fold_Q: np.ndarray
    """0 or 1; a cluster is in one fold."""

    @classmethod
    def build(
        cls,
        questions: Sequence[Question],
        panels: Sequence[Panel],
        axis: str,
        levels: tuple[Mapping[str, str], Mapping[str, str]],
        golds: Collection[str],
        indivisible: Collection[str],
    ) -> "_Choice":
        places = [
            (name, k, column)
            for name, columns in panels[0].columns.items()
            if name not in golds
            for k, column in columns.items()
            if not np.isnan(panels[0].costs[axis][:, column]).all()  # of unknown cost
        ]
        chosen = [column for _, _, column in places]
        credit = [panel.credit_QC[:, chosen] for panel in panels]
        cost = [np.nan_to_num(panel.costs[axis][:, chosen]) for panel in panels]
        level = [np.array([labels.get(question.id, "") for question in questions]) for labels in levels]
        fold_Q = np.array([hashlib.sha256(q.unit.encode()).digest()[0] % 2 for q in questions])
        names = tuple(f"{name}@{k}" for name, k, _ in places)
        divisible = np.array([name not in indivisible for name, _, _ in places], dtype=bool)
        return cls(names, divisible, (credit[0], credit[1]), (cost[0], cost[1]), (level[0], level[1]), fold_Q)

    def budgets(self) -> list[float]:
        """Between the candidates' mean costs, where they differ by a fifth, so that no budget stands on the edge of one."""
        costs = np.sort(np.mean(self.cost_QC, axis=(0, 1)))
        found = [float(costs[0])]
        for cost in costs[1:]:
            if cost >= 1.2 * found[-1]:
                found.append(float(cost))
        return [(low * high) ** 0.5 for low, high in pairwise(found)] + [found[-1] * 2**0.5]

    @cached_property
    def _folds(self) -> list["_Fold"]:
        found = []
        for half in (0, 1):
            for fold in (0, 1):
                train_Q, test_Q = self.fold_Q != fold, self.fold_Q == fold
                if train_Q.any() and test_Q.any():
                    found.append(
                        _Fold.build(half, self.credit_QC[half], self.cost_QC[half], self.level_Q[half], train_Q, test_Q)
                    )
        return found

    def _picked(self, budget: float) -> Iterator[tuple[int, np.ndarray, str, int, int]]:
        """Half, questions judged, their level, the candidate for the level and the one for all."""
        for fold in self._folds:
            uniform = int(fold.uniform.best(budget)[0])
            own = dict(zip(fold.levels, fold.by_level.best(budget).tolist(), strict=True))
            for level, judged in fold.judged.items():
                yield fold.half, judged, level, own.get(level, uniform), uniform

    def at(self, budget: float) -> dict[str, np.ndarray]:
        """Per question, credit and cost of each policy: the mean over both halves."""
        names = ("by level", "uniform", "oracle", "cost by level", "cost uniform")
        scored = {name: np.zeros(len(self.fold_Q)) for name in names}
        for half, judged, _, own, uniform in self._picked(budget):
            for name, candidate in (("by level", own), ("uniform", uniform)):
                scored[name][judged] += self.credit_QC[half][judged, candidate] / 2
                scored[f"cost {name}"][judged] += self.cost_QC[half][judged, candidate] / 2
        places = np.flatnonzero(self.divisible)
        for half in (0, 1):
            credit_QC, cost_QC = (table[1 - half][:, places] for table in (self.credit_QC, self.cost_QC))
            picked_Q = places[priced(credit_QC, cost_QC, budget)]
            scored["oracle"] += self.credit_QC[half][np.arange(len(picked_Q)), picked_Q] / 2
        return scored

    def chosen(self, budget: float) -> dict[str, tuple[str, ...]]:
        """Level -> the candidates chosen for it."""
        found: dict[str, tuple[str, ...]] = {}
        for _, _, level, own, _ in self._picked(budget):
            found[level] = (*found.get(level, ()), self.names[own])
        return found


@dataclass(frozen=True, slots=True)
class _Plans:
    """All plans worth having: each costs more than the one before it, and does better."""

    cost_P: np.ndarray
    """Mean over the questions of all levels, as is the credit."""
    credit_P: np.ndarray
    pick_PL: np.ndarray

    @classmethod
    def of(cls, credit_LC: np.ndarray, cost_LC: np.ndarray) -> "_Plans":
        """Level by level, what is worth having of every plan so far with every candidate.

        Args:
            credit_LC: mean credit of each level's questions, times their share of all; costs alike.
        """
        plans = cls(np.zeros(1), np.zeros(1), np.zeros((1, 0), dtype=int))
        for credit_C, cost_C in zip(credit_LC, cost_LC, strict=True):
            cost_X = np.add.outer(plans.cost_P, cost_C).ravel()
            credit_X = np.add.outer(plans.credit_P, credit_C).ravel()
            order_X = np.lexsort((-credit_X, cost_X))
            before_X = np.maximum.accumulate(np.concatenate([[-np.inf], credit_X[order_X][:-1]]))
            kept_P = order_X[credit_X[order_X] > before_X + 1e-12]
            rows_P, picks_P = np.divmod(kept_P, len(cost_C))
            plans = cls(cost_X[kept_P], credit_X[kept_P], np.column_stack([plans.pick_PL[rows_P], picks_P]))
        return plans

    def best(self, budget: float) -> np.ndarray:
        """Candidate of each level in the best plan within the budget; the cheapest plan where none fits."""
        return self.pick_PL[max(0, int(np.searchsorted(self.cost_P, budget, side="right")) - 1)]


@dataclass(frozen=True, slots=True)
class _Fold:
    """What one fold of questions chooses for the other, under the levels and the samples of one half."""

    half: int
    levels: tuple[str, ...]
    """Those of the questions that choose, as the plans have them."""
    by_level: _Plans
    uniform: _Plans
    judged: Mapping[str, np.ndarray]
    """Level -> questions of the other fold."""

    @classmethod
    def build(
        cls, half: int, credit_QC: np.ndarray, cost_QC: np.ndarray, level_Q: np.ndarray, train_Q: np.ndarray, test_Q: np.ndarray
    ) -> "_Fold":
        levels = np.unique(level_Q[train_Q])
        here_LQ = (level_Q == levels[:, None]) & train_Q
        credit_LC, cost_LC = (here_LQ @ table / train_Q.sum() for table in (credit_QC, cost_QC))
        uniform = _Plans.of(credit_LC.sum(axis=0)[None], cost_LC.sum(axis=0)[None])
        judged = {str(level): np.flatnonzero(test_Q & (level_Q == level)) for level in np.unique(level_Q)}
        return cls(half, tuple(map(str, levels)), _Plans.of(credit_LC, cost_LC), uniform, judged)


def priced(credit_QC: np.ndarray, cost_QC: np.ndarray, budget: float) -> np.ndarray:
    """What is worth most on every question at the lowest price of compute that keeps the mean cost within the budget."""
    rows = np.arange(len(credit_QC))
    most = float(cost_QC.max()) or 1.0  # money and FLOPs are twenty orders of magnitude apart
    low, high = -40.0, 40.0  # of the logarithm of the price of that much
    picks_Q = cost_QC.argmin(axis=1)
    for _ in range(50):
        middle = (low + high) / 2
        tried_Q = (credit_QC - np.exp(middle) * (cost_QC / most)).argmax(axis=1)
        if cost_QC[rows, tried_Q].mean() <= budget:
            high, picks_Q = middle, tried_Q
        else:
            low = middle
    return picks_Q
