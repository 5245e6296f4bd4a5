"""The weighted vote: enumeration against live runs, permutations against enumeration."""

from itertools import permutations as all_orders
from statistics import mean

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc import select
from ttc.estimators import WeightedPool, permutations, vote_curve

SAMPLES = st.lists(
    st.tuples(st.sampled_from([None, "A", "B", "C"]), st.sampled_from([None, -1.0, 0.0, 0.1, 0.2, 0.3, 2.0])),
    min_size=1,
    max_size=5,
)


@settings(max_examples=100, deadline=None)
@given(SAMPLES)
def test_enumeration_equals_the_mean_of_live_runs_over_all_orders(pool):
    answers, weights = zip(*pool, strict=True)
    credits = [float(answer == "A") for answer in answers]
    for k in range(1, len(pool) + 1):
        live = []
        for order in all_orders(range(len(pool))):
            winner = select.weighted([answers[i] for i in order[:k]], [weights[i] for i in order[:k]])
            live.append(0.25 if winner is None else credits[order[winner]])
        assert WeightedPool(answers, credits, weights, 0.25).enumerate(k) == pytest.approx(mean(live), abs=1e-12)


def random_pools(questions: int, n: int, seed: int) -> list[WeightedPool]:
    rng = np.random.default_rng(seed)
    pools = []
    for _ in range(questions):
        answers = rng.integers(0, 4, n).tolist()
        scores = rng.random(n)
        scores[1] = scores[0]
        pools.append(WeightedPool(answers, [float(a == 0) for a in answers], [select.clipped_logit(p) for p in scores]))
    return pools


def test_permutations_agree_with_enumeration_within_four_standard_errors():
    pools = random_pools(20, 12, 3)
    for k in (1, 2, 4, 6, 11, 12):
        exact = mean(pool.enumerate(k) for pool in pools)
        found_M = np.mean([pool.replay(permutations(12, stream=i), k) for i, pool in enumerate(pools)], axis=0)
        assert abs(found_M.mean() - exact) <= 4 * found_M.std() / len(found_M) ** 0.5 + 1e-12


def test_equal_weights_are_the_plain_vote_and_indicator_weights_the_filtered_one():
    answers, credits, scores = list("AABBBCCC"), [1, 1, 0, 0, 0, 0, 0, 0], [0.9, 0.8, 0.1, 0.7, None, 0.2, 0.6, 0.9]
    plain = WeightedPool(answers, credits, [0.5] * 8)
    assert [plain.enumerate(k) for k in range(1, 9)] == pytest.approx(vote_curve(answers, credits, range(1, 9)))
    kept = [1.0 if score is not None and score >= 0.5 else None for score in scores]
    filtered, votes = WeightedPool(answers, credits, kept, 0.25), select.voters(answers, scores, 0.5)
    assert [filtered.enumerate(k) for k in range(1, 9)] == pytest.approx(vote_curve(votes, credits, range(1, 9), 0.25))


def test_sums_that_differ_by_rounding_tie_and_the_larger_weight_decides():
    pool = WeightedPool(["A", "A", "A", "B"], [1, 1, 1, 0], [0.1, 0.1, 0.1, 0.3])
    assert 0.1 + 0.1 + 0.1 != 0.3
    assert pool.enumerate(4) == 0


def test_the_larger_class_decides_between_equal_sums_and_equal_weights_then_chance():
    assert WeightedPool(["A", "B", "B"], [1, 0, 0], [0.5, 0.5, 0.0]).enumerate(3) == 0
    assert WeightedPool(["A", "B"], [1, 0], [0.5, 0.5]).enumerate(2) == 0.5


def test_permutations_are_shared_by_seed_and_stream_and_nothing_else():
    assert (permutations(9, seed=1, stream=2) == permutations(9, seed=1, stream=2)).all()
    assert (permutations(9, seed=1, stream=2) != permutations(9, seed=1, stream=3)).any()
    assert (np.sort(permutations(9, count=50), axis=1) == np.arange(9)).all()
