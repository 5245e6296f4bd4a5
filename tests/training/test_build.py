"""Explained exams become files a training run reads."""

import json
from pathlib import Path

import pytest
import yaml

from training.build import build, validate
from training.chain_files import read_chains
from ttc.benchmarks.jsonl import Jsonl
from ttc.errors import UserError


def written(folder, explained=True):
    rows = [
        {"id": f"q{n}", "question": f"Which of all the many balls is number {n}?", "gold": f"{n}", "field": "xy"[n % 2]}
        | ({"explanation": f"The ball is {color}. It weighs {n + 2} kg."} if explained else {})
        for n, color in enumerate(["red", "blue", "green", "white"] * 5)
    ]
    (folder / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return {"benchmarks": [{"kind": "jsonl", "path": str(folder / "own.jsonl"), "name": "own"}]}


SHIPPED = sorted((Path(__file__).parents[2] / "configs/chains").glob("*.yaml"))


@pytest.mark.parametrize("path", SHIPPED, ids=lambda path: path.stem)
def test_every_shipped_corpus_is_valid(path):
    validate(yaml.safe_load(path.read_text()), str(path))


def test_sides_hold_right_and_wrong_chains_of_different_questions(tmp_path):
    build(validate(written(tmp_path), "x"), tmp_path / "out")
    questions = Jsonl(path=tmp_path / "own.jsonl", name="own").load().questions
    sides = {side: read_chains(tmp_path / f"out/{side}.jsonl", questions) for side in ("train", "dev", "test")}
    groups = {side: {chain.group for chain in chains} for side, chains in sides.items()}
    assert {origin for chains in sides.values() for origin in {chain.origin for chain in chains}} == {"gold", "perturbed"}
    assert sum(map(len, groups.values())) == len(set().union(*groups.values())) == 20
    (fold,) = json.loads((tmp_path / "out/manifest.json").read_text())
    assert {side: entry["chains"] for side, entry in fold["sides"].items()} == {side: len(one) for side, one in sides.items()}


def test_two_exams_with_other_answers_under_one_id_are_refused(tmp_path):
    content = written(tmp_path)
    rows = (tmp_path / "own.jsonl").read_text().replace('"gold": "3"', '"gold": "4"')
    (tmp_path / "other.jsonl").write_text(rows)
    other = {"kind": "jsonl", "path": str(tmp_path / "other.jsonl"), "name": "other"}
    with pytest.raises(UserError, match="question q3 of other has another answer"):
        build(validate({"benchmarks": [*content["benchmarks"], other]}, "x"), tmp_path / "out")


def test_the_same_config_writes_the_same_files(tmp_path):
    config = validate(written(tmp_path), "x")
    build(config, tmp_path / "a")
    build(config, tmp_path / "b")
    for name in ("train.jsonl", "dev.jsonl", "test.jsonl", "manifest.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()


def test_each_value_of_a_field_is_left_out_in_a_fold_of_its_own(tmp_path):
    split = {"kind": "leave_one_out", "by": "field", "dev": 0.2}
    build(validate({**written(tmp_path), "split": split}, "x"), tmp_path / "out")
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"field_x", "field_y", "manifest.json"}


def test_a_model_writes_right_chains_and_errors_alike(tmp_path):
    edits = {
        "Rewrite step [1]": ["One ball is meant.", "No ball is meant."],
        "Rewrite step [2]": ["It must be light."],
        "Explanation:": ["A ball is meant.\nIt must be heavy."],
    }
    backend = {"kind": "scripted", "replies": ["?"], "when": edits}
    rows = [
        {"id": f"q{n}", "question": f"Which of all the balls is number {n}?", "gold": "a", "explanation": "It is heavy."}
        for n in range(6)
    ]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    config = {
        "benchmarks": [{"kind": "jsonl", "path": str(tmp_path / "own.jsonl"), "name": "own"}],
        "errors": {"kind": "model", "backend": backend},
        "bank": str(tmp_path / "bank"),
    }
    lines = build(validate(config, "x"), tmp_path / "out")
    assert any("with an error (" in line and "(none)" not in line for line in lines)
    steps = {step for line in (tmp_path / "out/train.jsonl").read_text().splitlines() for step in json.loads(line)["steps"]}
    assert steps <= {
        "A ball is meant.\n",
        "It must be heavy.",
        "One ball is meant.\n",
        "No ball is meant.\n",
        "It must be light.",
    }


def test_a_models_own_replies_stand_beside_them_where_rollouts_and_a_judge_agree(tmp_path):
    rows = [{"id": f"q{n}", "question": f"What is 5 more than 7, in row {n}?", "gold": "12"} for n in range(6)]
    (tmp_path / "own.jsonl").write_text("\n".join(map(json.dumps, rows)))
    replies = ["It begins with 7.\nIt gets 12.\nAnswer: 12", "It begins with 7.\nIt gets 11.\nAnswer: 11"]
    says = {"[3] Answer: 11": ["First error: 3"], "in row 1": ["First error: 1"], "in row 2": ["Hm."]}
    judge = {"kind": "scripted", "replies": ["First error: 0"], "when": says}
    config = {
        "benchmarks": [{"kind": "jsonl", "path": str(tmp_path / "own.jsonl"), "name": "own"}],
        "natural": {
            "backend": {"kind": "scripted", "replies": {"*": replies, "q0": ["Answer: 3"]}},
            "sampling": {"max_tokens": 64},
            "replies": 2,
            "rollouts": 2,
            "judge": {"backend": judge},
        },
        "bank": str(tmp_path / "bank"),
    }
    [counted, *_] = build(validate(config, "x"), tmp_path / "out")
    assert (
        counted == "replies that failed a check: no continuation tells 1, the judge names no step 1, the judge does not agree 1"
    )
    sides = [(tmp_path / f"out/{side}.jsonl").read_text().splitlines() for side in ("train", "dev", "test")]
    rows = [json.loads(line) for lines in sides for line in lines]
    assert len(rows) == 8
    # both replies go on alike behind the sum, so that only the answer is past help
    assert {tuple(row["labels"]) for row in rows} == {(True, True, True), (True, True, False)}


def test_an_exam_without_explanations_and_a_wrong_setting_are_refused(tmp_path):
    with pytest.raises(UserError, match="no question of own has an explanation"):
        build(validate(written(tmp_path, explained=False), "x"), tmp_path / "out")
    with pytest.raises(UserError, match="config x: share"):
        validate({**written(tmp_path), "share": 2}, "x")
