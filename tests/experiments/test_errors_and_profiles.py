"""`ttc errors` and `ttc profile` on pocket questions answered by script, and profiles against sums worked out by hand."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest
import yaml

from experiments.mistakes import open_run, read_kinds, wrong_replies
from experiments.profiles import calibrated, kind_shares, profile, what_is_mended
from training.errors import pocket_kind
from training.pocket_planted import planted
from ttc import outputs
from ttc.answers import extract
from ttc.judges.rules import Rules
from ttc.pocket import exam
from ttc.statistics import mcnemar_p

SAMPLES = 6


@pytest.fixture
def pocket(tmp_path: Path, ttc: Callable) -> Path:
    """A run over 60 pocket questions whose replies have an error put in."""
    rng = Random(0)
    replies = {one.id: [planted(one, rng) for _ in range(SAMPLES)] for one in exam.problems("validation", ("Tables",))}
    benchmark = {"kind": "pocket", "split": "validation", "subjects": ["Tables"]}
    return finished(tmp_path, ttc, benchmark, replies, [{"kind": "vote", "n": SAMPLES}])


def finished(folder: Path, ttc: Callable, benchmark: dict, replies: dict, strategies: list, **more) -> Path:
    """The folder of a run that says these replies."""
    settings = {"benchmark": benchmark, "backend": {"kind": "scripted", "replies": replies | {"*": ["Answer: 1"]}}}
    settings |= {"strategies": strategies, "bank": str(folder / "bank"), **more}
    name = f"run_{len(list(folder.glob('*.yaml')))}"
    (folder / f"{name}.yaml").write_text(yaml.safe_dump(settings))
    ended = ttc("run", folder / f"{name}.yaml", "--out", folder / name)
    assert ended.code == 0, ended.err
    return folder / name


def test_the_exams_truth_is_written_and_the_classifier_held_against_it(pocket, ttc):
    ended = ttc("errors", pocket, "--labels", "truth", "--most", 80)
    assert ended.code == 0, ended.err
    assert "macro-F1" in ended.out
    assert "Cohen's kappa" in ended.out
    written = read_kinds(pocket)
    true = {reply.id: pocket_kind(reply) for reply in wrong_replies(open_run(pocket))}
    assert {id: one.kind for id, one in written.items()} == true
    ended = ttc("profile", pocket, "--by", "topic_difficulty", "--json", pocket / "profile.json")
    assert ended.code == 0, ended.err
    found = json.loads((pocket / "profile.json").read_text())
    everything = next(row for row in found["shares"] if row["group"] == "all")
    assert everything["wrong"] == len(true)
    shares = {kind: one["mean"] for kind, one in everything["shares"].items()}
    assert shares == pytest.approx({kind: count / len(true) for kind, count in Counter(true.values()).items()})
    for row in found["mended"]:
        assert sum(row[fate]["mean"] for fate in ("mended", "selection", "capability")) == pytest.approx(1)


def test_a_few_labels_by_people_teach_the_rest(pocket, ttc):
    replies = wrong_replies(open_run(pocket))
    folder = pocket / "annotations"
    folder.mkdir()
    rows = [{"id": one.id, "question": one.question.id, "kind": pocket_kind(one)} for one in replies[::3]]
    (folder / "ann.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    ended = ttc("errors", pocket, "--terms", "mmmu")
    assert (ended.code, "perceptual" in ended.out, "lack of knowledge" in ended.out) == (0, True, True)
    written = read_kinds(pocket)
    assert len(written) == len(replies)
    guessed = [one for one in replies if written[one.id].source == "classifier"]
    assert len(guessed) > len(rows)
    assert sum(written[one.id].kind == pocket_kind(one) for one in guessed) > 0.6 * len(guessed)


def test_a_judge_labels_and_is_held_against_the_truth(pocket, ttc, tmp_path):
    says = ['So: {"kind": "logic"}', '{"kind": "knowledge"}']
    judge = {"backend": {"kind": "scripted", "replies": says, "pick": "seeded"}, "votes": 1}
    (tmp_path / "judge.yaml").write_text(yaml.safe_dump(judge))
    ended = ttc("errors", pocket, "--labels", tmp_path / "judge.yaml", "--most", 40)
    assert ended.code == 0, ended.err
    assert "judge against the truth" in ended.out
    written = read_kinds(pocket).values()
    assert Counter(one.source for one in written) == {"judge": 40, "classifier": len(written) - 40}
    assert {one.kind for one in written} == {"logic", "knowledge"}
    assert "for 40 of the 40 replies" in " ".join(ended.out.split())
    (tmp_path / "judge.yaml").write_text(yaml.safe_dump({"backend": {"kind": "scripted", "replies": ["So: 2"]}}))
    ended = ttc("errors", pocket, "--labels", tmp_path / "judge.yaml", "--most", 40)
    assert (ended.code, "0 labels of 0 kinds teach no classifier" in ended.err) == (2, True)


def test_planted_errors_teach_before_anybody_has_labelled(pocket, ttc):
    ended = ttc("errors", pocket, "--labels", "planted", "--most", 120)
    assert ended.code == 0, ended.err
    assert "planted errors against the truth" in " ".join(ended.out.split())
    written = read_kinds(pocket)
    assert {one.source for one in written.values()} <= {"classifier", "rule"}
    true = [pocket_kind(reply) == written[reply.id].kind for reply in wrong_replies(open_run(pocket))]
    assert sum(true) > 0.8 * len(true)


def test_without_labels_the_way_out_is_told(tmp_path, ttc):
    (tmp_path / "q.jsonl").write_text(json.dumps({"id": "q", "question": "?", "gold": "7"}))
    benchmark = {"kind": "jsonl", "path": str(tmp_path / "q.jsonl")}
    run = finished(tmp_path, ttc, benchmark, {"q": ["Answer: 8"]}, [{"kind": "cot"}])
    ended = ttc("errors", run)
    assert ended.code == 2
    assert "ttc annotate" in ended.err
    assert "use truth, annotations" in ttc("errors", run, "--labels", "nobody.yaml").err
    assert "is not known" in ttc("errors", run, "--labels", "truth").err


def test_gains_and_losses_are_counted_and_tested_as_pairs(tmp_path, ttc):
    first, other = [1] * 12 + [0] * 8 + [1] * 4, [1] * 8 + [0] * 4 + [1] * 8 + [1] * 4
    runs = []
    rows = [
        {"id": f"q{n}", "question": f"{n}?", "gold": "7", "topic_difficulty": "Easy" if n < 12 else "Hard"} for n in range(24)
    ]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    for right in (first, other):
        replies = {f"q{n}": [f"Answer: {7 if hit else 3}"] for n, hit in enumerate(right)}
        benchmark = {"kind": "jsonl", "path": str(tmp_path / "q.jsonl")}
        runs.append(finished(tmp_path, ttc, benchmark, replies, [{"kind": "cot", "greedy": False}]))
    found = profile(runs, fields=("topic_difficulty",))
    whole, easy, hard = found.trades[0].rows
    assert (whole.first, whole.other, whole.gained, whole.lost) == pytest.approx((16 / 24, 20 / 24, 8 / 24, 4 / 24))
    assert whole.p == pytest.approx(mcnemar_p(other, first))
    assert whole.union == 1
    assert (easy.value, easy.gained, easy.lost) == ("Easy", 0, pytest.approx(4 / 12))
    assert (hard.value, hard.gained, hard.lost) == ("Hard", pytest.approx(8 / 12), 0)
    assert easy.adjusted_p >= easy.p
    assert found.overlap is not None
    assert found.overlap.reached == 1
    assert found.overlap.members[0].alone == pytest.approx(8 / 24)

    part = finished(tmp_path, ttc, benchmark, replies, [{"kind": "cot", "greedy": False}], limit=12)
    fewer = profile([runs[0], part], force=True)
    assert fewer.overlap is not None
    asked = {one.id for one in open_run(part).exam.questions}
    assert {member.questions for member in fewer.overlap.members} == {len(asked)} == {12}
    rights = [[hit[int(id[1:])] for id in asked] for hit in (first, other)]
    assert sorted(one.reached for one in fewer.overlap.members) == pytest.approx(sorted(sum(one) / 12 for one in rights))
    assert any("12 questions that all runs asked" in note for note in fewer.notes)


def test_more_samples_mend_what_the_vote_then_gets_right(tmp_path, ttc):
    """Of three questions with a wrong reply of a kind: outvoted, outvoting, and never right."""
    rows = [{"id": f"q{n}", "question": f"{n}?", "gold": "7"} for n in range(30)]
    (tmp_path / "q.jsonl").write_text("\n".join(map(json.dumps, rows)))
    fates = (["Answer: 7", "Answer: 7", "Answer: 3"], ["Answer: 7", "Answer: 3", "Answer: 3"], ["Answer: 3"] * 3)
    replies = {f"q{n}": fates[n % 3] for n in range(30)}
    benchmark = {"kind": "jsonl", "path": str(tmp_path / "q.jsonl")}
    run = open_run(finished(tmp_path, ttc, benchmark, replies, [{"kind": "vote", "n": 3}]))
    kinds = {reply.id: "logic" for reply in wrong_replies(run)}
    (logic,) = what_is_mended("run", run, kinds)
    # 1, 2 and 3 wrong replies of 6
    assert (logic.wrong, logic.n) == (60, 3)
    assert (logic.mended.mean, logic.selection.mean, logic.capability.mean) == pytest.approx((1 / 6, 2 / 6, 3 / 6))
    (agreement,) = calibrated("run", run)
    # shares 2/3, 2/3, 1 against right, wrong, wrong
    assert agreement.quality.brier == pytest.approx((1 / 9 + 4 / 9 + 1) / 3)
    (share,) = kind_shares("run", run, kinds, ())
    assert share.shares["logic"].mean == 1


def test_runs_over_different_data_are_not_compared(tmp_path, ttc):
    runs = []
    for gold in ("7", "8"):
        (tmp_path / f"{gold}.jsonl").write_text(json.dumps({"id": "q", "question": "?", "gold": gold}))
        benchmark = {"kind": "jsonl", "path": str(tmp_path / f"{gold}.jsonl")}
        runs.append(finished(tmp_path, ttc, benchmark, {"q": ["Answer: 7"]}, [{"kind": "cot"}]))
    ended = ttc("profile", *runs)
    assert ended.code == 2
    assert "different data" in ended.err
    assert ttc("profile", *runs, "--force").code == 0


def test_gpt_4o_with_and_without_thinking(shared, tmp_path, ttc):
    """Released outputs on the first 300 questions of MMMU-Pro (on all 1730, thinking gains 350 and loses 140)."""
    runs, right = [], []
    for style in ("direct", "cot"):
        released = shared / "data" / "mmmu_pro" / f"gpt-4o_standard(10 options)_{style}.jsonl"
        (part := tmp_path / released.name).write_text("\n".join(released.read_text().splitlines()[:300]))
        read = outputs.read(part, "mmmu_pro")
        by_id = {question.id: question for question in read.exam("mmmu_pro").questions}
        right.append(
            {
                one.id: Rules().judge(by_id[one.id], one.gold, extract(by_id[one.id], one.sample)).credit
                for one in read.replies
                if one.sample
            }
        )
        assert ttc("import", part, "--style", style, "--bank", tmp_path / "bank", "-o", tmp_path / f"{style}.yaml").code == 0
        assert ttc("run", tmp_path / f"{style}.yaml", "--out", tmp_path / style).code == 0
        runs.append(tmp_path / style)
    whole, *levels = profile(runs, fields=("topic_difficulty",)).trades[0].rows
    direct, cot = right
    assert whole.questions == len(direct) == 300
    assert round(300 * whole.gained) == sum(cot[id] > direct[id] for id in direct) > 50
    assert round(300 * whole.lost) == sum(cot[id] < direct[id] for id in direct) > 10
    assert [row.value for row in levels] == ["Easy", "Medium", "Hard"]
    assert all(row.gained > row.lost for row in levels)
