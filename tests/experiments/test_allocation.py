"""A common budget: rules against enumeration, what is learned on other questions only, the plan live against its replay."""

import asyncio
from pathlib import Path

import numpy as np
import pytest

from experiments.allocation import Replays, checkpoints_up_to, cross_fitted, folds, learn, plan_of, within
from experiments.allocation_report import BOTH, PREDICTED, VOTE, WATCHED, compare
from ttc import prompts
from ttc.errors import UserError
from ttc.estimators import vote_at_k
from ttc.pool import Pool
from ttc.records import Question, Sample, Sampling
from ttc.session import Session
from ttc.strategies.allocated_vote import AllocatedVote, Plan, read_plan, state_of

N = 16


def question(name: str) -> Question:
    return Question(name, "exam", "multiple-choice", "Which?", ("one", "two", "three", "four"))


def pool(name: str, rate: float, rng: np.random.Generator) -> Pool:
    """Right with this rate, else one of three wrong answers; every sample ten tokens."""
    classes = [0 if rng.random() < rate else int(rng.integers(1, 4)) for _ in range(N)]
    return Pool(name, tuple(classes), tuple(float(one == 0) for one in classes), 5, (10,) * N, None, None)


@pytest.fixture(scope="module")
def bank() -> tuple[list[Question], dict[str, Pool], list[str]]:
    """Sure questions, hopeless ones, and ones that a vote of many settles; in turns, known by name."""
    rng, rates = np.random.default_rng(0), {"sure": 1.0, "hopeless": 0.02, "open": 0.45}
    kinds = list(rates) * 40
    asked = [question(f"{kind} {n}") for n, kind in enumerate(kinds)]
    return asked, {q.id: pool(q.id, rates[kind], rng) for q, kind in zip(asked, kinds, strict=True)}, kinds


@pytest.fixture(scope="module")
def replays(bank) -> Replays:
    return Replays.of(*bank[:2])


def test_checkpoints_rise_to_all_samples():
    assert checkpoints_up_to(16) == (1, 2, 3, 4, 6, 8, 12, 16)
    assert checkpoints_up_to(5) == (1, 2, 3, 4, 5)


def test_replays_agree_with_the_exact_vote(bank, replays):
    exact = np.mean([vote_at_k(pool.classes, pool.credits, 6) for pool in bank[1].values()])
    assert replays.uniform(60.0).mean() == pytest.approx(exact, abs=0.01)
    assert replays.uniform(65.0) == pytest.approx((replays.uniform(60.0) + replays.uniform(70.0)) / 2)


def test_without_a_look_the_rule_is_the_best_point_of_each_group(bank, replays):
    group_Q = np.array([["sure", "hopeless", "open"].index(kind) for kind in bank[2]])
    for price in (1e-5, 1e-3, 1e-2):
        rule = learn(replays, group_Q, 3, price, watches=False)
        _, cost_Q = rule.run(replays, group_Q)
        for group in range(3):
            credit_T, cost_T = (table[group_Q == group].mean(axis=(0, 2)) for table in (replays.credit_QTM, replays.cost_QTM))
            reached = cost_Q[group_Q == group].mean()
            worth_T = credit_T - price * cost_T
            assert worth_T[np.argmin(np.abs(cost_T - reached))] >= worth_T.max() - 0.02  # the mean of all pulls a little


def test_a_higher_price_never_buys_more(bank, replays):
    group_Q = np.zeros(len(bank[2]), dtype=int)
    spent = [
        learn(replays, group_Q, 1, price, watches=True).run(replays, group_Q)[1].mean() for price in (0, 1e-4, 1e-3, 1e-2, 9)
    ]
    assert spent == sorted(spent, reverse=True)
    assert spent[-1] == 10


def test_the_budget_is_kept_on_the_questions_it_was_learned_on(bank, replays):
    group_Q = np.zeros(len(bank[2]), dtype=int)
    for tokens in (20.0, 40.0, 80.0):
        assert within(replays, group_Q, 1, tokens, watches=True).run(replays, group_Q)[1].mean() <= tokens


