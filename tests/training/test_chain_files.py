"""Chains go to a file and come back."""

from dataclasses import replace

import pytest

from training.chain_files import read_chains, write_chains
from training.chains import LabelledChain
from ttc.errors import UserError
from ttc.records import Question

QUESTION = Question("q1", "exam", "open", "How many?")
QUESTIONS = [QUESTION, replace(QUESTION, benchmark="exam_pro", text="How many more?")]


def chain(**changes) -> LabelledChain:
    settings = {
        "question": QUESTION,
        "steps": ("one\u2028\n", "two"),
        "labels": (True, False),
        "kinds": (None, "calculation"),
        "origin": "perturbed",
        "source": "exam",
        "group": "q1",
    }
    return LabelledChain(**(settings | changes))


def test_chains_come_back_as_they_were(tmp_path):
    chains = [
        chain(),
        chain(labels=(True, None), kinds=(None, None), origin="natural", is_right=True, sample_id="key/3"),
        chain(question=QUESTIONS[1]),
    ]
    assert write_chains(tmp_path / "chains.jsonl", chains) == 3
    assert read_chains(tmp_path / "chains.jsonl", QUESTIONS) == chains


def test_a_file_that_does_not_fit_is_refused_with_its_line(tmp_path):
    path = tmp_path / "chains.jsonl"
    write_chains(path, [chain(), chain()])
    with pytest.raises(UserError, match=r"line 1: there is no question 'q1'"):
        read_chains(path, [])
    first, second = path.read_text(encoding="utf-8").split("\n")[:2]
    path.write_text(first + "\n" + second.replace("[true, false]", "[true]"), encoding="utf-8")
    with pytest.raises(UserError, match=r"line 2: .*2 steps, 1 labels"):
        read_chains(path, QUESTIONS)
    with pytest.raises(UserError, match="No such file"):
        read_chains(tmp_path / "none.jsonl", QUESTIONS)
