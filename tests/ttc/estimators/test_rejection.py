"""Rejection sampling against live runs over every order of the samples."""

from itertools import permutations
from statistics import mean

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ttc import select
from ttc.estimators import rejection_at_k, risk_coverage

SAMPLES = st.lists(
    st.tuples(st.sampled_from([None, 0.2, 0.5, 0.8]), st.sampled_from([None, "A", "B"]), st.integers(1, 9)),
    min_size=1,
    max_size=5,
)


def live_runs(pool, credits, k, fallback):
    """Credit, draws, cost and acceptance of a live run in every order, threshold 0.5."""
    for order in permutations(range(len(pool))):
        drawn = order[:k]
        accepted = next((i for i, s in enumerate(drawn) if pool[s][0] is not None and pool[s][0] >= 0.5), None)
        if accepted is not None:
            drawn, winner = drawn[: accepted + 1], accepted
        elif fallback == "vote":
            winner = select.plurality([pool[s][1] for s in drawn])
        elif fallback == "best":
            winner = select.best([pool[s][0] for s in drawn])
        else:
            winner = None
        greedy = 100 if fallback == "greedy" and accepted is None else 0
        credit = credits[drawn[winner]] if winner is not None else 0.75 * (greedy > 0)
        yield credit, len(drawn), sum(pool[s][2] for s in drawn) + greedy, accepted is not None


@pytest.mark.parametrize("fallback", ["abstain", "vote", "best", "greedy"])
@settings(max_examples=40, deadline=None)
@given(pool=SAMPLES)
def test_credit_draws_and_cost_equal_the_mean_over_all_orders(fallback, pool):
    scores, answers, costs = zip(*pool, strict=True)
    credits = [float(answer == "A") for answer in answers]
    for k in range(1, len(pool) + 1):
        result = rejection_at_k(scores, credits, 0.5, k, fallback=fallback, answers=answers, greedy_credit=0.75)
        credit, draws, cost, coverage = (mean(column) for column in zip(*live_runs(pool, credits, k, fallback), strict=True))
        assert result.credit == pytest.approx(credit, abs=1e-12)
        assert result.draws == pytest.approx(draws, abs=1e-12)
        assert result.cost(costs, 100 if fallback == "greedy" else 0) == pytest.approx(cost, abs=1e-10)
        assert result.coverage == pytest.approx(coverage, abs=1e-12)


def test_two_draws_of_four_by_hand():
    result = rejection_at_k([0.9, 0.1, 0.1, 0.1], [1, 0, 0, 0], 0.5, 2)
    assert (result.coverage, result.credit, result.draws) == (0.5, 0.5, 1.75)
    assert result.cost([10, 2, 2, 2]) == pytest.approx(1.25 * 2 + 0.5 * 10)


def test_a_failed_score_is_never_accepted_even_below_any_threshold():
    assert rejection_at_k([None, None], [1, 1], float("-inf"), 2).coverage == 0


def test_the_vote_needs_the_answers_and_the_budget_its_samples():
    with pytest.raises(ValueError, match="one entry per sample"):
        rejection_at_k([0.1, 0.1], [1, 0], 0.5, 1, fallback="vote")
    with pytest.raises(ValueError, match="k = 3"):
        rejection_at_k([0.1, 0.1], [1, 0], 0.5, 3)


def test_risk_coverage_passes_through_rejection_at_every_distinct_threshold():
    scores = [[0.9, 0.4, 0.4, None], [0.7, 0.4, 0.2, 0.1], [None, None, 0.3, 0.3]]
    credits = [[1, 0, 1, 0], [0, 1, 0, 1], [0, 0, 1, 0]]
    curve = risk_coverage(scores, credits, 2)
    assert curve.thresholds == (0.9, 0.7, 0.4, 0.3, 0.2, 0.1)
    for threshold, coverage, accuracy in zip(curve.thresholds, curve.coverage, curve.accuracy, strict=True):
        results = [rejection_at_k(s, z, threshold, 2) for s, z in zip(scores, credits, strict=True)]
        covered = sum(result.coverage for result in results)
        assert coverage == pytest.approx(covered / 3)
        assert accuracy == pytest.approx(sum(result.credit for result in results) / covered)


def test_the_area_is_the_mean_risk_over_the_coverage_reached():
    curve = risk_coverage([[0.9, 0.1]], [[1, 0]], 1)
    assert curve.coverage == (0.5, 1.0)
    assert curve.area == pytest.approx((0 + 0.5) / 2)
    assert risk_coverage([[0.5, 0.5]], [[1, 0]], 1).area is None
    assert risk_coverage([[None]], [[1]], 1).area is None
