"""Multiple choice asked as open questions."""

from ttc.benchmarks.exams import seal
from ttc.benchmarks.opened import opened
from ttc.records import Gold, Question


def test_the_right_options_text_becomes_the_gold_and_no_letter_stays():
    asked = Question("q", "exam", "multiple-choice", "Which?", ("one", "two", "two"))
    exam = opened(seal("exam", "dev", [asked], [Gold("q", ("B", "C"), "why")]))
    (question,) = exam.questions
    assert (question.question_type, question.options) == ("open", ())
    assert exam.golds["q"] == Gold("q", ("two",), "why")


def test_open_questions_hidden_golds_and_the_fingerprint_stay_as_they_are():
    questions = [Question("o", "exam", "open", "Why?"), Question("h", "exam", "multiple-choice", "Which?", ("one", "two"))]
    before = seal("exam", "dev", questions, [Gold("o", ("so",)), Gold("h", ())])
    after = opened(before)
    assert after.questions[0] == questions[0]
    assert after.golds == before.golds
    assert after.fingerprint == before.fingerprint


def test_a_question_whose_right_option_is_an_image_stays_and_is_named():
    asked = Question("q", "exam", "multiple-choice", "Which?", ("one", "<image 1>"))
    exam = opened(seal("exam", "dev", [asked], [Gold("q", ("B",))]))
    assert len(exam.questions) == 1
    assert exam.problems == ("q: the right option is an image, which no words can give",)
