import pytest

from ttc.benchmarks.baselines import (
    HUMANS,
    always,
    baselines,
    most_frequent_letter,
    most_frequent_letter_by_subject,
    uniform_guess,
)
from ttc.benchmarks.exams import seal
from ttc.records import Gold, Question


def exam(*rows: tuple[str, int, tuple[str, ...]]):
    """Of (subject, number of options, accepted answers)."""
    questions = [
        Question(str(n), "mmmu", "multiple-choice" if options else "open", "", ("x",) * options, fields={"subject": subject})
        for n, (subject, options, _) in enumerate(rows)
    ]
    return seal("mmmu", "dev", questions, [Gold(str(n), answers) for n, (_, _, answers) in enumerate(rows)])


FIVE = exam(("Art", 4, ("A",)), ("Art", 2, ("B",)), ("Math", 4, ("B",)), ("Math", 4, ("A", "C")), ("Math", 0, ("7",)))


def test_a_uniform_guess_averages_over_actual_options_accepted_letters_and_open_questions():
    guess = uniform_guess(FIVE)
    assert guess.accuracy == pytest.approx((1 / 4 + 1 / 2 + 1 / 4 + 2 / 4 + 0) / 5)
    assert guess.deviation == pytest.approx((3 / 16 + 1 / 4 + 3 / 16 + 1 / 4) ** 0.5 / 5)


def test_the_most_frequent_letter_goes_to_the_first_on_a_tie_and_may_differ_by_subject():
    assert (most_frequent_letter(FIVE).name, most_frequent_letter(FIVE).right) == ("always A", 2)
    assert most_frequent_letter_by_subject(exam(("a", 2, ("A",)), ("b", 2, ("B",)), ("b", 2, ("B",)))).right == 3
    assert always(FIVE, "B").accuracy == 2 / 5


def test_a_gold_that_is_no_option_cannot_be_guessed():
    assert uniform_guess(exam(("Art", 1, ("B",)))).accuracy == 0


def test_hidden_golds_have_no_baseline_and_do_not_count():
    assert baselines(exam(("Art", 4, ()))) == ()
    assert uniform_guess(exam(("Art", 4, ()), ("Art", 2, ("A",)))).accuracy == 0.5


def test_every_human_band_names_its_source_and_lies_in_order():
    assert all(0 < band.low <= (band.median or band.low) <= band.high < 1 and "arXiv" in band.source for band in HUMANS)
