import io
import re
from dataclasses import replace

import numpy as np
import pytest
import scipy.stats
from rich.console import Console

from experiments.curve_tables import table
from experiments.curves import Curves, curves
from experiments.numbers import short
from ttc.errors import UserError
from ttc.pool import Outcome
from ttc.records import Question


def question(number: int, level: str = "Easy", cluster: str = "", **fields) -> Question:
    return Question(f"q{number}", "exam", "open", "What?", fields={"topic_difficulty": level, **fields}, cluster=cluster)


def outcome(credit: float, k: int = 1, flops: float | None = 10.0) -> Outcome:
    return Outcome(credit, 1.0, float(k), 100.0, 20.0 * k, flops)


def exam(credits: dict[str, list[float]], k: int = 1) -> tuple[list[Question], dict]:
    """Questions by level, and one strategy with the given credit on each."""
    rows = [(level, credit) for level, values in credits.items() for credit in values]
    questions = [question(number, level) for number, (level, _) in enumerate(rows)]
    return questions, {"vote": {f"q{n}": [(k, outcome(credit, k))] for n, (_, credit) in enumerate(rows)}}


def test_accuracy_is_the_mean_over_all_questions_of_each_level():
    questions, outcomes = exam({"Hard": [0.0, 0.25], "Easy": [1.0, 0.5, 0.75]})
    found = curves(questions, outcomes)
    assert [(g.value, g.questions, g.points("vote")[0].accuracy) for g in found.groups] == [
        ("all", 5, 0.5),
        ("Easy", 3, 0.75),
        ("Hard", 2, 0.125),
    ]


def test_a_question_without_outcome_has_credit_0_and_no_say_in_the_mean_cost():
    questions, outcomes = exam({"Easy": [1.0, 1.0, 0.5, 0.5]})
    del outcomes["vote"]["q0"]
    found = curves(questions, outcomes)
    point = found.overall.points("vote")[0]
    assert (point.accuracy, point.coverage) == (0.5, 0.75)
    assert (point.samples, point.completion_tokens, point.total_tokens, point.flops) == (1.0, 20.0, 120.0, 10.0)
    assert found.entrants[0].errors == 1


def test_a_question_with_several_values_counts_once_under_each():
    questions = [question(0, img_type=("table", "chart")), question(1, img_type="chart"), question(2, img_type=("", ""))]
    outcomes = {"vote": {"q0": [(1, outcome(1.0))], "q1": [(1, outcome(0.0))], "q2": [(1, outcome(0.5))]}}
    groups = curves(questions, outcomes, by=("img_type",)).by("img_type")
    assert [(g.value, g.questions, g.points("vote")[0].accuracy) for g in groups] == [("chart", 2, 0.5), ("table", 1, 1.0)]


def test_a_field_that_no_question_has_is_refused_with_the_fields_there_are():
    questions, outcomes = exam({"Easy": [1.0]})
    with pytest.raises(UserError, match=r"'difficulty'.*topic_difficulty"):
        curves(questions, outcomes, by=("difficulty",))
    with pytest.raises(UserError, match=r"'subject'.*topic_difficulty"):
        curves(questions, outcomes).by("subject")


def test_a_curve_ends_where_the_question_with_fewest_samples_ends_and_unknown_flops_stay_unknown():
    questions, outcomes = exam({"Easy": [0.2, 0.4]})
    outcomes["vote"]["q0"] += [(2, outcome(0.3, 2)), (4, outcome(0.5, 4))]
    outcomes["vote"]["q1"] += [(2, outcome(0.5, 2, flops=None))]
    points = curves(questions, outcomes).overall.points("vote")
    assert [(point.k, point.accuracy, point.flops) for point in points] == [
        (1, pytest.approx(0.3), 10.0),
        (2, pytest.approx(0.4), None),
    ]


def test_intervals_agree_with_scipys_bootstrap_where_every_question_stands_alone():
    credits = np.random.default_rng(5).random(60)
    questions, outcomes = exam({"Easy": credits.tolist()})
    point = curves(questions, outcomes).overall.points("vote")[0]
    expected = scipy.stats.bootstrap((credits,), np.mean, method="percentile", n_resamples=10_000, rng=1).confidence_interval
    assert (point.low, point.high) == pytest.approx((expected.low, expected.high), abs=0.004)


def test_nine_copies_of_a_question_in_a_cluster_do_not_narrow_its_interval():
    credits = np.random.default_rng(6).random(40)
    questions, outcomes = exam({"Easy": credits.tolist()})
    copies, repeated = exam({"Easy": np.repeat(credits, 9).tolist()})
    clustered = [replace(one, cluster=f"c{number // 9}") for number, one in enumerate(copies)]
    width = {
        name: (point := curves(asked, results).overall.points("vote")[0]).high - point.low
        for name, asked, results in (
            ("single", questions, outcomes),
            ("alone", copies, repeated),
            ("shared", clustered, repeated),
        )
    }
    assert width["shared"] == pytest.approx(width["single"], rel=0.05)
    assert width["alone"] == pytest.approx(width["single"] / 3, rel=0.05)
    assert curves(clustered, repeated).overall.clusters == 40


