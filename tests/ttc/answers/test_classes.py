"""Classes of answers, made from the replies alone."""

import random

import pytest

from ttc.answers import classes, extract
from ttc.records import Answer, Question

OPEN = Question("o", "mmmu", "open", "?")
CHOICE = Question("q", "mmmu", "multiple-choice", "?", ("one", "two", "three"))


def grouped(*replies: str) -> tuple[int | None, ...]:
    return classes(OPEN, [extract(OPEN, reply) for reply in replies])


@pytest.mark.parametrize(
    "replies",
    [
        ("12", "12.0", "twelve", "The answer is 12.", "$12$", "\\boxed{12}"),
        ("150 µV", "0.15 mV", "150 microvolts"),
        ("100 V", "100", "100 volts"),
        ("28.6%", "0.286"),
        ("1/2", "0.5", "50%", "one half"),
        ("3.43", "24/7", "3.429"),
        ("Doppler", "doppler.", "the Doppler"),
        ("Depth-first search", "DFS (depth first search)", "dfs"),
        ("(x+1)^2", "x^2 + 2x + 1"),
        ("\\frac{\\pi}{4}", "π/4"),
        ("2\\sqrt{2}", "2.83"),
    ],
)
def test_equal_answers_are_one_class(replies):
    assert set(grouped(*replies)) == {0}


@pytest.mark.parametrize(
    "replies",
    [
        ("12", "13", "-12", "120"),
        ("2023", "2024"),
        ("100 V", "100 mV", "100 A"),
        ("odd", "even"),
        ("n", "log n", "n + k", "n - k"),
        ("28.6", "28.6%"),
        ("x^2", "x^3"),
        ("MgS", "MgSO4"),
    ],
)
def test_different_answers_are_different_classes(replies):
    assert grouped(*replies) == tuple(range(len(replies)))


def test_a_bare_number_joins_no_unit_where_units_differ():
    assert grouped("100 V", "100 mV", "100") == (0, 1, 2)


def test_letters_are_classes_and_no_answer_has_none():
    answers = [Answer((letter,), "answered", "r") if letter else Answer((), "unclear", "r") for letter in ("B", None, "A", "B")]
    assert classes(CHOICE, answers) == (0, None, 1, 0)
    assert grouped("4 or 5", "", "4") == (None, None, 0)


def test_classes_do_not_depend_on_the_order_of_samples():
    replies = [
        "12",
        "12 V",
        "0.5",
        "1/2",
        "50%",
        "24/7",
        "3.429",
        "3.43",
        "dfs",
        "Depth-first search (DFS)",
        "x*2",
        "2x",
        "odd",
    ]
    sets = {frozenset(group) for group in _partition(replies)}
    for seed in range(5):
        shuffled = random.Random(seed).sample(replies, len(replies))
        assert {frozenset(group) for group in _partition(shuffled)} == sets


def _partition(replies: list[str]) -> list[list[str]]:
    found = grouped(*replies)
    return [[reply for reply, number in zip(replies, found, strict=True) if number == wanted] for wanted in set(found)]
