"""Money, seconds and latency as axes: from outcomes to points, areas and gaps at equal compute."""

import json
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from experiments import figures
from experiments.axes import AXES
from experiments.cli import app
from experiments.curve_tables import area_table, lacking, table
from experiments.curves import Curves, curves
from experiments.tariffs import Tariffs, read_tariffs, seconds_per_token
from ttc.compute import Prices
from ttc.compute.tariff import Costs, Speed
from ttc.errors import UserError
from ttc.grading import Graded
from ttc.pool import Outcome
from ttc.records import Question, Sample
from ttc.statistics import area_weights, curve_areas

TARIFF = Costs(
    prices=Prices(input=1.0, output=5.0), throughput=Speed(completion=100), speed=Speed(completion=10, prompt=1000)
).tariff(None)


def outcome(credit: float, k: int, length: float) -> Outcome:
    """k replies of one length after a prompt of 100 tokens."""
    return Outcome(
        credit,
        1.0,
        samples=k,
        prompt_tokens=100.0,
        completion_tokens=k * length,
        flops=None,
        reread_tokens=100.0 * (k - 1),
        path_prompt_tokens=100.0,
        path_completion_tokens=length + k,
        path_verifier_tokens=0.0,
    )


def exam(**strategies: dict[int, tuple[float, float]]) -> tuple[list[Question], dict]:
    """Four easy and four hard questions; strategy -> k -> credits on both; hard replies are twice as long."""
    questions = [
        Question(f"q{i}", "exam", "open", "", fields={"topic_difficulty": "Hard" if i >= 4 else "Easy"}) for i in range(8)
    ]
    outcomes = {
        name: {
            f"q{i}": [(k, outcome(credits[i >= 4], k, 20.0 if i >= 4 else 10.0)) for k, credits in points.items()]
            for i in range(8)
        }
        for name, points in strategies.items()
    }
    return questions, outcomes


@pytest.fixture(scope="module")
def found() -> Curves:
    asked = exam(vote={1: (0.2, 0.0), 2: (0.4, 0.1), 4: (0.6, 0.3)}, best={1: (0.2, 0.0), 2: (0.3, 0.0), 4: (0.3, 0.0)})
    tariffs = Tariffs({"vote": TARIFF}, "USD")
    return curves(*asked, tariffs=tariffs, draws=200)


def test_a_point_has_its_place_on_every_axis_by_hand(found):
    point = found.by("topic_difficulty")[0].points("vote")[1]  # two replies of 10 tokens to an easy question
    assert point.money == pytest.approx((100 * 1.0 + 20 * 5.0) / 1e6)
    assert point.device_seconds == pytest.approx(20 / 100)
    assert point.path_tokens == pytest.approx(100 + 12)
    assert point.path_seconds == pytest.approx(100 / 1000 + 12 / 10)
    assert point.flops is None


def test_a_strategy_without_prices_and_speeds_is_empty_on_those_axes_and_not_zero(found):
    point = found.overall.points("best")[-1]
    assert (point.money, point.device_seconds, point.path_seconds) == (None, None, None)
    assert point.path_tokens is not None


def test_outcomes_from_before_latency_was_counted_leave_it_unknown():
    questions, outcomes = exam(vote={1: (0.5, 0.5)})
    outcomes["vote"]["q0"] = [(1, Outcome(0.5, 1.0, 1.0, 100.0, 10.0, None))]
    point = curves(questions, outcomes, draws=50).overall.points("vote")[0]
    assert (point.path_tokens, point.total_tokens) == (None, 115.0)


def test_gaps_at_equal_compute_exist_on_every_axis_that_is_known(found):
    axes = {name: {gap.axis for gap in found.matched if gap.strategy == name} for name in ("vote", "best")}
    # replies side by side hardly lengthen the critical path, so that the levels' latencies share no range
    assert axes["vote"] == {"completion_tokens", "total_tokens", "money", "device_seconds"}
    assert axes["best"] == {"completion_tokens", "total_tokens"}
    # 20 tokens on both levels: an easy question has two replies of 10, a hard one a single reply of 20
    gap = next(gap for gap in found.matched if gap.strategy == "vote" and gap.axis == "completion_tokens")
    assert (gap.at, [one.value for one in gap.gaps]) == ((20.0, 40.0), pytest.approx([0.4 - 0.0, 0.6 - 0.1]))


