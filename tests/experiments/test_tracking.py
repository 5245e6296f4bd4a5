"""The files of offline W&B runs, read back: every point of every curve is there exactly once."""

import json
import os
import struct
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.config import RunConfig, validate
from experiments.curves import Curves, curves
from experiments.folder import claim, read_config
from experiments.plan import plan
from experiments.run import Results
from experiments.tracking import AXES, points, tracked
from ttc.errors import UserError
from ttc.pool import Outcome
from ttc.records import Question

wandb = pytest.importorskip("wandb")

KEY = "a" * 40
KILLED = """
import os, signal, sys, time, wandb
from experiments.cli import main
log = wandb.Run.log
def log_and_die(run, row, step):
    if "tables/curves" in row:
        time.sleep(1)  # lets the service write the points that it has
        os.kill(os.getpid(), signal.SIGKILL)
    log(run, row, step=step)
wandb.Run.log = log_and_die
sys.argv = ["ttc", *sys.argv[1:]]
main()
"""


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """No key, no home but the test's own."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("WANDB_")}
    folders = {f"WANDB_{name}_DIR": str(tmp_path / "home") for name in ("CONFIG", "CACHE", "DATA")}
    return {**kept, **folders, "NETRC": str(tmp_path / "netrc")}


def write_config(folder: Path, **more: object) -> Path:
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "Answer: 14", "no idea"], "pick": "seeded"},
        "strategies": [{"kind": "direct"}, {"kind": "vote", "n": 16}, {"kind": "oracle", "n": 16}],
        "by": ["topic_difficulty", "subject"],
        "limit": 24,
        "bank": str(folder / "bank"),
        "tracking": {"kind": "wandb", "samples": 50},
        **more,
    }
    path = folder / "run.yaml"
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def ttc(*command: str, environment: dict[str, str], program: tuple[str, ...] = ("-m", "experiments")) -> tuple[int, str]:
    run = subprocess.run([sys.executable, *program, *command], env=environment, capture_output=True, text=True, check=False)
    return run.returncode, run.stdout + run.stderr


def records(file: Path) -> Iterator[Any]:
    """The records of an offline run: 7 bytes, LevelDB's log, blocks of 32 KiB, 7 bytes before each piece of a record."""
    from wandb.proto.wandb_internal_pb2 import Record

    data, at, joined = file.read_bytes(), 7, b""
    while at + 7 <= len(data):
        if (left := 32768 - at % 32768) < 7:
            at += left
            continue
        _, length, kind = struct.unpack("<IHB", data[at : at + 7])
        joined += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last piece
            yield Record.FromString(joined)
            joined = b""


def offline_runs(folder: Path) -> dict[str, list[Any]]:
    """Folder of an offline run -> its records."""
    return {file.parent.name: list(records(file)) for file in sorted(folder.glob("wandb/offline-run-*/*.wandb"))}


def logged(run: list[Any]) -> list[dict[str, Any]]:
    """The history, without W&B's own keys."""
    rows = [record.history for record in run if record.WhichOneof("record_type") == "history"]
    read = [{item.key or "/".join(item.nested_key): json.loads(item.value_json) for item in row.item} for row in rows]
    return [{key: value for key, value in row.items() if not key.startswith("_")} for row in read]


def test_after_a_kill_amid_logging_every_point_of_every_curve_is_there_exactly_once(tmp_path, environment):
    config, out = write_config(tmp_path), tmp_path / "out"
    code, said = ttc("run", str(config), "--out", str(out), environment=environment, program=("-c", KILLED))
    assert code == -9, said
    [(torn_name, torn)] = offline_runs(out).items()
    state = json.loads((out / "tracking.json").read_text())
    code, said = ttc("run", str(config), "--out", str(out), environment=environment)
    assert code == 0, said
    assert "offline" in said

    [(name, run)] = offline_runs(out).items()
    assert 0 < len(logged(torn)) < len(logged(run))
    assert name != torn_name
    assert name.endswith(state["id"])
    found = Curves.from_json((out / "curves.json").read_text())
    *history, tables = logged(run)
    assert history == [pytest.approx(row) for row in points(found)]
    # a point by its line and its place on the axis: what a chart draws
    drawn = Counter(
        (key, row[f"axis/{axis}"])
        for row in history
        for axis in ("samples", "tokens")
        for key in row
        if key.startswith(f"by {axis}")
    )
    expected = [p for group in found.groups for curve in group.curves for p in curve.points]
    assert len(drawn) == 2 * len(expected)
    assert set(drawn.values()) == {1}
    assert {key.partition("/")[0] for key, _ in drawn} >= {"by samples", "by tokens, topic_difficulty", "by tokens, subject"}
    assert tables["tables/samples/nrows"] <= 50
    assert tables["tables/curves/nrows"] == len(expected)

    before = {file: file.read_bytes() for file in out.glob("wandb/**/*.wandb")}
    with tracked(read_config(out), out, name="again") as publish:
        assert "has all of this already" in publish(found, Results(plan(read_config(out))), {})
    assert {file: file.read_bytes() for file in out.glob("wandb/**/*.wandb")} == before
    check_records(run, found)


def check_records(run: list[Any], found: Curves) -> None:
    """Axes, summary, config and report of a whole run."""
    kinds = Counter(record.WhichOneof("record_type") for record in run)
    assert kinds["exit"] == 1
    steps = {record.metric.glob_name: record.metric.step_metric for record in run if record.metric.glob_name}
    assert steps == {f"by {axis}*": f"axis/{axis}" for axis in AXES}
    summary = {
        item.key or "/".join(item.nested_key): item.value_json
        for record in run
        if record.WhichOneof("record_type") == "summary"
        for item in record.summary.update
    }
    assert json.loads(summary["accuracy/vote"]) == pytest.approx(found.overall.points("vote")[-1].accuracy)
    reports = [
        record.artifact for record in run if record.WhichOneof("record_type") == "artifact" and record.artifact.type == "report"
    ]
    assert {entry.path for report in reports for entry in report.manifest.contents} >= {"report.html", "curves.json"}


