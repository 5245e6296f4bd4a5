"""`ttc ensemble`: weights from a dev run, used on other questions, refused on their own."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments.curves import Curves
from verifiers.ensemble import VOTE, Weights, load_weights

RIGHT, WRONG = "so\nAnswer: B", "well\nAnswer: A"
LIKES = {"so": 0.9, "Answer: B": 0.9, "well": 0.3, "Answer: A": 0.2, "no idea": 0.3}
GOOD = {"kind": "scripted", "scores": LIKES}
BAD = {"kind": "scripted", "scores": {line: 1 - score for line, score in LIKES.items()}}


def config(folder: Path, name: str, *, gold: str = "B", **settings: Any) -> Path:
    """A vote on own questions, whose samples do not depend on the gold."""
    data = folder / f"{name}.jsonl"
    row = {"options": ["one", "two", "three"], "answer": gold}
    lines = [json.dumps({"id": f"{name}_{number}", "question": f"{name} {number}?", **row}) for number in range(12)]
    data.write_text("\n".join(lines), encoding="utf-8")
    content = {
        "benchmark": {"kind": "jsonl", "path": str(data)},
        "backend": {"kind": "scripted", "pick": "seeded", "replies": [RIGHT, WRONG, WRONG, "no idea"]},
        "verifiers": {"good": GOOD, "bad": BAD},
        "strategies": [{"kind": "vote", "n": 8}],
        "bank": str(folder / "bank"),
    }
    path = folder / f"{name}.yaml"
    path.write_text(yaml.safe_dump(content | settings), encoding="utf-8")
    return path


@pytest.fixture
def dev(tmp_path, ttc) -> Path:
    assert ttc("run", config(tmp_path, "dev"), "--out", tmp_path / "dev").code == 0
    return tmp_path / "dev"


def fitted(ttc: Any, run: Path, *more: str) -> Weights:
    found = ttc("ensemble", run, "--members", "good,bad", "--out", run / "w.json", *more)
    assert (found.code, found.err) == (0, "")
    return load_weights(run / "w.json")


def test_weights_of_a_dev_run_beat_the_vote_on_other_questions_and_are_refused_on_their_own(tmp_path, ttc, dev):
    weights = fitted(ttc, dev)
    assert (weights.fitted, weights.replies) == ("labels", 96)
    assert weights.members["good"].weight > 0 > weights.members["bad"].weight
    shown = ttc("ensemble", dev, "--members", "good,bad", "--out", dev / "w.json").out
    assert "accuracy" not in shown
    bound = yaml.safe_load(shown.partition("of another run:")[2])
    assert bound["verifiers"]["both"]["members"] == {"good": GOOD, "bad": BAD}
    use = {**bound, "strategies": [{"kind": kind, "n": 8, "verifier": "both"} for kind in KINDS]}
    use["strategies"].append({"kind": "vote", "n": 8})
    assert ttc("run", config(tmp_path, "test", **use), "--out", tmp_path / "test").code == 0
    curves = Curves.from_json((tmp_path / "test" / "curves.json").read_text(encoding="utf-8")).overall.curves
    best, weighted, vote = (curve.points[-1].accuracy for curve in curves)
    assert best > vote + 0.2
    assert weighted > vote
    refused = ttc("run", config(tmp_path, "dev", **use), "--out", tmp_path / "again")
    assert (refused.code, refused.err.count("\n")) == (2, 1)
    assert "w.json: 12 of the questions were in its dev split (the first: dev_0)" in refused.err


KINDS = ("best_of_n", "weighted_vote")


def test_a_label_free_fit_is_the_same_whatever_the_golds_are_and_counts_the_vote(tmp_path, ttc, dev):
    (tmp_path / "other").mkdir()
    other = config(tmp_path / "other", "dev", gold="C", bank=str(tmp_path / "bank"))
    assert ttc("run", other, "--out", tmp_path / "swapped").code == 0
    one, two = (fitted(ttc, run, "--label-free") for run in (dev, tmp_path / "swapped"))
    assert one.members == two.members
    assert one.data == two.data
    assert one.members[VOTE].accuracy is not None
    assert fitted(ttc, dev).data != one.data


def test_what_an_ensemble_cannot_be_fitted_on_is_one_line(tmp_path, ttc, dev):
    pocket = {"benchmark": {"kind": "pocket", "split": "test"}, "prompt_chosen_by": "none", "limit": 3}
    ttc("run", config(tmp_path, "pocket", **pocket), "--out", tmp_path / "pocket")
    knows = {"verifiers": {"true": {"kind": "truth"}, VOTE: GOOD}}
    ttc("run", config(tmp_path, "dev", **knows), "--out", tmp_path / "knows")
    for run, members, message in (
        (tmp_path / "pocket", "good,bad", "pocket test is a test split; fit on validation or dev"),
        (tmp_path / "knows", "true", "true knows the gold answers"),
        (tmp_path / "knows", VOTE, "vote is the samples' own vote"),
        (dev, "good,none", "no verifier 'none'; choose from bad, good"),
        (dev, " ", "name verifiers of"),
    ):
        ended = ttc("ensemble", run, "--members", members, "--out", tmp_path / "w.json")
        assert (ended.code, ended.err.count("\n")) == (2, 1), ended.err
        assert message in ended.err
