"""A language model rewrites explanations and plants errors in its own rewrites; what fails a check is left out and counted."""

from dataclasses import replace

import pytest

from training.chains import LabelledChain
from training.perturb.model import ModelEdits, difference
from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.records import Gold, Question

QUESTION = Question("q", "own", "multiple-choice", "How high {x}?", ("4 m", "5 m"))
GOLDS = {"q": Gold("q", ("B",))}
RIGHT = LabelledChain(QUESTION, ("It falls 1 s. ", "So it is 5 m high."), (True,) * 2, (None,) * 2, "gold", "own", "q", True)


def model(*replies: str, **when: tuple[str, ...]) -> ModelEdits:
    return ModelEdits(backend=Scripted(replies=replies, when=when))


def test_a_rewrite_becomes_a_right_chain_in_the_models_words(tmp_path):
    (kept,), failed = model("The fall takes 1 s.\nThat makes 5 m, so the answer is B.").rewrite([RIGHT], GOLDS, Bank(tmp_path))
    assert kept.steps == ("The fall takes 1 s.\n", "That makes 5 m, so the answer is B.")
    assert (kept.labels, sum(failed.values())) == ((True, True), 0)


@pytest.mark.parametrize(
    ("reply", "fault"),
    [
        ("It takes a while.\nThat makes 5 m.", "lost number"),
        ("It takes 1 s.\nThat makes 5 m after 77 s.", "new number"),
        ("It takes 1 s.\nThat makes 5 m.\nThe answer is A.", "another answer"),
        ("# Solution\n1. It takes 1 s.\n2. That makes 5 m.", "heading or list"),
        ("", "no steps"),
    ],
)
def test_a_rewrite_that_changes_the_content_is_left_out_and_counted(tmp_path, reply, fault):
    kept, failed = model(reply).rewrite([RIGHT], GOLDS, Bank(tmp_path))
    assert kept == []
    assert failed[fault] == 1


def test_a_rewrite_that_speaks_of_something_else_is_left_out(tmp_path):
    wordy = replace(RIGHT, steps=("Gravity accelerates ", "the falling stone."))
    kept, failed = model("The explanation can be told in some steps.").rewrite([wordy], GOLDS, Bank(tmp_path / "a"))
    assert (kept, failed["lost terms"]) == ([], 1)
    kept, _ = model("Falling stones are accelerated by gravity.").rewrite([wordy], GOLDS, Bank(tmp_path / "b"))
    assert len(kept) == 1


def test_an_edit_keeps_prefix_and_blanks_and_has_the_kind_that_was_asked_for(tmp_path):
    edits = {"Rewrite step [1]": ("[1] It falls 2 s.\n[2] So it is 5 m high.",), "Rewrite step [2]": ("So it is 4 m high.",)}
    made, failed = ModelEdits(backend=Scripted(replies=("?",), when=edits)).perturb([RIGHT], Bank(tmp_path), share=0.5)
    assert made
    assert not failed
    for one in made:
        assert one.chain.steps == (
            ("It falls 2 s. ", RIGHT.steps[1]) if one.place == 0 else (RIGHT.steps[0], "So it is 4 m high.")
        )
        assert (one.old, one.new) == (("1", "2") if one.place == 0 else ("5", "4"))
        assert one.chain.first_error == one.place


@pytest.mark.parametrize(
    ("reply", "fault"),
    [("So it is 5 m high.", "says the same"), ("This is wrong: it is 4 m high.", "telltale word"), (" ", "no reply")],
)
def test_an_edit_that_fails_a_check_is_left_out_and_counted(tmp_path, reply, fault):
    one = LabelledChain(QUESTION, RIGHT.steps[1:], (True,), (None,), "gold", "own", "q", True)
    made, failed = model(reply).perturb([one], Bank(tmp_path))
    assert made == []
    assert failed[fault] == 1


def test_the_difference_of_two_steps_is_what_stands_between_their_common_ends():
    assert difference("a b c d", "a x y d") == ("b c", "x y")
    assert difference("a b", "a b b") == ("", "b")
