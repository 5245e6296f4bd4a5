"""Risk against coverage: how right a strategy is where it is sure enough to answer.

A reply is given only where what decides reaches a threshold: the score of the reply, or of a vote the winner's share of all
weight. Every distinct value is a threshold. The strictest answer few questions, the others more. For one rule, question by
question, `ttc.estimators.risk_coverage` says the same; here all questions are arrays, since every budget and every group of
them has a curve.

N samples, A samples accepted, S sets of k samples, T distinct thresholds of a question.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from math import comb, inf
from typing import Any

import numpy as np

from experiments.thresholds import Thresholds
from ttc import estimators
from ttc.pool import Pool
from ttc.strategies.parallel import orders

KINDS = ("rejection", "best_of_n", "vote", "filtered_vote", "weighted_vote")
"""Strategies that one number decides: the score of the first reply that is accepted, or of the best; or the winner's share."""
SETS = 128
"""So many of a question's samples where there are more: the noise that this leaves averages out over questions."""
POINTS = 33
"""Of a curve in the output; the area is from all."""
COVERAGES = (0.25, 0.5, 0.75, 1.0)


@dataclass(frozen=True, slots=True)
class Selective:
    """Selective accuracy at the strictest threshold that covers at least so much."""

    at_least: float
    coverage: float | None
    """What that threshold covers; None where none covers so much, as where replies have no score."""
    accuracy: float | None


@dataclass(frozen=True, slots=True)
class Risk:
    """One strategy at one budget on one group of questions, over all thresholds, the strictest first."""

    strategy: str
    field: str
    """As of the group of curves; empty for all questions."""
    value: str
    k: int
    thresholds: tuple[float, ...]
    coverage: tuple[float, ...]
    """Mean over all questions of the probability that a reply is accepted."""
    accuracy: tuple[float, ...]
    """Credit per accepted reply: 1 minus the risk."""
    area: float | None
    """Mean risk over the range of coverage, by trapezoid over all thresholds (AURC); None where coverage takes one value."""
    selective: tuple[Selective, ...]


@dataclass(frozen=True, slots=True)
class _Steps:
    """What each distinct score of each question adds, as the threshold falls to it; sorted by falling score."""

    row: np.ndarray
    """Number of the question."""
    score: np.ndarray
    coverage: np.ndarray
    credit: np.ndarray

    def of(self, rows: Sequence[int], questions: int) -> "_Steps":
        """Those of some questions."""
        member = np.zeros(questions, dtype=bool)
        member[list(rows)] = True
        kept = member[self.row]
        return _Steps(self.row[kept], self.score[kept], self.coverage[kept], self.credit[kept])


def risks(
    name: str,
    strategy: Any,
    pools: Sequence[Pool | None],
    ks: Sequence[int],
    groups: Mapping[tuple[str, str], Sequence[int]],
    thresholds: Thresholds | None = None,
) -> list[Risk]:
    """Risk against coverage at every k for all questions, at the last k for each group, and for votes, which take longer.

    Args:
        pools: of every question; None for one without samples, which is never answered.
        groups: (field, value) -> numbers of its questions; ("", "all") for all.
        thresholds: as chosen, where the strategy names a goal and needs a number: to filter its votes.
    """
    found = []
    if all(pool is None for pool in pools):
        return found
    for k in ks[-1:] if hasattr(strategy, "votes") else ks:
        steps = _steps(strategy, pools, k, thresholds)
        for (field, value), rows in groups.items():
            if not field or k == ks[-1]:
                found.append(_risk((name, field, value, k), steps.of(rows, len(pools)), len(rows)))
    return found


def _steps(strategy: Any, pools: Sequence[Pool | None], k: int, thresholds: Thresholds | None) -> _Steps:
    parts = [
        (np.full(len(found[0]), row), *found)
        for row, pool in enumerate(pools)
        if pool is not None
        for found in [_question(thresholds.fix(strategy, pool.question_id, k) if thresholds else strategy, pool, k)]
    ]
    row, score, coverage, credit = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(-score, kind="stable")
    return _Steps(row[order], score[order], coverage[order], credit[order])


