"""Foreign outputs: every form read into the same record; torn, repeated and failed rows counted and never lost in silence."""

import csv
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ttc.errors import UserError
from ttc.outputs import Outputs, Reply, Stored, benchmark_of, form_of, read

ROW = {"id": "q1", "question_type": "multiple-choice", "options": ["yes", "no"], "gold": "B", "response": "Answer: B"}


def lines(path: Path, *rows: Any) -> Path:
    path.write_text("".join(f"{row if isinstance(row, str) else json.dumps(row)}\n" for row in rows))
    return path


def only(outputs: Outputs) -> Reply:
    [reply] = outputs.replies
    return reply


def test_a_resumed_file_counts_each_id_once_and_says_what_was_torn(tmp_path: Path):
    file = lines(tmp_path / "out.jsonl", ROW, '{"id": "q2", "resp', {**ROW, "id": "q3"}, {**ROW, "response": "Answer: A"})
    outputs = read(file, "jsonl")
    assert [(reply.id, reply.text) for reply in outputs.replies] == [("q3", "Answer: B"), ("q1", "Answer: A")]
    assert "1 torn lines left out, the first is line 2" in outputs.problems[0]
    assert "1 repeated rows" in outputs.problems[1]


def test_a_separator_inside_a_reply_splits_no_line(tmp_path: Path):
    file = tmp_path / "out.jsonl"
    file.write_text(json.dumps({**ROW, "response": "a\u2028b\x85c"}, ensure_ascii=False), encoding="utf-8")
    assert only(read(file, "jsonl")).text == "a\u2028b\x85c"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("[1]", "out.jsonl:1: list where a JSON object"),
        ("{", "out.jsonl:1: no complete JSON object"),
        ({**ROW, "id": None}, "out.jsonl:1: no id"),
        ({**ROW, "gold": "E"}, "out.jsonl:1: gold 'E' is neither a letter up to B nor one of the options"),
        ({**ROW, "question_type": "essay"}, "out.jsonl:1: question_type 'essay'"),
        ({**ROW, "options": []}, "out.jsonl:1: a multiple-choice question without options"),
        ({**ROW, "options": "['a', __import__('os')]"}, "out.jsonl:1, options: not a Python list"),
        ({key: value for key, value in ROW.items() if key != "response"}, "out.jsonl:1: no 'response'"),
        ({key: value for key, value in ROW.items() if key != "gold"}, "out.jsonl:1: neither gold nor answer"),
    ],
)
def test_a_malformed_file_is_named_with_its_line(tmp_path: Path, row: Any, message: str):
    with pytest.raises(UserError, match=message.replace("(", r"\(")):
        read(lines(tmp_path / "out.jsonl", row), "jsonl", form="jsonl")


def test_judged_samples_keep_answer_and_credit_and_tell_that_they_are_of_several_models(tmp_path: Path):
    samples = [
        {"answer": "7", "text": "so it is 7", "correct": 1, "model": "one"},
        {"answer": 8, "score": 0.25, "model": "two"},
        {"answer": None, "score": 0.0, "model": "two"},
        {"answer": "9", "model": "two"},
    ]
    outputs = read(lines(tmp_path / "out.jsonl", {"id": "q", "task": "sums", "samples": samples}), "jsonl")
    assert outputs.form == "samples"
    assert [reply.text for reply in outputs.replies] == ["so it is 7", "8", "", "9"]
    stored = [Stored("7", True, 1.0), Stored("8", False, 0.25), Stored(None, False, 0.0), None]
    assert [reply.stored for reply in outputs.replies] == stored
    assert outputs.replies[0].gold.answers == ("7",)
    assert outputs.replies[0].question.fields["task"] == "sums"
    assert "samples of 2 models in one pool" in outputs.problems[0]


@pytest.mark.parametrize("sample", [{"answer": "7", "score": 1.5}, {"answer": ["7"], "score": 1}, "7"])
def test_a_judged_sample_that_makes_no_sense_is_named_with_its_line(tmp_path: Path, sample: Any):
    with pytest.raises(UserError, match=r"out.jsonl:1: samples.0"):
        read(lines(tmp_path / "out.jsonl", {"id": "q", "samples": [sample]}), "jsonl")


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        ("B", ("B",)),
        ("b", ("B",)),
        ("no", ("B",)),
        (["A", "no"], ("A", "B")),
        ("", ()),
        (None, ()),
    ],
)
def test_the_gold_of_a_choice_is_a_letter_or_an_options_text(tmp_path: Path, given: Any, accepted: tuple[str, ...]):
    assert only(read(lines(tmp_path / "out.jsonl", {**ROW, "gold": given}), "jsonl")).gold.answers == accepted


