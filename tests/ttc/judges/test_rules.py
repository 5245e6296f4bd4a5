"""The judge by rules."""

import pytest
from pydantic import ValidationError

from ttc.answers import extract
from ttc.judges.rules import Rules, accepted_answers
from ttc.records import Answer, Gold, Question

OPEN = Question("o", "mmmu", "open", "?")
TWINS = Question("q", "mmmu_pro", "multiple-choice", "?", ("rate", "same text", "same text"))


def judged(gold: str | tuple[str, ...], reply: str, rules: Rules = Rules()):
    return rules.judge(OPEN, Gold("o", (gold,) if isinstance(gold, str) else gold), extract(OPEN, reply))


@pytest.mark.parametrize("status", ["empty", "refused", "abstained", "truncated", "unclear", "failed"])
def test_nothing_without_an_answer_is_ever_credited(status):
    for question, gold in ((OPEN, ""), (OPEN, "none"), (TWINS, "A")):
        verdict = Rules().judge(question, Gold("o", (gold,)), Answer((), status, "r"))
        assert (verdict.credit, verdict.status, verdict.rule) == (0, "graded", f"rules: {status}")
    assert Rules().judge(OPEN, Gold("o", ("blind spot",)), Answer(("",), "answered", "r")).credit == 0


def test_a_hidden_gold_leaves_the_row_ungraded():
    assert Rules().judge(OPEN, Gold("o", ()), extract(OPEN, "12")).status == "ungraded"


def test_a_text_that_stands_under_two_letters_counts_by_the_letter_of_the_key_only():
    gold = Gold("q", ("B",))
    assert Rules().judge(TWINS, gold, extract(TWINS, "B")).credit == 1
    assert Rules().judge(TWINS, gold, extract(TWINS, "C")).credit == 0
    assert extract(TWINS, "same text").status == "unclear"


def test_a_number_within_the_stated_tolerance_is_right_and_the_verdict_states_it():
    verdict = judged("33.3", "100/3")
    assert (verdict.credit, verdict.rule) == (1, "rules: number within 0.001")
    assert judged("1.000", "1.02").credit == 0
    assert judged("1.000", "1.02", Rules(relative_tolerance=0.05)).credit == 1
    assert judged("8.4", "8.41", Rules(relative_tolerance=0)).credit == 1, "the gold's own rounding stands"


def test_whole_numbers_must_be_equal_however_large():
    assert judged("2024", "2023").credit == 0
    assert judged("20000000", "20000001").credit == 0
    assert judged("20000000", "20 million").credit == 1


def test_golds_with_several_answers_accept_each_and_all_together():
    gold = ("Tampa", "Florida")
    assert [judged(gold, reply).credit for reply in ("Tampa", "florida", "Tampa, Florida", "Tampa, Texas")] == [1, 1, 1, 0]


def test_a_gold_list_left_as_its_repr_is_read_as_a_list():
    assert accepted_answers(Gold("o", ("['24/7', '3.429']",))) == ("24/7", "3.429")
    assert accepted_answers(Gold("o", ("[0, 1)",))) == ("[0, 1)",)
    assert judged("['24/7', '3.429']", "3.429").credit == 1
    assert judged("['24/7', '3.429']", "3.5").credit == 0


def test_formulas_are_compared_by_value_unless_switched_off():
    assert judged("\\frac{1}{\\sqrt{LC}}", "\\sqrt{\\frac{1}{LC}}").rule == "rules: formula"
    assert judged("\\frac{1}{\\sqrt{LC}}", "\\sqrt{LC}").credit == 0
    assert judged("(x+1)^2", "x^2+2x+1", Rules(formulas=False)).credit == 0


def test_judging_works_off_the_main_thread():
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(1) as pool:
        assert pool.submit(judged, "(x+1)^2", "x^2+2x+1").result().credit == 1


def test_settings_are_checked():
    with pytest.raises(ValidationError):
        Rules(relative_tolerance=0.5)
    with pytest.raises(ValidationError):
        Rules.model_validate({"kind": "rules", "fuzzy": True})
