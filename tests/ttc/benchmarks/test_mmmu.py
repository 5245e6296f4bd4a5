import json
import re

import pytest

from ttc.benchmarks import MMMU
from ttc.benchmarks.baselines import always, most_frequent_letter_by_subject, uniform_guess
from ttc.benchmarks.tables import MMMU_DISCIPLINES, MMMU_SUBJECTS
from ttc.errors import UserError

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.fixture
def released(shared, write_mmmu):
    """All 900 validation questions as the released outputs and golds tell them, in the hub's schema, without their texts."""
    golds = json.loads((shared / "data/mmmu/answer_dict_val.json").read_text())
    for subject in MMMU_SUBJECTS:
        outputs = json.loads((shared / f"data/mmmu/llava1.5_13b/{subject}/output.json").read_text())
        rows = []
        for output in outputs:
            gold = golds[output["id"]]
            rows.append(
                {
                    "id": output["id"],
                    "question": "",
                    "options": str(list(output.get("index2ans", {}).values())),
                    "answer": str(gold["ground_truth"]),
                    "question_type": gold["question_type"],
                }
            )
        root = write_mmmu(rows, subject=subject)
    return MMMU(path=root).load()


def test_the_validation_split_has_its_900_questions_and_its_published_golds(released):
    letters = [released.golds[q.id].answers[0] for q in released.questions if q.question_type == "multiple-choice"]
    assert (len(released.questions), len(letters)) == (900, 847)
    assert {letter: letters.count(letter) for letter in "ABCDEFGHI"} == dict(
        zip("ABCDEFGHI", (242, 230, 198, 149, 25, 2, 0, 0, 1), strict=True)
    )
    several = {id: gold.answers for id, gold in released.golds.items() if len(gold.answers) > 1}
    assert several == {
        "validation_Chemistry_30": ("$MgS$", "MgS"),
        "validation_Geography_4": ("Tampa", "Florida"),
        "validation_Math_15": ("24/7", "3.429"),
    }


def test_the_two_questions_whose_gold_text_stands_twice_are_listed(released):
    listed = {line.partition(":")[0] for line in released.problems if "not accepted" in line}
    assert listed == {"validation_Electronics_13", "validation_Materials_25"}


def test_disciplines_have_their_published_sizes(released):
    sizes = {name: sum(q.fields["discipline"] == name for q in released.questions) for name in MMMU_DISCIPLINES}
    assert list(sizes.values()) == [120, 150, 150, 150, 120, 210]


def test_the_uniform_guess_expects_24_70_percent_and_always_a_has_242_of_900(released):
    guess = uniform_guess(released)
    assert round(100 * guess.accuracy, 2) == 24.70
    assert round(100 * guess.deviation, 2) == 1.41
    assert (always(released, "A").right, always(released, "A").n) == (242, 900)
    assert most_frequent_letter_by_subject(released).right == 305


def test_every_field_of_a_row_is_kept(write_mmmu, row, png):
    exam = MMMU(
        path=write_mmmu([row(explanation="By its ears.", img_type="['Paintings', 'Photographs']", image_1=png(1))])
    ).load()
    (question,) = exam.questions
    assert question.fields == {
        "subject": "Art_Theory",
        "discipline": "Art and Design",
        "subfield": "Comparative Art",
        "topic_difficulty": "Easy",
        "img_type": ("Paintings", "Photographs"),
        "question_type": "multiple-choice",
    }
    assert question.media[0].data == png(1)
    assert exam.golds[question.id].explanation == "By its ears."


def test_subjects_are_read_in_the_order_of_the_official_evaluation(write_mmmu, row):
    for subject in ("Math", "Art_Theory", "Art", "Marketing", "Manage"):
        root = write_mmmu([row(id=f"validation_{subject}_1", question="?")], subject=subject)
    exam = MMMU(path=root).load()
    assert [question.fields["subject"] for question in exam.questions] == ["Art", "Art_Theory", "Manage", "Marketing", "Math"]


def test_splits_do_not_mix(write_mmmu, row):
    write_mmmu([row(id="dev_Art_1", question="?")], subject="Art", split="dev")
    root = write_mmmu([row(id="validation_Art_1", question="?")], subject="Art")
    assert [question.id for question in MMMU(path=root).load().questions] == ["validation_Art_1"]


