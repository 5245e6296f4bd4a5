"""Predicted difficulty: measures against hand and library, models against their own truth, folds that share nothing."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime
from scipy.stats import spearmanr
from sklearn.metrics import cohen_kappa_score

from training import difficulty_frozen
from training.difficulty import Difficulty, Rung, climb, label, schemes, validate
from training.difficulty_data import load, tried_of
from training.difficulty_features import Tried, form, pass_rate, policy
from training.difficulty_head import Head
from training.difficulty_head import predict as by_head
from training.difficulty_metrics import kappa_difference, quality
from training.difficulty_models import OrdinalLogit, _loss, cut, majority, predict
from ttc.errors import UserError
from ttc.pocket import exam
from ttc.records import Question

NAMES = [f"q{n}" for n in range(400)]


@pytest.fixture
def noisy() -> tuple[np.ndarray, np.ndarray]:
    """True and predicted levels that agree in half of the cases."""
    rng = np.random.default_rng(1)
    true_Q = rng.choice(4, 400, p=[0.4, 0.3, 0.2, 0.1])
    return true_Q, np.where(rng.random(400) < 0.5, true_Q, rng.integers(0, 4, 400))


def test_measures_are_those_of_the_libraries(noisy):
    true_Q, predicted_Q = noisy
    found = quality(true_Q, predicted_Q, predicted_Q.astype(float), NAMES, levels=4, draws=500)
    assert found.kappa.mean == pytest.approx(cohen_kappa_score(true_Q, predicted_Q, weights="quadratic"))
    assert found.spearman.mean == pytest.approx(spearmanr(true_Q, predicted_Q).statistic)
    distance_Q = np.abs(true_Q - predicted_Q)
    assert found.mae.mean == pytest.approx(distance_Q.mean())
    assert found.macro_mae.mean == pytest.approx(np.mean([distance_Q[true_Q == level].mean() for level in range(4)]))
    assert found.confusion[3][0] == ((true_Q == 3) & (predicted_Q == 0)).sum()
    assert found.kappa.low < found.kappa.mean < found.kappa.high


def test_a_constant_agrees_by_chance_alone(noisy):
    true_Q, _ = noisy
    found = quality(true_Q, np.ones_like(true_Q), np.ones(400), NAMES, levels=4, draws=200)
    assert (found.kappa.mean, found.kappa.low, found.kappa.high) == (0, 0, 0)
    assert found.spearman.mean == 0


def test_a_difference_of_kappas_is_paired_so_a_predictor_is_never_above_itself(noisy):
    true_Q, predicted_Q = noisy
    same = kappa_difference(true_Q, predicted_Q, predicted_Q, NAMES, levels=4, draws=200)
    better = kappa_difference(true_Q, true_Q, predicted_Q, NAMES, levels=4, draws=200)
    assert (same.low, same.high) == (0, 0)
    assert better.low > 0.2


def test_questions_of_one_cluster_make_the_interval_wider(noisy):
    true_Q, predicted_Q = (np.repeat(column[:40], 10) for column in noisy)
    alone, together = (
        quality(true_Q, predicted_Q, predicted_Q.astype(float), clusters, levels=4, draws=500).kappa
        for clusters in (NAMES, [str(n // 10) for n in range(400)])
    )
    assert together.high - together.low > 2 * (alone.high - alone.low)


def test_the_ordinal_gradient_is_that_of_finite_differences():
    rng = np.random.default_rng(0)
    x_QF, level_Q, at = rng.normal(size=(60, 4)), rng.integers(0, 4, 60), 0.3 * rng.normal(size=7)
    numeric = approx_fprime(at, lambda p: _loss(p, x_QF, level_Q, 4, 0.03)[0], 1e-7)
    np.testing.assert_allclose(_loss(at, x_QF, level_Q, 4, 0.03)[1], numeric, atol=1e-6)


def test_ordinal_logit_finds_the_weights_and_cuts_that_made_the_levels():
    rng = np.random.default_rng(0)
    x_QF = rng.normal(size=(4000, 2))
    lean_Q = x_QF @ [1.5, -1.0] + rng.logistic(size=4000)
    level_Q = np.searchsorted([-1.0, 2.0], lean_Q)
    found = OrdinalLogit.fit(x_QF, level_Q, 3, ridge=1e-5)
    np.testing.assert_allclose(found.weights_F / found.scale_F, [1.5, -1.0], atol=0.12)
    np.testing.assert_allclose(found.cuts + found.mean_F @ (found.weights_F / found.scale_F), [-1.0, 2.0], atol=0.12)


@pytest.mark.parametrize("kind", ["ordinal", "boosting"])
def test_a_model_predicts_what_its_features_show_and_nothing_from_noise(kind):
    rng = np.random.default_rng(0)
    level_Q = rng.integers(0, 3, 400)
    for told, low, high in ((1.0, 0.6, 1.0), (0.0, -0.3, 0.3)):
        table = told * level_Q[:, None] + rng.normal(scale=0.5, size=(400, 3))
        found = predict(kind, table[:300], level_Q[:300], NAMES[:300], table[300:], levels=3)
        assert low < cohen_kappa_score(level_Q[300:], found.levels_Q, weights="quadratic") < high


def test_cuts_give_the_levels_their_shares_and_put_equal_scores_together():
    level_Q = np.repeat([0, 1, 2], [50, 30, 20])
    assert np.bincount(cut(np.arange(100.0), np.arange(100.0), level_Q, 3)).tolist() == [50, 30, 20]
    assert len(set(cut(np.ones(7), np.ones(100), level_Q, 3))) == 1


def test_majority_takes_the_subjects_level_and_that_of_all_for_a_subject_never_seen():
    found = majority(["a", "a", "b", "b", "b"], np.array([2, 2, 0, 0, 1]), ["a", "b", "c"])
    assert found.levels_Q.tolist() == [2, 0, 0]


def test_agreement_and_entropy_by_hand():
    even, sure = Tried((0, 0, 1, 1), (1, 1, 0, 0), (5,) * 4), Tried((0, None, 0, 0), (1, 0, 1, 1), (5,) * 4)
    leading, lead, entropy, different, answered, *_ = policy([even])[0]
    assert (leading, lead, entropy, different, answered) == (0.5, 0.0, 1.0, 0.5, 1.0)
    assert policy([sure])[0][4] == 0.75
    assert pass_rate([even, sure]).tolist() == [[0.5], [0.75]]


def test_no_feature_of_the_question_holds_its_level():
    asked = exam.worded(exam.problem("train", "Tables", 0))
    other = Question(asked.id, "pocket", asked.question_type, asked.text, asked.options, (), {**asked.fields, "steps": "77"})
    assert form([asked]).tolist() == form([other]).tolist()


def questions(count: int) -> list[Question]:
    """The level is the number of words over ten; every three share a source."""
    rng = np.random.default_rng(0)
    return [
        Question(
            f"q{n}",
            "exam",
            "open",
            " ".join([f"word{n}"] * int(10 * level + rng.integers(5, 9))),
            fields={"topic_difficulty": ("Easy", "Medium", "Hard")[level], "subject": "ABC"[n // 3 % 3]},
            source=f"page {n // 3}",
        )
        for n, level in enumerate(rng.integers(0, 3, count))
    ]


TWO = {"rungs": [{"name": "m", "model": "majority"}, {"name": "form", "model": "ordinal", "features": ["form"]}]}


def test_the_ladder_sees_what_the_words_show_and_folds_share_no_group():
    config = Difficulty(outputs=(Path("x"),), primary="form", rungs=[Rung(**rung) for rung in TWO["rungs"]])
    data = label(questions(150), config)
    ladder, frozen = climb(data, config)
    assert [scheme.name for scheme in schemes(data, config)] == ["grouped 5-fold", "leave one subject out"]
    assert ladder.entry("form", "grouped 5-fold").gain.low > 0.5
    assert sum(ladder.counts) == 150 == len(frozen.questions)
    for train, test in schemes(data, config)[0].folds:
        assert not {data.clusters[row] for row in train} & {data.clusters[row] for row in test}


def test_a_rung_without_its_features_is_left_out_unless_the_finding_hangs_on_it():
    rung = {"name": "e", "model": "ordinal", "features": ["embedding"]}
    rungs = [Rung(**one) for one in (*TWO["rungs"], rung)]
    config = Difficulty(outputs=(Path("x"),), primary="form", rungs=rungs, leave_out=None)
    assert climb(label(questions(60), config), config)[0].left_out == ("e",)
    with pytest.raises(UserError, match="its features cannot be had"):
        climb(label(questions(60), config), config.model_copy(update={"primary": "e"}))


def test_levels_without_an_order_are_asked_for():
    asked = [Question(f"q{n}", "exam", "open", "", fields={"grade": "xy"[n % 2]}) for n in range(4)]
    config = Difficulty(outputs=(Path("x"),), level="grade", primary="m", rungs=(Rung(name="m", model="majority"),))
    with pytest.raises(UserError, match="Set levels"):
        label(asked, config)
    assert label(asked, config.model_copy(update={"levels": ("y", "x")})).level_Q.tolist() == [1, 0, 1, 0]


def test_a_config_names_its_first_mistake():
    with pytest.raises(UserError, match="there is no rung 'boasting'"):
        validate({"outputs": ["x"], "primary": "boasting"}, "c.yaml")


def test_predictions_that_were_edited_are_refused(tmp_path):
    one = difficulty_frozen.Prediction(level="Easy", score=0.2)
    path = tmp_path / "p.json"
    found = difficulty_frozen.Frozen(
        levels=("Easy", "Hard"), rung="form", scheme="5-fold", reads_policy=False, questions={"q": one}
    )
    found.sealed().write(path)
    assert difficulty_frozen.read(path).questions["q"] == one
    path.write_text(path.read_text().replace("0.2", "0.9"))
    with pytest.raises(UserError, match="changed since they were made"):
        difficulty_frozen.read(path)


def test_words_of_the_pocket_exam_give_its_steps_away():
    content = {"benchmark": {"kind": "pocket", "split": "validation"}, "level": "steps", "primary": "form", **TWO}
    config = validate({**content, "learn_from": {"kind": "pocket", "split": "train", "size": 200}}, "here")
    data, learning = load(config)
    assert (learning, len(data.questions)) == (200, 500)
    ladder, _ = climb(data, config, learning=learning)
    assert ladder.entry("form", "other questions").quality.kappa.low > 0.9


@pytest.mark.filterwarnings("ignore:.*is_gradient_checkpointing.*:FutureWarning")
@pytest.mark.parametrize(
    ("sees", "trains", "right"), [("text", "all", True), ("image", "all", False), ("text", "adapter", True)]
)
def test_a_head_learns_from_what_it_sees_alone(sees, trains, right):
    asked = [exam.question(exam.problem("train", "Tables", index)) for index in range(60)]
    hard_Q = np.array([int(question.fields["topic_difficulty"] == "Hard") for question in asked])
    head = Head(sees=sees, trains=trains, epochs=6, batch=8, learning_rate=3e-3)
    found = by_head(head, asked[:42], hard_Q[:42], NAMES[:42], asked[42:], levels=2)
    assert (np.corrcoef(found.scores_Q, hard_Q[42:])[0, 1] > 0.6) == right


def test_a_question_that_a_head_cannot_be_shown_is_named():
    held = Question("q7", "own", "open", "What does <image> stand for?")
    with pytest.raises(UserError, match=r"question q7: the text holds <image>.*set the head's `sees`"):
        by_head(Head(), [held] * 2, np.array([0, 1]), ["q7", "q8"], [held], levels=2)
    with pytest.raises(UserError, match="2 questions to learn from are one group"):
        by_head(Head(), [held] * 2, np.array([0, 1]), ["q", "q"], [held], levels=2)


def test_policy_features_of_released_outputs_use_every_reply(shared):
    from ttc import outputs

    read = outputs.read(shared / "data/mmmu_pro/gpt-4o_standard(10 options)_direct.jsonl", "mmmu_pro")
    asked = read.exam("mmmu_pro").questions[:50]
    tried = tried_of(asked, [*read.replies, *read.replies])
    assert tried is not None
    assert {len(one.credits) for one in tried.values()} == {2}
    assert tried_of(asked, read.replies[1:]) is None


@pytest.mark.parametrize(
    "config", sorted((Path(__file__).parents[2] / "configs/difficulty").glob("*.yaml")), ids=lambda p: p.stem
)
def test_shipped_configs_are_valid(config):
    from experiments.config import read_yaml

    assert validate(read_yaml(config), str(config)).rungs
