"""Bars: charts of four bars, one chart or two, and old words for counts that one has to know."""

from collections.abc import Mapping
from random import Random
from typing import TYPE_CHECKING

from ttc.pocket import chains
from ttc.pocket.chains import Wording
from ttc.pocket.drawing import CELL, SIDE, Sketch
from ttc.pocket.problem import Chain, Expression, Rule, Subject

if TYPE_CHECKING:
    from PIL.Image import Image

CHARTS = ("abcd", "efgh")
"""Names of the bars of the first and the second chart."""

FLOOR = 3 * CELL
"""Pixel row on which the bars stand; their names are below it."""

UNIT = 4
"""Pixels of height for each unit of a bar."""

RULES = {
    **chains.ARITHMETIC,
    "brace": Rule("a brace more is two more", lambda value, _: Expression(value, "+", 2)),
    "dozen": Rule("a dozen more is twelve more", lambda value, _: Expression(value, "+", 12)),
    "score": Rule("a score more is twenty more", lambda value, _: Expression(value, "+", 20)),
    "pairs": Rule("counted in pairs there are half as many", lambda value, _: Expression(value, "/", 2)),
    "triads": Rule("counted in threes there are a third as many", lambda value, _: Expression(value, "/", 3)),
}

WORDING = Wording(RULES, {"brace": 2, "dozen": 4, "score": 2, "pairs": 4, "triads": 2})


def write(rng: Random, steps: int) -> Chain:
    """A chain over the bars of one chart, or in a third of the questions of two."""
    charts = CHARTS if rng.random() < 1 / 3 else CHARTS[:1]
    quantities = {name: rng.randrange(1, 10) for chart in charts for name in chart}
    opening = "".join(f"<image {n}> " for n in range(1, len(charts) + 1))
    return chains.write(rng, steps, quantities, WORDING, opening, "How many are there?")


def draw(quantities: Mapping[str, int], rng: Random) -> "tuple[Image, ...]":
    """One chart of four bars for each of `CHARTS` that has values."""
    return tuple(_chart({name: quantities[name] for name in chart}, rng) for chart in CHARTS if chart[0] in quantities)


def _chart(bars: Mapping[str, int], rng: Random) -> "Image":
    sketch = Sketch(rng)
    for n, (name, value) in enumerate(bars.items()):
        left = n * CELL + 2 + rng.randrange(2)
        sketch.draw.rectangle([left, FLOOR - UNIT * value, left + 7, FLOOR - 1], fill=sketch.print())
        sketch.label(name, n * CELL + 5, FLOOR + 4)
    sketch.draw.line([(0, FLOOR), (SIDE, FLOOR)], fill=sketch.ink)
    return sketch.finish()


SUBJECT = Subject("Bars", "Plots and Charts", "Counting", RULES, write, draw)
