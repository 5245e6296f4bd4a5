"""A whole run with vLLM, as a user starts it, and the same run with transformers from the same bank."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(900)]

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
