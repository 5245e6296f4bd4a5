"""Figures of verifiers, by hand, by brute force, and on simulated verifiers of known character."""

from itertools import product

import numpy as np
import pytest

from tests.verifiers import simulated
from verifiers import length, metrics
from verifiers.metrics import ScoredChain, Steps


def chain(labels, scores=None, *, question="q", is_right=None, source="", cluster=""):
    scores = scores if scores is not None else [0.5] * len(labels)
    texts = tuple(f"s{i}" for i in range(len(labels)))
    return ScoredChain(question, texts, tuple(scores), tuple(labels), is_right=is_right, source=source, cluster=cluster)


def test_auroc_is_the_share_of_pairs_won_with_ties_half_by_brute_force():
    rng = np.random.default_rng(0)
    for _ in range(20):
        right, scores = rng.random(20) < 0.5, rng.integers(0, 6, 20) / 6
        pairs = [(a > b) + (a == b) / 2 for a, b in product(scores[right], scores[~right])]
        assert metrics.auroc(right, scores) == pytest.approx(np.mean(pairs))


def test_auroc_of_a_resample_is_that_of_the_repeated_rows():
    rng = np.random.default_rng(0)
    right, scores, times = rng.random(30) < 0.5, rng.random(30).round(1), rng.integers(0, 4, 30)
    repeated = metrics.auroc(np.repeat(right, times), np.repeat(scores, times))
    assert metrics.Ranks(right, scores).auroc(times.astype(float)) == pytest.approx(repeated)


