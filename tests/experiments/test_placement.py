"""Sampling in a process of its own gives the same run, is checked before it starts, and stops when told to."""

import signal
import subprocess
import sys
import time

import pyarrow.parquet as pq
import pytest
import yaml

from ttc.bank import Bank

SCRIPTED = {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "Answer: 7"], "pick": "seeded"}


def write_config(folder, bank, **changes):
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": SCRIPTED,
        "strategies": [{"kind": "cot"}, {"kind": "vote", "n": 8}],
        "limit": 12,
        "bank": str(folder / bank),
    }
    path = folder / f"{bank}.yaml"
    path.write_text(yaml.safe_dump({**content, **changes}), encoding="utf-8")
    return path


def test_a_run_sampled_apart_finds_what_a_run_in_one_process_finds(ttc, tmp_path):
    assert ttc("run", write_config(tmp_path, "together"), "--out", tmp_path / "one").code == 0
    placed = write_config(tmp_path, "apart", placement={"python": sys.executable})
    ended = ttc("run", placed, "--out", tmp_path / "two")
    assert ended.code == 0
    assert "the sampling process drew 108 samples" in ended.out
    assert "drew 0 samples" in ended.out
    one, two = (pq.read_table(tmp_path / run / "outcomes.parquet").to_pylist() for run in ("one", "two"))
    assert one == two


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"placement": {"python": "/no/such/python"}}, ["placement.python", "/no/such/python"]),
        ({"placement": {"python": sys.executable}, "backend": {"kind": "vllm", "model": "pocket"}}, ["cannot import", "vllm"]),
        ({"placement": {}, "strategies": [{"kind": "revision"}]}, ["revision", "leave placement out"]),
    ],
)
def test_a_placement_that_cannot_work_is_refused_before_anything_is_drawn(ttc, tmp_path, changes, words):
    ended = ttc("run", write_config(tmp_path, "bank", **changes), "--out", tmp_path / "out")
    assert ended.code == 2
    assert all(word in ended.err for word in words), ended.err
    assert not (tmp_path / "bank").exists()


def test_sigterm_reaches_the_sampling_process_and_what_it_drew_is_kept(tmp_path):
    slow = {**SCRIPTED, "delay_seconds": 0.2}
    config = write_config(tmp_path, "bank", placement={"python": sys.executable}, backend=slow, limit=150)
    command = [sys.executable, "-m", "experiments", "run", str(config), "--out", str(tmp_path / "out")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not list((tmp_path / "bank").glob("samples/*.parquet")) and process.poll() is None:
        time.sleep(0.2)
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate()
    assert process.returncode == 3, output
    assert "the same command goes on" in output
    assert 0 < Bank(tmp_path / "bank").stats().samples < 150 * 9
