"""Adaptive stopping: when the vote is clear, draw no more. One rule serves the live strategy and the replay from the bank.

Decisions are taken in index order, never in order of arrival: short answers arrive first.
Axes: M permutations, N samples, J classes.
"""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import count
from math import comb
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttc.estimators.counting import require_budget, require_parallel


@dataclass(frozen=True, slots=True)
class Tally:
    """The state of a vote: of one live question (numbers), or of many permutations at once (arrays)."""

    first: int | NDArray
    """Votes of the leading answer."""
    second: int | NDArray
    """Votes of the runner-up; 0 where there is none."""
    left: int
    """Samples left in the budget."""
    agreed: bool | NDArray
    """Whether the last window is full and all its samples gave the same answer."""


def tally(classes: Sequence[Hashable], k: int, window: int = 1) -> Tally:
    """The state after the samples drawn so far, in index order, of a budget of k."""
    counts = [count for _, count in Counter(answer for answer in classes if answer is not None).most_common(2)] + [0, 0]
    last = classes[-window:]
    agreed = len(last) == window and last[0] is not None and len(set(last)) == 1
    return Tally(counts[0], counts[1], k - len(classes), agreed)


class StoppingRule(Protocol):
    """Decides after every `window` samples."""

    @property
    def window(self) -> int:
        """Samples drawn together before each decision."""
        ...

    def stops(self, votes: Tally) -> bool | NDArray[np.bool_]:
        """Whether to stop here."""
        ...


@dataclass(frozen=True, slots=True)
class LosslessStop:
    """Stop when the runner-up cannot even tie any more: always the answer of the full plurality. Unweighted votes only."""

    window: int = 1

    def stops(self, votes: Tally) -> bool | NDArray[np.bool_]:
        """A tie at the end could go to the other answer, so equality does not stop."""
        return votes.first - votes.second > votes.left


@lru_cache(maxsize=1 << 14)
def beta_confidence(first: int, second: int) -> float:
    """Posterior probability that the leading answer is the more likely of the two: 1 - I_{1/2}(first + 1, second + 1).

    For whole numbers it is a binomial tail: at most `first` heads in first + second + 1 fair tosses.
    """
    tosses = first + second + 1
    return sum(comb(tosses, heads) for heads in range(first + 1)) / 2**tosses


@lru_cache(maxsize=1 << 14)
def _votes_needed(second: int, confidence: float) -> int:
    """Fewest votes of the leader that reach the confidence against a runner-up with `second`."""
    return next(first for first in count(second) if beta_confidence(first, second) >= confidence)


@dataclass(frozen=True, slots=True)
class BetaStop:
    """Adaptive consistency (Aggarwal et al. 2023, arXiv:2305.11860): stop when `beta_confidence` reaches `confidence`."""

    confidence: float = 0.95
    window: int = 1

    def __post_init__(self) -> None:
        if not 0.5 < self.confidence < 1:
            raise ValueError(f"confidence must lie between 0.5 and 1, and is {self.confidence}")

    def stops(self, votes: Tally) -> bool | NDArray[np.bool_]:
        """Without a vote the confidence is 1/2, so at least one is needed."""
        needed = np.array([_votes_needed(second, self.confidence) for second in range(int(np.max(votes.second)) + 1)])
        return votes.first >= needed[votes.second]


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """ESC (Li et al. 2024, arXiv:2401.10480): stop when all of one window agree; the answer is the plurality of all drawn."""

    window: int = 4

    def stops(self, votes: Tally) -> bool | NDArray[np.bool_]:
        """Windows are consecutive and disjoint."""
        return votes.agreed


@dataclass(frozen=True)
class Replay:
    """What a stopping rule does at budget k on one question, in each of M permutations; means over them are expectations."""

    draws_M: NDArray[np.int64]
    credits_M: NDArray[np.float64]
    agrees_M: NDArray[np.bool_]
    """Whether the answer is that of the full vote over k."""
    orders_MN: NDArray[np.int64]
    window: int

    def total_cost(self, costs: ArrayLike) -> NDArray[np.float64]:
        """costs_M: sum over the samples drawn of an additive cost per sample, such as tokens or FLOPs."""
        cost_MN = np.asarray(costs, dtype=float)[self.orders_MN]
        return np.where(self._drawn_MN, cost_MN, 0.0).sum(axis=1)

    def critical_path(self, costs: ArrayLike) -> NDArray[np.float64]:
        """costs_M: latency, samples of one window in parallel and windows one after another."""
        cost_MN = np.where(self._drawn_MN, np.asarray(costs, dtype=float)[self.orders_MN], 0.0)
        return np.maximum.reduceat(cost_MN, np.arange(0, cost_MN.shape[1], self.window), axis=1).sum(axis=1)

    @cached_property
    def _drawn_MN(self) -> NDArray[np.bool_]:
        return np.arange(self.orders_MN.shape[1]) < self.draws_M[:, None]


