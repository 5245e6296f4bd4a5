"""Baselines: exact expectations on the released golds."""

from pathlib import Path

import pytest

from experiments.baselines import always, always_by, uniform_guess
from ttc.outputs import read
from ttc.records import Gold, Question


def pair(gold: str, options: int, subject: str = "") -> tuple[Question, Gold]:
    fields = {"subject": subject}
    return Question("q", "mmmu", "multiple-choice", "?", tuple("abcd"[:options]), fields=fields), Gold("q", (gold,))


def test_a_uniform_guess_is_the_mean_over_each_questions_own_options():
    open_question = (Question("o", "mmmu", "open", "?"), Gold("o", ("A",)))
    assert uniform_guess([pair("A", 2), pair("B", 4), open_question]) == pytest.approx((1 / 2 + 1 / 4) / 3)


def test_the_best_constant_letter_is_the_earlier_one_on_a_tie():
    found = always([pair("B", 4), pair("A", 4)])
    assert (found.letter, found.correct, found.n) == ("A", 1, 2)


def test_a_letter_per_subject_is_counted_on_the_golds_themselves():
    assert always_by([pair("A", 4, "x"), pair("B", 4, "y"), pair("B", 4, "y")], "subject") == 3


def test_mmmu_validation_baselines_are_the_known_ones(shared: Path):
    pairs = [(reply.question, reply.gold) for reply in read(shared / "data/mmmu/llava1.5_13b", "mmmu").replies]
    assert round(100 * uniform_guess(pairs), 2) == 24.70
    assert (always(pairs).letter, always(pairs).correct) == ("A", 242)
    assert always_by(pairs, "subject") == 305
