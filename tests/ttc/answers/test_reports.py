"""Faults that users reported of public evaluators, one test each: what ours does with the same input."""

import pytest

from ttc.answers import extract
from ttc.judges.rules import Rules
from ttc.official import OfficialRules
from ttc.records import Answer, Gold, Question, Sample

FOUR = ("glycolysis", "photosynthesis", "transcription", "translation")
TEN = tuple(f"{element} decay" for element in ("U", "Th", "Ra", "Rn", "Po", "Pb", "Bi", "Tl", "Hg", "Au"))


def read(reply: str, options: tuple[str, ...] = FOUR) -> Answer:
    return extract(Question("q", "mmmu_pro", "multiple-choice", "", options), reply)


def credit(gold: str, reply: str, options: tuple[str, ...] = ()) -> float:
    question = Question("q", "mmmu", "multiple-choice" if options else "open", "", options)
    return Rules().judge(question, Gold("q", (gold,)), extract(question, reply)).credit


def test_a_thousand_refusals_score_nothing_and_are_counted_as_refusals():
    answers = [read("Sorry, I cannot recognize the image.") for _ in range(1000)]
    assert {(answer.values, answer.status) for answer in answers} == {((), "refused")}
    rules = OfficialRules("mmmu")
    assert {rules.choice("Sorry.", FOUR).rule for _ in range(10)} == {"random"}, "where the published rules draw letters"


def test_an_option_discussed_after_the_answer_is_not_the_answer():
    assert read("(B) one half. Option (A) would need two carriers.", ("1/4", "1/2")).value == "B"


def test_letters_reach_as_far_as_the_options_do():
    for count in (1, 2, 7, 12):
        options = tuple(f"case {number}" for number in range(count))
        last = "ABCDEFGHIJKL"[count - 1]
        assert read(f"Answer: {last}", options).value == last
    assert read("Answer: M", tuple(f"case {number}" for number in range(12))).value is None


def test_an_exact_open_answer_is_right():
    assert credit("60", "60") == 1
    assert credit("hepatitis", "The answer is hepatitis") == 1


def test_thinking_does_not_reach_the_score_with_or_without_its_opening_tag():
    assert read("<think>maybe (A)</think> (C)").value == "C"
    assert read("it could be A ... </think> C").value == "C"
    assert read("<think> so it is B").value is None


@pytest.mark.parametrize(("gold", "reply"), [("251", "The total is 143 msec, see area A"), ("12.97", "A")])
def test_a_letter_never_scores_an_open_question(gold, reply):
    assert credit(gold, reply) == 0


def test_the_capital_of_the_word_answer_is_no_option_and_an_echoed_template_is_read():
    assert read("Reasoning.\nAnswer: $B").value == "B"
    assert read("Answer").value is None


def test_an_option_named_in_passing_does_not_beat_the_stated_letter():
    assert read("In glycolysis, glucose is split. " * 20 + "\nThis differs here.\nAnswer: C").value == "C"


@pytest.mark.parametrize(
    "reply", ["ANSWER: None of the above", "ANSWER: Don't know", "I cannot determine the answer.", "Error: rate limited"]
)
def test_words_that_begin_with_an_option_letter_are_not_that_option(reply):
    assert read(reply).value is None


def test_two_letters_are_no_answer_and_a_discarded_one_does_not_count():
    assert credit("A", "ANSWER: AB", FOUR) == 0
    assert read("ANSWER: A ... actually ANSWER: B").value == "B"
    assert read("Answer: A\nOn reflection:\nAnswer: B").value == "B"


def test_the_answer_is_found_below_the_first_line_and_in_any_case():
    assert read("Let me look.\n\nAnswer: B").value == "B"
    assert read("answer: a,").value == "A"


def test_only_option_c_is_right_is_read_in_chinese():
    assert read("选项A看起来合理，但只有选项C是正确的。").value == "C"


def test_a_decimal_against_a_fraction_is_decided_by_a_stated_tolerance():
    question = Question("q", "mmmu", "open", "")
    assert Rules().judge(question, Gold("q", ("33.3",)), extract(question, "100/3")).rule == "rules: number within 0.001"


def test_what_cannot_be_parsed_is_incorrect_and_flagged():
    answer = read("The leaf is green and the sky is blue.")
    assert (answer.status, answer.values, answer.rule) == ("unclear", (), "none")


def test_the_pronoun_i_is_not_option_i():
    assert read("The answer is C because I computed the integral.", TEN).value == "C"
    assert read("I'm sorry, I can't assist with that.", TEN).status == "refused"
    assert OfficialRules("mmmu_pro").choice("I'm sorry, I can't assist with that.", TEN).letter == "I"


def test_the_last_capital_of_a_word_is_not_an_option():
    assert read("H. FCC {111}", (*TEN[:7], "FCC {111}")).value == "H"
    assert read("A. TRUE", ("TRUE", "FALSE", "x", "y", "z")).value == "A"


def test_an_empty_reply_is_never_credited():
    for gold in ("blind spot", "E", "", "0"):
        assert credit(gold, "") == 0
        assert credit(gold, "  \n") == 0


def test_a_letter_with_its_label_is_right_without_the_question_text():
    assert credit("B", "Answer: B", FOUR) == 1


def test_several_golds_are_accepted_where_the_file_holds_them_as_a_string():
    assert credit("['24/7', '3.429']", "3.429") == 1
    assert credit("['$MgS$', 'MgS']", "MgS") == 1


def test_golds_and_options_that_look_like_labels():
    assert credit("E", "E") == 1
    assert read("B cell", ("T cell", "mast cell", "NK cell", "B cell")).value == "D"
    shifted = ("A. It rises", "B. It falls", "D. It should be still", "E. It turns", "F. It stops")
    assert read("D. It should be still", shifted).value == "C"
    assert read("D", shifted).value == "D"


def test_a_failed_request_is_no_answer_and_no_letter():
    question = Question("q", "mmmu", "multiple-choice", "", FOUR)
    assert extract(question, Sample("k", 0, "q", "", status="rejected", reason="prompt too long")).status == "failed"
