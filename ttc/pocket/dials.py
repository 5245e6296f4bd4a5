"""Dials: a meter of four dials, and what clocks and gears do to a number. Some questions show their options as dials."""

from collections.abc import Mapping
from math import cos, pi, sin
from random import Random
from typing import TYPE_CHECKING

from ttc.pocket import chains
from ttc.pocket.chains import Wording
from ttc.pocket.drawing import CELL, Sketch
from ttc.pocket.problem import Chain, Expression, Rule, Subject

if TYPE_CHECKING:
    from PIL.Image import Image

CENTRES = {"w": (CELL, CELL), "x": (3 * CELL, CELL), "y": (CELL, 3 * CELL), "z": (3 * CELL, 3 * CELL)}
"""Pixel (x, y) of the middle of each dial."""

RADIUS = 9
"""Of a dial, in pixels."""

RULES = {
    **chains.ARITHMETIC,
    "gear": Rule("a two to one gear doubles the turns", lambda value, _: Expression(value, "*", 2)),
    "quarter": Rule("a quarter of an hour is fifteen minutes", lambda value, _: Expression(value, "+", 15)),
    "half": Rule("half an hour is thirty minutes", lambda value, _: Expression(value, "+", 30)),
    "wrap": Rule("one dial shows the last digit alone", lambda value, _: Expression(value, "mod", 10)),
    "mirror": Rule("seen in a mirror, a dial shows what is missing to ten", lambda value, _: Expression(10, "-", value)),
}

WORDING = Wording(RULES, {"gear": 4, "quarter": 4, "half": 2, "wrap": 4, "mirror": 2}, needs_two_digits=frozenset({"wrap"}))


def write(rng: Random, steps: int) -> Chain:
    """A chain over the four dials."""
    quantities = {name: rng.randrange(1, 10) for name in CENTRES}
    return chains.write(rng, steps, quantities, WORDING, "<image 1> ", "Which reading results?")


def draw(quantities: Mapping[str, int], rng: Random) -> "tuple[Image, ...]":
    """Four dials, each with its name in the corner."""
    sketch = Sketch(rng)
    for name, value in quantities.items():
        x, y = CENTRES[name]
        _dial(sketch, value, x, y)
        sketch.label(name, x - CELL + 1, y - CELL + 1)
    return (sketch.finish(),)


def draw_option(value: int, rng: Random) -> "Image":
    """One dial alone, where the first stands."""
    sketch = Sketch(rng)
    _dial(sketch, value, *CENTRES["w"])
    return sketch.finish()


def _dial(sketch: Sketch, value: int, x: int, y: int) -> None:
    """A rim with ten marks and a hand; 0 is at the top, and numbers rise clockwise."""
    for tenth in range(10):
        dx, dy = _direction(tenth)
        sketch.draw.point([(round(x + RADIUS * dx), round(y + RADIUS * dy))], fill=sketch.ink)
    dx, dy = _direction(value + sketch.rng.uniform(-0.2, 0.2))
    ink = sketch.print()
    # drawn point by point: the line of a drawing library may differ from one version to the next
    for half in range(2 * (RADIUS - 1)):
        px, py = round(x + half / 2 * dx), round(y + half / 2 * dy)
        sketch.draw.point([(px, py), (px + 1, py), (px, py + 1), (px + 1, py + 1)], fill=ink)


def _direction(tenths: float) -> tuple[float, float]:
    angle = 2 * pi * tenths / 10
    return sin(angle), -cos(angle)


SUBJECT = Subject("Dials", "Geometric Shapes", "Mechanisms", RULES, write, draw, draw_option)
