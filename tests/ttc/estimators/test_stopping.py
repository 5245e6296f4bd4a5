"""Stopping rules: replayed from the bank against live runs, one permutation at a time."""

from itertools import permutations as all_orders
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc import select
from ttc.estimators import BetaStop, EarlyStop, LosslessStop, beta_confidence, permutations
from ttc.estimators.stopping import Course, Tally, fewest_to_stop, tally

RULES = [LosslessStop(), LosslessStop(window=3), BetaStop(0.8), BetaStop(0.9, window=2), EarlyStop(2), EarlyStop(3)]
ANSWERS = st.lists(st.sampled_from([None, "A", "B", "C"]), min_size=1, max_size=9)


def live_run(drawn, rule):
    """Samples used and the answer, deciding after each window as a live strategy does."""
    for upto in range(rule.window, len(drawn), rule.window):
        if rule.stops(tally(drawn[:upto], len(drawn), rule.window)):
            drawn = drawn[:upto]
            break
    winner = select.plurality(drawn)
    return len(drawn), None if winner is None else drawn[winner]


def waves(drawn, rule, used):
    """What a live run draws side by side, one wave after another."""
    begin = 0
    while begin < used:
        end = begin + fewest_to_stop(rule, tally(drawn[:begin], len(drawn), rule.window))
        yield slice(begin, end)
        begin = end


@pytest.mark.parametrize("rule", RULES, ids=repr)
@settings(max_examples=40, deadline=None)
@given(answers=ANSWERS, data=st.data())
def test_a_replay_equals_the_live_run_in_every_permutation(rule, answers, data):
    k = data.draw(st.integers(1, len(answers)))
    credits = [{"A": 1.0, "B": 0.5}.get(answer, 0.0) for answer in answers]
    tokens = np.arange(1, len(answers) + 1) * 10
    orders = permutations(len(answers), count=50)
    course = Course.of(answers, orders)
    runs = course.replay(credits, rule, k, fallback_credit=0.25)
    waits = course.critical_path(runs.draws_M, rule, k, tokens)
    costs = []
    for m, order in enumerate(orders):
        drawn = [answers[i] for i in order[:k]]
        used, answer = live_run(drawn, rule)
        full = select.plurality(drawn)
        spent = tokens[order[:used]]
        assert runs.draws_M[m] == used
        assert runs.credits_M[m] == {"A": 1.0, "B": 0.5, None: 0.25}.get(answer, 0.0)
        assert runs.agrees_M[m] == (answer == (None if full is None else drawn[full]))
        costs.append(spent.sum())
        assert waits[m] == sum(spent[wave].max() for wave in waves(drawn, rule, used))
    assert runs.expected_cost(tokens) == pytest.approx(np.mean(costs))


@pytest.mark.parametrize("rule", RULES, ids=repr)
def test_a_wave_is_the_least_after_which_a_rule_could_stop(rule):
    for first, second, left in product(range(7), range(5), range(1, 12)):
        if second <= first:
            tried = range(rule.window, left, rule.window)
            stops = (more for more in tried if rule.stops(Tally(first + more, second, left - more, agreed=True)))
            assert fewest_to_stop(rule, Tally(first, second, left, agreed=False)) == next(stops, left)


def test_lossless_stopping_never_changes_the_answer_and_saves_samples():
    rng = np.random.default_rng(0)
    for stream in range(20):
        answers = rng.choice(["A", "B", "C", "D"], size=64, p=[0.6, 0.2, 0.1, 0.1]).tolist()
        course = Course.of(answers, permutations(64, count=100, stream=stream))
        runs = course.replay([float(a == "A") for a in answers], LosslessStop(), 64)
        assert runs.agrees_M.all()
        assert runs.draws_M.mean() < 64


def test_lossless_goes_on_while_a_tie_is_possible():
    assert not LosslessStop().stops(tally(["A", "A", "B"], k=4))
    assert LosslessStop().stops(tally(["A", "A", "A"], k=5))


def test_stopping_at_equality_would_lose_answers():
    orders = np.array(list(all_orders(range(4))))
    runs = Course.of(["B", "A", "A", "B"], orders).replay([0, 1, 1, 0], LosslessStop(), 4)
    assert runs.agrees_M.all()
    assert (runs.draws_M[runs.draws_M < 4]).size == 0


def test_beta_confidence_of_unanimous_votes():
    assert [beta_confidence(votes, 0) for votes in (1, 2, 3, 4)] == [0.75, 0.875, 0.9375, 0.96875]
    assert beta_confidence(0, 0) == beta_confidence(5, 5) == 0.5


def test_beta_confidence_is_the_incomplete_beta_function():
    from scipy.special import betainc

    for first in range(30):
        for second in range(first + 1):
            assert beta_confidence(first, second) == pytest.approx(1 - betainc(first + 1, second + 1, 0.5), abs=1e-13)


@pytest.mark.parametrize("confidence", [0.5, 1.0, 0.1])
def test_a_confidence_that_means_nothing_is_an_error(confidence):
    with pytest.raises(ValueError, match="must lie between"):
        BetaStop(confidence)


def test_early_stopping_windows_are_disjoint_and_none_does_not_agree():
    def draws(answers, window):
        n = len(answers)
        return Course.of(answers, np.arange(n)[None]).replay([0.0] * n, EarlyStop(window), n).draws_M[0]

    assert draws(["A", "B", "B", "C", "C", "C"], 2) == 6
    assert draws(["A", "B", "B", "B", "C", "C"], 2) == 4
    assert draws([None, None, "A", "A", "B", "B"], 2) == 4
