"""`ttc chains`: a corpus from its config, and one line for what is wrong with one."""

import json
from pathlib import Path

import pytest

from experiments.config import read_yaml
from training.build import validate

SHIPPED = sorted((Path(__file__).parents[2] / "configs/chains").glob("*.yaml"))


@pytest.fixture
def config(tmp_path):
    rows = [
        {
            "id": f"q{n}",
            "question": f"Which of all the many balls is number {n}?",
            "gold": "a",
            "explanation": f"It is {color}.",
        }
        for n, color in enumerate(["red", "blue", "green", "white"] * 5)
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    path = tmp_path / "own.yaml"
    path.write_text(f"benchmarks: [{{kind: jsonl, path: {tmp_path / 'own.jsonl'}, name: own}}]")
    return path


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_shipped_corpora_are_valid(path):
    assert validate(read_yaml(path), str(path)).benchmarks


def test_chains_writes_three_sides_and_a_manifest(ttc, config, tmp_path):
    ended = ttc("chains", config, "share=0.5", "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    assert "test: 4 right chains" in ended.out
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"train.jsonl", "dev.jsonl", "test.jsonl", "manifest.json"}


def test_a_wrong_setting_is_one_line(ttc, config, tmp_path):
    ended = ttc("chains", config, "share=2", "--out", tmp_path / "out")
    assert ended.code == 2
    assert "share" in ended.err
    assert len(ended.err.strip().splitlines()) == 1
