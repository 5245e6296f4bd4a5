"""pass@k, pass^k and best-of-k against enumeration in exact fractions."""

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, combinations_with_replacement, product
from statistics import mean

import pytest

from ttc.estimators import best_of_k, longest_of_k, pass_at_k, pass_hat_k
from ttc.estimators.counting import among_k

SMALL = [(n, k) for n in range(1, 8) for k in range(1, n + 1)]


def subsets(n: int, k: int) -> Iterator[tuple[int, ...]]:
    return combinations(range(n), k)


def test_pass_at_k_and_pass_hat_k_equal_enumeration_for_every_n_to_7():
    for n, k in SMALL:
        for right in range(n + 1):
            credits = [1] * right + [0] * (n - right)
            some = mean(Fraction(max(credits[i] for i in chosen)) for chosen in subsets(n, k))
            every = mean(Fraction(min(credits[i] for i in chosen)) for chosen in subsets(n, k))
            assert pass_at_k(credits, k) == float(some)
            assert pass_hat_k(credits, k) == float(every)


def test_fractional_credit_gives_the_expected_best_credit():
    for n, k in SMALL:
        for credits in combinations_with_replacement((Fraction(0), Fraction(1, 4), Fraction(1)), n):
            exact = mean(max(credits[i] for i in chosen) for chosen in subsets(n, k))
            assert pass_at_k([float(c) for c in credits], k) == pytest.approx(float(exact), abs=1e-14)


def best_by_enumeration(scores, credits, k) -> Fraction:
    total = []
    for chosen in subsets(len(scores), k):
        ranks = [(scores[i] is not None, scores[i] or 0) for i in chosen]
        total.append(mean(Fraction(credits[i]) for i, rank in zip(chosen, ranks, strict=True) if rank == max(ranks)))
    return mean(total)


def test_best_of_k_equals_enumeration_with_ties_and_missing_scores():
    sample = [(score, credit) for score in (None, -1.0, 0.0, 2.0) for credit in (0, 1)]
    for n in range(1, 6):
        for pool in combinations_with_replacement(sample, n):
            scores, credits = zip(*pool, strict=True)
            for k in range(1, n + 1):
                assert best_of_k(scores, credits, k) == pytest.approx(float(best_by_enumeration(scores, credits, k)), abs=1e-14)


@pytest.mark.parametrize("n", [6, 7])
def test_best_of_k_equals_enumeration_of_larger_pools(n):
    credits = [1, 0, 0, 1, 1, 0, 1][:n]
    for scores in product((None, 0.1, 0.9), repeat=n):
        k = 1 + sum(score is None for score in scores) % n
        assert best_of_k(scores, credits, k) == pytest.approx(float(best_by_enumeration(scores, credits, k)), abs=1e-14)


def test_two_right_of_sixteen_pass_at_eight_by_hand():
    credits = [1, 1] + [0] * 14
    assert pass_at_k(credits, 8) == 23 / 30  # 1 - (8 * 7) / (16 * 15)
    assert round(pass_at_k(credits, 8), 3) == 0.767  # resampling with replacement would give 0.656


def test_a_missing_score_loses_even_to_a_negative_one():
    assert best_of_k([None, -5.0], [1, 0], 2) == 0


def test_identities_at_the_ends_and_monotonicity():
    credits, scores = [1, 0, 0.5, 1, 0, 0, 0.25], [0.3, 0.9, 0.9, None, 0.1, 0.5, 0.7]
    assert best_of_k(scores, credits, 1) == pytest.approx(mean(credits))
    assert best_of_k(scores, credits, 7) == 0.25
    curve = [pass_at_k(credits, k) for k in range(1, 8)]
    assert curve == sorted(curve)
    assert all(best_of_k(scores, credits, k) <= pass_at_k(credits, k) for k in range(1, 8))


def test_ten_thousand_samples_neither_overflow_nor_cancel():
    credits = [1] + [0] * 9_999
    assert pass_at_k(credits, 5_000) == 0.5
    assert best_of_k(range(10_000), range(10_000), 10_000) == 9_999


@pytest.mark.parametrize("k", [0, -1, 4])
def test_a_budget_outside_the_samples_is_an_error(k):
    for estimator in (
        lambda: pass_at_k([1, 0, 0], k),
        lambda: pass_hat_k([1, 0, 0], k),
        lambda: best_of_k([1, 2, 3], [1, 0, 0], k),
    ):
        with pytest.raises(ValueError, match=f"k = {k}"):
            estimator()


def test_columns_of_different_length_and_nan_are_errors():
    with pytest.raises(ValueError, match="one entry per sample"):
        best_of_k([0.1, 0.2], [1], 1)
    with pytest.raises(ValueError, match="NaN"):
        best_of_k([0.1, float("nan")], [1, 0], 1)
    with pytest.raises(ValueError, match="0 and 1 only"):
        pass_hat_k([0.5, 1], 1)


def test_the_expected_longest_of_k_equals_enumeration_for_every_n_to_7():
    lengths = (5, 1, 8, 5, 13, 0, 8)
    for n, k in SMALL:
        longest = mean(Fraction(max(lengths[i] for i in chosen)) for chosen in subsets(n, k))
        assert longest_of_k(lengths[:n], k) == pytest.approx(float(longest), abs=1e-13)
    # 10, 20, 30 by pairs: 20, 30, 30
    assert longest_of_k((10, 20, 30), 2) == pytest.approx(80 / 3)


def test_the_chance_that_a_kind_is_among_k_equals_enumeration():
    kinds = "aabacdb"
    for k in range(1, 8):
        sets = list(combinations(kinds, k))
        found = {kind: sum(kind in one for one in sets) / len(sets) for kind in kinds}
        assert among_k(kinds, k) == pytest.approx(found, abs=1e-13)
