"""What allocation buys: against the same number of samples for every question, stopping early, and the oracle, at equal tokens.

The oracle spends on each question what pays there. In hindsight, chosen and judged on the same samples, it flatters itself;
chosen on one half of the samples and judged on the other, it can take half of them only. The truth lies between.
"""

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from pydantic import TypeAdapter

from experiments.allocation import FloatArray, Replays, Rule, cross_fitted
from experiments.halves import half
from ttc import estimators, statistics
from ttc.estimators import BetaStop
from ttc.pool import Pool
from ttc.records import Question
from ttc.statistics import Interval, PairedDifference

CONFIDENCES = (0.51, 0.6, 0.7, 0.76, 0.8, 0.85, 0.88, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)
PERMUTATIONS = 200


@dataclass(frozen=True, slots=True)
class Row:
    """One way to spend one budget."""

    method: str
    n: int
    """Samples per question that the budget pays for."""
    accuracy: Interval
    tokens: float
    """Completion tokens per question that it spends."""
    gain: Interval
    """Over equally many samples for every question at the same tokens, paired."""
    p_value: float
    uses_gold: bool = False


@dataclass(frozen=True, slots=True)
class Allocation:
    """All ways at all budgets."""

    questions: int
    most: int
    """Samples that one question may take."""
    rows: tuple[Row, ...]
    added: Mapping[int, PairedDifference] = field(default_factory=dict)
    """By budget, what predicted difficulty adds to a look at the votes: the gain of both minus that of the votes alone."""

    def row(self, method: str, n: int) -> Row:
        """One of them."""
        return next(row for row in self.rows if (row.method, row.n) == (method, n))

    def to_json(self) -> str:
        """For `--json`."""
        return TypeAdapter(Allocation).dump_json(self, indent=1).decode()


VOTE, BETA, WATCHED, PREDICTED, BOTH = "vote", "stopping early", "votes so far", "predicted difficulty", "both"
HALVES, HINDSIGHT = "oracle, halves", "oracle, hindsight"


def compare(
    questions: Sequence[Question],
    pools: Mapping[str, Pool],
    names: Sequence[str] | None,
    budgets: Sequence[int],
    *,
    most: int | None = None,
    draws: int = statistics.DRAWS,
) -> tuple[Allocation, Replays, dict[str, dict[int, list[Rule]]]]:
    """Every way to spend every budget, the replays, and the rules by method and budget.

    Args:
        names: group of each question by its predicted difficulty; None for a look at the votes alone.
        most: see `Replays.of`.
    """
    replays = Replays.of(questions, pools, most)
    found = [pools[question.id] for question in questions]
    early = _early(found, replays.checkpoints[-1])
    first, second = (Replays.of(questions, {id: half(pool, which) for id, pool in pools.items()}, most) for which in (0, 1))
    everyone = [""] * len(questions)
    methods = {WATCHED: (everyone, True)}
    if names is not None:
        methods |= {PREDICTED: (names, False), BOTH: (names, True)}
    rows: list[Row] = []
    added: dict[int, PairedDifference] = {}
    rules: dict[str, dict[int, list[Rule]]] = {name: {} for name in methods}
    for n in budgets:
        tokens = n * replays.tokens_per_sample
        tried = {VOTE: (replays.uniform(tokens), tokens), BETA: _at(early, tokens)}
        for name, (groups, watches) in methods.items():
            credit_Q, cost_Q, rules[name][n] = cross_fitted(replays, groups, replays.tokens_per_sample, n, watches=watches)
            tried[name] = credit_Q, float(cost_Q.mean())
        tried[HALVES] = _oracle(first, second, tokens)
        tried[HINDSIGHT] = _oracle(replays, replays, tokens)
        rows += [_row(name, n, replays, *one, draws) for name, one in tried.items()]
        if names is not None:
            both, watched = (tried[name][0] - replays.uniform(tried[name][1]) for name in (BOTH, WATCHED))
            added[n] = statistics.paired_difference(both, watched, replays.cluster_Q, draws=draws)
    return Allocation(len(questions), replays.checkpoints[-1], tuple(rows), added), replays, rules


def _row(name: str, n: int, replays: Replays, credit_Q: FloatArray, tokens: float, draws: int) -> Row:
    clusters = replays.cluster_Q
    paired = statistics.paired_difference(credit_Q, replays.uniform(tokens), clusters, draws=draws)
    accuracy = statistics.interval(credit_Q, clusters, draws=draws)
    return Row(name, n, accuracy, tokens, paired.interval, paired.p_value, name in (HALVES, HINDSIGHT))


def _early(pools: Sequence[Pool], most: int) -> list[tuple[FloatArray, float]]:
    """credit_Q and tokens of adaptive consistency at rising confidence."""
    credit, cost = np.zeros((len(CONFIDENCES), len(pools))), np.zeros((len(CONFIDENCES), len(pools)))
    for row, pool in enumerate(pools):
        orders_MN = estimators.permutations(pool.n, count=PERMUTATIONS, stream=zlib.crc32(pool.question_id.encode()))
        course = estimators.Course.of(pool.classes, orders_MN)
        for place, confidence in enumerate(CONFIDENCES):
            replay = course.replay(pool.credits, BetaStop(confidence), most)
            credit[place, row] = replay.credits_M.mean()
            cost[place, row] = replay.expected_cost(pool.completion_tokens)
    return [(one, float(spent.mean())) for one, spent in zip(credit, cost, strict=True)]


def _at(curve: Sequence[tuple[FloatArray, float]], tokens: float) -> tuple[FloatArray, float]:
    """The curve at so many tokens: one of the two settings beside it by lot; an end where it does not reach so far."""
    spent = np.array([cost for _, cost in curve])
    right = int(np.clip(np.searchsorted(spent, tokens), 1, len(spent) - 1))
    width = spent[right] - spent[right - 1]
    share = float(np.clip((tokens - spent[right - 1]) / width, 0, 1)) if width > 0 else 1.0
    credit_Q = (1 - share) * curve[right - 1][0] + share * curve[right][0]
    return credit_Q, float((1 - share) * spent[right - 1] + share * spent[right])


def _oracle(chooses: Replays, judges: Replays, tokens: float) -> tuple[FloatArray, float]:
    """Every question's own best number of samples at the price that keeps the budget, chosen on one set of replays."""
    credit_QT, cost_QT = (table.mean(axis=2) for table in (chooses.credit_QTM, chooses.cost_QTM))
    rows = np.arange(len(credit_QT))
    low, high = -20.0, 5.0  # of the logarithm of the price
    for _ in range(50):
        middle = (low + high) / 2
        picks_Q = (credit_QT - np.exp(middle) * cost_QT).argmax(axis=1)
        low, high = (low, middle) if cost_QT[rows, picks_Q].mean() <= tokens else (middle, high)
    picks_Q = (credit_QT - np.exp(high) * cost_QT).argmax(axis=1)
    return judges.credit_QTM.mean(axis=2)[rows, picks_Q], float(judges.cost_QTM.mean(axis=2)[rows, picks_Q].mean())
