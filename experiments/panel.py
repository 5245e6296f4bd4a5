"""Outcomes of all questions as arrays, and what is averaged and resampled over them.

Q questions, C columns: every (strategy, k), D draws, X any columns.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ttc import statistics
from ttc.pool import Outcome
from ttc.records import Question

Outcomes = Mapping[str, Mapping[str, Sequence[tuple[int, Outcome]]]]
"""Strategy name -> question id -> (k, expectation at k), for the questions that have one."""

COSTS = ("samples", "prompt_tokens", "completion_tokens", "verifier_tokens", "flops")


@dataclass(frozen=True, slots=True)
class Panel:
    """A row per question, in the order of the exam."""

    clusters: Sequence[str]
    """Empty for a question that stands alone."""
    columns: Mapping[str, Mapping[int, int]]
    """Strategy -> k -> column, for the ks that all its questions have."""
    credit_QC: np.ndarray
    """0 where a question has no outcome."""
    coverage_QC: np.ndarray
    costs: Mapping[str, np.ndarray]
    """By cost, QC; NaN where a question has no outcome, and for unknown FLOPs."""

    @classmethod
    def build(cls, questions: Sequence[Question], outcomes: Outcomes) -> "Panel":
        """Lay out the outcomes."""
        columns: dict[str, dict[int, int]] = {}
        for name, by_id in outcomes.items():
            start = sum(map(len, columns.values()))
            shared = set.intersection(*({k for k, _ in points} for points in by_id.values())) if by_id else set()
            columns[name] = {k: start + offset for offset, k in enumerate(sorted(shared))}
        shape = (len(questions), sum(map(len, columns.values())))
        credit_QC, coverage_QC = np.zeros(shape), np.zeros(shape)
        costs = {cost: np.full(shape, np.nan) for cost in COSTS}
        for name, by_id in outcomes.items():
            for row, question in enumerate(questions):
                for k, outcome in by_id.get(question.id, ()):
                    if (column := columns[name].get(k)) is None:
                        continue
                    credit_QC[row, column], coverage_QC[row, column] = outcome.credit, outcome.coverage
                    for cost in COSTS:
                        value = getattr(outcome, cost)
                        costs[cost][row, column] = np.nan if value is None else value
        return cls([question.cluster for question in questions], columns, credit_QC, coverage_QC, costs)

    @property
    def tokens_QC(self) -> np.ndarray:
        """Of prompt, completions and verifier; NaN where a question has no outcome."""
        return np.sum([self.costs[cost] for cost in COSTS if cost.endswith("_tokens")], axis=0)

    def clusters_of(self, rows: Sequence[int]) -> int:
        """Independent units among the rows: named clusters, and every question that stands alone."""
        names = [self.clusters[row] for row in rows]
        return len(set(names) - {""}) + names.count("")

    def intervals(self, rows: Sequence[int], *, draws: int, seed: int) -> list[statistics.Interval]:
        """Mean credit over the rows and its interval, for every column."""
        return statistics.intervals(self.credit_QC[rows], [self.clusters[row] for row in rows], draws=draws, seed=seed)

    def mean_coverage(self, rows: Sequence[int]) -> np.ndarray:
        """Over the rows, for every column."""
        return self.coverage_QC[rows].mean(axis=0)

    def mean_cost(self, cost: str, rows: Sequence[int]) -> np.ndarray:
        """Over the rows that have an outcome, for every column; NaN where one is unknown."""
        present_QC = ~np.isnan(self.costs["samples"][rows])
        total_C = np.where(present_QC, self.costs[cost][rows], 0.0).sum(axis=0)
        return total_C / np.maximum(present_QC.sum(axis=0), 1)

    def resampled_gaps(self, first: Sequence[int], second: Sequence[int], *, draws: int, seed: int) -> np.ndarray:
        """Mean credit on the first rows minus that on the second, DC. A draw serves all columns, so differences are paired."""
        member_Q2 = np.zeros((len(self.clusters), 2))
        member_Q2[first, 0] = member_Q2[second, 1] = 1
        rows = np.flatnonzero(member_Q2.any(axis=1)).tolist()
        member_Q2, credit_QC = member_Q2[rows], self.credit_QC[rows]
        table_QX = np.hstack([member_Q2, credit_QC * member_Q2[:, :1], credit_QC * member_Q2[:, 1:]])
        means_DX = statistics.bootstrap_means(table_QX, [self.clusters[row] for row in rows], draws=draws, seed=seed)
        means_DX = means_DX[(means_DX[:, :2] > 0).all(axis=1)]  # a draw without one of the groups says nothing
        first_DC, second_DC = np.split(means_DX[:, 2:], 2, axis=1)
        return first_DC / means_DX[:, :1] - second_DC / means_DX[:, 1:2]
