"""Curves as a terminal shows them."""

from rich import box
from rich.table import Table

from experiments.curves import Curves


def short(value: float | None) -> str:
    """Three digits and a unit of thousand: 4.94k, 1.2M, 3G; a dash for None."""
    if value is None:
        return "-"
    for unit, size in (("P", 1e15), ("T", 1e12), ("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}" if abs(value) < 999.5 * size else f"{value / size:.0f}{unit}"
    return f"{value:.3g}"


def table(found: Curves, field: str = "") -> Table:
    """What a terminal shows: a row per strategy and k, a column per value of the field, all in percent.

    Raises:
        UserError: the curves have no groups by that field.
    """
    groups = (found.overall, *(found.by(field) if field else ()))
    shown = Table(
        title=f"accuracy in % by {field}" if field else "accuracy in %",
        caption=f"with 95 % intervals from {found.draws:,} resamples of {found.overall.clusters} clusters of questions",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    shown.add_column("strategy", no_wrap=True)
    for group in groups:
        shown.add_column(f"{group.value}\nn = {group.questions}", justify="right", no_wrap=True)
    shown.add_column("tokens", justify="right", no_wrap=True)
    for entrant in found.entrants:
        for points in zip(*(group.points(entrant.name) for group in groups), strict=True):
            name = f"{entrant.name}@{points[0].k}" + (" (gold)" if entrant.uses_gold else "")
            cells = [f"{100 * p.accuracy:.1f} [dim]{100 * p.low:.0f}-{100 * p.high:.0f}[/dim]" for p in points]
            shown.add_row(name, *cells, short(points[0].total_tokens))
        shown.add_section()
    return shown