def test_an_area_is_the_mean_accuracy_over_log2_of_the_cost(found):
    [vote, best] = [one for one in found.areas if one.axis == "samples"]
    assert (vote.begin, vote.end) == (1.0, 4.0)
    assert vote.area == pytest.approx(((0.1 + 0.25) / 2 + (0.25 + 0.45) / 2) / 2)
    assert best.area == pytest.approx(((0.1 + 0.15) / 2 + (0.15 + 0.15) / 2) / 2)
    assert vote.low <= vote.area <= vote.high
    assert {one.strategy for one in found.areas if one.axis == "money"} == {"vote"}
    assert "flops" not in {one.axis for one in found.areas}


def test_area_weights_give_the_area_of_any_heights():
    costs, heights = [3.0, 5.0, 20.0, 70.0], [0.1, 0.4, 0.3, 0.9]
    [area, _] = curve_areas([costs, [4.0, 50.0]], [heights, [0.0, 1.0]])
    assert area_weights(costs, 4.0, 50.0) @ heights == pytest.approx(area)
    assert sum(area_weights(costs, 4.0, 50.0)) == pytest.approx(1)


def test_json_brings_every_axis_back_and_the_tables_name_the_unit(found):
    assert Curves.from_json(found.to_json()) == found
    assert table(found, axis="money").columns[-1].header == "USD"
    assert area_table(found, "flops") is None
    assert lacking(found, "flops").startswith(("FLOPs: unknown", "no areas"))
    with pytest.raises(UserError, match=r"'dollars'.*money"):
        table(found, axis="dollars")


@pytest.mark.parametrize("axis", ["money", "path_seconds"])
def test_a_figure_can_be_drawn_over_any_axis(found, axis):
    drawn = figures.figure(found, axis=axis)
    assert drawn.get_supxlabel() == AXES[axis].title
    assert len(drawn.axes[0].lines[0].get_xdata()) == 3


def test_measured_device_seconds_are_those_of_all_samples_over_their_tokens():
    samples = tuple(
        Sample("k", i, "q", "", completion_tokens=tokens, device_seconds=seconds)
        for i, (tokens, seconds) in enumerate([(10, 0.5), (30, 0.0), (100, None)])
    )
    one = Graded(Question("q", "exam", "open", ""), samples, (), (), ())
    assert seconds_per_token({"cot": {"q": one}}) == pytest.approx(0.5 / 40)
    assert seconds_per_token({}) is None


def test_a_run_prices_its_strategies_anew_without_drawing_or_another_folder(tmp_path: Path):
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "no idea"], "pick": "seeded"},
        "strategies": [{"kind": "vote", "n": 4}, {"kind": "shuffled_vote", "n": 2}],
        "limit": 6,
        "bank": str(tmp_path / "bank"),
    }
    found = []
    for price in (1.0, 3.0):
        config = tmp_path / "run.yaml"
        config.write_text(yaml.safe_dump(content | {"costs": {"prices": {"input": 0, "output": price}}}), encoding="utf-8")
        done = CliRunner().invoke(app, ["run", str(config), "--out", str(tmp_path / "out")])
        assert done.exit_code == 0, done.output
        found.append(Curves.from_json((tmp_path / "out/curves.json").read_text()))
    assert "drew 0 samples" in done.output
    for name in ("vote", "shuffled_vote"):
        cheap, dear = (one.overall.points(name)[-1] for one in found)
        assert cheap.money == pytest.approx(cheap.completion_tokens / 1e6)
        assert dear.money == pytest.approx(3 * cheap.money)
        assert dear.path_tokens == pytest.approx(cheap.path_tokens)
        assert dear.path_tokens < dear.total_tokens
    tariffs = read_tariffs(json.loads((tmp_path / "out/run.json").read_text()))
    assert (tariffs.currency, tariffs.strategies["vote"].device_seconds) == ("USD", None)
    shown = CliRunner().invoke(app, ["curves", str(tmp_path / "out"), "--axis", "money"])
    assert shown.exit_code == 0, shown.output
    assert "mean accuracy in % over log2 of USD" in shown.output
