"""Intervals cover, tests keep their level, and clusters count as one."""

from math import comb, sqrt

import numpy as np
import pytest

from ttc.statistics import (
    bootstrap_means,
    clopper_pearson,
    curve_areas,
    detectable_difference,
    holm,
    interval,
    intervals,
    mcnemar_p,
    paired_difference,
    sign_flip_p,
    standard_error,
    t_interval,
)


def simulated_benchmark(rng: np.random.Generator, clusters: int) -> tuple[np.ndarray, list[str]]:
    """Expected credits with mean 1/2 whose clusters of 1 to 3 questions go together."""
    sizes = rng.integers(1, 4, clusters)
    shared = rng.uniform(0, 1, clusters).repeat(sizes)
    values = np.clip(shared + rng.uniform(-0.2, 0.2, sizes.sum()), 0, 1)
    return values, [f"video {name}" for name in np.arange(clusters).repeat(sizes)]


def test_intervals_cover_the_truth_in_93_to_97_percent_of_1000_simulated_benchmarks():
    rng = np.random.default_rng(7)
    covered = {"bootstrap": 0, "t": 0}
    for seed in range(1000):
        values, clusters = simulated_benchmark(rng, 80)
        for found in (interval(values, clusters, draws=1000, seed=seed), t_interval(values, clusters)):
            covered[found.method] += found.low <= 0.5 <= found.high
    assert all(930 <= count <= 970 for count in covered.values()), covered


def test_copies_of_a_question_do_not_narrow_the_interval():
    credits = np.random.default_rng(1).integers(0, 2, 60).astype(float)
    alone = interval(credits, range(60))
    copied = interval(credits.repeat(5), np.arange(60).repeat(5).tolist())
    naive = interval(credits.repeat(5), range(300))
    assert (copied.low, copied.high, copied.clusters) == (alone.low, alone.high, 60)
    assert naive.high - naive.low < 0.6 * (alone.high - alone.low)


def test_an_empty_cluster_name_means_alone():
    credits = [0.0, 1.0, 1.0, 0.0, 1.0, 0.5]
    assert interval(credits, [""] * 6) == interval(credits, range(6))


def test_the_bootstrap_mean_is_sum_over_sum_not_a_mean_of_cluster_means():
    means = bootstrap_means(np.array([[1.0], [0.0], [0.0], [0.0]]), ["a", "b", "b", "b"], draws=400, seed=0)
    assert set(np.unique(means)) == {0.0, 0.25, 1.0}


def test_columns_share_the_drawn_clusters():
    values = np.random.default_rng(0).random((40, 1))
    means = bootstrap_means(np.hstack([values, values + 0.125]), range(40), draws=200)
    assert means[:, 1] - means[:, 0] == pytest.approx(np.full(200, 0.125))


def test_blocks_of_the_bootstrap_make_up_the_number_of_draws():
    assert bootstrap_means(np.random.default_rng(0).random((3000, 2)), range(3000), draws=501).shape == (501, 2)


def test_a_level_that_is_all_wrong_or_all_right_gets_clopper_pearson():
    none, every = interval([0.0] * 20, range(20)), interval([1.0] * 20, range(20))
    assert (none.method, none.low, round(none.high, 3)) == ("clopper-pearson", 0.0, 0.168)
    assert (every.low, every.high) == (pytest.approx(1 - none.high), 1.0)
    assert interval([0.0] * 40, np.arange(20).repeat(2).tolist()).high == none.high  # clusters, not questions
    for beside in (1 - 2**-52, 1 + 2**-52):  # as sums of chances may end
        rounded = interval([beside] * 20, range(20))
        assert (rounded.method, rounded.low, rounded.high) == (every.method, pytest.approx(every.low), pytest.approx(1.0))


def test_a_level_that_is_nearly_all_wrong_is_not_surer_than_one_that_is_all_wrong():
    none, nearly = interval([0.0] * 20, range(20)), interval([0.0] * 19 + [0.05], range(20))
    assert nearly.high > none.high
    assert nearly.high == pytest.approx(none.high, abs=0.01)
    assert (nearly.method, nearly.low < nearly.mean) == ("clopper-pearson", True)
    right = interval([1.0] * 19 + [0.95], range(20))
    assert (right.low, right.high) == pytest.approx((1 - nearly.high, 1 - nearly.low))
    assert interval([0.05, 0.04] * 10, range(20)).method == "bootstrap"  # all of them say the same


def test_intervals_cover_rare_successes_where_resamples_alone_do_not():
    rng = np.random.default_rng(5)
    covered = {"interval": 0, "bootstrap": 0}
    for seed in range(200):
        values = rng.beta(0.006, 0.294, 20)  # mean 0.02: one question in fifty is solved
        found = interval(values, range(20), draws=300, seed=seed)
        low, high = np.quantile(bootstrap_means(values[:, None], range(20), draws=300, seed=seed), (0.025, 0.975))
        covered["interval"] += found.low <= 0.02 <= found.high
        covered["bootstrap"] += low <= 0.02 <= high
    assert covered["interval"] >= 186
    assert covered["bootstrap"] < 120


