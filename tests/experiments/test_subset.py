"""Fewer questions: items found again from simulated runs, subsets that order models, quotas, and what is refused."""

from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import approx_fprime

from experiments import subset as module
from experiments.subset import Items, Results, choose, judge, quotas, subset
from ttc.errors import UserError
from ttc.records import Question

Q = 300
RNG = np.random.default_rng(0)
DISCRIMINATION, DIFFICULTY = np.exp(RNG.normal(0, 0.8, Q)), RNG.normal(0, 2, Q)
ASKED = tuple(Question(f"q{n}", "exam", "open", "", fields={"subject": "ABC"[n % 3]}) for n in range(Q))


def runs(names: str, abilities: list[float], n: int = 6) -> Results:
    rate = 1 / (1 + np.exp(-DISCRIMINATION * (np.array(abilities)[:, None] - DIFFICULTY)))
    right = np.random.default_rng([7, len(abilities), n]).binomial(n, rate).astype(float)
    return Results(ASKED, tuple(names), right, np.full(right.shape, float(n)))


LEARNING = runs("abcdefg", [-1.2, -0.8, -0.4, 0.0, 0.4, 0.8, 1.2])
HALVES = LEARNING, runs("abcdefg", [-1.2, -0.8, -0.4, 0.0, 0.4, 0.8, 1.2], n=5)
JUDGING = runs("uvwxyz", [-0.9, -0.5, -0.1, 0.3, 0.6, 1.0])


@pytest.fixture(autouse=True)
def few_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "RANDOM", 40)


def test_the_gradient_is_that_of_finite_differences():
    right, n, center, at = RNG.integers(0, 5, (3, 6)).astype(float), np.full((3, 6), 4.0), np.zeros(6), RNG.normal(size=15) / 3
    numeric = approx_fprime(at, lambda x: module._loss(x, right, n, center)[0], 1e-7)
    np.testing.assert_allclose(module._loss(at, right, n, center)[1], numeric, atol=1e-4)


def test_difficulty_and_discrimination_are_found_again():
    found = Items.fit(LEARNING)
    assert np.corrcoef(found.difficulty_Q, DIFFICULTY)[0, 1] > 0.85
    assert np.corrcoef(np.log(found.discrimination_Q), np.log(DISCRIMINATION))[0, 1] > 0.5
    assert list(np.argsort(found.ability_V)) == list(range(7))


def test_predicted_difficulty_helps_where_runs_say_little():
    little = runs("ab", [-0.5, 0.5], n=1)
    plain, helped = (Items.fit(little, prior).difficulty_Q for prior in (None, DIFFICULTY))
    assert np.corrcoef(helped, DIFFICULTY)[0, 1] > np.corrcoef(plain, DIFFICULTY)[0, 1] + 0.05


def test_chosen_questions_order_new_models_better_than_random_ones():
    found = subset(HALVES, JUDGING, 50)
    assert found.is_apart
    assert found.chosen.ordered > found.chance.ordered
    assert found.chosen.is_same_order > found.chance.is_same_order
    assert found.chosen.error < 0.06
    assert len(found.questions) == len(set(found.questions)) == 50


def test_all_questions_of_a_subset_make_no_error():
    found = judge(Items.fit(LEARNING), JUDGING, np.arange(Q), fitted=False)
    assert (found.ordered, found.error, found.is_same_order) == (1, pytest.approx(0), 1)
    assert found.kendall == pytest.approx(1)


def test_a_tie_is_half_an_order():
    results = Results(ASKED[:4], ("a", "b"), np.array([[1.0, 1, 0, 0], [1.0, 1, 1, 0]]), np.ones((2, 4)))
    items = Items(np.ones(4), np.zeros(4), np.zeros(2))
    found = judge(items, results, np.array([0, 1]), fitted=False)
    assert (found.ordered, found.is_same_order) == (0.5, 0)


def test_every_subject_has_its_share():
    strata = ["a"] * 50 + ["b"] * 30 + ["c"] * 21
    assert quotas(strata, 10) == {"a": 5, "b": 3, "c": 2}
    rows = choose(Items.fit(LEARNING), [str(q.fields["subject"]) for q in ASKED], 31)
    assert sorted(np.bincount([row % 3 for row in rows])) == [10, 10, 11]


def test_too_many_questions_and_too_few_runs_are_refused():
    with pytest.raises(UserError, match="--questions 300"):
        subset(HALVES, JUDGING, 300)
    with pytest.raises(UserError, match="two runs or more"):
        subset((runs("a", [0.0]),) * 2, JUDGING, 10)


def test_runs_on_other_questions_are_refused(monkeypatch):
    credits = {Path("one"): {"q0": [1.0], "q1": [0.0]}, Path("two"): {"q0": [1.0], "q2": [0.0]}}
    monkeypatch.setattr(module.folder, "read_credits", lambda run: credits[run])
    monkeypatch.setattr(module.folder, "read_manifest", lambda run: {})
    with pytest.raises(UserError, match="run two: it has other questions than one"):
        Results.read([Path("one"), Path("two")], ASKED[:2])


def test_runs_of_two_sweeps_are_told_apart_and_one_run_is_itself_however_it_is_spelt(monkeypatch):
    monkeypatch.setattr(module.folder, "read_credits", lambda run: {"q0": [1.0], "q1": [0.0]})
    monkeypatch.setattr(module.folder, "read_manifest", lambda run: {})
    found = Results.read([Path("a/run"), Path("b/run"), Path("b/../a/run")], ASKED[:2])
    assert found.names == ("a/run", "b/run", "a/run")
