"""Tables: nine digits under row and column names, and symbols whose meaning one has to know."""

from collections.abc import Mapping
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

from ttc.pocket.drawing import CELL, SIDE, Sketch
from ttc.pocket.problem import Chain, Expression, Move, Rule, Subject, walk

if TYPE_CHECKING:
    from PIL.Image import Image

ROWS = "pqr"
COLUMNS = "123"

RULES = {
    "+": Rule("add the cell", lambda value, cell: Expression(value, "+", cell), is_knowledge=False, reads=True),
    "-": Rule("subtract the cell", lambda value, cell: Expression(value, "-", cell), is_knowledge=False, reads=True),
    "@": Rule("double", lambda value, _: Expression(value, "*", 2)),
    "#": Rule("add ten", lambda value, _: Expression(value, "+", 10)),
    "%": Rule("halve", lambda value, _: Expression(value, "/", 2)),
    "&": Rule("keep the last digit", lambda value, _: Expression(value, "mod", 10)),
    "$": Rule("add the two digits", lambda value, _: Expression(value // 10, "+", value % 10)),
    "~": Rule("triple", lambda value, _: Expression(value, "*", 3)),
    "!": Rule("take from ninety-nine", lambda value, _: Expression(99, "-", value)),
}

# some symbols are rare, so that a learner knows them less well
FREQUENCIES = {"@": 5, "#": 4, "%": 4, "~": 2, "&": 2, "$": 2, "!": 1}

NEEDS_TWO_DIGITS = frozenset("&$")


def write(rng: Random, steps: int) -> Chain:
    """A chain over cells and symbols, with at least one symbol and no symbol twice in a row."""
    names = [row + column for row in ROWS for column in COLUMNS]
    quantities = {name: rng.randrange(1, 10) for name in names}
    while True:
        cells = rng.sample(names, k=steps + 1)
        moves = []
        for cell in cells[1:]:
            if rng.random() < 0.5:
                moves.append(Move(rng.choices(list(FREQUENCIES), weights=list(FREQUENCIES.values()))[0]))
            else:
                moves.append(Move(rng.choice("+-"), cell))
        chain = tuple(moves)
        if _is_fair(quantities, cells[0], chain):
            told = ", ".join(f"{move.rule} {move.quantity}".rstrip() for move in chain)
            return Chain(quantities, cells[0], chain, f"<image 1> Take {cells[0]}, {told}. What results?")


def _is_fair(quantities: Mapping[str, int], start: str, moves: tuple[Move, ...]) -> bool:
    sums = walk(SUBJECT, quantities, start, moves)
    if sums is None or not any(RULES[move.rule].is_knowledge for move in moves):
        return False
    before = [quantities[start], *(expression.value or 0 for expression in sums)]
    small = any(move.rule in NEEDS_TWO_DIGITS and value < 10 for move, value in zip(moves, before, strict=False))
    repeated = any(one.rule == two.rule and not one.quantity for one, two in pairwise(moves))
    return not small and not repeated


def draw(quantities: Mapping[str, int], rng: Random) -> "Image":
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
    return sketch.finish()


SUBJECT = Subject("Tables", "Tables", "Symbols", RULES, write, draw)