def test_clopper_pearson_limits_are_where_the_binomial_tails_reach_a_half_of_the_error():
    low, high = clopper_pearson(3, 12)
    assert sum(comb(12, x) * low**x * (1 - low) ** (12 - x) for x in range(3, 13)) == pytest.approx(0.025)
    assert sum(comb(12, x) * high**x * (1 - high) ** (12 - x) for x in range(4)) == pytest.approx(0.025)


def test_one_cluster_says_nothing():
    found = interval([0.0, 1.0], ["video", "video"])
    assert (found.low, found.high, found.clusters, found.method) == (0.0, 1.0, 1, "vacuous")
    with pytest.raises(ValueError, match="at least two clusters"):
        standard_error([0.0, 1.0], ["video", "video"])


def test_equal_differences_are_not_taken_for_a_proportion():
    found = intervals(np.zeros((20, 1)), range(20), bounds=(-1, 1))[0]
    assert (found.low, found.high, found.method) == (0.0, 0.0, "bootstrap")
    assert paired_difference([1.0] * 20, [1.0] * 20, range(20)).detectable is None  # not that any difference would be found


def test_the_standard_error_without_clusters_is_the_textbook_one():
    values = [0.1, 0.9, 0.4, 0.4, 0.7]
    assert standard_error(values, range(5)) == pytest.approx(np.std(values, ddof=1) / sqrt(5))
    assert detectable_difference(values, range(5)) == pytest.approx(2.80 * np.std(values, ddof=1) / sqrt(5))


def test_the_t_interval_has_one_degree_of_freedom_less_than_clusters():
    found = t_interval([0.1, 0.9, 0.4, 0.4, 0.7], range(5))
    assert found.high - found.mean == pytest.approx(2.776445 * standard_error([0.1, 0.9, 0.4, 0.4, 0.7], range(5)), rel=1e-6)


def test_sign_flips_per_cluster_keep_their_level_where_flips_per_question_do_not():
    rng = np.random.default_rng(3)
    clusters = np.arange(30).repeat(10).tolist()
    rejected = {"cluster": 0, "question": 0}
    for seed in range(200):
        differences = rng.normal(0, 1, 30).repeat(10) + rng.normal(0, 1, 300)
        rejected["cluster"] += sign_flip_p(differences, clusters, draws=500, seed=seed) <= 0.05
        rejected["question"] += sign_flip_p(differences, range(300), draws=500, seed=seed) <= 0.05
    assert rejected["cluster"] <= 20  # 10 expected
    assert rejected["question"] >= 40


def test_a_sign_flip_p_value_is_never_zero_and_equals_the_exact_one():
    assert sign_flip_p([1.0] * 40, range(40), draws=999) == 1 / 1000
    assert sign_flip_p([0.0] * 5, range(5), draws=99) == 1
    # of the 16 sign patterns of 1, 2, 3, 4 six have a sum of at least 6 in absolute value
    assert sign_flip_p([-2.0, 1.0, 3.0, 4.0], range(4), draws=40_000) == pytest.approx(6 / 16, abs=0.01)


def test_a_paired_comparison_finds_what_two_overlapping_intervals_hide():
    rng = np.random.default_rng(0)
    first = rng.random(200)
    second = np.clip(first - 0.03 + rng.normal(0, 0.05, 200), 0, 1)
    found = paired_difference(first, second, range(200))
    assert interval(first, range(200)).low < interval(second, range(200)).high
    assert found.interval.low > 0
    assert found.p_value < 0.01
    assert found.detectable is not None
    assert found.detectable < 0.03


def test_exact_mcnemar_by_hand():
    # seven discordant questions, six of them for the first: 2 * (C(7, 0) + C(7, 1)) / 2^7
    first, second = [1] * 6 + [0] + [1, 0], [0] * 6 + [1] + [1, 0]
    assert mcnemar_p(first, second) == pytest.approx(2 * 8 / 128)
    assert mcnemar_p([1, 0], [1, 0]) == 1
    with pytest.raises(ValueError, match="0/1"):
        mcnemar_p([0.5], [1])


def test_holm_by_hand():
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]


def test_areas_are_mean_heights_over_the_common_range_of_log_cost():
    flat, rising = curve_areas([[1, 2, 4, 8], [2, 16]], [[0.5] * 4, [0.0, 0.75]])
    assert flat == pytest.approx(0.5)
    assert rising == pytest.approx(0.25)  # from 0 at cost 2 to 0.5 at cost 8
    with pytest.raises(ValueError, match="share no range"):
        curve_areas([[1, 2], [4, 8]], [[0, 1], [0, 1]])
    with pytest.raises(ValueError, match="positive and rising"):
        curve_areas([[1, 1]], [[0, 1]])


@pytest.mark.parametrize("values", [[], [0.1, 0.2, 0.3]])
def test_values_without_their_clusters_are_an_error(values):
    with pytest.raises(ValueError, match="per question"):
        interval(values, range(len(values) and 2))
