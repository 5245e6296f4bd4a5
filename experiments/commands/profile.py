"""`ttc profile`: where runs fail, who solves what others do not, and which errors more samples mend."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.profiles import Calibration, KindShare, Mended, Trades
    from ttc.statistics import Interval


def profile(
    runs: Annotated[
        list[Path], typer.Argument(help="Folders of finished runs over the same data; the first is compared with.")
    ],
    by: Annotated[list[str] | None, typer.Option(help="Field to group by.  \\[default: level, subject, image type]")] = None,
    strategy: Annotated[
        list[str] | None, typer.Option(help="Strategy to compare, as in `ttc curves`.  \\[default: each without gold]")
    ] = None,
    json: Annotated[Path | None, typer.Option(help="Also write everything here.")] = None,
    force: Annotated[bool, typer.Option(help="Compare runs over different data on what they share.")] = False,
    seed: int = 0,
) -> None:
    """Who gains and loses what, how sure the model is, its kinds of error, and which of them more samples mend."""
    from pydantic import TypeAdapter
    from rich.console import Console

    from experiments.commands.overlap import tables
    from experiments.profiles import FIELDS, Profile
    from experiments.profiles import profile as compute

    found = compute(runs, fields=by or FIELDS, strategies=strategy or (), force=force, seed=seed)
    console = Console()
    for trades in found.trades:
        console.print(_trades(trades))
    if found.overlap is not None:
        for table in tables(found.overlap):
            console.print(table)
    for table in (_calibrations(found.calibrations), _shares(found.shares), _mended(found.mended)):
        if table.row_count:
            console.print(table)
    for note in found.notes:
        console.print(f"note: {note}", style="dim", markup=False, highlight=False)
    if json is not None:
        json.write_bytes(TypeAdapter(Profile).dump_json(found, indent=1))


def _table(title: str, caption: str, left: str, *right: str) -> "Table":
    from rich import box
    from rich.table import Table

    shown = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column(left, overflow="fold")
    for heading in right:
        shown.add_column(heading, justify="right", overflow="fold")
    return shown


def _spread(one: "Interval") -> str:
    from experiments.numbers import percent

    return f"{percent(one.mean)} [dim]{percent(one.low)}..{percent(one.high)}[/dim]"


def _trades(trades: "Trades") -> "Table":
    from rich.markup import escape

    from experiments.numbers import percent, signed

    caption = (
        "in %; gained: what only this one solves, lost: what only the first solves; either: the oracle of the two; 95 % "
        "intervals; p by McNemar's exact test or sign flips of clusters, after Holm within a field"
    )
    title = escape(f"{trades.other} against {trades.first}")
    shown = _table(title, caption, "questions", "n", "first", "this", "gained", "lost", "difference", "p", "either")
    field = ""
    for row in trades.rows:
        if row.field != field:
            shown.add_section()
            shown.add_row(escape(row.field), style="dim")
            field = row.field
        spread = row.difference.interval
        shares = (percent(value) for value in (row.first, row.other, row.gained, row.lost))
        ranged = f"{signed(spread.mean)} [dim]{signed(spread.low)}..{signed(spread.high)}[/dim]"
        shown.add_row(
            escape(row.value) or "all", f"{row.questions:,}", *shares, ranged, f"{row.adjusted_p:.3g}", percent(row.union)
        )
    return shown


def _calibrations(rows: "Sequence[Calibration]") -> "Table":
    from rich.markup import escape

    from experiments.numbers import percent

    caption = "ECE over ten bins of equal mass; floor: what it would read if these probabilities were true"
    shown = _table("how sure, how right", caption, "run, confidence", "questions", "n", "right %", "Brier", "ECE", "floor")
    for row in rows:
        one = row.quality
        figures = (f"{value:.3f}" for value in (one.brier, one.ece, one.ece_floor))
        shown.add_row(escape(f"{row.run} {row.confidence}"), row.group, f"{one.n:,}", percent(one.share_right), *figures)
    return shown


def _shares(rows: "Sequence[KindShare]") -> "Table":
    from rich.markup import escape

    from training.errors import KINDS

    kinds = [kind for kind in KINDS if any(kind in row.shares for row in rows)]
    names = [kind.replace("_", " ") for kind in kinds]
    shown = _table("kinds of error", "in % of the wrong replies, 95 % intervals over questions", "", "wrong", *names)
    for row in rows:
        cells = (_spread(row.shares[kind]) if kind in row.shares else "" for kind in kinds)
        shown.add_row(escape(f"{row.run} {row.group}"), f"{row.wrong:,}", *cells)
    return shown


def _mended(rows: "Sequence[Mended]") -> "Table":
    from rich.markup import escape

    caption = (
        "of a wrong reply of this kind, what becomes of its question, in %: the vote of all n samples is right; it is not, "
        "though a sample is; no sample is"
    )
    shown = _table("what more samples mend", caption, "run, kind", "n", "wrong", "mended", "selection", "capability")
    for row in rows:
        fates = map(_spread, (row.mended, row.selection, row.capability))
        shown.add_row(escape(f"{row.run} {row.kind.replace('_', ' ')}"), str(row.n), f"{row.wrong:,}", *fates)
    return shown