def test_interval_of_auroc_widens_where_the_steps_of_a_question_go_together():
    rng = np.random.default_rng(1)
    right, noise = np.tile([True, False], 300), np.repeat(rng.normal(size=60), 10)
    scores = right + 2 * np.where(right, noise, 0) + rng.normal(size=600)
    alone = metrics.auroc_interval(right, scores, list(range(600)))
    together = metrics.auroc_interval(right, scores, [i // 10 for i in range(600)])
    assert alone.mean == together.mean
    assert together.high - together.low > 1.5 * (alone.high - alone.low)
    assert (alone.clusters, together.clusters) == (600, 60)


def test_figures_of_one_class_are_undefined_and_not_zero():
    only_right = [chain([True, True], [0.9, 0.1], is_right=True)]
    steps = Steps.of(only_right)
    assert metrics.auroc(steps.right, steps.scores) is None
    assert metrics.auroc_interval(steps.right, steps.scores, steps.units) is None
    assert metrics.auprc_errors(steps.right, steps.scores) is None
    assert metrics.macro_f1(steps, 0.5) is None
    assert metrics.process_f1(only_right, 0.5) is None
    assert metrics.first_error_accuracy(only_right, 0.5) is None
    assert metrics.wrong_process_recall(only_right, 0.5) is None
    assert metrics.auroc([], []) is None


def test_area_under_precision_and_recall_finds_errors_by_low_scores():
    assert metrics.auprc_errors([False, True, True], [0.1, 0.5, 0.9]) == 1
    assert metrics.auprc_errors([True, True, False], [0.1, 0.5, 0.9]) == pytest.approx(1 / 3)


def test_first_error_is_open_where_a_label_before_it_is_missing():
    assert [chain(labels).first_error for labels in ([True, False, None], [True, True], [True, None, False], [])] == [
        1,
        -1,
        None,
        None,
    ]


def test_first_error_accuracy_and_its_neighbourhood_by_hand():
    chains = [
        chain([True, False, True], [0.9, 0.2, 0.1], question="a"),  # exact
        chain([True, False, False], [0.2, 0.9, 0.9], question="b"),  # one early
        chain([False, True, True], [0.9, 0.9, 0.9], question="c"),  # silent, which is no near miss of step 0
        chain([True, True, True], [0.1, 0.9, 0.9], question="d"),  # has no error
    ]
    assert metrics.first_error_accuracy(chains, 0.5).mean == pytest.approx(1 / 3)
    assert metrics.first_error_accuracy(chains, 0.5, within=1).mean == pytest.approx(2 / 3)


def test_process_f1_is_the_harmonic_mean_by_hand_and_zero_for_silence():
    chains = [
        chain([True, False], [0.9, 0.2], question="a"),
        chain([False, True], [0.9, 0.2], question="b"),
        chain([True, True], [0.9, 0.9], question="c"),
        chain([True, True], [0.9, 0.8], question="d"),
        chain([True, True], [0.9, 0.1], question="e"),
    ]
    located, passed = 1 / 2, 2 / 3
    assert metrics.process_f1(chains, 0.5).mean == pytest.approx(2 * located * passed / (located + passed))
    assert metrics.process_f1(chains, 0.0).mean == 0


def test_a_coin_scores_what_process_f1_is_known_to_give_it():
    coin = simulated.chains(simulated.blind, questions=400)
    assert metrics.process_f1(coin, 0.65).mean == pytest.approx(0.16, abs=0.08)


def test_f1_of_both_classes_agrees_with_scikit_learn():
    from sklearn.metrics import f1_score

    steps = Steps.of(simulated.chains(simulated.knows))
    said = steps.scores >= 0.4
    assert metrics.macro_f1(steps, 0.4).mean == pytest.approx(f1_score(steps.right, said, average="macro"))
    assert metrics.negative_f1(steps, 0.4).mean == pytest.approx(f1_score(~steps.right, ~said))


def test_a_verifier_that_likes_everything_finds_no_error():
    chains = [chain([True, True, False], [0.9, 0.8, 0.7], question=str(i), is_right=True) for i in range(20)]
    assert metrics.negative_f1(Steps.of(chains), 0.5).mean == 0
    recall = metrics.wrong_process_recall(chains, 0.5)
    assert recall.mean == 0
    assert recall.high == pytest.approx(0.168, abs=1e-3)


def test_a_verifier_of_the_answer_alone_misses_wrong_processes_and_puts_its_low_on_the_last_step():
    knows, answer = (simulated.chains(one) for one in (simulated.knows, simulated.reads_answer))
    assert metrics.wrong_process_recall(answer, 0.5).mean == 0
    assert metrics.wrong_process_recall(knows, 0.5).mean > 0.9
    assert metrics.last_step_lowest(answer).mean > 0.4
    assert metrics.last_step_lowest(knows).mean < 0.3


def test_a_blind_verifier_tells_nothing_and_its_intervals_say_so():
    steps = Steps.of(simulated.chains(simulated.blind))
    found = metrics.auroc_interval(steps.right, steps.scores, steps.units)
    assert found.low < 0.5 < found.high
    assert metrics.auprc_errors(steps.right, steps.scores) == pytest.approx(1 - steps.right.mean(), abs=0.03)


def test_steps_of_one_kind_of_error_are_held_against_all_right_steps():
    steps = Steps.of(simulated.chains(simulated.knows))
    perception = steps.against(lambda kind: kind == "perception")
    assert perception.right.sum() == steps.right.sum()
    assert 0 < (~perception.right).sum() < (~steps.right).sum()
    assert {kind for right, kind in zip(perception.right, perception.kinds, strict=True) if not right} == {"perception"}


def test_bias_for_length_shows_and_its_absence_too():
    def correlation(verdict):
        found = simulated.chains(verdict, questions=100)
        right = [one.is_right for one in found]
        units = [one.unit for one in found]
        return length.length_correlation([one.score for one in found], [len(one.steps) for one in found], right, units)

    assert correlation(simulated.likes_length).low > 0.8
    assert correlation(simulated.blind).low < 0 < correlation(simulated.blind).high


def test_length_is_judged_within_right_and_within_wrong_answers():
    lengths = np.array([1, 1, 1, 1, 5, 5, 5, 5, 2, 6])
    right = lengths < 4
    scores = np.where(right, 0.9, 0.1) + np.array([1, -1, 1, -1, 1, -1, 1, -1, 0, 0]) / 100
    assert np.corrcoef(scores, lengths)[0, 1] < -0.9
    assert length.length_correlation(scores, lengths, right, range(10)).mean == pytest.approx(0, abs=1e-9)


def test_length_that_does_not_vary_has_no_correlation():
    assert length.length_correlation([0.1, 0.2, 0.3], [4, 4, 4], [True, False, True], range(3)) is None


def test_auroc_among_replies_of_equal_length_by_hand():
    right, scores, lengths = [True, False, True, False], [0.9, 0.8, 0.3, 0.4], [2, 2, 5, 5]
    assert length.matched_auroc(right, scores, lengths) == pytest.approx(0.5)
    assert length.matched_auroc(right, scores, [1, 2, 3, 4]) is None
    found = simulated.chains(simulated.likes_length, questions=200)
    columns = [one.is_right for one in found], [one.score for one in found], [len(one.steps) for one in found]
    assert metrics.auroc(*columns[:2]) < 0.4
    assert length.matched_auroc(*columns) == pytest.approx(0.5, abs=0.05)
