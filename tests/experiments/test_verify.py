"""`ttc verify` and the use of what it freezes, on scripted replies and with verifiers of known character."""

import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from experiments import folder as folders
from experiments.verify import read
from experiments.verify_page import section
from ttc.bank import Bank

RIGHT, WRONG = "so\nAnswer: B", "well\nAnswer: A"
GOOD = {"kind": "scripted", "scores": {"so": 0.9, "Answer: B": 0.9, "well": 0.2, "Answer: A": 0.2}}
BAD = {"kind": "scripted", "scores": {"so": 0.2, "Answer: B": 0.1, "well": 0.9, "Answer: A": 0.9}}


def rows(split: str, count: int = 12) -> str:
    """Own questions whose answer is B."""
    return "".join(
        json.dumps(
            {
                "id": f"{split}_{number}",
                "question": f"Which of {number} on {split}?",
                "options": ["one", "two", "three"],
                "answer": "B",
                "subject": ("Art", "Math")[number % 2],
                "topic_difficulty": ("Easy", "Hard")[number % 2],
            }
        )
        + "\n"
        for number in range(count)
    )


def config(folder: Path, split: str, **settings: Any) -> Path:
    data = folder / f"{split}.jsonl"
    data.write_text(rows(split), encoding="utf-8")
    content = {
        "benchmark": {"kind": "jsonl", "path": str(data)},
        "backend": {"kind": "scripted", "pick": "seeded", "replies": [RIGHT, WRONG, WRONG, "no idea"]},
        "verifiers": {"good": GOOD, "bad": BAD},
        "strategies": [
            {"kind": "vote", "n": 8},
            {"kind": "best_of_n", "n": 8, "verifier": "good"},
            {"kind": "weighted_vote", "n": 8, "verifier": "bad"},
        ],
        "bank": str(folder / "bank"),
    }
    path = folder / f"{split}.yaml"
    path.write_text(yaml.safe_dump(content | settings), encoding="utf-8")
    return path


@pytest.fixture
def dev(tmp_path, ttc) -> Path:
    assert ttc("run", config(tmp_path, "dev"), "--out", tmp_path / "dev").code == 0
    return tmp_path / "dev"


def cards(run: Path) -> dict[str, Any]:
    return {card["name"]: card for card in json.loads((run / "verify.json").read_text(encoding="utf-8"))}


def test_a_good_and_a_bad_verifier_are_told_apart_and_a_second_call_scores_nothing(tmp_path, ttc, dev):
    found = ttc("verify", dev)
    assert (found.code, found.err.count("\n")) == (0, 1)
    assert "judging verifiers" in found.err
    good, bad = (cards(dev)[name] for name in ("good", "bad"))
    assert good["answers"][0]["auroc"]["mean"] > 0.9
    assert bad["answers"][0]["auroc"]["mean"] < 0.3
    last = {
        name: card["gains"][0]["gains"][-1]["over_vote"]["interval"]["mean"] for name, card in (("good", good), ("bad", bad))
    }
    assert last["good"] > 0.2 > 0 > last["bad"]
    assert {group["group"] for group in good["gains"]} == {"all", "Easy", "Hard", "Art", "Math"}
    assert "fails only where an interval lies wholly below 0" in " ".join(found.out.split())
    verdicts = {one["probe"]: one["verdict"] for one in good["findings"]}
    assert verdicts["blank image"] == "not applicable"
    assert verdicts["answer swapped"] == "pass"
    assert verdicts["question dropped"] == "fail"
    assert section(read(dev)) in (dev / "verify.html").read_text(encoding="utf-8")

    stored = Bank(tmp_path / "bank").stats().scores
    before = (dev / "verify.json").read_text(encoding="utf-8")
    assert ttc("verify", dev).code == 0
    assert Bank(tmp_path / "bank").stats().scores == stored
    assert (dev / "verify.json").read_text(encoding="utf-8") == before


def test_labels_of_steps_come_from_a_file_of_chains_and_synthetic_ones_stand_apart(tmp_path, ttc, dev):
    config_of = folders.read_config(dev)
    questions = {question.id: question for question in config_of.benchmark.load().questions}
    lines = []
    for sample in Bank(tmp_path / "bank").sql().sql("select key, index, question_id, text from samples").fetchall():
        key, index, question_id, text = sample
        steps = text.splitlines(keepends=True)
        if len(steps) == 2:
            labels = [text == RIGHT] * 2
            row = {"question": question_id, "benchmark": questions[question_id].benchmark, "steps": steps, "labels": labels}
            lines.append({**row, "origin": "natural", "source": "own", "group": question_id, "sample": f"{key}/{index}"})
    one = {key: value for key, value in lines[0].items() if key != "sample"}
    lines.append(
        {**one, "steps": ["so\n", "Answer: A"], "labels": [True, False], "kinds": [None, "logic"], "origin": "perturbed"}
    )
    path = tmp_path / "chains.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = ttc("verify", dev, "--chains", path, "--verifier", "good", "--probes", 0)
    assert found.code == 0, found.err
    card = cards(dev)["good"]
    groups = {row["group"]: row for row in card["steps"]}
    assert groups["all"]["auroc"]["mean"] == 1
    assert groups["all"]["replies"] == groups["origin: natural"]["replies"] == len(lines) - 1
    assert (groups["origin: perturbed"]["replies"], groups["origin: perturbed"]["process_f1"]) == (1, None)
    assert {row["kind"] for row in card["kinds"]} == {"logic"}
    for level in ("Easy", "Hard"):  # the base rate moves with the level, so it stands beside what is told of each
        assert 0 < groups[level]["wrong"] < 1
        assert groups[level]["auroc"]["mean"] == groups[level]["process_f1"]["mean"] == 1
        shown = next(line for line in found.out.splitlines() if line.split()[:1] == [level])
        assert shown.split()[2:4] == [f"{100 * groups[level]['wrong']:.1f}", "1.000"]
    assert groups["Easy"]["wrong"] != groups["Hard"]["wrong"]
    assert groups["Easy"]["replies"] + groups["Hard"]["replies"] == groups["all"]["replies"]


