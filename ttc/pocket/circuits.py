"""Circuits: five labelled resistors and a current, and the laws that join them."""

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING

from ttc.pocket.drawing import CELL, Sketch
from ttc.pocket.problem import Chain, Expression, Move, Rule, Subject, walk

if TYPE_CHECKING:
    from PIL.Image import Image

PLACES = {"R1": (0, 1), "R2": (0, 2), "R3": (1, 3), "R4": (3, 2), "R5": (3, 1), "I": (2, 0)}
"""Row and column of the cell that shows each value."""

LABELS = {"R1": (14, 13), "R2": (26, 13), "R3": (27, 19), "R4": (26, 30), "R5": (14, 30), "I": (13, 24)}
"""Top left pixel of each label, inside the loop."""

RULES = {
    "series": Rule("in series resistances add", lambda value, part: Expression(value, "+", part), reads=True),
    "two": Rule("two equal parts in parallel have half the resistance", lambda value, _: Expression(value, "/", 2)),
    "three": Rule("three equal parts in parallel have a third of it", lambda value, _: Expression(value, "/", 3)),
    "voltage": Rule("voltage is resistance times current", lambda value, part: Expression(value, "*", part), reads=True),
    "power": Rule("power is voltage times current", lambda value, part: Expression(value, "*", part), reads=True),
}

ASKED = {"voltage": "voltage", "power": "power"}


def write(rng: Random, steps: int) -> Chain:
    """Resistors joined one by one, then perhaps the voltage, then perhaps the power."""
    while True:
        quantities = {name: rng.randrange(1, 10) for name in PLACES}
        tail = [Move("voltage", "I"), Move("power", "I")][: min(rng.choice((0, 0, 1, 1, 2)), steps)]
        resistors = rng.sample([name for name in PLACES if name != "I"], k=5)
        start = resistors.pop()
        moves: list[Move] = []
        while len(moves) < steps - len(tail):
            # halves and thirds are rarer than joins, and whole only now and then
            rule = rng.choices(("series", "two", "three"), weights=(3, 2, 1))[0]
            if rule == "series" and not resistors:
                break
            moves.append(Move(rule, resistors.pop() if rule == "series" else ""))
        chain = (*moves, *tail)
        if len(chain) == steps and walk(RULES, quantities, start, chain) is not None:
            return Chain(quantities, start, chain, _words(start, chain))


def _words(start: str, moves: tuple[Move, ...]) -> str:
    told = {"series": " in series", "two": "two such in parallel", "three": "three such in parallel"}
    parts = [move.quantity + told[move.rule] for move in moves if move.rule in told]
    asked = ASKED.get(moves[-1].rule, "resistance")
    return f"<image 1> Take {', '.join([start, *parts])}. What is the {asked}?"


def draw(quantities: Mapping[str, int], rng: Random) -> "tuple[Image, ...]":
    """A loop of wire with boxes for resistors and a round source that states its current."""
    sketch = Sketch(rng)
    sketch.draw.rectangle([6, 6, 41, 41], outline=sketch.ink)
    for name, value in quantities.items():
        row, column = PLACES[name]
        frame = [column * CELL, row * CELL, column * CELL + CELL - 1, row * CELL + CELL - 1]
        shape = sketch.draw.ellipse if name == "I" else sketch.draw.rectangle
        shape(frame, fill=sketch.paper, outline=sketch.ink)
        sketch.digit(value, row, column)
        sketch.label(name, *LABELS[name])
    return (sketch.finish(),)


SUBJECT = Subject("Circuits", "Diagrams", "Electricity", RULES, write, draw)
