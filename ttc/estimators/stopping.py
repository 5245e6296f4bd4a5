"""Adaptive stopping: when the vote is clear, draw no more. One rule serves the live strategy and the replay from the bank.

Decisions are taken in index order, never in order of arrival: short answers arrive first.
Axes: M permutations, N samples, J classes, F samples of all permutations in one row.
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
    left: int | NDArray
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

    def lacking(self, votes: Tally) -> int | NDArray[np.int64]:
        """Further votes for the leader, and for nobody else, with which it stops; 0 or less where it stops now."""
        ...


@dataclass(frozen=True, slots=True)
class LosslessStop:
    """Stop when the runner-up cannot even tie any more: always the answer of the full plurality. Unweighted votes only."""

    window: int = 1

    def stops(self, votes: Tally) -> bool | NDArray[np.bool_]:
        """A tie at the end could go to the other answer, so equality does not stop."""
        return votes.first - votes.second > votes.left

    def lacking(self, votes: Tally) -> int | NDArray[np.int64]:
        """Each is one vote more and one sample less that is left."""
        return (votes.left - votes.first + votes.second) // 2 + 1


@lru_cache(maxsize=1 << 14)
def beta_confidence(first: int, second: int) -> float:
    """Posterior probability that the leading answer is the more likely of the two: 1 - I_{1/2}(first + 1, second + 1).

    For whole numbers it is a binomial tail: at most `first` heads in first + second + 1 fair tosses.
    """
    tosses = first + second + 1
    return sum(comb(tosses, heads) for heads in range(first + 1)) / 2**tosses


@lru_cache(maxsize=1 << 10)
def _votes_needed(most: int, confidence: float) -> NDArray[np.int64]:
    """needed_S: fewest votes of the leader that reach the confidence against a runner-up with S = 0 ... most."""
    return np.array(
        [next(first for first in count(second) if beta_confidence(first, second) >= confidence) for second in range(most + 1)]
    )


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
        return self.lacking(votes) <= 0

    def lacking(self, votes: Tally) -> int | NDArray[np.int64]:
        """Up to what the runner-up's votes ask for."""
        return _votes_needed(int(np.max(votes.second)), self.confidence)[votes.second] - votes.first


@dataclass(frozen=True, slots=True)
class EarlyStop:
    """ESC (Li et al. 2024, arXiv:2401.10480): stop when all of one window agree; the answer is the plurality of all drawn."""

    window: int = 4

    def stops(self, votes: Tally) -> bool | NDArray[np.bool_]:
        """Windows are consecutive and disjoint."""
        return votes.agreed

    def lacking(self, votes: Tally) -> int | NDArray[np.int64]:
        """A window, whatever came before."""
        return self.window


