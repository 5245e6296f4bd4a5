"""`ttc overlap`: do several models solve the same questions?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.overlap import Overlap


def overlap(
    outputs: Annotated[Path, typer.Argument(help="File of judged samples of several models.")],
    form: Annotated[str | None, typer.Option(help="Form of the outputs, where it is not told by their content.")] = None,
) -> None:
    """What each model solves, what it alone solves, and what every two have in common."""
    from rich.console import Console

    from experiments.overlap import overlap as compute

    console = Console()
    for table in tables(compute(outputs, form=form)):
        console.print(table)


def tables(found: "Overlap") -> "tuple[Table, Table]":
    """What a terminal shows."""
    return _members(found), _shared(found)


def _members(found: "Overlap") -> "Table":
    from rich import box
    from rich.table import Table

    caption = (
        "over n questions, in %; any: a right sample among all of it; only it: and none of the others. "
        f"All together: {100 * found.reached:.1f}"
    )
    shown = Table(title="what each model solves", caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("", "model", "n", "samples", "right", "any", "only it"):
        shown.add_column(heading, justify="left" if heading == "model" else "right", overflow="fold")
    for number, one in enumerate(found.members, 1):
        shares = (f"{100 * share:.1f}" for share in (one.accuracy, one.reached, one.alone))
        shown.add_row(str(number), one.model, f"{one.questions:,}", f"{one.samples:,}", *shares)
    return shown


def _shared(found: "Overlap") -> "Table":
    from rich import box
    from rich.table import Table

    caption = "of 100 questions that one sample of either solves, both solve so many; on the diagonal two samples of one model"
    shown = Table(title="what two have in common", caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("", *map(str, range(1, len(found.members) + 1))):
        shown.add_column(heading, justify="right")
    for number, row in enumerate(found.shared, 1):
        shown.add_row(str(number), *("-" if share is None else f"{100 * share:.0f}" for share in row))
    return shown