@pytest.mark.parametrize(
    ("given", "accepted"),
    [
        ("['24/7', '3.429']", ("24/7", "3.429")),
        (["Tampa", "Florida"], ("Tampa", "Florida")),
        (3.5, ("3.5",)),
        ("[0, 1]", ("[0, 1]",)),
        ("E", ("E",)),
    ],
)
def test_the_gold_of_an_open_question_is_a_text_or_a_list_of_them(tmp_path: Path, given: Any, accepted: tuple[str, ...]):
    row = {"id": "q", "question_type": "short-answer", "gold": given, "response": "x"}
    assert only(read(lines(tmp_path / "out.jsonl", row), "jsonl")).gold.answers == accepted


def test_other_keys_become_fields_and_lists_keep_their_values(tmp_path: Path):
    row = {**ROW, "level": "Easy", "img_type": "['Maps', 'Charts']", "year": 2024, "nested": {"a": 1}}
    fields = only(read(lines(tmp_path / "out.jsonl", row), "jsonl")).question.fields
    assert fields == {"question_type": "multiple-choice", "level": "Easy", "img_type": ("Maps", "Charts"), "year": "2024"}


def test_a_list_of_responses_is_a_sample_each(tmp_path: Path):
    outputs = read(lines(tmp_path / "out.jsonl", {**ROW, "response": ["Answer: A", "Answer: B"]}), "jsonl")
    assert [(reply.sample and reply.sample.index, reply.text) for reply in outputs.replies] == [
        (0, "Answer: A"),
        (1, "Answer: B"),
    ]


@pytest.mark.parametrize("response", [None, {"error": "rate limited"}])
def test_an_error_stored_as_a_response_is_no_reply(tmp_path: Path, response: Any):
    reply = only(read(lines(tmp_path / "out.jsonl", {**ROW, "response": response}), "jsonl"))
    assert reply.sample is None
    assert reply.failure in ("no reply stored", "rate limited")


def test_mmmu_folders_come_in_the_order_of_the_released_evaluator(shared: Path):
    outputs = read(shared / "data/mmmu/llava1.5_13b", "mmmu")
    subjects = list(dict.fromkeys(reply.question.fields["subject"] for reply in outputs.replies))
    assert len(outputs.replies) == 900
    assert (len(subjects), subjects[3:6]) == (30, ["Art", "Art_Theory", "Basic_Medical_Science"])
    assert sum(len(reply.gold.answers) > 1 for reply in outputs.replies) == 3
    assert {reply.question.fields["split"] for reply in outputs.replies} == {"validation"}


def test_mmmu_pro_rows_keep_what_the_evaluator_stored(shared: Path):
    outputs = read(shared / "data/mmmu_pro/gpt-4o_standard(10 options)_direct.jsonl", "mmmu_pro")
    assert (len(outputs.replies), sum(bool(reply.stored and reply.stored.correct) for reply in outputs.replies)) == (1730, 694)
    by_id = {reply.id: reply for reply in outputs.replies}
    nested = by_id["validation_Accounting_29"]
    assert nested.question.options == ("A", "B", "Not enough information")
    assert len(nested.released_options or ()) == 1
    assert len(by_id["test_Computer_Science_61"].question.options) == 12
    assert by_id["test_History_1"].question.fields["discipline"] == "Humanities and Social Science"


def test_extracted_answers_meet_the_released_answer_file(shared: Path, tmp_path: Path):
    file = tmp_path / "answers.json"
    file.write_text(json.dumps({"validation_Accounting_1": "B", "validation_Math_15": "24/7", "validation_Nowhere_1": "A"}))
    outputs = read(file, "mmmu", golds=shared / "data/mmmu/answer_dict_val.json")
    by_id = {reply.id: reply for reply in outputs.replies}
    assert len(by_id) == 900
    assert by_id["validation_Math_15"].gold.answers == ("24/7", "3.429")
    assert by_id["validation_Accounting_2"].failure == "no entry in the file"
    assert "1 entries for unknown ids left out" in outputs.problems[0]
    with pytest.raises(UserError, match="name MMMU's answer file with --golds"):
        read(file, "mmmu")


def test_mmvu_outputs_of_both_stages_are_read(shared: Path, tmp_path: Path):
    rows = json.loads((shared / "data/mmvu/validation.json").read_text())[:3]
    answered, judged = tmp_path / "answered.json", tmp_path / "judged.json"
    answered.write_text(json.dumps([{**row, "response": "Answer: A"} for row in rows]))
    judged.write_text(
        json.dumps(
            [
                {
                    **{key: row[key] for key in ("id", "question", "choices")},
                    "response": ["x", "y"],
                    "ground_truth_answer": row["answer"],
                    "extracted_answer": "A",
                    "correct": True,
                }
                for row in rows
            ]
        )
    )
    first = read(answered, "mmvu").replies[0]
    assert (first.question.question_type, first.question.options, first.question.fields["subject"]) == ("open", (), "Art")
    assert first.question.cluster == rows[0]["video"]
    again = read(judged, "mmvu").replies
    assert [reply.gold.answers for reply in again[::2]] == [(row["answer"],) for row in rows]
    assert len(again) == 6
    assert again[0].stored == Stored("A", True)


