"""What an answer's status says about the sample it was read from."""

import pytest

from ttc.answers import extract
from ttc.records import Question, Sample

PROCESSES = ("glycolysis", "photosynthesis", "transcription", "translation")
CHOICE = Question("q", "mmmu", "multiple-choice", "?", PROCESSES)
OPEN = Question("o", "mmvu", "open", "?")


def sample(text: str, **fields) -> Sample:
    return Sample("k", 0, "q", text, **fields)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("", "empty"),
        (" \n\t", "empty"),
        ("I'm sorry, I can't help with that.", "refused"),
        ("I cannot see the image.", "refused"),
        ("Please upload the image.", "refused"),
        ("I don't know.", "abstained"),
        ("There is not enough information to decide.", "abstained"),
        ("N/A", "abstained"),
        ("The answer is A or B.", "unclear"),
        ("The picture shows a leaf in the sun.", "unclear"),
        ("<think>The answer is B", "truncated"),
    ],
)
def test_a_reply_without_an_answer_says_why(reply, status):
    for question in (CHOICE, OPEN):
        answer = extract(question, reply)
        if question is CHOICE or status in ("empty", "refused", "abstained", "truncated"):
            assert (answer.values, answer.status) == ((), status)
            assert answer.rule


@pytest.mark.parametrize(("status", "expected"), [("refused", "refused"), ("rejected", "failed"), ("media", "failed")])
def test_a_sample_that_is_no_reply_has_no_answer_whatever_its_text(status, expected):
    answer = extract(CHOICE, sample("Answer: B", status=status))
    assert (answer.values, answer.status) == ((), expected)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "Let us see. Option A is glycolysis. Option B is",
        "A. glycolysis\nB. photosynthesis",
        "It is photosynthesis",
        "The process",
    ],
)
def test_a_reply_cut_before_its_statement_is_truncated(text):
    assert extract(CHOICE, sample(text, finish="length")).status == "truncated"


def test_a_reply_cut_after_its_statement_is_answered():
    assert extract(CHOICE, sample("Answer: B\n\nBecause the leaf is in the li", finish="length")).value == "B"
    assert extract(OPEN, sample("The answer is 12. This follows from the fact th", finish="length")).value == "12"


def test_a_number_cut_in_the_middle_is_no_answer():
    assert extract(OPEN, sample("The answer is 12", finish="length")).status == "truncated"
    assert extract(OPEN, sample("The answer is 12", finish="stop")).value == "12"


def test_the_same_rule_reads_a_sample_and_its_text():
    for text in ("Answer: B", "It is photosynthesis.", "no idea"):
        assert extract(CHOICE, sample(text, finish="stop")) == extract(CHOICE, text)


def test_a_chain_stands_by_each_of_its_values():
    assert extract(OPEN, "The ratio is 24/7 ≈ 3.429").values == ("24/7", "3.429")
    assert extract(OPEN, "24/7 (about 3.429)").values == ("24/7", "3.429")


def test_numbers_are_written_in_one_way():
    written = {
        "1,250": "1250",
        "−120": "-120",
        "$2 million": "2000000",
        "28.6%": "28.6%",
        "$16,000.50": "16000.50",
        "1/4": "1/4",
    }
    assert {reply: extract(OPEN, reply).value for reply in written} == written


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("The result is\n12 V", "12 V"),
        ("Therefore, 12", "12"),
        ("The letter is C.", "C"),
        ("The value rounds to 3.43", "3.43"),
        ("It increased by 5%.", "5%"),
        ("Not 10 but 12", "12"),
        ("A Stirling engine is shown.", "A Stirling engine"),
        ("The answer is 12, but it could be 13.", "12"),
        ("I am not sure, but I think it's the Doppler effect.", "Doppler effect"),
        ("The arrow points to a carbon atom", "a carbon atom"),
        ("x = 4 or x = 5", None),
        ("It cannot be 12.", None),
        ("I don't think it is 12.", None),
    ],
)
def test_an_open_reply_stands_by_what_it_says(reply, value):
    assert extract(OPEN, reply).value == value
