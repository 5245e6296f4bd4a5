"""A common budget where it is worth most: when to stop asking, by predicted difficulty and by the votes so far.

    bank -> replays of each question -> on other questions, by price: stop or go on -> price that keeps the budget -> plan

For a price of tokens the best rule follows by dynamic programming from the last checkpoint back: go on where the credit gained,
with all that follows, is worth more than the tokens. Without a look at the votes this is each group's point on the concave hull
of its curve. Gains are means over questions of the other folds; a group's few are drawn toward the mean of all.

Q questions, T checkpoints, M permutations.
"""

import hashlib
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ttc import estimators
from ttc.errors import UserError
from ttc.pool import Pool
from ttc.records import Question
from ttc.strategies.allocated_vote import Plan, State

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

PERMUTATIONS = 200
FOLDS = 5
PRIOR = 8
"""Questions' worth of trust in the mean over all groups."""
STEPS = 24
"""Of the search for the price."""


def checkpoints_up_to(n: int) -> tuple[int, ...]:
    """1, 2, 3, 4, 6, 8, 12, 16, 24 ... up to n."""
    steps = sorted({1, 3, *(2**i for i in range(1, n.bit_length())), *(3 * 2**i for i in range(1, n.bit_length()))})
    return (*(k for k in steps if k < n), n)


@dataclass(frozen=True, slots=True)
class Replays:
    """What a vote over the samples of each question comes to at every checkpoint, in each permutation of them."""

    checkpoints: tuple[int, ...]
    credit_QTM: FloatArray
    cost_QTM: FloatArray
    """Completion tokens so far. The prompt is paid once, whatever is drawn, and is left out."""
    first_QTM: IntArray
    """Votes of the leading answer."""
    second_QTM: IntArray
    vote_QK: FloatArray
    """Credit of the vote over 1, 2 ... samples, the mean over the permutations."""
    cluster_Q: tuple[str, ...]

    @classmethod
    def of(cls, questions: Sequence[Question], pools: Mapping[str, Pool], most: int | None = None) -> "Replays":
        """Replay every question.

        Args:
            most: samples that one question may take; all it has where None.

        Raises:
            UserError: the questions have different numbers of samples, or tokens were not counted.
        """
        found = [pools[question.id] for question in questions]
        if len({pool.n for pool in found}) > 1:
            raise UserError("allocation needs the same number of samples of every question; finish the run first")
        marks = checkpoints_up_to(min(most or found[0].n, found[0].n))
        parts = [_replayed(pool, np.array(marks)) for pool in found]
        credit, cost, first, second, vote = (np.stack(column) for column in zip(*parts, strict=True))
        if np.isnan(cost).any():
            raise UserError("allocation is a matter of tokens, and some replies here were not counted")
        clusters = tuple(question.unit for question in questions)
        return cls(marks, credit, cost, first, second, vote, clusters)

    @property
    def tokens_per_sample(self) -> float:
        """Mean over all questions."""
        return float(self.cost_QTM[:, -1].mean()) / self.checkpoints[-1]

    def rows(self, rows: IntArray) -> "Replays":
        """Of some of the questions."""
        return Replays(
            self.checkpoints,
            self.credit_QTM[rows],
            self.cost_QTM[rows],
            self.first_QTM[rows],
            self.second_QTM[rows],
            self.vote_QK[rows],
            tuple(self.cluster_Q[row] for row in rows),
        )

    def states(self, at: int, *, watches: bool) -> IntArray:
        """state_QM at a checkpoint as one number; 0 everywhere where the votes are not looked at."""
        if not watches:
            return np.zeros_like(self.first_QTM[:, at])
        return self.first_QTM[:, at] * (self.checkpoints[-1] + 1) + self.second_QTM[:, at]

    def uniform(self, tokens: float) -> FloatArray:
        """credit_Q of equally many samples for every question, at so many tokens a question: k or k + 1 of them by lot."""
        k = float(np.clip(tokens / self.tokens_per_sample, 1, self.vote_QK.shape[1]))
        left = min(int(k), self.vote_QK.shape[1] - 1)
        return (1 - (k - left)) * self.vote_QK[:, left - 1] + (k - left) * self.vote_QK[:, left]


