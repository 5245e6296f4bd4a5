import json
from collections import Counter

import pytest

from ttc.benchmarks import MMVU
from ttc.benchmarks.baselines import always, most_frequent_letter_by_subject, uniform_guess
from ttc.benchmarks.mmvu import synonyms
from ttc.errors import UserError

MARKED = (1, 82, 92, 96, 119, 127, 132, 144, 154, 163, 190, 349, 359, 399, 420, 421, 436, 440, 468, 479, 508, 549, 559)


@pytest.fixture(scope="module")
def released(shared, tmp_path_factory):
    videos = tmp_path_factory.mktemp("videos")
    return MMVU(path=shared / "data/mmvu/validation.json", videos=videos).load()


def a_row(**columns):
    return {
        "id": "validation_0",
        "video": "https://example.org/videos/Art/0.mp4",
        "youtube_url": "",
        "question_type": "multiple-choice",
        "metadata": {"subject": "Art", "textbook": "", "rationale": "Because.", "knowledge": ["https://example.org/wiki/Art"]},
        "question": "What?",
        "choices": {"A": "x", "B": "y", "C": "z", "D": "u", "E": "v"},
        "answer": "B",
    } | columns


@pytest.fixture
def load(tmp_path):
    def load_rows(*rows, **config):
        (tmp_path / "validation.json").write_text(json.dumps(rows))
        return MMVU.model_validate({"path": tmp_path, "videos": tmp_path / "cache"} | config).load()

    return load_rows


def test_1000_questions_in_their_types_disciplines_and_videos(released):
    assert len(released.questions) == 1000
    assert Counter(q.question_type for q in released.questions) == {"multiple-choice": 625, "open": 375}
    assert Counter(q.fields["discipline"] for q in released.questions) == {
        "Science": 296,
        "Engineering": 370,
        "Healthcare": 193,
        "Humanities and Social Science": 141,
    }
    assert len({q.cluster for q in released.questions}) == 583
    assert sorted(Counter(Counter(q.cluster for q in released.questions).values()).items()) == [
        (1, 333),
        (2, 129),
        (3, 80),
        (4, 36),
        (5, 5),
    ]


def test_every_gold_is_there_and_each_choice_has_five_options(released):
    letters = Counter(released.golds[q.id].answers[0] for q in released.questions if q.question_type == "multiple-choice")
    assert letters == {"C": 142, "B": 127, "E": 127, "A": 115, "D": 114}
    assert {len(q.options) for q in released.questions} == {0, 5}
    assert len({source for gold in released.golds.values() for source in gold.knowledge}) == 2224


def test_baselines_are_the_known_ones(released):
    assert uniform_guess(released).accuracy == 0.125
    assert always(released, "C").accuracy == 0.142
    assert most_frequent_letter_by_subject(released).accuracy == 0.181


def test_50_rationales_are_repaired_and_23_are_marked(released, shared):
    rows = json.loads((shared / "data/mmvu/validation.json").read_text())
    changed = {row["id"] for row in rows if row["metadata"]["rationale"] != released.golds[row["id"]].explanation}
    marked = {line.partition(":")[0] for line in released.problems if "rationale has lost" in line}
    assert marked == {f"validation_{number}" for number in MARKED}
    assert len(changed - marked) == 50


def test_the_subject_is_the_row_s_and_not_the_video_folder_s(released):
    (question,) = [q for q in released.questions if q.id == "validation_133"]
    assert str(question.fields["subject"]).replace(" ", "_") not in question.cluster


def test_videos_that_nobody_fetched_are_unusable_and_told_in_one_line(released):
    assert all(q.media[0].problem.startswith("not fetched") for q in released.questions)
    assert sum("videos are not in" in line for line in released.problems) == 1


@pytest.mark.parametrize(
    ("gold", "accepted"),
    [
        ("Dolly Zoom", ("Dolly Zoom",)),
        ("O(n²)", ("O(n²)",)),
        ("Depth-First Search (DFS)", ("Depth-First Search (DFS)", "Depth-First Search", "DFS")),
        ("triboelectric (static electricity)", ("triboelectric (static electricity)", "triboelectric", "static electricity")),
        ("center of gravity (mass)", ("center of gravity (mass)", "center of gravity", "center of mass")),
    ],
)
def test_a_bracket_at_the_end_of_an_open_gold_is_a_synonym(gold, accepted):
    assert synonyms(gold) == accepted


def test_thirteen_open_golds_less_a_formula_have_synonyms(released):
    assert sum(len(gold.answers) > 1 for gold in released.golds.values()) == 12


def test_a_video_file_below_the_data_s_own_folder_is_used_and_one_outside_is_not(load, write_video, tmp_path):
    write_video("clip.mp4")
    inside = load(a_row(video="clip.mp4"))
    assert inside.problems == ()
    assert inside.questions[0].media[0].path == tmp_path / "clip.mp4"
    outside = load(a_row(video="../../etc/hostname"))
    assert "outside" in outside.questions[0].media[0].problem
    assert outside.problems[0].startswith("validation_0: ")


def test_a_split_without_golds_loads(load):
    assert load(a_row(answer="")).golds["validation_0"].answers == ()


@pytest.mark.parametrize("row", [{"id": "a"}, a_row(metadata=None), a_row(video=None), a_row(id="")])
def test_rows_of_another_form_are_refused(load, row):
    with pytest.raises(UserError, match="lacks id, question, video or metadata"):
        load(row)


def test_the_fingerprint_knows_whether_the_videos_were_there(load, write_video):
    write_video("clip.mp4", step=1)
    first = load(a_row(video="clip.mp4")).fingerprint
    write_video("clip.mp4", step=2)
    assert load(a_row(video="clip.mp4")).fingerprint != first
