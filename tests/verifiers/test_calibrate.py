"""Calibration, thresholds, and the floor of the calibration error."""

import numpy as np
import pytest

from ttc.errors import UserError
from verifiers import calibrate
from verifiers.calibrate import Isotonic, Temperature


def drawn(n: int, temperature: float = 1.0, seed: int = 0):
    """Scores of a verifier whose log-odds are `temperature` times too large, and outcomes."""
    rng = np.random.default_rng(seed)
    true = rng.random(n)
    odds = temperature * np.log(true / (1 - true))
    return 1 / (1 + np.exp(-odds)), rng.random(n) < true


def test_temperature_is_recovered():
    scores, right = drawn(20_000, temperature=2.5)
    assert calibrate.fit("temperature", scores, right).temperature == pytest.approx(2.5, rel=0.05)


@pytest.mark.parametrize("method", ["temperature", "isotonic"])
def test_calibration_lowers_error_on_questions_that_it_was_not_fitted_on(method):
    scores, right = drawn(4000, temperature=3)
    groups = [f"q{i // 8}" for i in range(4000)]
    raw, fitted = (
        calibrate.quality(scores, right),
        calibrate.quality(calibrate.crossfitted(method, scores, right, groups), right),
    )
    assert fitted.brier < raw.brier
    assert fitted.nll < raw.nll
    assert fitted.ece < 0.3 * raw.ece
    assert raw.ece > 5 * raw.ece_floor


def test_scores_of_a_question_are_calibrated_by_other_questions_alone():
    scores = np.tile([0.2, 0.8], 50)
    right = np.tile([False, True], 50)
    groups = np.repeat(np.arange(10), 10)
    before = calibrate.crossfitted("isotonic", scores, right, list(groups), folds=10)
    right[groups == 3] = ~right[groups == 3]
    after = calibrate.crossfitted("isotonic", scores, right, list(groups), folds=10)
    assert (before[groups == 3] == after[groups == 3]).all()
    assert (before[groups != 3] != after[groups != 3]).all()


def test_temperature_keeps_the_order_and_isotonic_never_turns_it():
    scores, right = drawn(500, temperature=2)
    rising = np.sort(scores)
    assert (np.diff(calibrate.fit("temperature", scores, right).apply(rising)) > 0).all()
    assert (np.diff(calibrate.fit("isotonic", scores, right).apply(rising)) >= 0).all()


def test_isotonic_gives_no_odds_without_bound():
    found = calibrate.fit("isotonic", [0.1, 0.2, 0.8, 0.9], [False, False, True, True])
    assert found.apply([0.0, 1.0]) == pytest.approx([1 / 8, 7 / 8])


def test_saturated_scores_stay_finite():
    assert calibrate.nll([0.0, 1.0], [True, False]) == pytest.approx(-np.log(1e-6), rel=1e-3)
    assert Temperature(temperature=2).apply([0.0, 0.5, 1.0]) == pytest.approx([0.001, 0.5, 0.999], abs=1e-5)


def test_fitting_to_one_class_is_refused():
    with pytest.raises(UserError, match="one class"):
        calibrate.fit("temperature", [0.2, 0.3], [True, True])
    with pytest.raises(UserError, match="one class"):
        calibrate.threshold([0.2, 0.3], [True, True])
    with pytest.raises(UserError, match="too few for 5 folds"):
        calibrate.crossfitted("temperature", [0.2, 0.3], [True, False], ["a", "b"])


def test_threshold_is_the_best_of_all_by_brute_force():
    from sklearn.metrics import f1_score

    rng = np.random.default_rng(1)
    for _ in range(20):
        scores, right = rng.integers(0, 8, 30) / 8, rng.random(30) < 0.7
        tried = [f1_score(right, scores >= cut, average="macro") for cut in np.arange(1, 8) / 8 - 1 / 16]
        found = calibrate.threshold(scores, right)
        assert f1_score(right, scores >= found, average="macro") == pytest.approx(max(tried))
        assert found not in scores


def test_brier_and_ece_by_hand():
    assert calibrate.brier([0.9, 0.4], [True, False]) == pytest.approx((0.01 + 0.16) / 2)
    assert calibrate.ece([0.1, 0.2, 0.8, 0.9], [False, True, True, True], bins=2) == pytest.approx((0.7 + 0.3) / 4)


@pytest.mark.parametrize(("n", "floor"), [(150, 0.082), (500, 0.044), (2000, 0.022)])
def test_a_perfectly_calibrated_verifier_reads_the_known_floor(n, floor):
    scores = np.random.default_rng(3).random(n)
    assert calibrate.ece_floor(scores) == pytest.approx(floor, abs=0.003)


def test_fitted_calibrations_come_back_from_json_as_they_were():
    from pydantic import TypeAdapter

    adapter = TypeAdapter(calibrate.Calibrator)
    scores, right = drawn(200)
    for method, kind in (("temperature", Temperature), ("isotonic", Isotonic)):
        found = calibrate.fit(method, scores, right)
        back = adapter.validate_json(adapter.dump_json(found))
        assert isinstance(back, kind)
        assert (back.apply(scores) == found.apply(scores)).all()
