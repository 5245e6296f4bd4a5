"""Selection on real answers: ties, missing answers, missing scores."""

import pytest

from ttc import select


def test_plurality_goes_to_the_most_common_class_and_gives_its_first_sample():
    assert select.plurality(["B", "A", "A", None, None, None]) == 1


def test_a_tie_goes_to_the_class_seen_first_not_to_the_first_letter():
    assert select.plurality(["B", "A", "A", "B"]) == 0


def test_nobody_voting_selects_nothing():
    assert select.plurality([None, None]) is None
    assert select.plurality([]) is None
    assert select.weighted([None, "A"], [0.5, None]) is None
    assert select.filtered(["A", "B"], [0.1, None], 0.5) is None
    assert select.best([]) is None


def test_class_zero_votes_like_any_other():
    assert select.plurality([None, 0, 0, 1]) == 1


def test_best_takes_the_first_of_the_highest_and_a_missing_score_loses():
    assert select.best([0.2, 0.9, 0.9]) == 1
    assert select.best([None, -3.0, None]) == 1
    assert select.best([None, None]) == 0


def test_filtered_votes_only_with_samples_at_or_above_the_threshold():
    assert select.filtered(["A", "A", "B", "C"], [0.4, None, 0.5, 0.9], 0.5) == 2


def test_weighted_sums_the_weights_of_each_answer():
    assert select.weighted(["A", "B", "B"], [0.5, 0.3, 0.3]) == 1
    assert select.weighted(["A", "B"], [-1.0, -2.0]) == 0


def test_weighted_ties_go_to_the_larger_weight_then_the_larger_class_then_the_first_seen():
    assert select.weighted(["A", "A", "A", "B"], [0.1, 0.1, 0.1, 0.3]) == 3
    assert select.weighted(["A", "B", "B", "B"], [0.5, 0.5, 0.5, -0.5]) == 1
    assert select.weighted(["B", "A"], [0.5, 0.5]) == 0


def test_the_logit_is_clipped_so_that_one_certain_vote_is_finite():
    assert select.clipped_logit(0.5) == 0
    assert select.clipped_logit(1.0) == -select.clipped_logit(0.0) == pytest.approx(13.8155, abs=1e-4)
