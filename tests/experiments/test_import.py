"""Foreign outputs become a run like any other; and what judges decided is told."""

import json
from math import isnan
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
import yaml
from typer.testing import CliRunner

from experiments import folder, score
from experiments.cli import app
from experiments.config import validate
from experiments.importing import import_outputs
from experiments.plan import lacking, plan
from experiments.run import Results, execute
from ttc import outputs
from ttc.bank import Bank
from ttc.errors import BackendUnavailable, UserError


def write(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def ran(settings: Any, bank: Path) -> Results:
    config = validate({**settings, "bank": str(bank)}, "test")
    return execute(plan(config), config.backend, Bank(bank))


def right(results: Results) -> dict[str, float]:
    """Credit of the first strategy at its largest budget, by question."""
    return {id: points[-1][1].credit for id, points in next(iter(results.outcomes.values())).items()}


@pytest.mark.parametrize(
    ("name", "benchmark"), [("mmmu_pro/gpt-4o_standard(10 options)_cot.jsonl", "mmmu_pro"), ("mmmu/llava1.5_13b", "mmmu")]
)
def test_a_run_over_released_replies_credits_what_the_careful_rules_credit(shared: Path, tmp_path, name: str, benchmark: str):
    file = shared / "data" / name
    imported = import_outputs(file, tmp_path)
    found = score.score(outputs.read(file, benchmark), benchmark, rules=["careful"])
    assert imported.added == imported.replies == len(found.rows)
    results = ran(imported.settings, tmp_path)
    assert results.executed.samples == 0
    assert right(results) == {row.reply.id: float(row.readings["careful"].correct) for row in found.rows}


def test_a_second_import_adds_nothing(tmp_path):
    file = write(tmp_path / "out.jsonl", {"id": "q", "question_type": "open", "gold": "4", "response": ["4", "5"]})
    assert import_outputs(file, tmp_path / "bank").added == 2
    assert import_outputs(file, tmp_path / "bank").added == 0


def test_a_vote_takes_as_many_replies_as_every_question_has_and_the_bank_takes_all(tmp_path):
    rows = [
        {"id": "q1", "question": "2+2?", "question_type": "open", "gold": "4", "response": ["4", "5", "4", "4"]},
        {"id": "q2", "question": "3+3?", "question_type": "open", "gold": "6", "response": ["6", "7", {"error": "gone"}]},
    ]
    imported = import_outputs(write(tmp_path / "out.jsonl", *rows), tmp_path / "bank")
    assert (imported.replies, imported.added) == (7, 7)
    assert [strategy["n"] for strategy in imported.settings["strategies"]] == [3, 3]
    assert right(ran(imported.settings, tmp_path / "bank")) == {"q1": 1.0, "q2": 0.5}


def test_questions_that_the_outputs_cannot_tell_apart_keep_their_own_replies(tmp_path):
    alike = {"question": "What is shown in <image 1>?", "question_type": "open"}
    bare = {"question_type": "open"}
    rows = [
        {"id": "q1", "gold": "cat", "response": "cat", **alike},
        {"id": "q2", "gold": "dog", "response": "dog", **alike},
        {"id": "q3", "gold": "1", "response": "1", **bare},
        {"id": "q4", "gold": "2", "response": "2", **bare},
        {"id": "q5", "gold": "3", "response": "3", "question": "Why?", **bare},
        {"id": "q6", "gold": "4", "response": "4", "question": "Why?", **bare},
    ]
    imported = import_outputs(write(tmp_path / "out.jsonl", *rows), tmp_path / "bank")
    assert imported.added == 6
    assert set(right(ran(imported.settings, tmp_path / "bank")).values()) == {1.0}


def test_the_command_writes_a_config_that_runs_and_draws_nothing(tmp_path):
    file = write(tmp_path / "out.jsonl", {"id": "q", "options": ["a", "b"], "gold": "A", "response": "Answer: A"})
    arguments = [str(file), "--bank", str(tmp_path / "bank"), "-o", str(tmp_path / "run.yaml")]
    done = CliRunner().invoke(app, ["import", *arguments])
    assert done.exit_code == 0, done.output
    assert "1 of 1 replies to 1 questions are new" in done.output
    config = validate(yaml.safe_load((tmp_path / "run.yaml").read_text()), "run.yaml")
    assert lacking(Bank(config.bank), plan(config).wanted(config.backend.identity())) == 0


def test_replies_of_unknown_length_have_no_place_on_a_token_axis_and_the_report_says_so(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": f"q{i}", "question_type": "open", "question": f"{i}?", "gold": "4", "response": ["4", "5"]} for i in range(3)
    ]
    arguments = [str(write(tmp_path / "out.jsonl", *rows)), "--bank", "bank", "-o", "run.yaml"]
    for command in (["import", *arguments], ["run", "run.yaml", "--out", "first"], ["compare", "first", "first"]):
        done = CliRunner().invoke(app, command)
        assert done.exit_code == 0, done.output
    curves = json.loads((tmp_path / "first/curves.json").read_text())
    points = [point for curve in curves["groups"][0]["curves"] for point in curve["points"]]
    assert {(point["completion_tokens"], point["total_tokens"], point["flops"]) for point in points} == {(None, None, None)}
    assert {point["samples"] for point in points} == {1, 2}
    page = (tmp_path / "first/report.html").read_text()
    assert "How many tokens 6 of the samples took is <strong>unknown</strong>" in page
    _, outcomes = folder.read_outcomes(tmp_path / "first")
    assert {isnan(outcome.completion_tokens) for by_id in outcomes.values() for _, outcome in by_id["q0"]} == {True}


def test_a_length_cap_over_replies_of_unknown_length_is_refused(tmp_path):
    file = write(tmp_path / "out.jsonl", {"id": "q", "question_type": "open", "gold": "4", "response": ["4", "5"]})
    settings = import_outputs(file, tmp_path / "bank").settings
    with pytest.raises(UserError, match=r"cap_tokens=3: how long .* is unknown"):
        ran({**settings, "strategies": [{"kind": "vote", "n": 2, "cap_tokens": 3}]}, tmp_path / "bank")


ALLOCATED = {"kind": "allocated_vote", "n": 2, "plan": "plan.json"}


@pytest.mark.parametrize("strategy", [{"kind": "shuffled_vote", "n": 2}, {"kind": "revision"}, ALLOCATED], ids=str)
def test_what_draws_as_it_goes_or_under_prompts_of_its_own_cannot_be_run_over_a_fixed_number_of_replies(tmp_path, strategy):
    file = write(tmp_path / "out.jsonl", {"id": "q", "question_type": "open", "gold": "4", "response": ["4", "5"]})
    settings = import_outputs(file, tmp_path / "bank").settings
    with pytest.raises(UserError, match=f"{strategy['kind']} draws as it goes or under prompts of its own"):
        validate({**settings, "strategies": [strategy]}, "run.yaml")


def accuracy(results: Results, strategy: str) -> dict[int, float]:
    """By k, over all questions."""
    columns = zip(*results.outcomes[strategy].values(), strict=True)
    return {points[0][0]: fmean(outcome.credit for _, outcome in points) for points in columns}


def test_real_judged_samples_give_the_published_curves_at_every_k(shared: Path, tmp_path):
    """100 puzzles with 100 samples each, judged by their own evaluator."""
    imported = import_outputs(shared / "data/samples/game24_gpt4_100x100.jsonl", tmp_path)
    results = ran({**imported.settings, "ks": list(range(1, 101))}, tmp_path)
    reached, voted = accuracy(results, "oracle"), accuracy(results, "vote")
    assert [round(reached[k], 4) for k in (1, 10, 100)] == [0.0403, 0.2148, 0.49]
    assert (round(voted[1], 4), round(voted[100], 4)) == (0.0403, 0.0883)
    assert list(reached.values()) == sorted(reached.values())
    assert list(reached) == list(range(1, 101))


def test_stored_answers_are_one_vote_only_where_they_are_equal_to_the_letter_and_keep_their_credit(tmp_path):
    samples = [
        {"answer": "1/2", "score": 0.25},
        {"answer": "0.5", "score": 1},
        {"answer": "1/2", "score": 0.25},
        {"answer": None},
    ]
    judged = [{"score": 0, **sample} for sample in samples]
    imported = import_outputs(write(tmp_path / "out.jsonl", {"id": "q", "samples": judged}), tmp_path / "bank")
    results = ran(imported.settings, tmp_path / "bank")
    assert results.graded["cot"]["q"].classes == (0, 1, 0, None)
    assert right(results) == {"q": 0.25}
    told = folder.manifest(results, results.plan.config.backend, "run")["judged"]
    assert told == {"stored": 4}


def test_stored_verdicts_are_for_the_replies_they_were_given_to(tmp_path):
    one, other = (
        write(tmp_path / f"{answer}.jsonl", {"id": "q", "samples": [{"answer": answer, "correct": True}]}) for answer in "ab"
    )
    imported = import_outputs(one, tmp_path / "bank")
    settings = {**imported.settings, "judge": {"kind": "stored", "outputs": str(other)}}
    with pytest.raises(UserError, match=r"b.jsonl does not hold sample 0 of question q"):
        ran(settings, tmp_path / "bank")


def test_an_unknown_benchmark_or_file_is_one_clear_line(tmp_path):
    file = write(tmp_path / "out.jsonl", {"id": "q", "options": ["a", "b"], "gold": "A", "response": "A"})
    with pytest.raises(UserError, match=r"benchmark: input should be 'mmmu', .* got 'exam'"):
        import_outputs(file, tmp_path / "bank", benchmark="exam")
    with pytest.raises(UserError, match="No such file"):
        import_outputs(tmp_path / "gone.jsonl", tmp_path / "bank")


@pytest.fixture
def exam(tmp_path) -> dict[str, Any]:
    """A run over two questions, one of each kind."""
    rows = [
        {"id": "choice", "question": "How do plants feed?", "options": ["by hunting", "by photosynthesis"], "gold": "B"},
        {"id": "open", "question": "Who wrote it?", "gold": "the playwright Shakespeare"},
    ]
    return {
        "benchmark": {"kind": "jsonl", "path": str(write(tmp_path / "exam.jsonl", *rows))},
        "strategies": [{"kind": "vote", "n": 2}],
    }


@pytest.mark.parametrize(
    ("reply", "credit"), [("Answer: photosynthesis", 0.0), ("Answer: by photosynthesis", 1.0), ("Answer: B", 0.0)]
)
def test_a_choice_asked_without_its_options_is_read_as_open_and_judged_by_their_text(exam, tmp_path, reply: str, credit: float):
    backend = {"kind": "scripted", "replies": [reply]}
    results = ran({**exam, "backend": backend, "prompt": {"options": "none"}}, tmp_path / "bank")
    assert right(results)["choice"] == credit
    (graded,) = [one for one in results.graded["cot"].values() if one.question.id == "choice"]
    assert "photosynthesis" not in json.dumps(results.plan.prompt(graded.question, "cot").messages[0].parts[0].text)


def test_a_run_tells_how_often_each_judge_decided(exam, tmp_path):
    replies = {"choice": ["Answer: B", "hard to say"], "open": ["Answer: the bard of Avon"]}
    ruling = json.dumps({"extracted_answer": "x", "correct": True})
    judge = {"kind": "scripted", "replies": {"choice": ["hm"], "open": [ruling]}}
    settings = {
        **exam,
        "backend": {"kind": "scripted", "replies": replies},
        "judge": {"kind": "cascade", "model": {"backend": judge}},
    }
    results = ran(settings, tmp_path / "bank")
    assert right(results)["open"] == 1.0
    told = folder.manifest(results, results.plan.config.backend, "run")["judged"]
    assert told == {"rules": 1, "ungraded": 1, "model": 2}


def test_a_judge_that_cannot_be_reached_leaves_no_score(exam, tmp_path, monkeypatch):
    server = {"kind": "openai", "model": "m", "base_url": "http://127.0.0.1:9/v1", "total_seconds": 0.2}
    settings = {
        **exam,
        "backend": {"kind": "scripted", "replies": ["Answer: B"]},
        "judge": {"kind": "model", "backend": server},
    }
    with pytest.raises(BackendUnavailable, match="no answer from model m"):
        ran(settings, tmp_path / "bank")
