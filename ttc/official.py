"""The answer rules that MMMU and MMMU-Pro were published with, fault for fault, so that published numbers can be met.

They guess a letter where they understand nothing and credit substrings: see `ttc.answers` for rules that do neither. One
`OfficialRules` serves one scored set, rows in the benchmark's own order, because its random letters come from one generator.

Source: the released evaluators of MMMU (Yue et al. 2023, arXiv:2311.16502) and MMMU-Pro (Yue et al. 2024, arXiv:2409.02813).
"""

import random
import re
from collections.abc import Iterable, Sequence
from typing import Literal, NamedTuple

from ttc.records import LETTERS, Gold, Question, Verdict

SUBJECTS = (
    "Accounting",
    "Agriculture",
    "Architecture_and_Engineering",
    "Art",
    "Art_Theory",
    "Basic_Medical_Science",
    "Biology",
    "Chemistry",
    "Clinical_Medicine",
    "Computer_Science",
    "Design",
    "Diagnostics_and_Laboratory_Medicine",
    "Economics",
    "Electronics",
    "Energy_and_Power",
    "Finance",
    "Geography",
    "History",
    "Literature",
    "Manage",
    "Marketing",
    "Materials",
    "Math",
    "Mechanical_Engineering",
    "Music",
    "Pharmacy",
    "Physics",
    "Psychology",
    "Public_Health",
    "Sociology",
)
"""MMMU's subjects in the order in which its evaluator meets them; the random letters depend on it."""

_STRIPPED = ",.!?;:'"
_CUES = ("could be ", "so ", "is ", "thus ", "therefore ", "final ", "answer ", "result ")
_GROUPED = re.compile(r"-?\b\d{1,3}(?:,\d{3})+\b")
_SCIENTIFIC = re.compile(r"-?\d+(?:\.\d+)?[eE][+-]?\d+")
_SIMPLE = re.compile(r"-?(?:\d+\.\d+|\.\d+|\d+\b)(?![eE][+-]?\d)(?![,\d])")

Value = str | float


class Choice(NamedTuple):
    """A letter and how it was found; the rule `random` means that nothing was understood."""

    letter: str
    rule: str


class OfficialRules:
    """The rules of one benchmark and the generator behind their random letters.

    Args:
        rules: whose evaluator to follow.
        seed: of the generator; the benchmarks use 42.
    """

    def __init__(self, rules: Literal["mmmu", "mmmu_pro"], seed: int = 42) -> None:
        self.rules = rules
        self._random = random.Random(seed)

    def choice(self, response: str, options: Sequence[str]) -> Choice:
        """The letter these rules read from a reply; a random one, from this object's generator, where they read none."""
        letters = LETTERS[: len(options)]
        if self.rules == "mmmu_pro" and "Answer:" in response:
            rest = response.rpartition("Answer:")[2]
            found = [letter for letter in letters if letter in rest]
            if len(found) == 1:
                return Choice(found[0], "answer-line")
        for mark in _STRIPPED:
            response = response.strip(mark)
        response = f" {response} "

        for rule, form, placed in self._forms():
            found = [letter for letter in letters if form.format(letter) in response]
            if found:
                # with several candidates, the place is looked up in a form that may not be the one that matched
                return Choice(max(found, key=lambda letter: response.rfind(placed.format(letter))), rule)
        if len(response.split()) > 5:
            lowered = response.lower()
            texts = {letter: option.lower() for letter, option in zip(letters, options, strict=True)}
            found = [letter for letter in letters if texts[letter] in lowered]
            if found:
                return Choice(max(found, key=lambda letter: lowered.rfind(texts[letter])), "option-text")
        return Choice(self._random.choice(letters), "random")

    def _forms(self) -> tuple[tuple[str, str, str], ...]:
        """Name of each letter form, the form, and the form that places it among several candidates."""
        if self.rules == "mmmu":
            return ("bracket", "({})", "({})"), ("blanks", " {} ", " {} ")
        return ("bracket", "({})", "({})"), ("blank", "{} ", " {} "), ("dot", "{}.", " {} ")

    def open_values(self, response: str) -> tuple[Value, ...]:
        """Every string and number these rules let an open reply stand by, without repeats."""
        tails = _tails(response)
        numbers = [number for tail in tails for number in _numbers(tail)]
        return tuple(dict.fromkeys(value for text in (*tails, *numbers) for value in _normalised(text)))

    def open_correct(self, gold: str | Iterable[str], values: Iterable[Value]) -> bool:
        """Whether a gold string is contained in a value, or a gold number equals one."""
        golds = [gold] if isinstance(gold, str) else gold
        accepted = [value for text in golds for value in _normalised(text)]
        strings = [value for value in accepted if isinstance(value, str)]
        return any(any(text in value for text in strings) if isinstance(value, str) else value in accepted for value in values)

    def grade(self, question: Question, gold: Gold, response: str) -> Verdict:
        """Read and score one reply. Call once per row, in order: a random letter advances the generator."""
        if question.options:
            letter, rule = self.choice(response, question.options)
            return Verdict(float(letter in gold.answers), rule=f"{self.rules}/{rule}")
        return Verdict(float(self.open_correct(gold.answers, self.open_values(response))), rule=f"{self.rules}/open")


def _tails(response: str) -> list[str]:
    """What follows the last cue in each line; the whole reply where no line has a cue.

    The original also splits at a full stop before a capital, after lower-casing, so it never does.
    """
    response = response.strip().strip(".").lower()
    lines = response.split("\n")
    tails = []
    for number, line in enumerate(lines, start=1):
        cues = (*_CUES, "=") if number == len(lines) else _CUES
        found = [line.rpartition(cue)[2].strip() for cue in cues if cue in line]
        # an empty tail gives way to the next cue's, however long
        shortest = ""
        for tail in found:
            if not shortest or len(tail) < len(shortest):
                shortest = tail
        if shortest and shortest not in _STRIPPED:
            tails.append(shortest)
    return tails or [response]


def _numbers(text: str) -> list[str]:
    return [number for pattern in (_GROUPED, _SCIENTIFIC, _SIMPLE) for number in pattern.findall(text)]


def _normalised(text: str) -> list[Value]:
    text = text.strip()
    try:
        return [round(float(text.replace(",", "")), 2)]
    except ValueError:
        text = text.lower()
    return [f" {text}", f"{text} "] if len(text) == 1 else [text]
