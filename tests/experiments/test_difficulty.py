"""Difficulty: levels that chance cannot make, gaps at equal compute, policies judged on what did not choose them."""

import json
import math
import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import yaml
from typer.testing import CliRunner

from experiments.cli import app
from experiments.commands.analysis import reading
from experiments.curves import curves
from experiments.difficulty import BIN, analyse, binned, crossfit, doubled, unsolved
from experiments.gaps import Estimate, level_gaps
from experiments.halves import Halves, half, halved
from experiments.panel import Panel
from experiments.policy import _Plans, policies
from ttc.errors import UserError
from ttc.pool import Outcome, Pool
from ttc.records import Question
from ttc.strategies.vote import Vote


def question(name: str, level: str = "Easy", cluster: str = "") -> Question:
    return Question(name, "exam", "open", "", fields={"topic_difficulty": level}, cluster=cluster)


def outcome(credit: float, tokens: float = 10.0, k: int = 1) -> Outcome:
    return Outcome(credit, 1.0, float(k), 0.0, tokens, None)


def pool(name: str, credits: list[float]) -> Pool:
    """Right samples agree, wrong ones have no answer."""
    n = len(credits)
    return Pool(name, tuple(0 if credit else None for credit in credits), tuple(credits), 5, tuple(range(1, n + 1)), None, None)


def chance(questions: int, n: int) -> dict[str, list[float]]:
    """Samples of questions that are all at p = 0.5."""
    drawn = np.random.default_rng(3).integers(0, 2, (questions, n)).astype(float)
    return {f"q{number}": row.tolist() for number, row in enumerate(drawn)}


def test_with_all_questions_at_one_half_cross_fitted_bins_show_one_half_and_naive_ones_do_not():
    credits = chance(1000, 8)
    questions = [question(name) for name in credits]
    halves = halved({"vote": Vote(n=4)}, {"vote": {i: pool(i, c) for i, c in credits.items()}}, {"vote": [1, 2, 4]})
    twice, outcomes, _ = doubled(questions, halves, credits, crossfit(questions, credits, 5))
    fitted = curves(twice, outcomes, by=(BIN,), draws=200)
    for k, expected in ((0, 0.5), (1, 0.75)):
        found = [group.points("vote")[k].accuracy for group in fitted.by(BIN)]
        assert found == pytest.approx([expected] * 5, abs=0.05)
    assert (fitted.overall.questions, fitted.overall.clusters) == (2000, 1000)

    rates = {name: sum(row) / 8 for name, row in credits.items()}
    naive: dict[str, list[float]] = {}
    for name, place in binned(rates, 5).items():
        naive.setdefault(place, []).append(rates[name])
    ends = np.mean(naive["1 (easiest)"]), np.mean(naive["5 (hardest)"])
    assert ends == pytest.approx((0.74, 0.26), abs=0.02)


def test_halves_share_no_sample_and_are_equally_large():
    whole = pool("q", [1.0, 0.0, 0.0, 1.0, 1.0])
    parts = [half(whole, which) for which in (0, 1)]
    assert [part.completion_tokens for part in parts] == [(1, 3), (2, 4)]
    assert [part.credits for part in parts] == [(1.0, 0.0), (0.0, 1.0)]
    found = halved({"vote": Vote(n=5)}, {"vote": {"q": whole}}, {"vote": [1, 2, 4, 5]})
    assert [[k for k, _ in outcomes["vote"]["q"]] for outcomes in found.outcomes] == [[1, 2], [1, 2]]


def test_bins_are_equally_large_and_ties_do_not_follow_the_order_of_the_data():
    same = binned({f"q{number}": 0.5 for number in range(100)}, 5)
    assert [list(same.values()).count(place) for place in sorted(set(same.values()))] == [20] * 5
    assert len({same[f"q{number}"] for number in range(20)}) > 1


def levelled(easy: list[list[tuple[int, Outcome]]], hard: list[list[tuple[int, Outcome]]]) -> tuple[list[Question], Panel]:
    rows = [("Easy", points) for points in easy] + [("Hard", points) for points in hard]
    questions = [question(f"q{number}", level) for number, (level, _) in enumerate(rows)]
    return questions, Panel.build(questions, {"vote": {f"q{number}": points for number, (_, points) in enumerate(rows)}})


def test_gaps_at_equal_tokens_compare_an_easy_curve_further_along_with_a_hard_one():
    easy = [[(k, outcome(credit, 100.0 * k)) for k, credit in ((1, 0.4), (2, 0.6), (4, 0.8))]] * 4
    hard = [[(k, outcome(credit, 200.0 * k)) for k, credit in ((1, 0.1), (2, 0.2), (4, 0.3))]] * 4
    _, panel = levelled(easy, hard)
    found = level_gaps(panel, range(4), range(4, 8), axes=["samples", "total_tokens"], draws=50)
    samples, _, tokens, logits = found
    assert [(gap.axis, gap.scale) for gap in found[:2]] == [("samples", "accuracy"), ("samples", "logits")]
    assert [one.value for one in samples.gaps] == pytest.approx([0.3, 0.4, 0.5])
    assert tokens.at == (200.0, 400.0)
    assert [one.value for one in tokens.gaps] == pytest.approx([0.6 - 0.1, 0.8 - 0.2])
    assert tokens.change
    assert (tokens.change.value, tokens.change.low, tokens.change.high) == pytest.approx((0.1, 0.1, 0.1))
    odds = [math.log((4 * p + 0.5) / (4 * (1 - p) + 0.5)) for p in (0.6, 0.1)]
    assert logits.gaps[0].value == pytest.approx(odds[0] - odds[1])


