"""Frozen files: what was chosen on dev is used as it was, or not at all."""

import json
from dataclasses import replace

import pytest

from tests.verifiers.simulated import asked, picture
from ttc.errors import UserError
from ttc.records import StepScores
from verifiers import frozen as freezing
from verifiers.calibrate import Temperature
from verifiers.frozen import Dev, DevGain, Frozen, dev_hash, question_hash

DEV_QUESTION, TEST_QUESTION = asked("dev_1", "How bright?"), asked("test_1", "How dark?")
DEV = Dev(benchmark="exam", split="validation", fingerprint="f", questions=(question_hash(DEV_QUESTION),), replies=1, hash="h")


def frozen(**changes) -> Frozen:
    settings = {"verifier": "step_verifier-1", "aggregation": "min", "step_threshold": 0.4, "dev": DEV}
    return Frozen(**(settings | changes))


def gain(method: str, k: int, mean: float) -> DevGain:
    return DevGain(method=method, k=k, mean=mean, low=mean - 0.1, high=mean + 0.1)


def test_a_file_comes_back_as_it_was(tmp_path):
    made = frozen(steps=Temperature(temperature=2), response=Temperature(temperature=0.5), gains=(gain("best_of_n", 4, 0.1),))
    made.sealed().write(tmp_path / "new" / "v.json")
    assert freezing.read(tmp_path / "new" / "v.json") == made.sealed()


def test_a_file_that_was_edited_is_refused(tmp_path):
    path = tmp_path / "v.json"
    frozen().sealed().write(path)
    path.write_text(json.dumps(json.loads(path.read_text()) | {"step_threshold": 0.7}))
    with pytest.raises(UserError, match=r"v.json: changed since it was frozen"):
        freezing.read(path)
    path.write_text("{}")
    with pytest.raises(UserError, match="not what `ttc verify --freeze` writes"):
        freezing.read(path)
    with pytest.raises(UserError, match=r"No such file.*ttc verify --freeze"):
        freezing.read(tmp_path / "none.json")


def test_questions_of_dev_cannot_be_judged_whatever_they_are_called():
    frozen().check("step_verifier-1", [TEST_QUESTION], "v.json")
    renamed = replace(DEV_QUESTION, id="test_7", fields={"subject": "Art"})
    with pytest.raises(UserError, match=r"1 of the questions were in its dev split \(the first: test_7\)"):
        frozen().check("step_verifier-1", [TEST_QUESTION, renamed], "v.json")


def test_the_same_words_about_another_image_are_another_question():
    assert question_hash(asked("a", "What is it?", picture(1))) != question_hash(asked("a", "What is it?", picture(2)))


def test_another_verifier_needs_another_file():
    with pytest.raises(UserError, match=r"made for step_verifier-1, and this verifier is step_verifier-2"):
        frozen().check("step_verifier-2", [TEST_QUESTION], "v.json")


def test_hash_of_dev_data_sees_every_score_and_label_and_no_order():
    rows = [["q", "text", 0.5, [0.5], [True], True], ["q", "other", 0.5, [0.5], [True], True]]
    assert dev_hash(rows) == dev_hash(rows[::-1])
    assert (
        len({dev_hash([[*rows[0][:place], "changed", *rows[0][place + 1 :]]]) for place in range(6)} | {dev_hash(rows[:1])})
        == 7
    )


def test_scores_are_calibrated_then_aggregated_then_calibrated_by_hand():
    made = frozen(steps=Temperature(temperature=2), response=Temperature(temperature=0.5))
    scores = StepScores("k", 0, "v", (0.9, 0.8), 0.123)
    assert made.step_scores(scores.steps) == pytest.approx((0.75, 2 / 3))
    assert made.response_score(scores) == pytest.approx(0.8)
    assert made.response_score(replace(scores, score=None)) is None
    assert frozen(aggregation=None).response_score(scores) == 0.123


def test_each_aggregation_gives_another_score():
    scores = StepScores("k", 0, "v", (0.9, 0.4, 0.8), 0.0)
    found = {
        how: frozen(aggregation=how).response_score(scores) for how in ("last", "min", "product", "mean", "geometric_mean")
    }
    assert found == pytest.approx({"last": 0.8, "min": 0.4, "product": 0.288, "mean": 0.7, "geometric_mean": 0.288 ** (1 / 3)})


def test_usefulness_is_the_gain_at_the_largest_budget_of_the_method_or_of_the_better_one():
    made = frozen(
        gains=(
            gain("best_of_n", 4, 0.2),
            gain("best_of_n", 16, -0.01),
            gain("weighted_vote", 4, 0.0),
            gain("weighted_vote", 16, 0.03),
        )
    )
    assert [made.is_useful(kind) for kind in ("best_of_n", "weighted_vote", "rejection")] == [False, True, True]
    assert not frozen().is_useful("best_of_n")
    assert not frozen(gains=(gain("weighted_vote", 16, 0.0),)).is_useful("weighted_vote")
