"""What is right and wrong in each step of a reply, known from the question's own quantities and rules.

A step is judged on its own: one that works correctly on an earlier wrong value is right, but no longer on track.
"""

import re
from dataclasses import dataclass
from typing import Literal

from ttc.pocket.problem import Expression, Move, Problem
from ttc.records import LETTERS

Kind = Literal["right", "perception", "knowledge", "reasoning"]

START = re.compile(r"(?P<label>\S+): (?P<value>\d+)")
SUM = re.compile(r"(?P<label>\S+): (?P<left>\d+) (?P<sign>\S+) (?P<right>\d+) = (?P<value>\d+)")
OPTION = re.compile(r"(?P<letter>[A-Z]): (?P<value>\d+) (?P<verdict>yes|no)")
ANSWER = re.compile(r"Answer: (?P<answer>\S+)")


@dataclass(frozen=True, slots=True)
class StepCheck:
    """One line of a reply against the truth."""

    text: str
    kind: Kind
    """`right`, or what the first error in the line is: a value read wrongly, a rule misunderstood, or anything else."""
    on_track: bool
    """This step and all before it are right."""
    reads: bool
    """It says what the image shows, rightly or not: without the image nobody can tell."""


def check(source: Problem, reply: str) -> tuple[StepCheck, ...]:
    """Every non-empty line of any reply, in order. A line that is no step of the exam's form is an error of reasoning."""
    reader = _Reader(source)
    checks, on_track = [], True
    for line in (line.strip() for line in reply.splitlines()):
        if line:
            kind = reader.judge(line)
            on_track = on_track and kind == "right"
            checks.append(StepCheck(line, kind, on_track, reader.reads(line)))
    return tuple(checks)


class _Reader:
    """Follows a reply along the chain of its question."""

    def __init__(self, source: Problem) -> None:
        self.source = source
        self.truth = source.chain.quantities
        self.done = 0
        """Steps taken; the start is the first."""
        self.value: int | None = None
        """Where the reply says it stands."""
        self.compared = 0
        """Pictured options looked at."""
        self.found = ""
        """Letter of the pictured option that the reply says shows the result."""

    def judge(self, line: str) -> Kind:
        if match := ANSWER.fullmatch(line):
            return self._answer(match["answer"])
        if match := START.fullmatch(line):
            return self._start(match["label"], int(match["value"]))
        if match := SUM.fullmatch(line):
            said = Expression(int(match["left"]), match["sign"], int(match["right"]))
            return self._sum(match["label"], said, int(match["value"]))
        if match := OPTION.fullmatch(line):
            return self._option(match["letter"], int(match["value"]), match["verdict"] == "yes")
        return "reasoning"

    def reads(self, line: str) -> bool:
        """Whether the line names a quantity or an option that the image shows."""
        match = SUM.fullmatch(line) or START.fullmatch(line)
        return bool(OPTION.fullmatch(line)) or (match is not None and match["label"] in self.truth)

    def _start(self, label: str, value: int) -> Kind:
        first = self.done == 0
        self.done, self.value = max(self.done, 1), value
        if label in self.truth and value != self.truth[label]:
            return "perception"
        return "right" if first and label == self.source.chain.start else "reasoning"

    def _sum(self, label: str, said: Expression, value: int) -> Kind:
        before, move = self.value, self._take(label)
        self.value = value
        if move is None:
            return "reasoning"
        rule = self.source.subject.rules[move.rule]
        if rule.reads and said.right != self.truth[move.quantity]:
            return "perception"
        due = rule.expression(before if before is not None else said.left, self.truth.get(move.quantity, 0))
        if said != due and (said.sign != due.sign or self._is_another_rule(move, said, before)):
            return "knowledge" if rule.is_knowledge else "reasoning"
        return "right" if said == due and value == said.value and before is not None else "reasoning"

    def _take(self, label: str) -> Move | None:
        """The move a label stands for, if it is the next; the reader then stands behind it, also where steps were left out."""
        moves = self.source.chain.moves
        for place in range(max(self.done, 1) - 1, len(moves)):
            if moves[place].label == label:
                is_next = place == self.done - 1
                self.done = place + 2
                return moves[place] if is_next else None
        return None

    def _is_another_rule(self, move: Move, said: Expression, before: int | None) -> bool:
        """The sum is what another symbol or law would ask for."""
        rules = self.source.subject.rules
        read = self.truth.get(move.quantity, 0)
        return before is not None and any(
            rule.expression(before, read) == said for name, rule in rules.items() if name != move.rule and rule.is_knowledge
        )

    def _option(self, letter: str, value: int, is_found: bool) -> Kind:
        place = LETTERS.index(letter)
        is_next = self._is_finished and not self.found and place == self.compared
        if not self.source.is_pictured or place >= len(self.source.options) or not is_next:
            return "reasoning"
        self.compared += 1
        self.found = letter if is_found else ""
        if value != self.source.options[place]:
            return "perception"
        return "right" if is_found == (value == self.value) else "reasoning"

    @property
    def _is_finished(self) -> bool:
        return self.done == len(self.source.chain.moves) + 1

    def _answer(self, said: str) -> Kind:
        if self.done == 0:  # a bare answer shows no step to trace: it is held against the truth
            return "right" if self._stands_for(said) == self.source.answer else "reasoning"
        if self.source.is_pictured:
            return "right" if self.found == said else "reasoning"
        return "right" if self._is_finished and self._stands_for(said) == self.value else "reasoning"

    def _stands_for(self, said: str) -> int | None:
        """The number that an answer names, itself or by the letter of an option."""
        if said.isdecimal():
            return int(said)
        place = LETTERS.find(said) if len(said) == 1 else -1
        options = self.source.options
        return options[place] if 0 <= place < len(options) else None
