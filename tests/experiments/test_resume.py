"""A run that is killed, and the same command again: nothing committed is lost, nothing is doubled, the results are the same."""

import os
import random
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from ttc.bank import Bank

KILLS = int(os.environ.get("TTC_KILLS", "3"))
SCRIPTED = {
    "kind": "scripted",
    "replies": ["Answer: A", "Answer: B", "so it is B. Answer: B", "Answer: 14", "no idea"],
    "pick": "seeded",
    "delay_seconds": 0.002,
}
POCKET = {"kind": "transformers", "model": "pocket", "dtype": "float64"}


def write_config(folder: Path, bank: str, backend: dict[str, object], limit: int, n: int) -> Path:
    path = folder / "run.yaml"
    content = {
        "benchmark": {"kind": "pocket", "split": "validation"},
        "backend": backend,
        "sampling": {"max_tokens": 96},
        "strategies": [{"kind": "direct"}, {"kind": "vote", "n": n}, {"kind": "oracle", "n": n}],
        "limit": limit,
        "costs": {"throughput": {"completion": 1000}},  # measured seconds are never the same twice
        "bank": str(folder / bank),
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path


def start(config: Path, out: Path) -> "subprocess.Popen[str]":
    command = [sys.executable, "-m", "experiments", "run", str(config), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def finish(config: Path, out: Path) -> str:
    process = start(config, out)
    output, _ = process.communicate()
    assert process.returncode == 0, output
    return output


def page_of(run: Path, bank: Path) -> str:
    """The report, whatever the bank is called."""
    return (run / "report.html").read_text(encoding="utf-8").replace(str(bank), "BANK")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("backend", "limit", "n"),
    [(SCRIPTED, 60, 16), pytest.param(POCKET, 150, 32, marks=pytest.mark.slow)],
    ids=["scripted", "pocket"],
)
def test_a_run_killed_at_random_moments_ends_as_if_it_had_not_been(tmp_path, backend, limit, n):
    whole = write_config(tmp_path, "whole", backend, limit, n)
    finish(whole, tmp_path / "calm")
    config = write_config(tmp_path, "bank", backend, limit, n)
    moments = random.Random(7)
    committed: dict[tuple[str, int], str] = {}
    for _ in range(KILLS):
        process = start(config, tmp_path / "killed")
        time.sleep(moments.uniform(1.0, 9.0))
        process.send_signal(signal.SIGKILL)
        process.communicate()
        now = {(s["key"], s["index"]): s["text"] for s in rows(tmp_path / "bank")}
        assert committed.items() <= now.items()
        committed = now
    finish(config, tmp_path / "killed")
    stats = Bank(tmp_path / "bank").stats()
    assert stats.samples == len({(s["key"], s["index"]) for s in rows(tmp_path / "bank")})
    for name in ("outcomes.parquet", "samples.parquet"):
        calm, killed = (pq.read_table(tmp_path / run / name).to_pylist() for run in ("calm", "killed"))
        assert calm == killed
    assert (tmp_path / "calm/curves.json").read_text() == (tmp_path / "killed/curves.json").read_text()
    assert page_of(tmp_path / "calm", tmp_path / "whole") == page_of(tmp_path / "killed", tmp_path / "bank")
    assert "drew 0 samples" in finish(config, tmp_path / "killed")


def rows(bank: Path) -> list[dict[str, object]]:
    if not bank.exists():  # killed before anything was sealed
        return []
    return Bank(bank).sql().sql("select key, index, text from samples").to_arrow_table().to_pylist()


def test_sigterm_commits_what_is_in_flight_and_says_that_the_same_command_goes_on(tmp_path):
    config = write_config(tmp_path, "bank", {**SCRIPTED, "delay_seconds": 0.1}, 60, 16)
    process = start(config, tmp_path / "out")
    while not (tmp_path / "out/config.yaml").exists() and process.poll() is None:
        time.sleep(0.1)
    time.sleep(3)  # into the drawing, which takes twelve seconds at this delay
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate()
    assert process.returncode == 3, output
    assert "the same command goes on" in output
    assert "Traceback" not in output
    kept = Bank(tmp_path / "bank").stats().samples
    assert kept > 0
    drawn = re.search(r"drew ([\d,]+) samples", finish(config, tmp_path / "out"))
    assert drawn
    assert int(drawn[1].replace(",", "")) == 60 * 17 - kept