def test_levels_whose_curves_share_no_range_of_tokens_have_no_gap_at_equal_tokens():
    _, panel = levelled(
        [[(1, outcome(0.9, 10.0)), (2, outcome(0.9, 20.0, 2))]], [[(1, outcome(0.1, 50.0)), (2, outcome(0.1, 90.0))]]
    )
    assert [gap.axis for gap in level_gaps(panel, [0], [1], draws=50)] == ["samples"] * 2


def test_gaps_at_equal_k_are_those_of_the_curves_and_a_question_without_outcome_counts_as_wrong():
    credits = np.random.default_rng(1).random((40, 2))
    points = [[(k, outcome(credit, 100.0 * k)) for k, credit in zip((1, 2), row, strict=True)] for row in credits]
    questions, _ = levelled(points[:20], points[20:])
    by_id = {f"q{number}": row for number, row in enumerate(points[:39])}
    [expected] = curves(questions, {"vote": by_id}).gaps
    panel = Panel.build(questions, {"vote": by_id})
    found = level_gaps(panel, range(20), range(20, 40), draws=10_000)[0]
    assert [one.value for one in found.gaps] == pytest.approx([one.gap for one in expected.points])
    assert found.change
    assert expected.change
    assert (found.change.low, found.change.high) == pytest.approx((expected.change.low, expected.change.high))


def test_never_solved_in_64_samples_still_allows_a_rate_of_4_6_percent():
    credits = {"a": [0.0] * 64, "b": [0.0] * 63 + [1.0], "c": [0.0] * 80}
    found = unsolved([question(name) for name in credits], credits, "Hard")
    assert (found.share.value, found.n) == (pytest.approx(2 / 3), 64)
    assert found.bound == pytest.approx(0.0457, abs=1e-4)


def noise(strategies: int, questions: int) -> Halves:
    drawn = np.random.default_rng(5).integers(0, 2, (2, strategies, questions)).astype(float)
    first, second = (
        {f"s{s}": {f"q{q}": [(1, outcome(credit))] for q, credit in enumerate(row)} for s, row in enumerate(side)}
        for side in drawn
    )
    return Halves((first, second))


def test_an_oracle_per_question_gains_nothing_from_noise_when_it_is_judged_on_other_samples():
    questions = [question(f"q{number}", cluster=f"c{number}") for number in range(400)]
    labels = {q.id: "Easy" for q in questions}
    found = policies(questions, noise(6, 400), (labels, labels), (), budgets=[20.0], draws=200)
    assert found
    assert found.points[0].oracle.mean == pytest.approx(0.5, abs=0.05)
    assert found.points[0].uniform.mean == pytest.approx(0.5, abs=0.05)
    same = Halves((noise(6, 400).outcomes[0],) * 2)
    insample = policies(questions, same, (labels, labels), (), budgets=[20.0], draws=200)
    assert insample
    assert insample.points[0].oracle.mean > 0.95


def test_a_policy_spends_where_it_helps_within_the_budget_and_never_takes_gold():
    levels = {f"q{number}": "Easy" if number < 50 else "Hard" for number in range(100)}
    cheap = {name: [(1, outcome(0.9 if level == "Easy" else 0.1, 10.0))] for name, level in levels.items()}
    vote = {name: [(8, outcome(0.7 if level == "Easy" else 0.4, 80.0, 8))] for name, level in levels.items()}
    gold = {name: [(1, outcome(1.0, 10.0))] for name in levels}
    outcomes = {"cheap": cheap, "vote": vote, "oracle": gold}
    questions = [question(name, level) for name, level in levels.items()]
    found = policies(questions, Halves((outcomes, outcomes)), (levels, levels), ["oracle"], budgets=[20.0, 100.0], draws=200)
    assert found
    assert found.candidates == ("cheap@1", "vote@8")
    small, large = found.points
    assert set(small.choices["Hard"]) == {"cheap@1"}
    assert (set(large.choices["Easy"]), set(large.choices["Hard"])) == ({"cheap@1"}, {"vote@8"})
    assert [point.by_level.mean for point in found.points] == pytest.approx([0.5, 0.65])
    assert [point.uniform.mean for point in found.points] == pytest.approx([0.5, 0.55])
    assert (large.gain.mean, large.cost_by_level) == (pytest.approx(0.1), pytest.approx(45.0))
    shared = policies(questions, Halves((outcomes, outcomes)), (levels, levels), ["oracle"], budgets=[50.0], draws=200)
    assert shared  # the vote alone costs more than the budget, which what is saved on the easy level pays for
    assert (shared.points[0].by_level.mean, shared.points[0].uniform.mean) == pytest.approx((0.65, 0.5))
    assert shared.points[0].oracle.mean == pytest.approx(0.65)

    by_samples = policies(questions, Halves((outcomes, outcomes)), (levels, levels), ["oracle"], axis="samples", budgets=[4.0])
    assert by_samples
    assert (by_samples.axis, set(by_samples.points[0].choices["Hard"])) == ("samples", {"cheap@1"})
    assert policies(questions, Halves((outcomes, outcomes)), (levels, levels), (), axis="flops") is None


