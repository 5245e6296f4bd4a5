"""Kappa and alpha against cases worked out by hand and against enumeration."""

from itertools import permutations

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score, f1_score

from training.agreement import alpha, confusion, kappa, macro_f1
from ttc.errors import UserError

AB = ("a", "b")


def test_kappa_by_hand():
    # 20 and 15 alike, 5 and 10 not: 0.70 agree, 0.5 * 0.6 + 0.5 * 0.4 = 0.50 would by chance
    first = ["a"] * 20 + ["a"] * 5 + ["b"] * 10 + ["b"] * 15
    second = ["a"] * 20 + ["b"] * 5 + ["a"] * 10 + ["b"] * 15
    assert kappa(first, second, AB, draws=10).mean == pytest.approx(0.4)
    assert confusion(first, second, AB) == ((20, 5), (10, 15))


def test_alpha_by_hand():
    # units aa, ab, bb: coincidences aa 2, ab 1, ba 1, bb 2; 2 of 6 differ, by chance 2 * 3 * 3 / 5 of 6: 1 - 2 / 3.6
    assert alpha([["a", "a", "b"], ["a", "b", "b"]], AB, draws=10).mean == pytest.approx(1 - 2 / 3.6)


def test_ordinal_alpha_by_hand():
    # values 1 1 | 1 2 | 3 3: n = 3, 1, 2; distances 1-2 2, 2-3 1.5, 1-3 3.5, squared 4, 2.25, 12.25;
    # observed 2 * 4, expected 2 * (3 * 1 * 4 + 1 * 2 * 2.25 + 3 * 2 * 12.25) / 5
    found = alpha([["1", "1", "3"], ["1", "2", "3"]], ("1", "2", "3"), level="ordinal", draws=10).mean
    assert found == pytest.approx(1 - 8 / (2 * (12 + 4.5 + 73.5) / 5))


def test_alpha_of_the_textbook_case_with_gaps():
    """Four observers, twelve units (Krippendorff 2011): 0.743 nominal, 0.815 ordinal."""
    said = ("1 2 3 3 2 1 4 1 2 . . .", "1 2 3 3 2 2 4 1 2 5 . 3", ". 3 3 3 2 3 4 2 2 5 1 .", "1 2 3 3 2 4 4 1 2 5 1 .")
    rows = [[None if one == "." else one for one in row.split()] for row in said]
    assert alpha(rows, "12345", draws=10).mean == pytest.approx(0.743, abs=5e-4)
    assert alpha(rows, "12345", level="ordinal", draws=10).mean == pytest.approx(0.815, abs=5e-4)


@pytest.mark.parametrize(("level", "weights"), [("nominal", None), ("ordinal", "quadratic")])
def test_kappa_is_that_of_scikit_learn(level, weights):
    rng = np.random.default_rng(0)
    first = rng.integers(0, 4, 200)
    second = np.where(rng.random(200) < 0.5, first, rng.integers(0, 4, 200))
    found = kappa([str(x) for x in first], [str(x) for x in second], "0123", level=level, draws=10)
    assert found.mean == pytest.approx(cohen_kappa_score(first, second, weights=weights))


def test_alpha_does_not_depend_on_the_order_of_raters_or_of_nominal_labels():
    rows = [["a", "b", "c", None], ["a", "c", "c", "b"], ["b", "b", None, "b"]]
    values = {
        round(alpha(raters, labels, draws=10).mean, 12) for raters in permutations(rows) for labels in permutations("abc")
    }
    assert len(values) == 1


def test_who_always_says_the_same_agrees_by_chance_alone():
    assert kappa("aaaa", "aabb", AB, draws=10).mean == 0
    assert kappa("aaaa", "aaaa", AB, draws=10).mean == 0


def test_intervals_resample_clusters_whole():
    first, second = ["a", "b"] * 50, ["a", "b"] * 40 + ["b", "a"] * 10
    alone = kappa(first, second, AB, draws=2000)
    together = kappa(first, second, AB, draws=2000, clusters=[place // 20 for place in range(100)])
    assert alone.clusters == 100
    assert together.clusters == 5
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert alone.low < alone.mean < alone.high


def test_macro_f1_counts_only_kinds_that_there_are():
    true, found = list("aabbb"), list("abbbc")
    assert macro_f1(true, found, draws=10).mean == pytest.approx(f1_score(true, found, average=None, labels=["a", "b"]).mean())


def test_labels_that_do_not_fit_are_told():
    with pytest.raises(UserError, match="'z' is none of"):
        kappa("az", "ab", AB)
    with pytest.raises(UserError, match="none of 2 is"):
        alpha([["a", None], [None, "b"]], AB)
