"""A whole run with vLLM, as a user starts it, and the same run with transformers from the same bank."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ttc.bank import Bank

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1800)]

CONFIG = """
benchmark: {kind: pocket, split: validation}
backend: {kind: vllm, model: pocket, eager: true}
sampling: {max_tokens: 96}
strategies: [{kind: direct}, {kind: vote, n: 4}]
limit: 10
"""


def run(folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "experiments", "run", "run.yaml", *more]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_run_draws_once_whichever_engine_asks_again(tmp_path):
    (tmp_path / "run.yaml").write_text(CONFIG)
    first = run(tmp_path)
    assert first.returncode == 0, first.stderr
    assert "drew 50 samples" in first.stdout
    assert "Traceback" not in first.stderr
    again = run(tmp_path)
    assert "drew 0 samples" in again.stdout
    other = run(tmp_path, "backend={kind: transformers, model: pocket}", "--out", "other")
    assert "drew 0 samples" in other.stdout, other.stderr
    engines = json.loads((tmp_path / "other" / "run.json").read_text())["engines"]
    assert [name.split()[0] for name in engines] == ["vllm"]


def test_ctrl_c_reaches_the_run_alone_which_commits_what_is_in_flight(tmp_path):
    """A terminal sends it to the engine's processes too."""
    (tmp_path / "run.yaml").write_text(CONFIG.replace("n: 4", "n: 300"))
    command = [sys.executable, "-m", "experiments", "run", "run.yaml"]
    with (tmp_path / "out.txt").open("w") as out:
        process = subprocess.Popen(command, cwd=tmp_path, stdout=out, stderr=subprocess.STDOUT, start_new_session=True)
    end = time.monotonic() + 1000
    while not list(tmp_path.glob("runs/bank/samples/*.parquet")) and process.poll() is None and time.monotonic() < end:
        time.sleep(0.2)
    os.killpg(process.pid, signal.SIGINT)
    code = process.wait(600)
    said = (tmp_path / "out.txt").read_text(encoding="utf-8")
    assert code == 3, said
    assert "what was in flight is committed" in said
    assert "Traceback" not in said
    kept = Bank(tmp_path / "runs" / "bank").stats().samples
    assert 0 < kept < 3010
    assert kept % 300 <= 10  # every request that was begun was finished
    rest = run(tmp_path)
    assert int(re.search(r"drew ([\d,]+) samples", rest.stdout)[1].replace(",", "")) == 3010 - kept