def test_a_hidden_test_split_loads_without_golds(write_mmmu, row, png):
    root = write_mmmu([row(id="test_Art_Theory_1", answer="?", image_1=png(1))], split="test")
    exam = MMMU(path=root, split="test").load()
    assert exam.golds["test_Art_Theory_1"].answers == ()
    assert exam.problems == ("only 1 of 30 subjects are there",)


def test_a_copy_with_rows_missing_says_so(write_mmmu, row, png):
    exam = MMMU(path=write_mmmu([row(image_1=png(1))]), subjects=("Art_Theory",)).load()
    assert exam.problems == ("1 questions where 30 were published for these subjects",)


def test_a_folder_of_other_subjects_in_the_same_schema_loads(write_mmmu, row, png):
    exam = MMMU(path=write_mmmu([row(id="validation_Dials_1", image_1=png(1))], subject="Dials")).load()
    assert exam.questions[0].fields["subject"] == "Dials"
    assert exam.problems == ()


def test_the_pocket_exam_written_in_mmmu_s_schema_is_the_same_exam(tmp_path):
    from ttc.benchmarks import Pocket
    from ttc.pocket.parquet import write_parquet

    write_parquet("validation", tmp_path)
    subjects = tuple(path.name for path in tmp_path.iterdir())
    pocket, mmmu = Pocket(split="validation", subjects=subjects).load(), MMMU(path=tmp_path).load()
    assert len(subjects) == 4
    assert any("<image" in option for question in mmmu.questions for option in question.options)
    assert {(q.id, q.text, q.options, q.media) for q in mmmu.questions} == {
        (q.id, q.text, q.options, q.media) for q in pocket.questions
    }
    assert {id: gold.answers for id, gold in mmmu.golds.items()} == {id: gold.answers for id, gold in pocket.golds.items()}
    assert mmmu.problems == ()


@pytest.fixture
def cached_hub(tmp_path, monkeypatch, write_mmmu, row, png):
    """A hub cache as a download leaves it, read without a network."""
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    repository = tmp_path / "hub/datasets--MMMU--MMMU"
    for subject in MMMU_SUBJECTS:
        write_mmmu([row(id=f"validation_{subject}_1", image_1=png(1))], subject=subject, root=repository / "snapshots" / COMMIT)
    (repository / "refs").mkdir()
    (repository / "refs/main").write_text(COMMIT)
    return repository / "snapshots" / COMMIT


@pytest.mark.parametrize("revision", ["main", COMMIT])
def test_the_hub_s_commit_is_recorded_and_its_files_read_like_a_folder(cached_hub, revision):
    from_hub, from_folder = MMMU(revision=revision).load(), MMMU(path=cached_hub).load()
    assert (from_hub.revision, from_folder.revision) == (COMMIT, "local")
    assert from_hub.questions == from_folder.questions
    assert from_hub.fingerprint == from_folder.fingerprint


def test_a_revision_that_cannot_be_had_names_the_way_out(cached_hub):
    with pytest.raises(UserError, match=r"revision 'v9'.*path"):
        MMMU(revision="v9").load()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"subjects": ("Arts",)}, "no subject 'Arts'.*Art_Theory"),
        ({"subjects": ()}, "no subject"),
        ({"split": "dev"}, "dev-.*parquet"),
        ({"path": "nowhere"}, "nowhere"),
    ],
)
def test_a_wrong_name_is_one_clear_line(write_mmmu, row, change, message):
    config = MMMU.model_validate({"path": write_mmmu([row()])} | change)
    with pytest.raises(UserError, match=re.compile(message, re.DOTALL)):
        config.load()


def test_a_missing_shard_or_a_broken_file_is_refused(write_mmmu, row):
    root = write_mmmu([row()])
    (file,) = (root / "Art_Theory").iterdir()
    file.rename(file.with_name("validation-00000-of-00002.parquet"))
    with pytest.raises(UserError, match="1 of 2 parquet files"):
        MMMU(path=root).load()
    file.write_bytes(b"<html>404</html>")
    (root / "Art_Theory/validation-00000-of-00002.parquet").unlink()
    with pytest.raises(UserError, match="not a parquet file"):
        MMMU(path=root).load()
