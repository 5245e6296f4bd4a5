"""The compute-optimal policy: for each level of difficulty the strategy and budget that do best within so much compute.

A choice is made on one fold of questions and judged on the other, on samples that did not make the levels (Snell et al. 2024,
arXiv:2408.03314). Beside it stand the best single choice for all questions, made and judged in the same way, and the oracle:
the choice for every question on one half of its samples, judged on the other. In-sample, all three would read too high. The
intervals are over questions, for the choices as they were made: the luck of choosing comes on top.

Q questions, C candidates: every (strategy, k).
"""

import hashlib
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
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
    """On the axis of the policies, as the mean over the questions of a level."""
    by_level: Interval
    """Accuracy of the best candidate of each level."""
    uniform: Interval
    """Accuracy of the best single candidate."""
    oracle: Interval
    """Accuracy of the best candidate of each question; of those that read a single sample none is in its choice."""
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


@dataclass(frozen=True, slots=True)
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
        fold_Q = np.array([hashlib.sha256((q.cluster or q.id).encode()).digest()[0] % 2 for q in questions])
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

    def _best(self, credit_C: np.ndarray, cost_C: np.ndarray, budget: float) -> int:
        """The best within the budget, the cheapest among equals; the cheapest of all where none fits."""
        fits = cost_C <= budget
        if not fits.any():
            return int(cost_C.argmin())
        best_C = fits & (credit_C >= credit_C[fits].max() - 1e-12)
        return int(np.where(best_C, cost_C, np.inf).argmin())

    def _fold(self, half: int, train_Q: np.ndarray, budget: float) -> int:
        return self._best(self.credit_QC[half][train_Q].mean(axis=0), self.cost_QC[half][train_Q].mean(axis=0), budget)

    def _folds(self, budget: float) -> Iterator[tuple[int, np.ndarray, str, int, int]]:
        """Half, questions judged, their level, the candidate for the level and the one for all."""
        for half in (0, 1):
            for fold in (0, 1):
                train_Q, test_Q = self.fold_Q != fold, self.fold_Q == fold
                if not train_Q.any() or not test_Q.any():
                    continue
                uniform = self._fold(half, train_Q, budget)
                for level in np.unique(self.level_Q[half]):
                    here_Q = self.level_Q[half] == level
                    own = self._fold(half, train_Q & here_Q, budget) if (train_Q & here_Q).any() else uniform
                    yield half, np.flatnonzero(test_Q & here_Q), str(level), own, uniform

    def at(self, budget: float) -> dict[str, np.ndarray]:
        """Per question, credit and cost of each policy: the mean over both halves."""
        names = ("by level", "uniform", "oracle", "cost by level", "cost uniform")
        scored = {name: np.zeros(len(self.fold_Q)) for name in names}
        for half, judged, _, own, uniform in self._folds(budget):
            for name, candidate in (("by level", own), ("uniform", uniform)):
                scored[name][judged] += self.credit_QC[half][judged, candidate] / 2
                scored[f"cost {name}"][judged] += self.cost_QC[half][judged, candidate] / 2
        places = np.flatnonzero(self.divisible)
        for half in (0, 1):
            for row in range(len(self.fold_Q)):
                credit_C, cost_C = (table[1 - half][row, places] for table in (self.credit_QC, self.cost_QC))
                scored["oracle"][row] += self.credit_QC[half][row, places[self._best(credit_C, cost_C, budget)]] / 2
        return scored

    def chosen(self, budget: float) -> dict[str, tuple[str, ...]]:
        """Level -> the candidates chosen for it."""
        found: dict[str, tuple[str, ...]] = {}
        for _, _, level, own, _ in self._folds(budget):
            found[level] = (*found.get(level, ()), self.names[own])
        return found
