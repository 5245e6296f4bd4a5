"""The m best of k: each set's probability against enumeration in exact fractions, ties broken in every way."""

from collections import Counter
from fractions import Fraction
from itertools import permutations
from math import comb

import numpy as np
import pytest

from ttc.estimators import best_of_orders, best_sets, sets_of_best
from ttc.select import top

SCORES = {
    "different": [0.3, 0.9, 0.1, 0.5, 0.7, 0.2],
    "equal": [0.5] * 6,
    "some equal": [0.5, 0.9, 0.5, 0.1, 0.5, 0.1],
    "some missing": [0.5, None, 0.5, None, 0.2, 0.9],
}


def enumerated(scores: list, k: int, m: int) -> dict[tuple[int, ...], Fraction]:
    """By live runs: the first k of every order, of which the m highest are kept, ties to the earlier."""
    found: Counter[tuple[int, ...]] = Counter()
    for order in permutations(range(len(scores)), k):
        # a place marks each sample, so that one kept without a score is seen too
        ranked = sorted(range(k), key=lambda i: (scores[order[i]] is None, -(scores[order[i]] or 0.0), i))
        found[tuple(sorted(order[i] for i in ranked[:m]))] += 1
    return {kept: Fraction(count, found.total()) for kept, count in found.items()}


@pytest.mark.parametrize("name", SCORES)
def test_the_probability_of_each_set_is_that_of_all_orders(name):
    scores = SCORES[name]
    for k in range(1, 7):
        for m in range(1, k + 1):
            member_SN, probability_S = best_sets(scores, k, m)
            sets = [tuple(map(int, np.flatnonzero(member))) for member in member_SN]
            found = dict(zip(sets, probability_S, strict=True))
            assert found == pytest.approx({kept: float(p) for kept, p in enumerated(scores, k, m).items()}, abs=1e-12)


def test_over_all_orders_the_kept_are_those_of_the_sets():
    orders = np.array(list(permutations(range(6))))
    for name, k, m in [("some equal", 4, 2), ("some missing", 5, 3), ("different", 3, 1)]:
        member_MN = best_of_orders(SCORES[name], orders, k, m)
        member_SN, probability_S = best_sets(SCORES[name], k, m)
        assert member_MN.mean(axis=0) == pytest.approx(probability_S @ member_SN, abs=1e-12)


def test_a_live_run_keeps_what_the_replay_of_its_order_keeps():
    scores = [0.5, 0.9, 0.5, None, 0.5, 0.1]
    kept = [score is not None for score in top(scores, 3)]
    assert best_of_orders(scores, np.arange(6)[None], 6, 3)[0].tolist() == kept


def test_the_number_of_sets_to_go_through_is_known_before():
    for k, m in [(6, 2), (4, 2), (3, 3), (5, 1)]:
        assert len(best_sets(SCORES["different"], k, m)[0]) == sets_of_best(SCORES["different"], k, m) == comb(6 - k + m, m)
    assert sets_of_best([0.5] * 64, 64, 7) == comb(64, 7)


def test_more_kept_than_drawn_is_an_error():
    with pytest.raises(ValueError, match="the 4 best of 3"):
        best_sets(SCORES["different"], 3, 4)
