from dataclasses import replace

import pytest

from ttc.benchmarks.exams import fingerprint, seal
from ttc.errors import UserError
from ttc.media import media_from_bytes
from ttc.records import Gold, Question

QUESTION = Question(
    "q1", "mmmu", "multiple-choice", "What?", ("x", "y"), (media_from_bytes(b"1", marker=1),), {"subject": "Art"}
)
GOLD = Gold("q1", ("A",))


@pytest.mark.parametrize(
    ("question", "gold"),
    [
        (replace(QUESTION, text="What? "), GOLD),
        (replace(QUESTION, options=("y", "x")), GOLD),
        (replace(QUESTION, media=(media_from_bytes(b"2", marker=1),)), GOLD),
        (replace(QUESTION, media=(media_from_bytes(b"1", marker=2),)), GOLD),
        (replace(QUESTION, fields={"subject": "Music"}), GOLD),
        (QUESTION, Gold("q1", ("B",))),
        (QUESTION, Gold("q1", ("A",), explanation="because")),
    ],
)
def test_the_fingerprint_follows_every_text_image_group_and_gold(question, gold):
    assert fingerprint([question], [gold]) != fingerprint([QUESTION], [GOLD])


def test_the_fingerprint_follows_neither_order_nor_place(tmp_path):
    other, other_gold = replace(QUESTION, id="q2", media=()), Gold("q2", ("B",))
    moved = replace(QUESTION, media=(replace(QUESTION.media[0], data=None, path=tmp_path / "elsewhere.png"),), cluster="c")
    assert fingerprint([QUESTION, other], [GOLD, other_gold]) == fingerprint([other, moved], [other_gold, GOLD])


def test_questions_that_share_an_image_through_a_third_are_one_cluster():
    def with_images(id: str, *data: bytes) -> Question:
        return replace(QUESTION, id=id, media=tuple(media_from_bytes(item, marker=1) for item in data))

    exam = seal(
        "mmmu",
        "dev",
        [with_images("a", b"1"), with_images("b", b"2"), with_images("c", b"1", b"2"), with_images("d", b"4")],
        [],
    )
    a, b, c, d = (question.cluster for question in exam.questions)
    assert a == b == c != ""
    assert d == ""


def test_missing_images_are_not_a_shared_image():
    missing = media_from_bytes(None, marker=1)
    exam = seal("mmmu", "dev", [replace(QUESTION, id=id, media=(missing,)) for id in ("a", "b")], [])
    assert [question.cluster for question in exam.questions] == ["", ""]


@pytest.mark.parametrize(
    ("questions", "golds", "message"),
    [([], [], "no question"), ([QUESTION, QUESTION], [GOLD], "q1"), ([QUESTION], [Gold("q9", ("A",))], "q9")],
)
def test_data_without_questions_with_repeated_ids_or_stray_golds_are_refused(questions, golds, message):
    with pytest.raises(UserError, match=message):
        seal("mmmu", "dev", questions, golds)