def replay(
    answers: Sequence[Hashable],
    credits: Sequence[float],
    rule: StoppingRule,
    k: int,
    orders_MN: NDArray[np.int64],
    *,
    fallback_credit: float = 0.0,
) -> Replay:
    """Run a stopping rule over shared permutations of the bank's samples.

    Args:
        answers: equivalence class of each sample's answer; None does not vote.
        orders_MN: from `permutations`.
        fallback_credit: credit where nobody has voted at the end.
    """
    n = require_parallel(answers=answers, credits=credits)
    require_budget(k, n)
    number = {name: j for j, name in enumerate(dict.fromkeys(a for a in answers if a is not None))}
    class_N = np.array([-1 if answer is None else number[answer] for answer in answers])
    credit_J = np.array([np.mean([z for a, z in zip(answers, credits, strict=True) if a == name]) for name in number])
    ordered_MN = class_N[orders_MN[:, :k]]
    draws_M = _stops_at(ordered_MN, len(number), rule)
    winner_M = _winners(ordered_MN, len(number), draws_M)
    full_M = _winners(ordered_MN, len(number), np.full_like(draws_M, k))
    credits_M = np.append(credit_J, fallback_credit)[winner_M]
    return Replay(draws_M, credits_M, winner_M == full_M, orders_MN, rule.window)


def _stops_at(ordered_MN: NDArray[np.int64], classes: int, rule: StoppingRule) -> NDArray[np.int64]:
    """draws_M: samples drawn when the rule stops, at most all."""
    runs, k = ordered_MN.shape
    rows = np.arange(runs)
    votes_MJ = np.zeros((runs, classes + 1), dtype=np.int64)  # the last column takes those without an answer
    first_M, second_M, leader_M, streak_M = (np.zeros(runs, dtype=np.int64) for _ in range(4))
    draws_M = np.full(runs, k)
    for i in range(k):
        answer_M = ordered_MN[:, i]
        voted_M = answer_M >= 0
        votes_MJ[rows, answer_M] += 1
        mine_M = np.where(voted_M, votes_MJ[rows, answer_M], 0)
        leads_M, same_M = mine_M > first_M, answer_M == leader_M
        second_M = np.where(leads_M & ~same_M, first_M, np.where(same_M, second_M, np.maximum(second_M, mine_M)))
        leader_M = np.where(leads_M, answer_M, leader_M)
        first_M = np.maximum(first_M, mine_M)
        again_M = (answer_M == ordered_MN[:, i - 1]) if i % rule.window else np.zeros(runs, dtype=bool)
        streak_M = np.where(voted_M, np.where(again_M, streak_M + 1, 1), 0)
        if (i + 1) % rule.window == 0:
            stops_M = rule.stops(Tally(first_M, second_M, k - i - 1, streak_M == rule.window))
            draws_M = np.where(stops_M & (draws_M == k), i + 1, draws_M)
    return draws_M


def _winners(ordered_MN: NDArray[np.int64], classes: int, draws_M: NDArray[np.int64]) -> NDArray[np.int64]:
    """winner_M: plurality of the samples drawn, ties to the class seen first as in a live run; -1 where nobody voted."""
    k = ordered_MN.shape[1]
    winner_M, best_M = np.full(len(ordered_MN), -1), np.zeros(len(ordered_MN), dtype=np.int64)
    drawn_MN = np.arange(k) < draws_M[:, None]
    for j in range(classes):
        mine_MN = (ordered_MN == j) & drawn_MN
        rank_M = mine_MN.sum(axis=1) * (k + 1) - mine_MN.argmax(axis=1)  # one more vote outweighs any place
        rank_M = np.where(mine_MN.any(axis=1), rank_M, 0)
        winner_M, best_M = np.where(rank_M > best_M, j, winner_M), np.maximum(best_M, rank_M)
    return winner_M
