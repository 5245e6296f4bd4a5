"""Grids: checked whole before anything is drawn, samples drawn once, how far each point is, and what they say of compute."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.curves import Curves
from ttc.bank import Bank

ROOT = Path(__file__).parents[2]


@pytest.fixture
def config(tmp_path: Path):
    """Writes a config with changes to a small scripted run, and returns its path."""

    def write(**changes: object) -> Path:
        content = {
            "benchmark": {"kind": "jsonl", "path": str(tmp_path / "six.jsonl")},
            "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "Answer: 7"], "pick": "seeded"},
            "strategies": [{"kind": "vote", "n": 4}],
            "bank": str(tmp_path / "bank"),
        }
        rows = [{"id": f"q{i}", "question": f"{i}?", "options": list("abcdefgh"), "gold": "A"} for i in range(6)]
        (tmp_path / "six.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
        path = tmp_path / "sweep.yaml"
        path.write_text(yaml.safe_dump({**content, **changes}), encoding="utf-8")
        return path

    return write


def states(shown: str) -> dict[str, list[str]]:
    """Point -> the rest of its row."""
    rows = [line.split("  ") for line in shown.splitlines() if "=" in line]
    return {cells[0].strip(): [cell.strip() for cell in cells[1:] if cell.strip()] for cells in rows}


GRID = {"sampling.temperature": [0.5, 1.0, 1.5]}


def test_status_tells_done_half_done_and_not_begun_points_apart_without_opening_a_model(ttc, tmp_path, config, monkeypatch):
    out = tmp_path / "out"
    path = config(grid=GRID)
    assert set(map(tuple, states(ttc("sweep", "status", path, "--out", out).out).values())) == {("not begun", "0 of 24")}
    assert ttc("run", config(grid={"sampling.temperature": [0.5, 0.7]}), "--out", out).code == 0
    assert ttc("draw", config(sampling={"temperature": 1.0}), "limit=2").code == 0
    monkeypatch.setattr("ttc.backends.scripted.Scripted.open", None)
    found = states(ttc("sweep", "status", config(grid=GRID), "--out", out).out)
    assert found["temperature=0.5"][:2] == ["done", "24 of 24"]
    assert found["temperature=1.0"] == ["partly", "8 of 24"]
    assert found["temperature=1.5"] == ["not begun", "0 of 24"]
    assert found["temperature=0.5"][2].endswith("B")


def test_a_sweep_over_replies_whose_tokens_nobody_counted_is_summed_up(ttc, tmp_path, config):
    path = config(backend={"kind": "replay", "outputs": str(tmp_path / "out.jsonl")}, grid={"strategies.0.n": [1, 2]})
    rows = map(json.loads, (tmp_path / "six.jsonl").read_text(encoding="utf-8").splitlines())
    said = [{**row, "response": ["Answer: A", "Answer: B"]} for row in rows]
    (tmp_path / "out.jsonl").write_text("\n".join(map(json.dumps, said)), encoding="utf-8")
    assert ttc("run", path, "--out", tmp_path / "out").code == 0
    assert len(json.loads((tmp_path / "out" / "sweep.json").read_text(encoding="utf-8"))) == 2


def test_status_tells_drawn_points_and_folders_of_other_settings_apart(ttc, tmp_path, config):
    out = tmp_path / "out"
    assert ttc("run", config(grid={"sampling.temperature": [0.5, 1.0]}), "--out", out).code == 0
    again = config(grid={"sampling.temperature": [0.5, 1.0]}, strategies=[{"kind": "vote", "n": 2}])
    assert {state for state, *_ in states(ttc("sweep", "status", again, "--out", out).out).values()} == {"other settings"}
    assert {state for state, *_ in states(ttc("sweep", "status", again, "--out", tmp_path / "no").out).values()} == {"drawn"}


def test_status_says_which_draws_nobody_can_count_beforehand(ttc, tmp_path, config):
    live = [{"kind": "revision"}, {"kind": "vote", "n": 2}]
    shown = ttc("sweep", "status", config(strategies=live), "--out", tmp_path / "out").out
    assert "not counted: what revision draw as they go" in " ".join(shown.split())


def test_a_point_that_is_wrong_stops_the_whole_grid_before_anything_is_drawn(ttc, tmp_path, config):
    ended = ttc("run", config(grid={"sampling.temperature": [0.5, 1.0, -1]}), "--out", tmp_path / "out")
    assert (ended.code, "temperature=-1" in ended.err) == (2, True)
    assert not (tmp_path / "bank").exists()


def test_points_over_models_prompts_temperatures_and_strategies_draw_what_they_share_once(ttc, tmp_path, config):
    grid = {
        "backend.replies": [["Answer: A", "Answer: B"], ["Answer: C", "Answer: D"]],
        "prompt.options": ["shown", "none"],
        "sampling.temperature": [0.5, 1.0],
        "strategies": [[{"kind": "vote", "n": 4}], [{"kind": "oracle", "n": 2}]],
    }
    assert ttc("draw", config(grid=grid)).code == 0
    assert Bank(tmp_path / "bank").stats().samples == 6 * 4 * 2 * 2 * 2  # the oracle's two are the first of the vote's four


def test_the_widths_a_search_is_listed_with_are_points_of_one_curve(ttc, tmp_path, config):
    searches = [{"kind": "beam_search", "verifier": "v", "width": width, "expand": 2} for width in (3, 1, 2)]
    within = [{"kind": "beam_search", "verifier": "v", "width": 2, "budget_tokens": most} for most in (40, 20)]
    path = config(strategies=[*searches, *within], verifiers={"v": {"kind": "scripted"}})
    ended = ttc("run", path, "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    found = Curves.from_json((tmp_path / "out" / "curves.json").read_text(encoding="utf-8"))
    by_width, by_budget = found.overall.curves
    assert (by_width.strategy, [point.k for point in by_width.points]) == ("beam_search(verifier=v,expand=2)", [1, 2, 3])
    assert (by_budget.strategy, [point.k for point in by_budget.points]) == ("beam_search(verifier=v,width=2)", [20, 40])
    assert [point.samples for point in by_width.points] == sorted({point.samples for point in by_width.points})
    facts = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))["strategies"]
    assert facts["beam_search(verifier=v,expand=2)"]["width"] == [1, 2, 3]
    assert ttc("run", config(strategies=[searches[0], searches[0]], verifiers={"v": {"kind": "scripted"}})).code == 2


def test_a_sweep_over_frames_gives_accuracy_against_flops_across_frames_and_samples(ttc, tmp_path, hub: Any, tiny_qwen: Path):
    path = tmp_path / "frames.yaml"
    content = yaml.safe_load((ROOT / "configs/sweeps/mmvu.yaml").read_text(encoding="utf-8"))
    content |= {"strategies": [{"kind": "vote", "n": 2}], "ks": [1, 2], "grid": {"prompt.frames.frames": [2, 4]}}
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    backend = f"backend={{kind: transformers, model: {tiny_qwen}}}"
    small = ["sampling.max_tokens=3", f"bank={tmp_path / 'bank'}", *hub.for_config("mmvu_validation")]
    ended = ttc("run", path, backend, *small, "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    found = json.loads((tmp_path / "out" / "sweep.json").read_text(encoding="utf-8"))
    few, many = ({point["k"]: point for point in one["curves"]["vote"]} for one in found.values())
    assert few[1]["flops"] < few[2]["flops"] < many[1]["flops"] < many[2]["flops"]
    assert few[2]["flops"] - few[1]["flops"] < many[1]["flops"] - few[1]["flops"]  # the frames are paid for once
    assert all(0 <= point["accuracy"] <= 1 for one in (few, many) for point in one.values())
    assert Bank(tmp_path / "bank").stats().samples == 2 * 2 * 4
