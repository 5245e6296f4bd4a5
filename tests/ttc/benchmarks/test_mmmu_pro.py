import hashlib
import json
import re
from collections import Counter

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from ttc.benchmarks import MMMUPro
from ttc.benchmarks.baselines import always, most_frequent_letter_by_subject, uniform_guess
from ttc.errors import UserError
from ttc.media import load_images
from ttc.records import Picture


@pytest.fixture(scope="module")
def released(shared):
    """All 1730 rows as a released output file holds them, so without their images."""
    return MMMUPro(path=shared / "data/mmmu_pro/gpt-4o_standard(10 options)_cot.jsonl").load()


@pytest.fixture(scope="module")
def sample(shared):
    return MMMUPro(path=shared / "data/mmmu_pro/sample.jsonl").load()


def test_all_1730_rows_with_their_option_counts_levels_and_disciplines(released):
    assert len(released.questions) == 1730
    counts = Counter(len(question.options) for question in released.questions)
    assert counts == {2: 28, 3: 42, 4: 124, 5: 41, 6: 16, 7: 12, 8: 31, 9: 221, 10: 1214, 12: 1}
    levels = Counter(question.fields["topic_difficulty"] for question in released.questions)
    assert levels == {"Easy": 528, "Medium": 801, "Hard": 401}
    disciplines = Counter(question.fields["discipline"] for question in released.questions)
    assert sorted(disciplines.values()) == [222, 228, 286, 286, 291, 417]


def test_rows_with_a_defect_are_listed_and_stay(released):
    def listed(words: str) -> set[str]:
        return {line.partition(":")[0] for line in released.problems if words in line}

    assert listed("list within a list") == {"validation_Accounting_29"}
    assert listed("not accepted") == {"test_Finance_96", "validation_Electronics_13"}
    assert len(listed("same text")) == 9
    assert listed("cannot be read") == listed("not among the letters") == set()


def test_baselines_are_the_known_ones(released):
    assert round(100 * uniform_guess(released).accuracy, 2) == 12.80  # 12.84 where the nested row has one option
    assert round(100 * always(released, "B").accuracy, 2) == 12.20
    assert round(100 * most_frequent_letter_by_subject(released).accuracy, 1) == 19.0


def test_explanations_that_only_say_unknown_are_empty(released):
    assert sum(not gold.explanation for gold in released.golds.values()) == 1617


def test_the_21_real_questions_have_the_right_image_at_each_marker(shared, sample):
    folder = shared / "data/mmmu_pro"
    rows = [json.loads(line) for line in (folder / "sample.jsonl").read_text().splitlines()]
    assert len(sample.questions) == len(rows) == 21
    assert sample.problems == ()
    for row, question in zip(rows, sample.questions, strict=True):
        markers = re.findall(r"<image (\d+)>", " ".join([question.text, *question.options]))
        assert [media.marker for media in question.media] == list(dict.fromkeys(map(int, markers)))
        for media in question.media:
            file = folder / row[f"image_{media.marker}"]
            assert media.sha256 == hashlib.sha256(file.read_bytes()).hexdigest()
            assert load_images(Picture(media))[0].mode == "RGB"


def test_a_real_question_s_shuffled_option_images_keep_their_order(sample):
    (music,) = [question for question in sample.questions if len(question.media) > 1]
    assert music.options == ("<image 4>", "<image 2>", "<image 5>", "<image 3>")
    assert [media.marker for media in music.media] == [1, 4, 2, 5, 3]


@pytest.mark.parametrize("count", [4, 10])
@pytest.mark.parametrize("setting", ["standard({} options)", "standard ({} options)", "Standard  ( {} options )"])
def test_a_setting_is_known_with_and_without_its_blank(setting, count):
    assert MMMUPro.model_validate({"setting": setting.format(count)}).setting == f"standard ({count} options)"


def test_an_unknown_setting_lists_those_there_are():
    with pytest.raises(ValidationError, match="4 options"):
        MMMUPro.model_validate({"setting": "standard (8 options)"})


@pytest.mark.parametrize("deeper", [True, False])
def test_a_vision_row_shows_its_one_image_and_no_text(tmp_path, png, deeper):
    columns = {
        "id": ["test_History_1"],
        "options": ["['<image 1>', '<image 2>']"],
        "answer": ["B"],
        "subject": ["History"],
        "image": pa.array([{"bytes": png(1), "path": None}], pa.struct([("bytes", pa.binary()), ("path", pa.string())])),
    }
    folder = tmp_path / "vision" if deeper else tmp_path
    folder.mkdir(exist_ok=True)
    pq.write_table(pa.table(columns), folder / "test-00000-of-00001.parquet")
    exam = MMMUPro(path=tmp_path, setting="vision").load()
    (question,) = exam.questions
    assert (question.text, question.options) == ("", ("image 1", "image 2"))
    assert [(media.marker, media.data) for media in question.media] == [(0, png(1))]
    assert exam.problems == ()


def test_images_named_by_a_jsonl_row_may_not_leave_its_folder(tmp_path, png):
    (tmp_path / "secret.png").write_bytes(png(1))
    folder = tmp_path / "data"
    folder.mkdir()
    row = {"id": "a", "question": "<image 1>", "options": ["x", "y"], "answer": "A", "image_1": "../secret.png"}
    (folder / "rows.jsonl").write_text(json.dumps(row))
    exam = MMMUPro(path=folder / "rows.jsonl").load()
    assert "outside" in exam.questions[0].media[0].problem
    assert exam.problems == ("a: <image 1>: '../secret.png' lies outside the data's folder; move it inside",)


@pytest.mark.parametrize("text", ["{", "[1]", '{"id": "a"}\n{"id": '])
def test_a_file_that_is_no_jsonl_is_refused_with_its_name(tmp_path, text):
    (tmp_path / "rows.jsonl").write_text(text)
    with pytest.raises(UserError, match=r"rows\.jsonl"):
        MMMUPro(path=tmp_path / "rows.jsonl").load()


def test_a_folder_without_the_setting_is_refused(tmp_path):
    with pytest.raises(UserError, match="check the path and the setting"):
        MMMUPro(path=tmp_path).load()