def test_the_plan_by_level_is_the_best_of_all_within_the_mean_budget_by_enumeration():
    rng = np.random.default_rng(2)
    credit_LC, cost_LC = rng.random((3, 5)), rng.integers(1, 30, (3, 5)).astype(float)
    every = [(range(3), list(picks)) for picks in product(range(5), repeat=3)]
    plans = _Plans.of(credit_LC, cost_LC)
    for budget in cost_LC.min(axis=1).sum() + np.array([0, 10, 20, 40]):
        best = max(credit_LC[picks].sum() for picks in every if cost_LC[picks].sum() <= budget)
        found = range(3), plans.best(budget)
        assert (credit_LC[found].sum(), cost_LC[found].sum() <= budget) == (pytest.approx(best), True)
    assert plans.best(0).tolist() == cost_LC.argmin(axis=1).tolist()


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A finished run, whose bank is gone."""
    folder = tmp_path_factory.mktemp("difficulty")
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "no idea"], "pick": "seeded"},
        "strategies": [{"kind": "direct"}, {"kind": "vote", "n": 16}, {"kind": "oracle", "n": 16}],
        "limit": 30,
        "bank": str(folder / "bank"),
    }
    (folder / "run.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    done = CliRunner().invoke(app, ["run", str(folder / "run.yaml"), "--out", str(folder / "out")])
    assert done.exit_code == 0, done.output
    shutil.rmtree(folder / "bank")
    return folder / "out"


@pytest.mark.parametrize(("options", "levels"), [([], 3), (["--bins", "4"], 4)])
def test_a_run_is_analysed_from_its_folder_alone(run, tmp_path, options, levels):
    done = CliRunner().invoke(app, ["difficulty", str(run), *options, "--json", str(tmp_path / "found.json")])
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "found.json").read_text())
    assert len(found["levels"]) == len(found["unsolved"]) == levels
    assert found["curves"]["groups"][0]["questions"] == sum(one["questions"] for one in found["unsolved"]) == 30
    assert {gap["strategy"] for gap in found["gaps"]} == {"direct", "vote"}
    losses = [loss for group in found["curves"]["groups"] if group["field"] for loss in group["losses"]]
    assert len(losses) == levels * (5 if levels == 3 else 4)
    assert all(
        sum(loss[part] for part in ("accuracy", "selection", "budget", "capability")) == pytest.approx(1) for loss in losses
    )
    assert not any(name.startswith("oracle") for name in found["policies"]["candidates"])
    assert max(point["at"][-1] for point in found["gaps"] if point["axis"] == "samples") == (16 if levels == 3 else 8)


def test_without_levels_of_the_data_the_first_field_of_the_runs_by_holds_them(run, tmp_path, monkeypatch):
    copy = Path(shutil.copytree(run, tmp_path / "by_subject"))
    facts = json.loads((copy / "run.json").read_text())
    facts["config"]["by"] = ["subject"]
    (copy / "run.json").write_text(json.dumps(facts))
    monkeypatch.setattr("experiments.difficulty.LEVEL", "level")
    assert set(analyse(copy, draws=20).levels) == {"Tables", "Bars"}
    assert len(analyse(run, draws=20).levels) == 5


def test_a_gap_narrows_only_where_points_and_log_odds_agree():
    down, flat, up = (Estimate(value, value - 0.1, value + 0.1) for value in (-1.0, 0.0, 1.0))
    said = [reading(points, odds) for points, odds in ((down, down), (down, flat), (down, up), (flat, down), (up, up))]
    assert said == ["narrows", "narrows in points only", "narrows in points only", "unclear", "widens"]


def test_what_cannot_be_analysed_is_said_with_the_way_out(run, tmp_path):
    with pytest.raises(UserError, match="give one of them"):
        analyse(run, by="subject", bins=3)
    with pytest.raises(UserError, match=r"'grade'.*topic_difficulty"):
        analyse(run, by="grade")
    shutil.copytree(run, tmp_path / "old")
    for name in ("halves", "pools"):
        (tmp_path / f"old/{name}.parquet").unlink(missing_ok=True)
    with pytest.raises(UserError, match="ttc report"):
        analyse(tmp_path / "old")
