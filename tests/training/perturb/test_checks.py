"""Each check refuses one way in which an edit betrays itself or is no error."""

import pytest

from training.perturb.checks import faults

RIGHT = ("The red ball is 5 m high. ", "Thus it falls (slowly) for 1.01 s.")


@pytest.mark.parametrize(
    ("edited", "old", "new", "fault"),
    [
        ("The  red ball is 5 m high! ", "", "", "closing mark"),
        ("the red ball is 5 m high. ", "", "", "says the same"),
        ("The red ball is 5.0 m high. ", "5", "5.0", "equal value"),
        ("The red ball is 5 m high. It is 6 m. ", "", "", "not one step"),
        ("A blue box was never quite as low there. ", "", "", "too long an edit"),
        ("The red ball is 6 m high.", "5", "6", "blanks"),
        ("the red ball is 6 m high. ", "5", "6", "capital"),
        ("The red ball is (6 m high. ", "5", "6", "brackets"),
        ("The red ball is is 6 m high. ", "5", "6", "repeated word"),
        ("The red ball is an 6 high block. ", "", "", ""),
        ("The red ball is an blue m high. ", "", "", "article"),
        ("The red ball is wrongly 6 m high. ", "5", "6", "telltale word"),
    ],
)
def test_an_edit_that_shows_is_refused(edited, old, new, fault):
    failed = faults(RIGHT, (edited, RIGHT[1]), 0, old=old, new=new)
    assert fault in failed if fault else failed == []


def test_a_good_edit_passes_every_check():
    assert faults(RIGHT, ("The red ball is 6 m high. ", RIGHT[1]), 0, old="5", new="6") == []


def test_a_changed_prefix_and_a_repeated_step_are_refused():
    assert "prefix" in faults(RIGHT, ("The blue ball is 5 m high. ", "Thus it falls (fast) for 1.01 s."), 1)
    assert "repeats its prefix" in faults(RIGHT, (RIGHT[0], "The red ball is 5 m high."), 1)
