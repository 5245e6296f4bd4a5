"""Files of ProcessBench and VisualProcessBench become labelled chains."""

import json

import pytest

from training.processbench import process_bench, visual_process_bench
from ttc.errors import UserError

ROW = {
    "id": "gsm8k-0",
    "generator": "m",
    "problem": "2 + 2?",
    "steps": ["a", "b", "c"],
    "final_answer_correct": False,
    "label": 1,
}
SEEN = {
    "image": ["a.png"],
    "question": "<image>What?",
    "response": {"steps": ["a", "b", "c"], "process_correctness": [1, -1, 0]},
}
SEEN |= {"policy_model": "m", "data_source": "MMMU"}


def written(path, *rows):
    path.write_text("\n".join(map(json.dumps, rows)) if path.suffix == ".jsonl" else json.dumps(rows))
    return path


def test_steps_up_to_the_first_error_are_labelled_and_those_behind_it_are_not(tmp_path):
    wrong, right = process_bench(written(tmp_path / "gsm8k.json", ROW, {**ROW, "label": -1, "final_answer_correct": True}))
    assert (wrong.labels, wrong.first_error, wrong.is_right) == ((True, False, None), 1, False)
    assert (right.labels, right.first_error, right.is_right) == ((True, True, True), None, True)
    assert "".join(wrong.steps) == "a\n\nb\n\nc"
    assert wrong.question.fields["subset"] == "gsm8k"


def test_every_step_of_the_visual_bench_has_its_own_label_and_neutral_is_none(tmp_path):
    (tmp_path / "a.png").write_bytes(b"x")
    (chain,) = visual_process_bench(written(tmp_path / "test.jsonl", SEEN))
    assert chain.labels == (True, False, None)
    assert chain.question.text == "What?"
    assert [media.problem for media in chain.question.media] == [""]
    assert chain.source == "visualprocessbench/m"


@pytest.mark.parametrize("wrong", [{"label": 3}, {"steps": []}, {"label": None}, {"steps": ["a", 1]}])
def test_a_row_of_another_form_is_refused_by_name(tmp_path, wrong):
    with pytest.raises(UserError, match="gsm8k-0"):
        process_bench(written(tmp_path / "x.json", {**ROW, **wrong}))


@pytest.mark.parametrize("marks", [[1, 1], [1, 2, 0], None])
def test_labels_that_do_not_fit_the_steps_are_refused(tmp_path, marks):
    row = {**SEEN, "response": {"steps": ["a", "b", "c"], "process_correctness": marks}}
    with pytest.raises(UserError, match="row 1"):
        visual_process_bench(written(tmp_path / "x.jsonl", row))


def test_an_image_outside_the_folder_is_not_read(tmp_path):
    (chain,) = visual_process_bench(written(tmp_path / "test.jsonl", {**SEEN, "image": "../../etc/passwd"}))
    assert "outside" in chain.question.media[0].problem