def test_known_difficulty_beats_equal_shares_where_it_decides_what_pays(bank):
    found, _, _ = compare(*bank, budgets=[4], draws=500)
    assert found.row(VOTE, 4).gain.mean == 0
    assert found.row(PREDICTED, 4).gain.low > 0.02
    assert found.row(WATCHED, 4).gain.low > 0
    assert found.row(BOTH, 4).accuracy.mean >= found.row(PREDICTED, 4).accuracy.mean
    assert found.added[4].interval.mean == pytest.approx(
        found.row(BOTH, 4).gain.mean - found.row(WATCHED, 4).gain.mean, abs=1e-9
    )


def test_no_question_takes_part_in_its_own_rule(bank, replays):
    fold_Q = folds(replays.cluster_Q)
    turned = np.where((fold_Q == 0)[:, None, None], 1 - replays.credit_QTM, replays.credit_QTM)
    other = Replays(
        replays.checkpoints, turned, replays.cost_QTM, replays.first_QTM, replays.second_QTM, replays.vote_QK, replays.cluster_Q
    )
    before, after = (cross_fitted(one, bank[2], 10.0, 4, watches=True)[1] for one in (replays, other))
    np.testing.assert_array_equal(before[fold_Q == 0], after[fold_Q == 0])
    assert (before[fold_Q != 0] != after[fold_Q != 0]).any()


@pytest.fixture(scope="module")
def plan(bank, replays, tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("plan") / "plan.json"
    rules = cross_fitted(replays, bank[2], 10.0, 4, watches=True)[2]
    plan_of(bank[0], replays, bank[2], {4: rules}).write(path)
    return path


class Said:
    """A source whose samples have these classes."""

    def __init__(self, classes: list[int]) -> None:
        self.classes = classes

    async def samples(self, question, prompt, sampling, n, prefix=()):
        texts = [f"Answer: {'ABCD'[one]}" for one in self.classes[:n]]
        return [Sample("k", i, question.id, text, finish="stop", completion_tokens=10) for i, text in enumerate(texts)]


def solve(strategy: AllocatedVote, asked: Question, classes: list[int]):
    session = Session(asked, Said(classes), lambda one, style: prompts.render(one, style=style), Sampling())
    return asyncio.run(strategy.solve(session)), session.usage


def test_live_it_draws_what_the_plan_says_and_stands_by_the_vote(bank, plan):
    read = read_plan(plan)
    spent = {"sure": [], "hopeless": [], "open": []}
    for asked, kind in zip(bank[0], bank[2], strict=True):
        classes = list(bank[1][asked.id].classes)
        selection, usage = solve(AllocatedVote(n=4, plan=plan), asked, classes)
        stop = next(mark for mark in read.checkpoints if read.ends(4, asked.id, classes[:mark]))
        assert (usage.samples, usage.completion_tokens) == (stop, 10 * stop)
        winner, votes = classes[selection.sample], [classes[:stop].count(one) for one in range(4)]
        assert votes[winner] == max(votes)
        spent[kind].append(usage.samples)
    assert np.mean(spent["sure"]) < np.mean(spent["open"])
    assert np.mean([one for mine in spent.values() for one in mine]) == pytest.approx(4, abs=1)


def test_a_plan_that_was_edited_or_lacks_the_question_or_the_budget_is_refused(plan, tmp_path):
    with pytest.raises(UserError, match="no budget n=5"):
        solve(AllocatedVote(n=5, plan=plan), question("sure 0"), [0])
    with pytest.raises(UserError, match="does not know question stranger"):
        solve(AllocatedVote(n=4, plan=plan), question("stranger"), [0])
    edited = tmp_path / "edited.json"
    edited.write_text(plan.read_text().replace('"watches": true', '"watches": false'))
    with pytest.raises(UserError, match="changed since it was made"):
        read_plan(edited)
    with pytest.raises(UserError, match="ttc allocate"):
        read_plan(tmp_path / "none.json")


def test_the_seal_does_not_hang_on_the_order_of_a_set(plan):
    text = plan.read_text()
    assert Plan.model_validate_json(text).sealed().seal == read_plan(plan).seal


def test_the_state_of_a_vote_is_its_two_leaders():
    assert [state_of(classes) for classes in ((None,), (0, 0, 1), (0, 1, None, 2))] == [(0, 0), (2, 1), (1, 1)]