LMMS = {
    "doc_id": 7,
    "input": "Is it?\nA. yes, 1\nB. no\n\nAnswer with a letter.",
    "target": "B",
    "resps": [["Answer: B", "Answer: A"]],
    "filtered_resps": ["B"],
    "mmmu_acc": {
        "id": "validation_Art_7",
        "subdomain": "Art",
        "question_type": "multiple-choice",
        "answer": "B",
        "parsed_pred": ["B"],
    },
}


def test_lmms_eval_logs_give_every_repeat_and_take_options_from_the_prompt(tmp_path: Path):
    outputs = read(lines(tmp_path / "samples_mmmu_val.jsonl", LMMS), "mmmu")
    assert (outputs.form, [reply.text for reply in outputs.replies]) == ("lmms-eval", ["Answer: B", "Answer: A"])
    assert outputs.replies[0].question.options == ("yes, 1", "no")
    assert outputs.replies[0].question.fields["discipline"] == "Art and Design"


def test_lmms_eval_open_rows_keep_their_list_of_golds(tmp_path: Path):
    metric = {"id": "validation_Math_15", "question_type": "open", "answer": "['24/7', '3.429']", "parsed_pred": ["x"]}
    row = {"doc_id": 1, "input": "How?", "target": "['24/7', '3.429']", "filtered_resps": ["3.429"], "mmmu_acc": metric}
    assert only(read(lines(tmp_path / "log.jsonl", row), "mmmu")).gold.answers == ("24/7", "3.429")


def test_lmms_eval_single_json_logs_are_read(tmp_path: Path):
    doc = {"id": "test_Art_1", "question": "Is it?", "options": "['yes', 'no']", "answer": "A", "topic_difficulty": "Hard"}
    file = tmp_path / "mmmu_pro.json"
    file.write_text(
        json.dumps({"args": {}, "logs": [{"doc_id": 0, "doc": doc, "target": "A", "resps": [["A"]], "filtered_resps": ["A"]}]})
    )
    reply = only(read(file, "mmmu_pro"))
    assert (reply.id, reply.question.options, reply.question.fields["topic_difficulty"]) == (
        "test_Art_1",
        ("yes", "no"),
        "Hard",
    )


def sheet(path: Path, *rows: dict[str, str]) -> Path:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys(key for row in rows for key in row)), delimiter="\t", restval="")
        writer.writeheader()
        writer.writerows(rows)
    return path


def test_vlmevalkit_sheets_undo_the_rewriting_of_open_questions(tmp_path: Path):
    choice = {"index": "1", "question": "Is\nit?", "A": "yes", "B": "no", "answer": "A", "split": "dev", "prediction": "A"}
    rewritten = {
        "index": "2",
        "question": "How long?",
        "A": "251",
        "B": "Other Answers",
        "answer": "A",
        "prediction": "see area A",
    }
    plain_open = {"index": "3", "question": "How?", "answer": "251", "prediction": "Failed to obtain answer via API."}
    outputs = read(sheet(tmp_path / "model_MMMU.tsv", choice, rewritten, plain_open), "mmmu")
    assert [reply.gold.answers for reply in outputs.replies] == [("A",), ("251",), ("251",)]
    assert [reply.question.question_type for reply in outputs.replies] == ["multiple-choice", "open", "open"]
    assert outputs.replies[2].failure


def test_vlmevalkit_sheets_come_as_json_too(tmp_path: Path):
    file = tmp_path / "model_MMMU.json"
    row = {
        "index": 3,
        "question": "Is it?",
        "A": "yes",
        "B": "no",
        "C": None,
        "D": float("nan"),
        "answer": "B",
        "prediction": "B",
    }
    file.write_text(json.dumps([row]))
    reply = only(read(file, "mmmu"))
    assert (reply.id, reply.question.options, reply.text) == ("3", ("yes", "no"), "B")


def test_a_workbook_without_its_library_says_how_to_go_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(UserError, match="save the sheet as tsv"):
        read(tmp_path / "model.xlsx", "mmmu", form="vlmevalkit")


INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"task": "mmmu", "dataset": {"sample_ids": ["a", "b"]}, "config": {"epochs": 2}},
    "samples": [
        {
            "id": "a",
            "epoch": epoch,
            "input": [{"role": "user", "content": [{"type": "image", "image": "x"}, {"type": "text", "text": "Is it?"}]}],
            "choices": ["yes", "no"],
            "target": "B",
            "output": {"choices": [{"message": {"content": f"ANSWER: {letter}"}, "stop_reason": reason}]},
            "scores": {"choice": {"value": "C" if letter == "B" else "I", "answer": letter}},
            "metadata": {"level": "Hard"},
        }
        for epoch, letter, reason in ((1, "B", "stop"), (2, "A", "max_tokens"))
    ]
    + [{"id": "b", "epoch": 1, "input": "Why?", "target": ["x", "y"], "output": {}, "error": {"message": "timed out"}}],
}


@pytest.mark.parametrize("zipped", [False, True])
def test_inspect_logs_count_every_epoch_and_keep_errored_samples(tmp_path: Path, zipped: bool):
    file = tmp_path / ("log.eval" if zipped else "log.json")
    if zipped:
        with zipfile.ZipFile(file, "w") as archive:
            archive.writestr("header.json", json.dumps({key: value for key, value in INSPECT.items() if key != "samples"}))
            for number, sample in enumerate(INSPECT["samples"]):
                archive.writestr(f"samples/{number}.json", json.dumps(sample))
    else:
        file.write_text(json.dumps(INSPECT))
    outputs = read(file, "jsonl")
    assert [(reply.id, reply.text, reply.failure) for reply in outputs.replies] == [
        ("a", "ANSWER: B", ""),
        ("a", "ANSWER: A", ""),
        ("b", "", "timed out"),
    ]
    assert [reply.sample and reply.sample.finish for reply in outputs.replies] == ["stop", "length", None]
    assert outputs.replies[0].question.text == "Is it?"
    assert outputs.replies[2].gold.answers == ("x", "y")
    assert "1 of 4 planned samples are not in the log" in outputs.problems[0]


def test_forms_are_told_by_their_content(shared: Path, tmp_path: Path):
    pro = shared / "data/mmmu_pro/gpt-4o_standard(10 options)_cot.jsonl"
    assert (form_of(pro), benchmark_of(pro)) == ("mmmu_pro", "mmmu_pro")
    assert benchmark_of(shared / "data/mmmu/llava1.5_13b") == "mmmu"
    assert form_of(lines(tmp_path / "a.jsonl", "{torn", ROW)) == "jsonl"
    assert form_of(lines(tmp_path / "b.jsonl", LMMS)) == "lmms-eval"
    (tmp_path / "c.json").write_text('{"what": {"is": "this"}}')
    with pytest.raises(UserError, match="of no known form"):
        form_of(tmp_path / "c.json")
    with pytest.raises(UserError, match="No such file"):
        form_of(tmp_path / "absent.jsonl")


MMVU = {
    "id": "validation_1",
    "video": "v.mp4",
    "question": "Which?",
    "question_type": "multiple-choice",
    "choices": {"A": "yes", "B": "no"},
    "answer": "A",
    "metadata": {"subject": "Art", "rationale": "Because.", "knowledge": ["w"]},
    "response": "A",
}
FORMS: dict[str, Any] = {
    "jsonl": ROW,
    "lmms-eval": LMMS,
    "inspect_ai": INSPECT,
    "mmvu": [MMVU],
    "mmmu_pro": {"id": "test_Art_1", "options": "['yes', 'no']", "answer": "B", "response": "B"},
    "mmmu file": [{**ROW, "index2ans": {"A": "yes"}, "answer": "A"}],
    "vlmevalkit": [{"index": 1, "A": "yes", "B": "no", "answer": "A", "prediction": "A"}],
}


def mutilated(node: Any, junk: Any) -> Iterator[Any]:
    """Copies of a JSON value with one part, however deep, replaced by junk."""
    yield junk
    for key in node if isinstance(node, dict) else range(len(node)) if isinstance(node, list) else ():
        for part in mutilated(node[key], junk):
            copy = dict(node) if isinstance(node, dict) else list(node)
            copy[key] = part
            yield copy


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("junk", [None, 5, [], [None], {"a": 1}, "['a'"])
def test_no_part_of_the_wrong_type_ends_in_anything_but_a_clear_line(tmp_path: Path, form: str, junk: Any):
    file = tmp_path / ("out.jsonl" if isinstance(FORMS[form], dict) and form != "inspect_ai" else "out.json")
    refusals: list[str] = []
    for content in mutilated(FORMS[form], junk):
        file.write_text(json.dumps(content))
        try:
            read(file, "mmmu", form=form)
        except UserError as error:
            refusals.append(str(error))
    assert refusals
    assert all(str(file) in line and "\n" not in line for line in refusals)
