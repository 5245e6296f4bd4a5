"""Steps of a reply: where they begin, where they may not, and at which token they end."""

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ttc.records import Question, Reply, Sample
from verifiers.steps import MOST_STEPS, end_tokens, split, steps_of


def texts(response: str) -> list[str]:
    return [step.text for step in split(response)]


PIECES = [
    "A step.",
    " ",
    "\n",
    "\n\n",
    "- item",
    "1. one",
    "Step 2: two",
    "$x.",
    " Y$",
    "\\[",
    "\\]",
    "\\begin{a}",
    "\\end{a}",
    "```",
]
PIECES += ["| a | b |", "é", "😀 Done! ", "**Head:**", "\\(", "\\)", "\r\n", "\t", "No. 5", "## H\n"]


@given(st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=8))).map("".join), st.integers(1, 14))
def test_steps_rejoin_to_the_letter_none_is_blank_and_none_is_too_many(response, at_most):
    steps = split(response, at_most=at_most)
    assert "".join(step.text for step in steps) == (response if response.strip() else "")
    assert all(response[step.start : step.end] == step.text and step.text.strip() for step in steps)
    assert len(steps) <= at_most


@pytest.mark.parametrize(
    ("response", "starts"),
    [
        ("A: 7\nB: 7 + 5 = 12\nAnswer: 12", ["A:", "B:", "Answer:"]),
        ("One x = 1\ny = 2\n\nTwo", ["One", "Two"]),
        ("First do this:\n- a\n- b", ["First", "- b"]),
        ("Intro\n1. a\n   - inner\n   - inner\n2. b", ["Intro", "1.", "2."]),
        ("**Step 1:** read\nmore\n**Step 2:** sum", ["**Step 1", "**Step 2"]),
        ("### Step 1: Read\n\nBody\n\n### Step 2: Sum\n\nBody", ["### Step 1", "### Step 2"]),
        ("It is seen. Dr. Who, e.g. Fig. 3 says no. Hence B. Done.", ["It is", "Dr.", "Hence", "Done"]),
        ("Facts. 1. Heat rises. 2. Cold falls.", ["Facts", "1.", "2."]),
        ("It is 3.5 V. Then 4 V.", ["It is", "Then"]),
        ("It costs $5. Then $10. That is all.", ["It costs", "Then", "That"]),
    ],
)
def test_a_step_begins_at_structure_else_at_lines_else_at_sentences(response, starts):
    steps = texts(response)
    assert len(steps) == len(starts)
    assert all(step.startswith(start) for step, start in zip(steps, starts, strict=True))


@pytest.mark.parametrize(
    "whole",
    [
        "\\[ x = 1\n\n- y = 2 \\]",
        "\\begin{align}\nx &= 1\n\ny &= 2\n\\end{align}",
        "$$\n1. x\n\n2. y\n$$",
        "$p. Q! 5$",
        "\\(a. B\\)",
        "```\nx = 1\n\n- y\n```",
        "| a | b |\n|---|---|\n| 1 | 2 |",
    ],
)
def test_no_step_begins_inside_latex_a_table_or_code(whole):
    assert texts(f"So\n\n{whole}\n\nThus it ends.") == ["So\n\n", f"{whole}\n\n", "Thus it ends."]
    assert any(whole in step for step in texts(f"One is so. \n{whole}\nAnother is not."))


def test_of_too_many_steps_runs_of_equal_length_are_merged():
    lines = [f"line {number}\n" for number in range(26)]
    assert texts("".join(lines)) == ["".join(lines[at : at + 3]) for at in range(0, 26, 3)]
    assert len(texts("".join(lines))) <= MOST_STEPS


def test_a_growing_reply_keeps_the_steps_it_has():
    lines = [f"{name}: {number}\n" for number, name in enumerate("ABCDEFG")]
    for done in range(1, len(lines)):
        assert texts("".join(lines[: done + 1]))[:done] == lines[:done]


def test_long_replies_of_bad_form_are_split_in_linear_time():
    for piece in ("$a ", "e.g. A ", "\\( x", "\n \n", "| a\n", "- ", "**x", "```", "Step 1 "):
        assert split("x" + piece * 50_000)


def test_a_step_ends_at_the_token_of_its_last_visible_character():
    response = "Heat é.\n\nCold."
    pieces = ["He", "at", " ", "é", ".\n\n", "Cold", "."]
    offsets, at = [(0, 0)], 0
    for piece in pieces:
        offsets += [(at, at + len(piece))] * (2 if piece == "é" else 1)
        at += len(piece)
    assert end_tokens(split(response), offsets) == (6, 8)
    assert end_tokens(split("Heat é"), offsets[:6]) == (5,)


def test_a_step_behind_the_last_token_is_an_error_and_no_score_less():
    steps = split("One is.\nTwo is.")
    with pytest.raises(ValueError, match=re.escape("step 'Two is.' ends at character 15")):
        end_tokens(steps, [(0, 8), (8, 11)])


def test_end_tokens_agree_with_a_real_tokenizer():
    from tokenizers import Tokenizer, models, pre_tokenizers

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    tokenizer = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate(alphabet)}, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    response = "Für 5 Ω.\n\nDann é"
    ends = end_tokens(split(response), tokenizer.encode(response).offsets)
    assert ends == tuple(len(said.rstrip().encode()) - 1 for said in ("Für 5 Ω.\n\n", response))


def test_steps_that_a_reply_comes_with_are_kept_unless_it_is_read_whole():
    given = tuple(f"{n}.\nso\n\n" for n in range(14))
    reply = Reply(Question("q", "exam", "open", "?"), Sample("k", 0, "q", "".join(given)), steps=given)
    assert steps_of(reply) == list(given)
    assert steps_of(reply, at_most=1) == ["".join(given)]
    assert len(steps_of(replace(reply, steps=()))) == 7