def _replayed(pool: Pool, marks: IntArray) -> tuple[FloatArray, FloatArray, IntArray, IntArray, FloatArray]:
    orders_MN = estimators.permutations(pool.n, count=PERMUTATIONS, stream=zlib.crc32(pool.question_id.encode()))
    course = estimators.Course.of(pool.classes, orders_MN)
    credit_N = np.asarray(pool.credits)
    count = course.class_N.max(initial=-1) + 1
    credit_J = np.array([*(credit_N[course.class_N == j].mean() for j in range(count)), 0.0])
    cost_MN = np.asarray(pool.completion_tokens, dtype=float)[orders_MN].cumsum(axis=1)
    credit_NM, at = credit_J[course.winner_NM], marks - 1
    return credit_NM[at], cost_MN.T[at], course.first_NM[at], course.second_NM[at], credit_NM[: marks[-1]].mean(axis=1)


@dataclass(frozen=True, slots=True)
class Rule:
    """Where to stop: at each checkpoint but the last, for each group, the states."""

    stops: tuple[NDArray[np.bool_], ...]
    """One table per checkpoint, group by state."""
    watches: bool

    def run(self, replays: Replays, group_Q: IntArray) -> tuple[FloatArray, FloatArray]:
        """credit_Q and tokens_Q, means over the permutations."""
        ends_QM = np.full(replays.credit_QTM[:, 0].shape, len(replays.checkpoints) - 1)
        for at in reversed(range(len(self.stops))):
            over_QM = self.stops[at][group_Q[:, None], replays.states(at, watches=self.watches)]
            ends_QM = np.where(over_QM, at, ends_QM)
        picks_Q1M = ends_QM[:, None]
        credit, cost = (
            np.take_along_axis(table, picks_Q1M, axis=1)[:, 0].mean(axis=1) for table in (replays.credit_QTM, replays.cost_QTM)
        )
        return credit, cost


def learn(replays: Replays, group_Q: IntArray, groups: int, price: float, *, watches: bool) -> Rule:
    """The best rule at a price per token, by dynamic programming from the last checkpoint back.

    Args:
        groups: how many there are, those without a question here too: they follow the mean of all.
        watches: the votes so far may decide.
    """
    width = (replays.checkpoints[-1] + 1) ** 2 if watches else 1
    value_QM = replays.credit_QTM[:, -1]
    stops = []
    for at in reversed(range(len(replays.checkpoints) - 1)):
        state_QM = replays.states(at, watches=watches)
        going_QM = value_QM - price * (replays.cost_QTM[:, at + 1] - replays.cost_QTM[:, at])
        gain_QM = going_QM - replays.credit_QTM[:, at]
        table = _is_not_worth(gain_QM, state_QM, group_Q, groups, width)
        value_QM = np.where(table[group_Q[:, None], state_QM], replays.credit_QTM[:, at], going_QM)
        stops.append(table)
    return Rule(tuple(reversed(stops)), watches)


def _is_not_worth(gain_QM: FloatArray, state_QM: IntArray, group_Q: IntArray, groups: int, width: int) -> NDArray[np.bool_]:
    """Group by state: whether the mean gain of going on is not above 0. A state never seen goes on."""
    cell_QM = group_Q[:, None] * width + state_QM
    per_question = gain_QM.shape[1]
    total_GS, count_GS = (
        np.bincount(cell_QM.ravel(), weights, groups * width).reshape(groups, width) / per_question
        for weights in (gain_QM.ravel(), None)
    )
    seen_S = count_GS.sum(axis=0)
    mean_S = np.divide(total_GS.sum(axis=0), seen_S, out=np.zeros(width), where=seen_S > 0)
    # a state comes up in few permutations: the trust in the mean of all shrinks with it
    prior_S = PRIOR * seen_S / max(seen_S.sum(), 1e-12) if width > 1 else np.array([float(PRIOR)])
    mean_GS = (total_GS + prior_S * mean_S) / np.maximum(count_GS + prior_S, 1e-12)
    return (mean_GS <= 0) & (seen_S > 0)


