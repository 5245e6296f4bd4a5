"""A run that is killed, and the same command again: nothing committed is lost, nothing is doubled, the results are the same."""

import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow.parquet as pq
import pytest
import yaml

from ttc.bank import Bank

# A part every fifth of a second, for a run of four seconds is to be killed between two of them.
COMMAND = """
from ttc.bank import Bank
from experiments.cli import main
Bank.writer.__kwdefaults__["seal_seconds"] = 0.2
main()
"""
SCRIPTED = {
    "kind": "scripted",
    "replies": ["Answer: A", "Answer: B", "so it is B. Answer: B", "Answer: 14", "no idea"],
    "pick": "seeded",
    "delay_seconds": 0.004,
}
POCKET = {"kind": "transformers", "model": "pocket", "dtype": "float64"}


def write_config(folder: Path, bank: str, backend: dict[str, object], limit: int, n: int) -> Path:
    path = folder / "run.yaml"
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
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
    command = [sys.executable, "-c", COMMAND, "run", str(config), "--out", str(out)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)


def wait_for_another(process: "subprocess.Popen[str]", files: Callable[[], Iterable[Path]]) -> None:
    """Returns when there is a file that was not there before, or the process has ended."""
    before = set(files())
    while process.poll() is None and set(files()) <= before:
        time.sleep(0.005)


def page_of(run: Path, bank: Path) -> str:
    """The report, whatever the bank is called."""
    return (run / "report.html").read_text(encoding="utf-8").replace(str(bank), "BANK")


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("backend", "limit", "n"),
    [(SCRIPTED, 60, 16), pytest.param(POCKET, 100, 32, marks=pytest.mark.slow)],
    ids=["scripted", "pocket"],
)
def test_a_run_killed_as_it_draws_and_as_it_writes_ends_as_if_it_had_not_been(ttc, tmp_path, backend, limit, n):
    assert ttc("run", write_config(tmp_path, "whole", backend, limit, n), "--out", tmp_path / "calm").code == 0
    config = write_config(tmp_path, "bank", backend, limit, n)
    committed: dict[tuple[str, int], str] = {}
    for place, pattern in (("bank", "samples/*.parquet"), ("killed", "outcomes.parquet")):
        process = start(config, tmp_path / "killed")
        wait_for_another(process, lambda place=place, pattern=pattern: (tmp_path / place).glob(pattern))
        process.kill()
        process.communicate()
        now = {(s["key"], s["index"]): s["text"] for s in rows(tmp_path / "bank")}
        assert committed.items() <= now.items()
        if place == "bank":
            assert 0 < len(now) < limit * (n + 1)
        committed = now
    # it was killed after the last sample
    assert "drew 0 samples (0 tokens) now" in ttc("run", config, "--out", tmp_path / "killed").out
    stats = Bank(tmp_path / "bank").stats()
    assert stats.samples == len({(s["key"], s["index"]) for s in rows(tmp_path / "bank")})
    for name in ("outcomes.parquet", "samples.parquet"):
        calm, killed = (pq.read_table(tmp_path / run / name).to_pylist() for run in ("calm", "killed"))
        assert calm == killed
    assert (tmp_path / "calm/curves.json").read_text() == (tmp_path / "killed/curves.json").read_text()
    assert page_of(tmp_path / "calm", tmp_path / "whole") == page_of(tmp_path / "killed", tmp_path / "bank")


def rows(bank: Path) -> list[dict[str, object]]:
    return Bank(bank).sql().sql("select key, index, text from samples").to_arrow_table().to_pylist()


def test_sigterm_commits_what_is_in_flight_and_says_that_the_same_command_goes_on(ttc, tmp_path):
    config = write_config(tmp_path, "bank", {**SCRIPTED, "delay_seconds": 0.1}, 60, 16)
    process = start(config, tmp_path / "out")
    wait_for_another(process, lambda: (tmp_path / "bank").glob("samples/*.parquet"))
    process.send_signal(signal.SIGTERM)
    output, _ = process.communicate()
    assert process.returncode == 3, output
    assert "the same command goes on" in output
    assert "Traceback" not in output
    kept = Bank(tmp_path / "bank").stats().samples
    assert kept > 0
    at_once = write_config(tmp_path, "bank", SCRIPTED, 60, 16)
    drawn = re.search(r"drew ([\d,]+) samples", ttc("run", at_once, "--out", tmp_path / "out", "--replace").out)
    assert drawn
    assert int(drawn[1].replace(",", "")) == 60 * 17 - kept
