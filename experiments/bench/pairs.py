"""Two ways to do one thing, measured in alternation, and the table of what came out."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

from experiments.numbers import short

Measure = Callable[[], float]
"""Does the thing once, and tells how fast it was, or how long it took."""


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table."""

    what: str
    value: float
    unit: str
    against: str = ""
    """What it is compared with, measured in the same run."""
    reference: float | None = None
    """Its value, in the same unit."""
    ratio: float | None = None
    """Median over the pairs of value / reference."""
    pairs: int = 1
    note: str = ""
    """What else was seen."""


def alternate(what: str, ours: Measure, unit: str, against: str, theirs: Measure, *, pairs: int) -> Line:
    """Medians of both, and the median of their ratios within a pair.

    Which of the two goes first changes with every pair: a machine that slows down, or a cache that warms up, favours neither.
    """
    measured: list[tuple[float, float]] = []
    for number in range(pairs):
        if number % 2:
            reference = theirs()
            measured.append((ours(), reference))
        else:
            value = ours()
            measured.append((value, theirs()))
    values, references = zip(*measured, strict=True)
    ratio = median(value / reference for value, reference in measured)
    return Line(what, median(values), unit, against, median(references), ratio, pairs)


def table(lines: Sequence[Line]) -> str:
    """The lines as text in columns."""
    rows = [("what", "measured", "against", "measured", "ratio", "")]
    for line in lines:
        reference = "" if line.reference is None else f"{short(line.reference)} {line.unit}"
        ratio = "" if line.ratio is None else f"{line.ratio:.2f}"
        rows.append((line.what, f"{short(line.value)} {line.unit}", line.against, reference, ratio, line.note))
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows)