def within(replays: Replays, group_Q: IntArray, groups: int, tokens: float, *, watches: bool) -> Rule:
    """The rule at the lowest price that spends at most so many tokens a question on these questions."""
    low, high = -20.0, 5.0  # of the logarithm
    rule = learn(replays, group_Q, groups, float(np.exp(high)), watches=watches)
    for _ in range(STEPS):
        middle = (low + high) / 2
        tried = learn(replays, group_Q, groups, float(np.exp(middle)), watches=watches)
        if tried.run(replays, group_Q)[1].mean() <= tokens:
            rule, high = tried, middle
        else:
            low = middle
    return rule


def folds(clusters: Sequence[str], count: int = FOLDS) -> IntArray:
    """A number below `count` for each question, by turns over the clusters in the order of a hash."""
    ranked = sorted(set(clusters), key=lambda name: hashlib.sha256(name.encode()).digest())
    if len(ranked) < count:
        raise UserError(f"allocation learns on other questions than it judges, in {count} folds; {len(ranked)} are too few")
    turn = {name: rank % count for rank, name in enumerate(ranked)}
    return np.array([turn[name] for name in clusters])


def numbered(names: Sequence[str]) -> tuple[IntArray, list[str]]:
    """Number of each question's group, and the groups by number."""
    known = sorted(set(names))
    return np.array([known.index(name) for name in names]), known


def cross_fitted(
    replays: Replays, names: Sequence[str], tokens_per_sample: float, n: int, *, watches: bool
) -> tuple[FloatArray, FloatArray, list[Rule]]:
    """credit_Q and tokens_Q under rules learned on the other folds at n samples a question, and the rule of each fold."""
    group_Q, known = numbered(names)
    fold_Q = folds(replays.cluster_Q)
    credit_Q, cost_Q, rules = np.zeros(len(names)), np.zeros(len(names)), []
    for fold in range(FOLDS):
        train, judged = np.flatnonzero(fold_Q != fold), np.flatnonzero(fold_Q == fold)
        rule = within(replays.rows(train), group_Q[train], len(known), n * tokens_per_sample, watches=watches)
        credit_Q[judged], cost_Q[judged] = rule.run(replays.rows(judged), group_Q[judged])
        rules.append(rule)
    return credit_Q, cost_Q, rules


def plan_of(
    questions: Sequence[Question],
    replays: Replays,
    names: Sequence[str],
    rules: Mapping[int, Sequence[Rule]],
    *,
    predictions: str = "",
) -> Plan:
    """The frozen plan: every question under the rule that was learned without it.

    Args:
        rules: by budget, of each fold.
    """
    fold_Q, (group_Q, known) = folds(replays.cluster_Q), numbered(names)
    stops = {
        n: {
            f"{fold}/{name}": {
                mark: _states(rule.stops[at][number], replays.checkpoints[-1])
                for at, mark in enumerate(replays.checkpoints[:-1])
            }
            for fold, rule in enumerate(by_fold)
            for number, name in enumerate(known)
        }
        for n, by_fold in rules.items()
    }
    groups = {q.id: f"{fold}/{known[group]}" for q, fold, group in zip(questions, fold_Q, group_Q, strict=True)}
    watches = next(iter(rules.values()))[0].watches
    return Plan(checkpoints=replays.checkpoints, watches=watches, groups=groups, stops=stops, predictions=predictions).sealed()


def _states(stops_S: NDArray[np.bool_], last: int) -> frozenset[State]:
    return frozenset((int(state) // (last + 1), int(state) % (last + 1)) for state in np.flatnonzero(stops_S))
