"""The jsonl benchmark: a researcher's own questions, images as files beside them or as base64."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from ttc.benchmarks.jsonl import Jsonl
from ttc.errors import UserError
from ttc.media import load_images
from ttc.prompts import render
from ttc.records import Exam, Text

ROW = {"id": "q1", "question": "What is <image 1>?", "options": ["a", "b"], "gold": "B", "images": ["q1.png"], "level": "Easy"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, color in (("q1.png", "red"), ("q2.png", "blue")):
        Image.new("RGB", (4, 4), color).save(tmp_path / name)
    return tmp_path


def load(folder: Path, *rows: Any) -> Exam:
    file = folder / "exam.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return Jsonl(path=file).load()


def test_a_row_becomes_a_question_without_its_gold(folder: Path):
    exam = load(folder, ROW)
    [question] = exam.questions
    assert question.fields == {"question_type": "multiple-choice", "level": "Easy"}
    assert exam.golds["q1"].answers == ("B",)
    assert load_images(render(question, style="direct").media_parts[0])[0].getpixel((0, 0)) == (255, 0, 0)  # pyright: ignore


def test_images_come_as_base64_too(folder: Path):
    encoded = base64.b64encode((folder / "q2.png").read_bytes()).decode()
    exam = load(folder, {**ROW, "images": [f"data:image/png;base64,{encoded}"]})
    assert load_images(render(exam.questions[0], style="direct").media_parts[0])[0].getpixel((0, 0)) == (0, 0, 255)  # pyright: ignore


def test_numbered_images_bind_to_their_markers_and_unreferenced_ones_stay_out(folder: Path):
    row = {"id": "q", "question": "Which?", "options": ["<image 2>", "<Image_1>"], "answer": "A"}
    exam = load(folder, {**row, "image_1": "q1.png", "image_2": "q2.png", "image_3": "q1.png"})
    assert [part.media.marker for part in render(exam.questions[0], style="direct").media_parts] == [2, 1]


def test_images_without_any_marker_come_before_the_text(folder: Path):
    exam = load(folder, {"id": "q", "question": "Which?", "gold": "it", "images": ["q1.png", "q2.png"]})
    parts = render(exam.questions[0], style="direct").messages[0].parts
    assert [isinstance(part, Text) for part in parts] == [False, False, True]


def test_images_outside_the_folder_missing_or_broken_are_problems_of_their_rows(folder: Path, bomb: bytes):
    (folder / "text.png").write_text("no image")
    (folder / "bomb.png").write_bytes(bomb)
    written = base64.b64encode(b"no image " * 99).decode()
    named = ("../secret.png", "gone.png", None, "%" * 600, "text.png", written, "bomb.png")
    exam = load(folder, *({**ROW, "id": f"q{n}", "images": [name] if name else []} for n, name in enumerate(named)))
    assert all(question.media[0].problem for question in exam.questions)
    assert "outside the data's folder" in exam.problems[0]
    assert exam.problems[1].endswith("'gone.png' cannot be read (No such file or directory); put it there, or mend the name")
    assert exam.problems[4] == "q4: <image 1>: 'text.png': no image of a kind that is read; replace it by a PNG or JPEG"
    assert exam.problems[5] == "q5: <image 1>: no image of a kind that is read; replace it by a PNG or JPEG"
    assert exam.problems[6].startswith("q6: <image 1>: 'bomb.png': more than the 89,478,485 pixels")
    assert len(exam.problems) == len(named)


def test_clusters_are_questions_that_share_an_image(folder: Path):
    exam = load(folder, ROW, {**ROW, "id": "q2"}, {**ROW, "id": "q3", "images": ["q2.png"]})
    assert exam.questions[0].cluster == exam.questions[1].cluster != exam.questions[2].cluster


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([ROW, ROW], "1 ids occur more than once, such as 'q1'"),
        ([{**ROW, "gold": "C"}], r"exam.jsonl, row 1: gold 'C' is neither"),
        ([["a"]], "not a list of JSON objects"),
        ([{**ROW, "question": "half a pair \ud800"}], "line 1: not JSON .*surrogates"),
    ],
)
def test_a_wrong_file_is_one_clear_line(folder: Path, rows: list[Any], message: str):
    with pytest.raises(UserError, match=message):
        load(folder, *rows)


def test_a_byte_order_mark_a_whole_pair_and_a_lone_image_name_are_read(folder: Path):
    row = {"id": "q", "question": "\N{GRINNING FACE}", "gold": "x", "images": "q1.png"}
    (folder / "exam.jsonl").write_text("\ufeff" + json.dumps(row), encoding="utf-8")
    exam = Jsonl(path=folder / "exam.jsonl").load()
    assert (exam.questions[0].text, len(exam.questions[0].media), exam.problems) == ("\N{GRINNING FACE}", 1, ())


def test_a_missing_file_is_one_clear_line(tmp_path: Path):
    with pytest.raises(UserError, match="cannot be read"):
        Jsonl(path=tmp_path / "absent.jsonl").load()


def test_the_released_sample_with_its_images_loads_without_a_problem(shared: Path):
    exam = Jsonl(path=shared / "data/mmmu_pro/sample.jsonl", name="mmmu_pro").load()
    assert (len(exam.questions), exam.problems) == (21, ())
    assert sum(len(question.media) for question in exam.questions) == 25