def test_a_level_that_is_all_wrong_or_all_right_keeps_an_honest_bound():
    questions, outcomes = exam({"Easy": [1.0] * 20, "Hard": [0.0] * 20})
    easy, hard = (group.points("vote")[0] for group in curves(questions, outcomes).by("topic_difficulty"))
    exact = scipy.stats.binomtest(0, 20).proportion_ci(0.95, method="exact")
    assert (hard.low, hard.high) == pytest.approx((exact.low, exact.high))
    assert (easy.low, easy.high) == pytest.approx((1 - exact.high, 1.0))


def test_accuracy_and_the_three_losses_add_up_to_one():
    questions, _ = exam({"Easy": [0, 0]})
    outcomes = {
        "vote": {"q0": [(1, outcome(0.5)), (2, outcome(0.6))], "q1": [(1, outcome(0.1)), (2, outcome(0.0))]},
        "oracle": {"q0": [(1, outcome(0.5)), (2, outcome(1.0))], "q1": [(1, outcome(0.1)), (2, outcome(0.2))]},
        "greedy": {"q0": [(1, outcome(1.0))], "q1": [(1, outcome(0.0))]},
    }
    found = curves(questions, outcomes, oracles={"vote": "oracle", "oracle": "oracle"})
    losses = found.overall.losses
    assert [(loss.strategy, loss.k) for loss in losses] == [("vote", 1), ("vote", 2)]
    assert [(loss.selection, loss.budget, loss.capability) for loss in losses] == [
        (pytest.approx(0.0), pytest.approx(0.3), pytest.approx(0.4)),
        (pytest.approx(0.3), pytest.approx(0.0), pytest.approx(0.4)),
    ]
    assert all(loss.accuracy + loss.selection + loss.budget + loss.capability == pytest.approx(1) for loss in losses)
    assert [entrant.uses_gold for entrant in found.entrants] == [False, True, False]


def test_the_change_of_the_gap_is_paired_so_a_constant_gain_on_easy_is_certain():
    generator = np.random.default_rng(7)
    questions, outcomes = exam({"Easy": (generator.random(30) / 2).tolist(), "Hard": (generator.random(30) / 2).tolist()})
    for number in range(60):
        [(_, first)] = outcomes["vote"][f"q{number}"]
        outcomes["vote"][f"q{number}"].append((8, outcome(first.credit + (0.25 if number < 30 else 0.0), 8)))
    [gap] = curves(questions, outcomes).gaps
    assert gap.change is not None
    assert (gap.change.first, gap.change.last) == (1, 8)
    assert (gap.change.change, gap.change.low, gap.change.high) == pytest.approx((0.25, 0.25, 0.25))
    assert gap.points[1].high - gap.points[1].low > 0.05


def test_a_strategy_with_one_budget_has_a_gap_but_no_change():
    [gap] = curves(*exam({"Easy": [0.5, 1.0], "Hard": [0.0, 0.5]})).gaps
    assert (gap.points[0].gap, gap.change) == (0.5, None)


def test_the_same_seed_gives_the_same_curves_and_json_brings_them_back():
    questions, outcomes = exam({"Easy": [0.1, 1.0, 0.3], "Hard": [0.0, 0.7, 0.3]})
    found = curves(questions, outcomes, seed=3)
    assert curves(questions, outcomes, seed=3) == found
    assert curves(questions, outcomes, seed=4) != found
    assert Curves.from_json(found.to_json()) == found


def test_the_table_shows_every_strategy_and_k_in_percent_within_80_columns():
    questions, outcomes = exam({"Easy": [0.5, 1.0], "Medium": [0.5, 0.5], "Hard": [0.0, 0.5]})
    outcomes["vote"] = {name: [*points, (16, outcome(0.25, 16))] for name, points in outcomes["vote"].items()}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(curves(questions, outcomes), "topic_difficulty"))
    text = console.export_text()
    assert "75.0 6-100" in text
    assert "vote@16" in text
    assert "420" in text
    assert "…" not in text


@pytest.mark.parametrize("axis", ["completion_tokens", "path_tokens", "samples"])
def test_the_costs_of_every_axis_stand_within_80_columns(axis):
    questions, outcomes = exam({"Easy": [0.5, 1.0], "Medium": [0.5, 0.5], "Hard": [0.0, 0.5]})
    outcomes = {"a_strategy_of_some_length(verifier=steps)": outcomes["vote"]}
    found = curves(questions, outcomes)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(found, "topic_difficulty", axis))
    text = console.export_text()
    for entrant in found.entrants:
        for point in found.overall.points(entrant.name):
            assert re.search(rf"\s{re.escape(short(getattr(point, axis)))} *$", text, re.MULTILINE)
    assert "…" not in text


def test_a_table_of_many_groups_keeps_names_and_numbers_within_80_columns():
    questions, outcomes = exam({f"{level} (level)": [0.0, 1.0] for level in "12345"})
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(curves(questions, outcomes), "topic_difficulty"))
    text = console.export_text()
    assert "vote@" in text
    assert text.count("0-100") == 5
    assert "…" not in text


@pytest.mark.parametrize(
    ("value", "text"), [(None, "-"), (0.5, "0.5"), (999, "999"), (1325, "1.32k"), (999_600, "1M"), (3.1e12, "3.1T")]
)
def test_large_numbers_are_short(value, text):
    assert short(value) == text