def fewest_to_stop(rule: StoppingRule, votes: Tally) -> NDArray[np.int64]:
    """Fewest further samples after which a rule could stop, were all of them for the leader; at most all left.

    A live run draws so many side by side: none of them is one that a decision after every window would have saved.
    """
    windows = -(-np.maximum(rule.lacking(votes), 1) // rule.window)
    return np.minimum(windows * rule.window, votes.left)


@dataclass(frozen=True)
class Replay:
    """What a stopping rule does at budget k on one question, in each of M permutations; means over them are expectations."""

    draws_M: NDArray[np.int64]
    credits_M: NDArray[np.float64]
    agrees_M: NDArray[np.bool_]
    """Whether the answer is that of the full vote over k."""
    orders_MN: NDArray[np.int64]

    def expected_cost(self, costs: ArrayLike) -> float:
        """Mean over the permutations of an additive cost of each sample drawn, such as tokens or FLOPs."""
        return float(self._share_N @ np.asarray(costs, dtype=float))

    @cached_property
    def _share_N(self) -> NDArray[np.float64]:
        """In which share of the permutations each sample is drawn."""
        drawn_MN = np.arange(self.orders_MN.shape[1]) < self.draws_M[:, None]
        return np.bincount(self.orders_MN[drawn_MN], minlength=self.orders_MN.shape[1]) / len(self.orders_MN)


@dataclass(frozen=True, slots=True)
class Course:
    """A vote after every sample, in each of M permutations. No rule and no budget changes it: they only say where it ends."""

    class_N: NDArray[np.int64]
    """Number of each sample's answer, in the order of the samples; -1 for none."""
    orders_MN: NDArray[np.int64]
    answer_NM: NDArray[np.int64]
    """The same in the order in which they come."""
    first_NM: NDArray[np.int64]
    """Votes of the leading answer, the i-th sample included."""
    second_NM: NDArray[np.int64]
    winner_NM: NDArray[np.int64]
    """Number of the leading answer, ties to the one seen first as in a live run; -1 where nobody has voted."""

    @classmethod
    def of(cls, answers: Sequence[Hashable], orders_MN: NDArray[np.int64]) -> "Course":
        """Count once, for all rules and budgets.

        Args:
            answers: equivalence class of each sample's answer; None does not vote.
            orders_MN: from `permutations`.
        """
        number = {name: j for j, name in enumerate(dict.fromkeys(answer for answer in answers if answer is not None))}
        class_N = np.array([-1 if answer is None else number[answer] for answer in answers])
        answer_NM = class_N[np.ascontiguousarray(orders_MN.T)]
        best_NM, second_NM, winner_NM = (np.zeros_like(answer_NM) for _ in range(3))
        vote = len(answers) + 1  # worth more than any place, so that a rank says both the votes and who came first
        rank_MJ = np.zeros((len(orders_MN), len(number) + 1), dtype=np.int64)  # the last column takes those without an answer
        rank_F, start_M = rank_MJ.ravel(), np.arange(len(orders_MN)) * rank_MJ.shape[1]
        best_M, second_M = np.zeros((2, len(orders_MN)), dtype=np.int64)
        winner_M = np.full(len(orders_MN), -1)
        place_NM = np.where(answer_NM < 0, len(number), answer_NM) + start_M
        for i, (answer_M, place_M) in enumerate(zip(answer_NM, place_NM, strict=True)):
            old_M = rank_F[place_M]
            mine_M = (old_M + vote - i * (old_M == 0)) * (answer_M >= 0)
            rank_F[place_M] = mine_M
            second_M = np.maximum(second_M, np.minimum(best_M, mine_M) * (answer_M != winner_M))
            winner_M = np.where(mine_M > best_M, answer_M, winner_M)
            best_M = np.maximum(best_M, mine_M)
            best_NM[i], second_NM[i], winner_NM[i] = best_M, second_M, winner_M
        return cls(class_N, orders_MN, answer_NM, -(-best_NM // vote), -(-second_NM // vote), winner_NM)

    def replay(self, credits: Sequence[float], rule: StoppingRule, k: int, *, fallback_credit: float = 0.0) -> Replay:
        """Where a rule ends it at budget k, and what that is worth; `fallback_credit` where nobody has voted at the end."""
        require_budget(k, require_parallel(answers=self.class_N.tolist(), credits=credits))
        credit_N = np.asarray(credits, dtype=float)
        credit_J = [credit_N[self.class_N == j].mean() for j in range(self.class_N.max() + 1)]
        draws_M = self._stops_at(rule, k)
        winner_M, full_M = self.winner_NM[draws_M - 1, np.arange(len(draws_M))], self.winner_NM[k - 1]
        credits_M = np.array([*credit_J, fallback_credit])[winner_M]
        return Replay(draws_M, credits_M, winner_M == full_M, self.orders_MN)

    def critical_path(self, draws_M: NDArray[np.int64], rule: StoppingRule, k: int, costs: ArrayLike) -> NDArray[np.float64]:
        """costs_M: what a live run waits for: the longest sample of each wave (`fewest_to_stop`), waves one after another.

        Args:
            draws_M: samples drawn under the rule at budget k.
            costs: of each sample, such as tokens.
        """
        most = int(draws_M.max())
        row_M = np.arange(len(draws_M)) * most
        begins_F = np.zeros(len(row_M) * most + 1, dtype=bool)  # where one permutation ends another begins
        begins_F[row_M] = begins_F[row_M + draws_M] = True
        going, begin_M = np.arange(len(draws_M)), np.zeros_like(draws_M)
        end_M = begin_M + fewest_to_stop(rule, Tally(0, 0, k, agreed=False))
        while (on := end_M < draws_M[going]).any():
            going, begin_M = going[on], end_M[on]
            begins_F[row_M[going] + begin_M] = True
            first_M, second_M = self.first_NM[begin_M - 1, going], self.second_NM[begin_M - 1, going]
            end_M = begin_M + fewest_to_stop(rule, Tally(first_M, second_M, k - begin_M, agreed=False))
        cost_F = np.asarray(costs, dtype=float)[self.orders_MN[:, :most]].ravel()
        begins = np.flatnonzero(begins_F[:-1])
        of, place = np.divmod(begins, most)
        drawn = place < draws_M[of]
        longest = np.maximum.reduceat(cost_F, begins)[drawn]
        return np.bincount(of[drawn], weights=longest, minlength=len(row_M)).astype(float)

    def _stops_at(self, rule: StoppingRule, k: int) -> NDArray[np.int64]:
        """draws_M: samples drawn when the rule stops, at most all."""
        ends_W = np.arange(rule.window, k + 1, rule.window)
        if not len(ends_W):
            return np.full(self.answer_NM.shape[1], k)
        agreed_WM = _agreed(self.answer_NM[: len(ends_W) * rule.window].reshape(len(ends_W), rule.window, -1))
        stops_WM = rule.stops(Tally(self.first_NM[ends_W - 1], self.second_NM[ends_W - 1], (k - ends_W)[:, None], agreed_WM))
        return np.where(np.any(stops_WM, axis=0), ends_W[np.argmax(stops_WM, axis=0)], k)


def _agreed(answer_WwM: NDArray[np.int64]) -> NDArray[np.bool_]:
    return (answer_WwM[:, 0] >= 0) & (answer_WwM == answer_WwM[:, :1]).all(axis=1)
