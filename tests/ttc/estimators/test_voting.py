"""vote@k against enumeration in exact fractions, hand-worked cases, live runs and released samples."""

import json
from collections import Counter
from fractions import Fraction
from itertools import combinations, permutations
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc import select
from ttc.estimators import pass_at_k, vote_at_k, vote_coverage_at_k, vote_curve

ANSWERS = st.lists(st.sampled_from([None, "A", "B", "C", "D"]), min_size=1, max_size=8)


def vote_by_enumeration(answers, credits, k, fallback) -> Fraction:
    outcomes = []
    for chosen in combinations(range(len(answers)), k):
        votes = Counter(answers[i] for i in chosen if answers[i] is not None)
        winners = [name for name, count in votes.items() if count == max(votes.values())]
        picked = [mean(Fraction(credits[i]) for i in chosen if answers[i] == name) for name in winners]
        outcomes.append(mean(picked) if picked else Fraction(fallback))
    return mean(outcomes)


def partitions(n: int, largest: int):
    if n == 0:
        yield ()
    for first in range(min(n, largest), 0, -1):
        for rest in partitions(n - first, first):
            yield (first, *rest)


def pools_to_seven():
    """Every pool of at most 7 samples up to the names of its answers, without credits."""
    for n in range(1, 8):
        for nobody in range(n + 1):
            for sizes in partitions(n - nobody, n):
                yield [None] * nobody + [name for name, size in enumerate(sizes) for _ in range(size)]


def test_vote_equals_enumeration_for_every_pool_to_seven_samples_and_every_right_answer():
    for answers in pools_to_seven():
        for right in {answer for answer in answers if answer is not None}:
            credits = [int(answer == right) for answer in answers]
            curve = vote_curve(answers, credits, range(1, len(answers) + 1))
            assert curve == [float(vote_by_enumeration(answers, credits, k, 0)) for k in range(1, len(answers) + 1)]


def test_vote_equals_enumeration_with_fractional_credits_and_a_fallback():
    for answers in pools_to_seven():
        credits = [Fraction(0) if answer is None else Fraction(i, 8) for i, answer in enumerate(answers)]
        for k in range(1, len(answers) + 1):
            exact = vote_by_enumeration(answers, credits, k, Fraction(1, 4))
            assert vote_at_k(answers, [float(c) for c in credits], k, 0.25) == pytest.approx(float(exact), abs=1e-14)


@settings(max_examples=100, deadline=None)
@given(ANSWERS, st.data())
def test_first_seen_ties_of_a_live_run_have_the_same_expectation(answers, data):
    answers = answers[:5]
    credits = [data.draw(st.sampled_from([0, 1])) if answer else 0 for answer in answers]
    for k in range(1, len(answers) + 1):
        live = []
        for order in permutations(range(len(answers))):
            winner = select.plurality([answers[i] for i in order[:k]])
            live.append(0.5 if winner is None else credits[order[winner]])
        assert vote_at_k(answers, credits, k, 0.5) == pytest.approx(mean(live), abs=1e-12)


def test_three_a_and_a_b_at_three_votes_by_hand():
    # a state of probability 0 divides 0 by 0 in the usual recursion; B alone can never win 2 of 3
    assert vote_at_k(["A", "A", "A", "B"], [1, 1, 1, 0], 3) == 1
    assert vote_at_k(["A", "A", "A", "B"], [0, 0, 0, 1], 3) == 0


def test_ties_and_none_by_hand():
    # pairs of A A B None: AA, AB twice (a tie), A None twice, B None
    assert vote_at_k(["A", "A", "B", None], [1, 1, 0, 0], 2) == pytest.approx((1 + 2 * 0.5 + 2) / 6)
    assert vote_at_k([None, None, "A"], [0, 0, 0], 2, fallback_credit=0.25) == pytest.approx(0.25 / 3)
    assert vote_at_k([0, 0, 1], [1, 1, 0], 1) == pytest.approx(2 / 3)  # class 0 is a class


