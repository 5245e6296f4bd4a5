"""Thresholds chosen on other questions than those they are judged on.

The questions fall into two folds, whole clusters each; what one fold chooses, for every budget, the other is judged with.
Chosen on the questions judged, a threshold would count their luck as its merit.

T candidate thresholds.
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

import numpy as np

from ttc.errors import UserError
from ttc.pool import Pool
from ttc.records import Question
from ttc.strategies.threshold import Goal, goal

CANDIDATES = 17
"""Quantiles of the scores of the fold that chooses, the lowest and the highest score among them."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """What was chosen for one strategy."""

    folds: Mapping[str, int]
    """Question id -> 0 or 1."""
    by_k: Mapping[int, tuple[float, float]]
    """For judging the questions of fold 0 and of fold 1."""

    def fix(self, strategy: Any, question_id: str, k: int) -> Any:
        """The strategy with the number that this question is judged with."""
        return strategy.model_copy(update={"threshold": self.by_k[k][self.folds[question_id]]})


def folds(questions: Sequence[Question]) -> dict[str, int]:
    """Question id -> 0 or 1, by turns over the clusters in the order of a hash; a cluster is in one fold."""
    names = {question.unit for question in questions}
    ranked = sorted(names, key=lambda name: hashlib.sha256(name.encode()).digest())
    turn = {name: rank % 2 for rank, name in enumerate(ranked)}
    return {question.id: turn[question.unit] for question in questions}


def check_folds(questions: Sequence[Question], strategies: Sequence[Any]) -> None:
    """Refuse a goal where no other questions could choose.

    Raises:
        UserError: all questions belong together, or there is one only.
    """
    goals = [strategy for strategy in strategies if isinstance(getattr(strategy, "threshold", None), str)]
    if goals and len(set(folds(questions).values())) < 2:
        raise UserError(
            f"threshold {goals[0].threshold!r} of {goals[0].kind} is chosen on other questions than those it is judged on, and "
            f"the {len(questions)} here share an image, a video or a source; give a number, or more questions"
        )


def choose(strategy: Any, pools: Mapping[str, Pool], ks: Sequence[int], folds: Mapping[str, int]) -> Thresholds | None:
    """The thresholds of a strategy whose config names a goal; None where it names a number, or has none.

    Args:
        folds: both of them with questions, as `check_folds` sees to.
    """
    wanted = getattr(strategy, "threshold", None)
    if not isinstance(wanted, str):
        return None
    first, second = ([pool for i, pool in pools.items() if folds[i] == other] for other in (1, 0))
    aim = goal(wanted)
    return Thresholds(folds, {k: (_chosen(strategy, first, k, aim), _chosen(strategy, second, k, aim)) for k in ks})


def _chosen(strategy: Any, pools: Sequence[Pool], k: int, goal: Goal) -> float:
    """The candidate that serves the goal best on these questions; the lowest among equals, since it draws least."""
    scores = [score for pool in pools for score in pool.eligible(strategy.verifier) if score is not None and isfinite(score)]
    if not scores:
        return 0.0  # nothing is ever accepted, whatever the threshold
    cuts_T = np.unique(np.quantile(scores, np.linspace(0, 1, CANDIDATES), method="inverted_cdf"))
    credit_T, coverage_T = np.mean([_outcomes(strategy, pool, k, cuts_T) for pool in pools], axis=0)
    selective_T = np.divide(credit_T, coverage_T, out=np.zeros_like(credit_T), where=coverage_T > 0)
    match goal.kind:
        case "accuracy":
            merits = [credit_T]
        case "coverage":
            enough_T = coverage_T >= goal.least - 1e-12
            merits = [enough_T, np.where(enough_T, selective_T, coverage_T)]
        case "selective_accuracy":
            enough_T = selective_T >= goal.least - 1e-12
            merits = [enough_T, np.where(enough_T, coverage_T, selective_T)]
    return float(cuts_T[_first_best(merits)])


def _first_best(merits: Sequence[np.ndarray]) -> int:
    """Where the merits, the weightiest first, are highest; the first of those equal within rounding."""
    left_T = np.ones(len(merits[0]), dtype=bool)
    for merit_T in merits:
        left_T &= merit_T >= merit_T[left_T].max() - 1e-12 if merit_T.dtype != bool else merit_T == merit_T[left_T].max()
    return int(np.argmax(left_T))


def _outcomes(strategy: Any, pool: Pool, k: int, cuts_T: np.ndarray) -> tuple[list[float], list[float]]:
    """Credit and coverage of one question under each candidate; those that let the same samples through are computed once."""
    scores_N = np.array([np.nan if score is None else score for score in pool.eligible(strategy.verifier)], dtype=float)
    found = {}
    accepted_T = (scores_N[:, None] >= cuts_T).sum(axis=0).tolist()
    for cut, accepted in zip(cuts_T.tolist(), accepted_T, strict=True):
        if accepted not in found:
            found[accepted] = strategy.model_copy(update={"threshold": cut}).expected(pool, k)
    return [found[n].credit for n in accepted_T], [found[n].coverage for n in accepted_T]
