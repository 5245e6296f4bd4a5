"""From the command line: predictions, a plan, the strategy that follows it, and a subset of the questions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from training import difficulty_frozen

RUNG = "rungs=[{name: form, model: ordinal, features: [form]}, {name: pass rate, model: ordinal, features: [pass_rate]}]"


@pytest.fixture
def run(ttc: Callable[..., Any], tmp_path: Path) -> Callable[..., Path]:
    """Runs these strategies on thirty questions, in one bank."""

    def command(name: str, *strategies: dict[str, object], seed: int = 0) -> Path:
        content = {
            "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
            "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "Answer: 7", "no idea"], "pick": "seeded"},
            "strategies": list(strategies),
            "limit": 30,
            "seed": seed,
            "bank": str(tmp_path / "bank"),
        }
        (tmp_path / f"{name}.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
        ended = ttc("run", tmp_path / f"{name}.yaml", "--out", tmp_path / name)
        assert ended.code == 0, ended.err
        return tmp_path / name

    return command


def test_predictions_become_a_plan_and_the_strategy_follows_it(ttc, run, tmp_path):
    first, config = run("first", {"kind": "vote", "n": 8}), tmp_path / "difficulty.yaml"
    config.write_text(
        "benchmark: {kind: pocket, split: validation, subjects: [Tables, Bars]}\nprimary: form\n", encoding="utf-8"
    )
    ended = ttc("predict-difficulty", config, RUNG, "leave_out=null", "--freeze", tmp_path / "p.json")
    assert ended.code == 0, ended.err
    assert "left out for want of an embedder or of samples: pass rate" in ended.out
    assert len(difficulty_frozen.read(tmp_path / "p.json").questions) == 120
    ended = ttc("allocate", first, "--predictions", tmp_path / "p.json", "--budget", 3, "--freeze", tmp_path / "plan.json")
    assert ended.code == 0, ended.err
    assert "at the completion tokens of vote@3" in ended.out
    second = run("second", {"kind": "vote", "n": 8}, {"kind": "allocated_vote", "n": 3, "plan": str(tmp_path / "plan.json")})
    points = {
        curve["strategy"].partition("(")[0]: curve["points"]
        for curve in json.loads((second / "curves.json").read_text())["groups"][0]["curves"]
    }
    assert 1 <= points["allocated_vote"][0]["samples"] <= 6


def test_levels_can_be_predicted_from_what_a_run_did(ttc, run, tmp_path):
    first, config = run("first", {"kind": "vote", "n": 4}), tmp_path / "difficulty.yaml"
    config.write_text(
        "benchmark: {kind: pocket, split: validation, subjects: [Tables, Bars]}\nprimary: form\n", encoding="utf-8"
    )
    ended = ttc("predict-difficulty", config, RUNG, "leave_out=null", f"run={first}")
    assert (ended.code, "questions of the exam are not in it" in ended.err) == (2, True)


def test_a_subset_is_chosen_from_runs_and_written(ttc, run, tmp_path):
    runs = [run(f"run{seed}", {"kind": "vote", "n": 4}, seed=seed) for seed in range(2)]
    ended = ttc("subset", *runs, "--questions", 9, "--out", tmp_path / "ids.txt")
    assert ended.code == 0, ended.err
    assert "took part in the choice" in " ".join(ended.out.split())
    assert len((tmp_path / "ids.txt").read_text().split()) == 9
    ended = ttc("subset", runs[0], tmp_path / "nowhere", "--questions", 9)
    assert (ended.code, "no finished run here" in ended.err) == (2, True)
