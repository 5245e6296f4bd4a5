"""`ttc processbench` on tiny files in the benches' own forms, with verifiers of known character."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from ttc.bank import Bank
from ttc.scoring import verifier_id
from verifiers import Scripted
from verifiers.frozen import Dev, Frozen

VERIFIERS = {
    "good": {"kind": "scripted", "scores": {"right": 0.9, "of\ntwo lines": 0.9, "wrong": 0.1}},
    "lenient": {"kind": "scripted", "scores": {"right": 0.9, "of\ntwo lines": 0.9, "wrong": 0.8}},
}
PROBLEM = "A beam of length five metres rests on two supports and carries a load. Where is load {} largest?"


def text_rows(count: int = 12) -> list[dict[str, Any]]:
    """Every second chain goes wrong at its second step; a third of those is hard to see."""
    rows = []
    for number in range(count):
        label = number % 2 * 2 - 1
        steps = ["right", "right" if label < 0 or number % 3 == 0 else "wrong", *["right"] * 11, "of\ntwo lines"]
        row = {"id": f"gsm8k-{number}", "problem": PROBLEM.format(number), "steps": steps, "label": label}
        rows.append({**row, "final_answer_correct": label < 0})
    return rows


def seen_rows() -> list[dict[str, Any]]:
    """Two sources, one of which the verifier is blind to; a step in the middle is neutral; the last chain is right."""
    marks, texts = [1, -1, 0, 1], {"MMMU": ["right", "wrong", "so", "right"], "MathVista": ["right", "right", "so", "right"]}
    rows = [
        {"question": f"What is {n}?", "response": {"steps": steps, "process_correctness": marks}, "data_source": source}
        for n in range(6)
        for source, steps in texts.items()
    ]
    right = {"steps": ["right"] * 4, "process_correctness": [1] * 4}
    return [*rows, {"question": "What is 6?", "response": right, "data_source": "MMMU"}]


@pytest.fixture
def config(tmp_path: Path) -> Path:
    (tmp_path / "gsm8k.json").write_text(json.dumps(text_rows()))
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, seen_rows())))
    path = tmp_path / "verifiers.yaml"
    path.write_text(yaml.safe_dump({"verifiers": VERIFIERS, "bank": str(tmp_path / "bank"), "strategies": []}))
    return path


def test_process_f1_is_the_harmonic_mean_on_the_benchs_own_steps_and_a_second_call_scores_nothing(tmp_path, ttc, config):
    found = ttc("processbench", config, tmp_path / "gsm8k.json", "--json", tmp_path / "found.json")
    assert (found.code, found.err) == (0, "")
    [bench] = json.loads((tmp_path / "found.json").read_text())
    good, lenient = bench["rows"]
    assert (bench["chains"], good["erroneous"], good["unscored"]) == (12, 0.5, 0)
    # a verifier would make other steps of the text; of six errors it sees four
    assert (good["steps"]["steps"], good["passed"]["mean"]) == (96, 1)
    assert good["steps"]["first_error"]["mean"] == pytest.approx(4 / 6)
    assert good["steps"]["process_f1"]["mean"] == pytest.approx(2 * (4 / 6) / (1 + 4 / 6))
    assert lenient["steps"]["process_f1"]["mean"] == 0
    assert lenient["steps"]["auroc"]["mean"] == good["steps"]["auroc"]["mean"] > 0.8
    constant = next(one for one in bench["baselines"] if one["baseline"] == "constant")
    assert (constant["auroc"], constant["process_f1"]) == (0.5, 0)
    assert "a step counts as right from 0.5 on; nothing was chosen on dev" in found.out

    stored = Bank(tmp_path / "bank").stats().scores
    assert stored == 24
    assert ttc("processbench", config, tmp_path / "gsm8k.json").code == 0
    assert Bank(tmp_path / "bank").stats().scores == stored


def test_a_threshold_frozen_on_dev_is_used_and_refused_to_another_verifier(tmp_path, ttc, config):
    dev = Dev(benchmark="own", split="dev", fingerprint="f", questions=(), replies=1, hash="h")
    for name, settings in VERIFIERS.items():
        identity = verifier_id(Scripted.model_validate(settings))
        Frozen(verifier=identity, step_threshold=0.85, dev=dev).sealed().write(tmp_path / f"{name}.json")
    found = ttc("processbench", config, tmp_path / "gsm8k.json", "--frozen", tmp_path, "--json", tmp_path / "found.json")
    assert (found.code, "nothing was chosen" in found.out) == (0, False)
    [bench] = json.loads((tmp_path / "found.json").read_text())
    assert len({row["steps"]["process_f1"]["mean"] for row in bench["rows"]}) == 1
    (tmp_path / "good.json").replace(tmp_path / "lenient.json")
    config.write_text(yaml.safe_dump({"verifiers": {"lenient": VERIFIERS["lenient"]}, "bank": str(tmp_path / "bank")}))
    assert "and this verifier is" in ttc("processbench", config, tmp_path / "gsm8k.json", "--frozen", tmp_path).err


def test_the_visual_bench_is_told_by_its_rows_pooled_and_by_source(tmp_path, ttc, config):
    found = ttc("processbench", config, tmp_path / "test.jsonl", tmp_path / "gsm8k.json", "--json", tmp_path / "found.json")
    benches = json.loads((tmp_path / "found.json").read_text())
    rows = {row["steps"]["group"]: row for row in benches[0]["rows"] if row["verifier"] == "good"}
    assert set(rows) == {"all", "MMMU", "MathVista"}
    each = [rows[source]["steps"]["macro_f1"]["mean"] for source in ("MMMU", "MathVista")]
    assert each == [1, pytest.approx(0.4)]
    assert rows["all"]["sources_macro_f1"] == pytest.approx(sum(each) / 2) != rows["all"]["steps"]["macro_f1"]["mean"]
    assert rows["all"]["steps"]["negative_f1"]["mean"] == pytest.approx(2 / 3)
    assert rows["all"]["steps"]["steps"] == 40  # neutral ones are in no figure
    f1 = [bench["rows"][0]["steps"]["process_f1"]["mean"] for bench in benches]
    assert f"good: process F1 {sum(f1) / 2:.3f}, mean of 2 files" in found.out


def test_chains_of_questions_trained_on_are_left_out_and_counted(tmp_path, ttc, config):
    (tmp_path / "own.jsonl").write_text(json.dumps({"id": "q", "question": PROBLEM.format(3), "gold": "1"}))
    about = {"question": "q", "benchmark": "own", "source": "own", "group": "q"}
    row = {**about, "steps": ["a"], "labels": [True], "origin": "gold"}
    (tmp_path / "train.jsonl").write_text(json.dumps(row))
    (tmp_path / "dev.jsonl").write_text("")
    files = {side: str(tmp_path / f"{side}.jsonl") for side in ("train", "dev")}
    benchmarks = [{"kind": "jsonl", "path": str(tmp_path / "own.jsonl"), "name": "own"}]
    data = {"kind": "chains", "benchmarks": benchmarks, **files}
    training = {"kind": "step_verifier", "base": {"model": "any"}, "data": data}
    (tmp_path / "train.yaml").write_text(yaml.safe_dump(training))
    rows = [{**row, "problem": f"How many {row['id']} are there?"} for row in text_rows()]
    (tmp_path / "gsm8k.json").write_text(json.dumps([*rows, {**text_rows()[3], "id": "gsm8k-12"}]))
    found = ttc("processbench", config, tmp_path / "gsm8k.json", "--trained", tmp_path / "train.yaml")
    assert found.code == 0, found.err
    assert "1 of 13 chains are left out: their questions were trained on" in found.out


def test_a_verifier_that_scores_no_steps_and_wrong_files_say_so(tmp_path, ttc, config):
    config.write_text(yaml.safe_dump({"verifiers": {"sure": {"kind": "confidence"}}, "bank": str(tmp_path / "bank")}))
    found = ttc("processbench", config, tmp_path / "gsm8k.json")
    assert "sure: 12 of 12 chains have no scores and are in no figure (no log-probabilities)" in found.out
    (tmp_path / "empty.json").write_text("[]")
    for arguments, message in (
        ([config, tmp_path / "empty.json"], "no rows; give a file of ProcessBench"),
        ([tmp_path / "gsm8k.json", tmp_path / "gsm8k.json"], "expected a mapping"),
        ([config, tmp_path / "gsm8k.json", "--frozen", tmp_path], "frozen file"),
    ):
        found = ttc("processbench", *arguments)
        assert (found.code, len(found.err.splitlines())) == (2, 1)
        assert message in found.err
