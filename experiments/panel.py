"""Outcomes of all questions as arrays, and what is averaged and resampled over them.

Q questions, C columns: every (strategy, k).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from ttc import statistics
from ttc.compute.tariff import Tariff
from ttc.pool import Outcome
from ttc.records import Question

Outcomes = Mapping[str, Mapping[str, Sequence[tuple[int, Outcome]]]]
"""Strategy name -> question id -> (k, expectation at k), for the questions that have one."""

COUNTS = (
    "samples",
    "prompt_tokens",
    "reread_tokens",
    "completion_tokens",
    "verifier_tokens",
    "flops",
    "path_prompt_tokens",
    "path_completion_tokens",
    "path_verifier_tokens",
)
"""What an outcome counts; all else follows from it."""
NO_TARIFFS: Mapping[str, Tariff] = MappingProxyType({})


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
    """By count and by axis (`experiments.axes`), QC; NaN where a question has no outcome, and for what is unknown."""

    @classmethod
    def build(cls, questions: Sequence[Question], outcomes: Outcomes, tariffs: Mapping[str, Tariff] = NO_TARIFFS) -> "Panel":
        """Lay out the outcomes; what a strategy's tariff knows gives its money and its seconds."""
        columns: dict[str, dict[int, int]] = {}
        for name, by_id in outcomes.items():
            start = sum(map(len, columns.values()))
            shared = set.intersection(*({k for k, _ in points} for points in by_id.values())) if by_id else set()
            columns[name] = {k: start + offset for offset, k in enumerate(sorted(shared))}
        shape = (len(questions), sum(map(len, columns.values())))
        credit_QC, coverage_QC = np.zeros(shape), np.zeros(shape)
        costs = {count: np.full(shape, np.nan) for count in COUNTS}
        for name, by_id in outcomes.items():
            for row, question in enumerate(questions):
                for k, outcome in by_id.get(question.id, ()):
                    if (column := columns[name].get(k)) is None:
                        continue
                    credit_QC[row, column], coverage_QC[row, column] = outcome.credit, outcome.coverage
                    for count in COUNTS:
                        value = getattr(outcome, count)
                        costs[count][row, column] = np.nan if value is None else value
        costs |= _derived(costs, {name: list(at.values()) for name, at in columns.items()}, tariffs)
        return cls([question.cluster for question in questions], columns, credit_QC, coverage_QC, costs)

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


def _derived(
    counts: Mapping[str, np.ndarray], places: Mapping[str, list[int]], tariffs: Mapping[str, Tariff]
) -> dict[str, np.ndarray]:
    """Tokens in all and on the critical path, money and seconds: QC each."""
    path = [counts[f"path_{kind}_tokens"] for kind in ("prompt", "completion", "verifier")]
    spent = [counts[f"{kind}_tokens"] for kind in ("prompt", "reread", "completion", "verifier")]
    prompt_QC, _, completion_QC, verifier_QC = spent
    found = {"total_tokens": prompt_QC + completion_QC + verifier_QC, "path_tokens": path[0] + path[1] + path[2]}
    for axis in ("money", "device_seconds", "path_seconds"):
        found[axis] = np.full(prompt_QC.shape, np.nan)
        tokens = [path[0], np.zeros_like(path[0]), *path[1:]] if axis == "path_seconds" else spent
        for name, columns in places.items():
            if (weights := getattr(tariffs.get(name), axis, None)) is not None:
                found[axis][:, columns] = weights.total(*(kind_QC[:, columns] for kind_QC in tokens))
    return found