def _question(strategy: Any, pool: Pool, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """thresholds_T, falling, and the coverage and the credit that each adds."""
    if hasattr(strategy, "votes"):
        return _shares(strategy.votes(pool), pool.question_id, k)
    return _scores(pool.eligible(strategy.verifier), pool.credits, k, best=strategy.kind == "best_of_n")


def _shares(votes: estimators.WeightedPool, question_id: str, k: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    if comb(votes.n, k) <= SETS:
        member_SN = estimators.subsets(votes.n, k)
    else:
        member_SN = estimators.first_of_orders(orders(votes.n, question_id)[:SETS], k)
    # shares of equal weights must not differ by the order they were added up in
    share_S, credit_S = votes.subset_shares(member_SN).round(12), votes.subset_credits(member_SN)
    voted_S = ~np.isnan(share_S)
    cuts_T, which, size_T = np.unique(-share_S[voted_S], return_inverse=True, return_counts=True)
    credit_T = np.bincount(which, weights=credit_S[voted_S], minlength=len(cuts_T))
    return -cuts_T, size_T / len(member_SN), credit_T / len(member_SN)


def _scores(
    scores: Sequence[float | None], credits: Sequence[float], k: int, *, best: bool
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    scored = [(score, credit) for score, credit in zip(scores, credits, strict=True) if score not in (None, -inf)]
    table = np.array(scored, dtype=float).reshape(-1, 2)
    cuts_T, which, size_T = np.unique(-table[:, 0], return_inverse=True, return_counts=True)
    earned_T = np.bincount(which, weights=table[:, 1], minlength=len(cuts_T))
    taken_T = np.cumsum(size_T)
    coverage_T = np.diff(_accepted(len(scores), k)[taken_T], prepend=0.0)
    if best:  # the best of those accepted decides: each score counts with its own credit
        return -cuts_T, coverage_T, coverage_T * earned_T / size_T
    credit_T = np.cumsum(coverage_T) * np.cumsum(earned_T) / taken_T
    return -cuts_T, coverage_T, np.diff(credit_T, prepend=0.0)


@lru_cache(maxsize=256)
def _accepted(n: int, k: int) -> np.ndarray:
    """chance_A that one of k samples is among A = 0 ... n of n."""
    every = comb(n, k)
    return np.array([(every - comb(n - a, k)) / every for a in range(n + 1)])


def _risk(place: tuple[str, str, str, int], steps: _Steps, questions: int) -> Risk:
    ends = np.append(steps.score[1:] != steps.score[:-1], True)[: len(steps.score)]
    coverage, credit = (np.cumsum(column)[ends] / questions for column in (steps.coverage, steps.credit))
    cuts, accuracy = steps.score[ends], credit / coverage
    selective = tuple(_selective(share, coverage, accuracy) for share in COVERAGES)
    if not len(cuts):
        return Risk(*place, (), (), (), None, selective)
    span = coverage[-1] - coverage[0]
    area = float(np.trapezoid(1 - accuracy, coverage) / span) if span > 0 else None
    shown = np.arange(len(cuts))
    if len(cuts) > POINTS:
        shown = np.unique([*np.searchsorted(coverage, np.linspace(0, coverage[-1], POINTS - 1)), len(cuts) - 1])
    cuts, coverage, accuracy = (tuple(column[shown].tolist()) for column in (cuts, coverage, accuracy))
    return Risk(*place, cuts, coverage, accuracy, area, selective)


def _selective(share: float, coverage: np.ndarray, accuracy: np.ndarray) -> Selective:
    place = int(np.searchsorted(coverage, share - 1e-12))
    if place == len(coverage):
        return Selective(share, None, None)
    return Selective(share, float(coverage[place]), float(accuracy[place]))
