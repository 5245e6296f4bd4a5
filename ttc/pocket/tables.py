"""Tables: nine digits under row and column names, and symbols whose meaning one has to know."""

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING

from ttc.pocket import chains
from ttc.pocket.chains import Wording
from ttc.pocket.drawing import CELL, SIDE, Sketch
from ttc.pocket.problem import Chain, Expression, Rule, Subject

if TYPE_CHECKING:
    from PIL.Image import Image

ROWS = "pqr"
COLUMNS = "123"

RULES = {
    **chains.ARITHMETIC,
    "@": Rule("double", lambda value, _: Expression(value, "*", 2)),
    "#": Rule("add ten", lambda value, _: Expression(value, "+", 10)),
    "%": Rule("halve", lambda value, _: Expression(value, "/", 2)),
    "&": Rule("keep the last digit", lambda value, _: Expression(value, "mod", 10)),
    "$": Rule("add the two digits", lambda value, _: Expression(value // 10, "+", value % 10)),
    "~": Rule("triple", lambda value, _: Expression(value, "*", 3)),
    "!": Rule("take from ninety-nine", lambda value, _: Expression(99, "-", value)),
}

WORDING = Wording(RULES, {"@": 5, "#": 4, "%": 4, "~": 2, "&": 2, "$": 2, "!": 1}, needs_two_digits=frozenset("&$"))


def write(rng: Random, steps: int) -> Chain:
    """A chain over cells and symbols."""
    quantities = {row + column: rng.randrange(1, 10) for row in ROWS for column in COLUMNS}
    return chains.write(rng, steps, quantities, WORDING, "<image 1> ", "What results?")


def draw(quantities: Mapping[str, int], rng: Random) -> "tuple[Image, ...]":
    """A ruled table with its names in the first row and column."""
    sketch = Sketch(rng)
    for line in range(1, 4):
        sketch.draw.line([(line * CELL, 0), (line * CELL, SIDE)], fill=sketch.ink)
        sketch.draw.line([(0, line * CELL), (SIDE, line * CELL)], fill=sketch.ink)
    for n in range(3):
        sketch.label(COLUMNS[n], (n + 1) * CELL + 5, 4)
        sketch.label(ROWS[n], 5, (n + 1) * CELL + 4)
    for name, value in quantities.items():
        sketch.digit(value, ROWS.index(name[0]) + 1, COLUMNS.index(name[1]) + 1)
    return (sketch.finish(),)


SUBJECT = Subject("Tables", "Tables", "Symbols", RULES, write, draw)
