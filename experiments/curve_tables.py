"""Curves as tables for a terminal."""

from rich import box
from rich.table import Table

from experiments.axes import AXES
from experiments.curves import Curves
from experiments.numbers import short
from experiments.risk import COVERAGES
from ttc.errors import UserError

LONG_NAME = 15
"""Characters of a strategy's name that a terminal of 80 has room for beside four groups."""
MOST_GROUPS = 4
"""Groups that a terminal of 80 has room for beside names and a cost of `NARROW` characters."""
NARROW = 6


def table(found: Curves, field: str = "", axis: str = "total_tokens") -> Table:
    """A row per strategy and k, a column per value of the field, all in percent, and what it costs.

    Args:
        axis: a key of `AXES`.

    Raises:
        UserError: the curves have no groups by that field, or there is no such axis.
    """
    check_axis(axis)
    groups = (found.overall, *(found.by(field) if field else ()))
    shown = Table(
        title=f"accuracy in % by {field}" if field else "accuracy in %",
        caption=f"with 95 % intervals from {found.draws:,} resamples of {found.overall.clusters} clusters of questions",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    shown.add_column("strategy", overflow="fold", min_width=min(LONG_NAME, max(len(e.name) for e in found.entrants)) + 3)
    heading = unit(found, axis).split()
    words = [*heading, *(short(getattr(p, axis)) for one in found.entrants for p in found.overall.points(one.name))]
    # each interval then goes below its number: rich would drop names or costs
    crowded = len(groups) + (max(map(len, words)) > NARROW) > MOST_GROUPS
    for group in groups:
        shown.add_column(f"{group.value}\nn = {group.questions}", justify="right", no_wrap=not crowded, overflow="fold")
    shown.add_column("\n".join(heading), justify="right", no_wrap=True)
    for entrant in found.entrants:
        name = entrant.name
        for points in zip(*(group.points(entrant.name) for group in groups), strict=True):
            label = f"{name}@{points[0].k}" + (" (gold)" if entrant.uses_gold else "")
            cells = [f"{100 * p.accuracy:.1f} [dim]{100 * p.low:.0f}-{100 * p.high:.0f}[/dim]" for p in points]
            shown.add_row(label, *cells, short(getattr(points[0], axis)))
            if len(name) > LONG_NAME:
                name = ""  # said once: on every row it would fold
        shown.add_section()
    return shown


def area_table(found: Curves, axis: str = "total_tokens") -> Table | None:
    """The area under each curve over one axis, the largest first; None where no two budgets share a range of it."""
    check_axis(axis)
    ranked = sorted((one for one in found.areas if one.axis == axis), key=lambda one: -one.area)
    if not ranked:
        return None
    span = f"{short(ranked[0].begin)} to {short(ranked[0].end)} {unit(found, axis)} per question"
    shown = Table(title=f"mean accuracy in % over log2 of {unit(found, axis)}", caption=span, box=box.SIMPLE_HEAD, min_width=60)
    shown.add_column("strategy", overflow="fold")
    shown.add_column("area", justify="right", no_wrap=True)
    for one in ranked:
        shown.add_row(one.strategy, f"{100 * one.area:.1f} [dim]{100 * one.low:.0f}-{100 * one.high:.0f}[/dim]")
    return shown


def risk_table(found: Curves) -> Table | None:
    """Selective answering over all questions at the last k: risk, and accuracy by coverage; None where nothing is sure."""
    last = {one.strategy: one for one in found.risks if not one.field}
    if not last:
        return None
    golds = {entrant.name for entrant in found.entrants if entrant.uses_gold}
    caption = "AURC: mean risk in % over the coverage reached; then accuracy in % where so many questions are answered"
    shown = Table(title="answering only where sure", caption=caption, box=box.SIMPLE_HEAD, min_width=60)
    shown.add_column("strategy", overflow="fold")
    for heading in ("AURC", *(f"{share:.0%}" for share in COVERAGES)):
        shown.add_column(heading, justify="right", no_wrap=True)
    for one in last.values():
        area = "-" if one.area is None else f"{100 * one.area:.1f}"
        cells = ["-" if at.accuracy is None else f"{100 * at.accuracy:.1f}" for at in one.selective]
        shown.add_row(f"{one.strategy}@{one.k}" + (" (gold)" if one.strategy in golds else ""), area, *cells)
    return shown


def lacking(found: Curves, axis: str) -> str:
    """Why the cost or the areas on an axis are not there, with the way out; empty where they are."""
    check_axis(axis)
    points = [point for curve in found.overall.curves for point in curve.points]
    if all(getattr(point, axis) is None for point in points):
        wants = {"money": "prices", "device_seconds": "throughput", "path_seconds": "speed"}.get(axis)
        way = f"give {wants} under costs: and run it again, nothing is drawn" if wants else "its samples do not tell it"
        return f"{AXES[axis].label}: unknown; {way}"
    if not any(one.axis == axis for one in found.areas):
        return f"no areas under the curves: over {AXES[axis].label} they share no range, or a cost is unknown"
    return ""


def unit(found: Curves, axis: str) -> str:
    """What an axis counts, the currency for money."""
    return found.currency or "money" if axis == "money" else AXES[axis].label


def check_axis(axis: str) -> None:
    """Refuse a name that is no axis, naming those there are."""
    if axis not in AXES:
        raise UserError(f"there is no compute axis {axis!r}; use one of {', '.join(AXES)}")