def test_a_sweep_is_a_group_and_a_key_is_never_printed_nor_written(tmp_path, environment):
    config = write_config(tmp_path, grid={"seed": [0, 1]}, limit=3, strategies=[{"kind": "vote", "n": 2}], by=[])
    keyed = {**environment, "WANDB_API_KEY": KEY, "WANDB_MODE": "offline"}
    code, said = ttc("run", str(config), "--out", str(tmp_path / "many"), environment=keyed)
    assert code == 0, said
    runs = {point: offline_runs(tmp_path / "many" / point) for point in ("seed=0", "seed=1")}
    heads = [record.run for found in runs.values() for run in found.values() for record in run if record.HasField("run")]
    assert {(head.run_group, head.display_name) for head in heads} == {("many", "seed=0"), ("many", "seed=1")}
    assert len({head.run_id for head in heads}) == 2
    assert KEY not in said
    assert not [file for file in (tmp_path / "many").rglob("*") if file.is_file() and KEY.encode() in file.read_bytes()]


def test_a_key_that_is_refused_is_said_in_one_line_without_the_key(tmp_path, environment):
    config = write_config(tmp_path, limit=3)
    code, said = ttc("run", str(config), "--out", str(tmp_path / "out"), environment={**environment, "WANDB_API_KEY": "n0-key"})
    assert (code, "n0-key" in said, "Traceback" in said) == (2, False, False)
    assert said.splitlines()[-1].startswith("error: tracking: W&B cannot be used")
    assert not (tmp_path / "bank").exists() or not list((tmp_path / "bank").rglob("*.parquet"))


def test_tensorboard_has_every_point_of_every_curve_once_though_written_twice(tmp_path):
    pytest.importorskip("tensorboard")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.util.tensor_util import make_ndarray

    asked = [Question(f"q{i}", "b", "open", "", fields={"level": level}) for i, level in enumerate(("Easy", "Hard"))]
    points = [[(k, Outcome(at / k, 1.0, k, 5.0, 10.0 * k, None)) for k in (1, 2)] for at in (0.5, 0.25)]
    found = curves(asked, {"vote": {q.id: one for q, one in zip(asked, points, strict=True)}}, by=["level"], draws=10)
    config = validate({**yaml.safe_load(write_config(tmp_path).read_text()), "tracking": {"kind": "tensorboard"}}, "test")
    for _ in range(2):
        with tracked(config, tmp_path, name="run") as publish:
            assert str(tmp_path / "tensorboard") in publish(found, Results(None), {})
    events = EventAccumulator(str(tmp_path / "tensorboard"))
    events.Reload()
    shown = {
        tag: [(one.step, float(make_ndarray(one.tensor_proto))) for one in events.Tensors(tag)]
        for tag in events.Tags()["tensors"]
    }
    assert shown["by samples/level=Hard/vote"] == [(1, 0.25), (2, 0.125)]
    assert shown["by tokens/all/vote"] == [(15, 0.375), (25, 0.1875)]
    assert len(shown) == 3 * 3  # groups, and axes whose cost is known


def test_tracking_may_be_turned_on_for_a_run_that_is_there(tmp_path):
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "scripted", "replies": ["A"]},
    }
    plain = {**content, "strategies": [{"kind": "direct"}]}
    claim(tmp_path, RunConfig.model_validate(plain), replace=False)
    claim(tmp_path, RunConfig.model_validate({**plain, "tracking": {"kind": "wandb"}}), replace=False)
    with pytest.raises(UserError, match="other settings"):
        claim(tmp_path, RunConfig.model_validate({**plain, "seed": 1}), replace=False)


def test_a_training_run_that_was_cut_short_and_went_on_has_every_step_once(tmp_path, monkeypatch):
    from transformers import TrainerState

    from training.config import validate
    from training.tracking import Curves

    for name in ("API_KEY", "MODE", "IDENTITY_TOKEN_FILE"):
        monkeypatch.delenv(f"WANDB_{name}", raising=False)
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    config = validate({"base": {"model": "pocket"}, "data": {"kind": "pocket"}, "tracking": {"kind": "wandb"}}, "test")
    for begun, ended in ((0, 3), (2, 4)):  # the checkpoint is of step 2
        curves = Curves(config, tmp_path)
        state = TrainerState(log_history=[{"loss": 1 / step, "step": step} for step in range(1, begun + 1)], best_metric=0.9)
        curves.on_train_begin(None, state, None)
        for state.global_step in range(begun + 1, ended + 1):
            curves.on_log(None, state, None, {"loss": 1 / state.global_step})
            curves.on_log(None, state, None, {"eval_auroc": 0.5})
        curves.on_train_end(None, state, None)
        wandb.teardown()  # as the end of the process: W&B's own service may still hold the run otherwise
        for folder in tmp_path.glob("wandb/offline-run-*"):  # named by the second, which both could begin in
            folder.rename(folder.with_name(folder.name.replace("-2", "-1", 1)))
    [run] = offline_runs(tmp_path).values()
    assert [row["train/loss"] for row in logged(run)] == [1 / step for step in range(1, 5)]
    assert "eval/auroc" in logged(run)[-1]