def test_what_dev_froze_is_used_on_test_and_a_useless_verifier_is_turned_off(tmp_path, ttc, dev):
    frozen = tmp_path / "frozen"
    assert ttc("verify", dev, "--freeze", frozen, "--probes", 0).code == 0
    binding = {"frozen": {name: str(frozen / f"{name}.json") for name in ("good", "bad")}}
    warned = ttc("run", config(tmp_path, "test", **binding), "--out", tmp_path / "test")
    assert warned.code == 0, warned.err
    assert "turned off: weighted_vote with verifier bad: its frozen file shows no gain over the vote on dev (-" in warned.out
    assert list(folders.read_manifest(tmp_path / "test")["strategies"]) == ["vote", "best_of_n(verifier=good)"]

    judged = ttc("verify", tmp_path / "test", "--frozen", frozen, "--dev", dev, "--probes", 0)
    assert judged.code == 0, judged.err
    assert cards(tmp_path / "test")["good"]["frozen"] == str(frozen / "good.json")

    refused = ttc("run", config(tmp_path, "test", **binding, when_useless="refuse"), "--out", tmp_path / "refused")
    assert refused.code == 2
    assert "shows no gain over the vote on dev" in refused.err
    used = ttc("run", config(tmp_path, "test", **binding, when_useless="use"), "--out", tmp_path / "used")
    assert used.code == 0
    assert len(folders.read_manifest(tmp_path / "used")["strategies"]) == 3
    assert "shows no gain over the vote on dev" in used.out


def test_a_dev_run_too_small_for_folds_is_frozen_without_the_figure_that_needs_them(tmp_path, ttc, dev):
    assert ttc("run", config(tmp_path, "dev", limit=4), "--out", tmp_path / "small").code == 0
    for run in (dev, tmp_path / "small"):
        frozen = ttc("verify", run, "--freeze", tmp_path / "frozen", "--verifier", "good", "--probes", 0)
        assert frozen.code == 0, frozen.err
    whole, small = (cards(run)["good"]["qualities"] for run in (dev, tmp_path / "small"))
    assert set(whole) - set(small) == {"answers, temperature", "answers, isotonic"}


def test_what_was_chosen_on_a_run_is_not_judged_on_it_nor_after_dev_or_the_file_changed(tmp_path, ttc, dev):
    frozen = tmp_path / "frozen"
    assert ttc("verify", dev, "--freeze", frozen, "--verifier", "good", "--probes", 0).code == 0
    own = ttc("verify", dev, "--frozen", frozen, "--verifier", "good")
    assert own.code == 2
    assert "12 of the questions were in its dev split" in own.err

    ttc("run", config(tmp_path, "test"), "--out", tmp_path / "test")
    ttc("run", config(tmp_path, "dev", seed=1), "--out", tmp_path / "other")
    changed = ttc("verify", tmp_path / "test", "--frozen", frozen, "--dev", tmp_path / "other", "--verifier", "good")
    assert changed.code == 2
    assert "its dev data" in changed.err

    by_product = config(tmp_path, "dev", verifiers={"good": {**GOOD, "aggregation": "product"}, "bad": BAD})
    ttc("run", by_product, "--out", tmp_path / "same")
    same = ttc("verify", tmp_path / "test", "--frozen", frozen, "--dev", tmp_path / "same", "--verifier", "good", "--probes", 0)
    assert same.code == 0, same.err

    path = frozen / "good.json"
    path.write_text(path.read_text().replace('"response_threshold": 0', '"response_threshold": 1'))
    edited = ttc("verify", tmp_path / "test", "--frozen", frozen, "--verifier", "good")
    assert (edited.code, "changed since it was frozen" in edited.err) == (2, True)


def test_wrong_arguments_are_one_line(ttc, dev):
    for arguments, message in (
        (["--verifier", "none"], "no verifier 'none'; choose from"),
        (["--held-out", "subject=Music"], "no question of this run has it"),
        (["--held-out", "Music"], "expected field=value"),
        (["--freeze", "a", "--frozen", "b"], "cannot be judged on it"),
        (["--calibration", "none"], "use temperature or isotonic"),
        (["--dev", "a"], "--dev needs --frozen"),
    ):
        found = ttc("verify", dev, *arguments)
        assert found.code == 2
        error, *before = reversed(found.err.splitlines())
        assert message in error
        assert before in ([], [f"judging verifiers: 12 questions of {dev} ..."])


def test_a_run_without_verifiers_is_refused(tmp_path, ttc):
    ttc("run", config(tmp_path, "dev", verifiers={}, strategies=[{"kind": "vote", "n": 2}]), "--out", tmp_path / "bare")
    assert "binds no verifier" in ttc("verify", tmp_path / "bare").err