def test_identities_at_one_vote_and_at_all():
    answers = ["A", "A", "B", "B", "C", None, None]
    credits = [1, 1, 0.5, 0.5, 0, 0, 0]
    assert vote_at_k(answers, credits, 1, 0.25) == pytest.approx(mean(credits) + 0.25 * 2 / 7)
    assert vote_at_k(answers, credits, 7, 0.25) == pytest.approx(0.75)


def test_vote_never_beats_the_oracle_and_answers_as_often_as_somebody_votes():
    rng = np.random.default_rng(5)
    answers = [None if x == 0 else int(x) for x in rng.integers(0, 9, 64)]
    credits = [float(answer == 3) for answer in answers]
    answered = [float(answer is not None) for answer in answers]
    for k in (1, 2, 3, 8, 31, 32, 33, 63, 64):
        assert vote_at_k(answers, credits, k) <= pass_at_k(credits, k) + 1e-12
        assert vote_at_k(answers, answered, k) == pytest.approx(vote_coverage_at_k(answers, k), abs=1e-12)


@pytest.mark.parametrize("k", [2, 8, 32, 100])
def test_a_monte_carlo_run_of_fresh_draws_agrees_within_four_standard_errors(k):
    rng = np.random.default_rng(k)
    answers = rng.choice([0, 1, 2, 3, 4, 5], size=128, p=[0.3, 0.27, 0.2, 0.13, 0.06, 0.04])
    fresh = []
    for _ in range(4000):
        drawn = rng.permutation(answers)[:k].tolist()
        winner = select.plurality([None if answer == 5 else answer for answer in drawn])
        fresh.append(0.0 if winner is None else float(drawn[winner] == 1))
    exact = vote_at_k([None if answer == 5 else answer for answer in answers], answers == 1, k)
    assert abs(np.mean(fresh) - exact) <= 4 * np.std(fresh) / 4000**0.5


@settings(max_examples=100, deadline=None)
@given(ANSWERS, st.data())
def test_the_filtered_vote_equals_enumeration_over_votes_above_the_threshold(answers, data):
    scores = [data.draw(st.sampled_from([None, 0.2, 0.5, 0.8])) for _ in answers]
    credits = [int(answer == "A") for answer in answers]
    kept = select.voters(answers, scores, 0.5)
    assert all(answer is None for answer, score in zip(kept, scores, strict=True) if score is None or score < 0.5)
    curve = vote_curve(kept, credits, range(1, len(answers) + 1), 0.25)
    exact = [vote_by_enumeration(kept, credits, k, Fraction(1, 4)) for k in range(1, len(answers) + 1)]
    assert curve == pytest.approx([float(value) for value in exact], abs=1e-14)


def test_arrays_are_as_good_as_lists():
    answers, credits = np.array([1, 1, 2, 3]), np.array([1.0, 1.0, 0.0, 0.0])
    assert vote_at_k(answers, credits, 3) == vote_at_k(answers.tolist(), credits.tolist(), 3)
    assert pass_at_k(credits, 2) == pass_at_k(credits.tolist(), 2)


@pytest.mark.parametrize("k", [0, 5])
def test_a_budget_outside_the_samples_is_an_error(k):
    with pytest.raises(ValueError, match=f"k = {k}"):
        vote_at_k(["A"] * 4, [1] * 4, k)


@pytest.mark.shared
def test_curves_of_real_samples_have_the_published_ends(shared):
    lines = (shared / "data/samples/game24_gpt4_100x100.jsonl").read_text().splitlines()
    pools = [json.loads(line)["samples"] for line in lines]
    credits = [[sample["correct"] for sample in pool] for pool in pools]
    answers = [[sample["answer"] for sample in pool] for pool in pools]
    ks = range(1, 101)
    oracle = [mean(pass_at_k(row, k) for row in credits) for k in ks]
    vote = np.mean([vote_curve(a, c, ks) for a, c in zip(answers, credits, strict=True)], axis=0)
    assert [round(oracle[k - 1], 4) for k in (1, 10, 100)] == [0.0403, 0.2148, 0.49]
    assert round(float(vote[99]), 4) == 0.0883
    assert vote[0] == pytest.approx(oracle[0])
