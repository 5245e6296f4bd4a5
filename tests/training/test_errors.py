"""Error kinds: rules, the comparison with the explanation, the classifier on planted errors, the judge as labeller."""

from dataclasses import replace
from pathlib import Path

import pytest

from training.errors import KINDS, MEANINGS, TO_MMMU, TO_MMVU, WrongReply, pocket_kind, ruled
from training.errors_classifier import crossfitted, fit, quality, with_labels
from training.errors_features import departure, numbers, table
from training.errors_judge import ErrorJudge, leading, named
from training.errors_synthetic import planted_replies, synthetic
from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.errors import UserError
from ttc.pocket import exam as pocket
from ttc.records import Answer, Exam, Gold, Question, Sample

QUESTION = Question("q", "mine", "multiple-choice", "What does <image 1> weigh?", ("12 kg", "24 kg", "4 kg"))
GOLD = Gold("q", ("B",), "Mass: 12\ndouble: 12 * 2 = 24")


def wrong(text: str, answer: Answer | None = None, **more) -> WrongReply:
    return WrongReply(QUESTION, GOLD, text, answer or Answer(("A",), "answered", "letter"), **more)


@pytest.fixture(scope="module")
def small() -> Exam:
    problems = [problem for problem in pocket.problems("validation", size=150) if not problem.is_pictured]
    questions = tuple(map(pocket.worded, problems))
    golds = {problem.id: pocket.gold(problem) for problem in problems}
    return Exam("pocket", "validation", questions, golds, "local", "")


def test_every_kind_has_a_meaning_and_a_place_in_both_papers_lists():
    assert set(KINDS) == set(MEANINGS) == set(TO_MMMU) == set(TO_MMVU)
    assert len({kind for kind in TO_MMMU.values() if kind}) == 7
    assert len(set(TO_MMVU.values())) == 6
    assert (TO_MMMU["domain_perception"], TO_MMVU["domain_perception"]) == (
        "lack of knowledge",
        "domain knowledge in perception",
    )


@pytest.mark.parametrize(
    ("text", "status", "kind"),
    [
        ("I cannot help with that.", "refused", "refusal"),
        ("I will not choose.", "abstained", "refusal"),
        ("Let us see, 12", "truncated", "truncation"),
        ("Twice that makes 24 kg.", "unclear", "extraction"),
        ("Twice that makes 124 kg.", "unclear", None),
        ("It is heavy.", "unclear", None),
        ("", "failed", "other"),
    ],
)
def test_form_decides_some_kinds(text, status, kind):
    assert ruled(wrong(text, Answer((), status, "rule"), status="rejected" if status == "failed" else "ok")) == kind


def test_a_reply_with_an_answer_is_left_to_readers_even_where_it_was_cut():
    assert ruled(wrong("Answer: A. Also", finish="length")) is None


def test_the_first_step_that_is_not_the_explanations_is_compared_with_its_counterpart():
    left = departure(wrong("Mass: 12\ndouble: 12 + 2 = 14\nAnswer: A"))
    assert (left.place, left.step, left.counterpart) == (1, "double: 12 + 2 = 14", "double: 12 * 2 = 24")
    named_numbers = numbers(wrong(""), left)
    assert named_numbers["other sign"] == 1
    assert named_numbers["wrong sum"] == 0


def test_sums_are_worked_out():
    left = departure(wrong("Mass: 12\ndouble: 12 * 2 = 26"))
    assert numbers(wrong(""), left)["wrong sum"] == 1
    assert numbers(wrong(""), left)["only the result"] == 1


def test_an_unexplained_question_still_has_features():
    bare = WrongReply(QUESTION, Gold("q", ("B",)), "The image shows 12 kg.", Answer(("A",), "answered", "letter"))
    assert numbers(bare, departure(bare))["cue seen"] > 0


def test_rows_do_not_depend_on_the_other_replies():
    replies = [wrong("Mass: 13\nAnswer: A"), wrong("double: 12 * 2 = 25"), wrong("", bad_step=0)]
    whole = table(replies).toarray()
    assert all((table([reply]).toarray()[0] == row).all() for reply, row in zip(replies, whole, strict=True))


def test_planted_errors_of_unseen_questions_are_told_apart(small):
    replies, kinds = planted_replies(small, 900)
    kept = [place for place, reply in enumerate(replies) if ruled(reply) is None]
    rows, true = table([replies[at] for at in kept]), [kinds[at] for at in kept]
    groups = [replies[at].question.id for at in kept]
    few, many = (with_labels(rows, true, groups, labels, repeats=1) for labels in (100, len(kept) - 200))
    assert few.f1.mean >= 0.6
    assert many.f1.mean >= 0.85
    assert few.f1.low < few.f1.mean < few.f1.high


def test_found_kinds_are_those_of_other_folds(small):
    """Labels that only the question's identity could tell are not learned."""
    replies, _ = planted_replies(small, 300)
    groups = [reply.question.id for reply in replies]
    noise = ["logic" if hash_ % 2 else "knowledge" for hash_ in (sum(map(ord, group)) * 7919 % 101 for group in groups)]
    found = crossfitted(table(replies), noise, groups)
    assert quality(noise, found, groups, labels=0, draws=200).accuracy.mean < 0.75


def test_labels_of_one_kind_teach_nothing():
    with pytest.raises(UserError, match="two kinds"):
        fit(table([wrong("a"), wrong("b")]), ["logic", "logic"], ["q", "r"])


def test_the_exams_truth_is_the_first_error(small):
    question = small.questions[0]
    start = small.golds[question.id].explanation.splitlines()[0]
    label, value = start.split(": ")
    misread = f"{label}: {int(value) % 9 + 1}\nAnswer: 0"
    one = WrongReply(question, small.golds[question.id], misread, Answer(("0",), "answered", "number"))
    assert pocket_kind(one) == "perception"


def test_explanations_with_an_error_put_in_are_labelled_replies(small):
    replies, kinds = synthetic(replace(small, questions=small.questions[:40]))
    assert len(replies) == len(kinds) > 30
    assert set(kinds) <= set(KINDS)
    assert all(reply.text.strip() != reply.gold.explanation.strip() for reply in replies)


def test_a_judge_labels_by_majority_and_never_guesses(tmp_path: Path):
    says = tuple(f'Well. {{"step": "x", "kind": "{kind}"}}' for kind in ("logic", "knowledge", "logic"))
    judge = ErrorJudge(backend=Scripted(replies={"q": says, "r": ("no idea",)}))
    other = WrongReply(Question("r", "mine", "open", "Why?"), Gold("r", ("so",)), "no", Answer(("no",), "answered", "text"))
    assert judge.labels([wrong("Mass: 13"), other], Bank(tmp_path)) == ["logic", None]
    assert leading(["logic", "knowledge", None]) is None
    assert named(Sample("", 0, "q", '{"kind": "refusal"}')) is None
