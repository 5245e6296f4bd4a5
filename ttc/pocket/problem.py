"""A pocket question before it is worded: what the image shows, and the chain of moves from it to the answer.

Everything true about a question is computed from its quantities and moves; wording, gold and checker all read them.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from random import Random
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from PIL.Image import Image

LARGEST = 99
"""Every number of the exam lies in 0 to this."""

SIGNS: Mapping[str, Callable[[int, int], int | None]] = {
    "+": lambda left, right: left + right,
    "-": lambda left, right: left - right,
    "*": lambda left, right: left * right,
    "/": lambda left, right: left // right if right and left % right == 0 else None,
    "mod": lambda left, right: left % right if right else None,
}


@dataclass(frozen=True, slots=True)
class Expression:
    """One sum as a reply writes it: `7 + 5`."""

    left: int
    sign: str
    right: int

    @property
    def value(self) -> int | None:
        """Its result; None where it is no whole number or the sign is unknown."""
        compute = SIGNS.get(self.sign)
        return None if compute is None else compute(self.left, self.right)

    def __str__(self) -> str:
        return f"{self.left} {self.sign} {self.right}"


@dataclass(frozen=True, slots=True)
class Sum:
    """One sum with what is held to be its result."""

    expression: Expression
    value: int


@dataclass(frozen=True, slots=True)
class Rule:
    """What a symbol or law does to the running value."""

    meaning: str
    """In words, for the card and for people."""
    expression: Callable[[int, int], Expression]
    """From the running value and the quantity the move names (0 if none) to the sum that is to be worked out."""
    is_knowledge: bool = True
    """The meaning stands neither in the image nor in the text, so a wrong sum shows missing knowledge."""
    reads: bool = False
    """The move names a quantity of the image."""


@dataclass(frozen=True, slots=True)
class Move:
    """One step of a chain."""

    rule: str
    """Key in the subject's rules."""
    quantity: str = ""
    """Name of the quantity it reads from the image; empty where it reads none."""

    @property
    def label(self) -> str:
        """How a reply names the step."""
        return self.quantity or self.rule


@dataclass(frozen=True, slots=True)
class Chain:
    """A start and moves over quantities, before options are added."""

    quantities: Mapping[str, int]
    """What the image shows, by name: the truth about perception."""
    start: str
    """Name of the quantity the chain starts with."""
    moves: tuple[Move, ...]
    text: str
    """The question."""


@dataclass(frozen=True)
class Subject:
    """One kind of image, with its knowledge."""

    name: str
    image_type: str
    subfield: str
    rules: Mapping[str, Rule]
    write: Callable[[Random, int], Chain]
    """A chain with that many moves."""
    draw: Callable[[Mapping[str, int], Random], "tuple[Image, ...]"]
    """The pictures of the quantities, or the frames of their video: 48 x 48 RGB each."""
    draw_option: Callable[[int, Random], "Image"] | None = None
    """The picture of an answer from 1 to 9, for options that are images; None where options are always text."""
    is_video: bool = False
    """The pictures are the frames of one video."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One question of the exam with all that is true about it."""

    split: str
    subject: Subject
    index: int
    """0-based number within split and subject."""
    level: str
    chain: Chain
    options: tuple[int, ...] = field(default=())
    """In order; empty for an open question."""
    is_pictured: bool = False
    """The options are shown as images, so that the answer is a letter."""

    @property
    def id(self) -> str:
        """As in MMMU: split, subject and number from 1."""
        return f"{self.split}_{self.subject.name}_{self.index + 1}"

    @property
    def sums(self) -> tuple[Sum, ...]:
        """The right sum of every move, in order."""
        return walk(self.subject.rules, self.chain.quantities, self.chain.start, self.chain.moves) or ()

    @property
    def answer(self) -> int:
        """The value at the end of the chain."""
        return self.sums[-1].value


def walk(
    rules: Mapping[str, Rule], quantities: Mapping[str, int], start: str, moves: tuple[Move, ...]
) -> tuple[Sum, ...] | None:
    """The sum of each move; None where a value on the way is no whole number from 0 to `LARGEST`."""
    value, sums = quantities[start], []
    for move in moves:
        expression = rules[move.rule].expression(value, quantities.get(move.quantity, 0))
        result = expression.value
        if result is None or not 0 <= result <= LARGEST:
            return None
        sums.append(Sum(expression, result))
        value = result
    return tuple(sums)
