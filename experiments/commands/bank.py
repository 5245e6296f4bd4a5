"""`ttc bank`: look after the samples."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The sample bank: what is in it, merging its parts, taking samples out.", no_args_is_help=True)

Folder = Annotated[Path, typer.Option("--bank", help="Folder of the bank.")]
DEFAULT = Path("runs/bank")


@app.command()
def stats(bank: Folder = DEFAULT) -> None:
    """What the bank holds, and what is damaged or left over."""
    from dataclasses import asdict

    from rich.console import Console
    from rich.table import Table

    from ttc.bank import Bank

    table = Table(show_header=False, box=None)
    for name, value in asdict(Bank(bank).stats()).items():
        if isinstance(value, int):
            shown = [f"{value:,}"]
        elif isinstance(value, dict):
            shown = [f"{what[:60] or 'unknown'}: {count:,}" for what, count in value.items()]
        else:
            shown = list(map(str, value))
        table.add_row(name, "\n".join(shown) or "none")
    Console().print(table)


@app.command()
def compact(
    bank: Folder = DEFAULT,
    drop_damaged: Annotated[
        bool, typer.Option(help="Set aside parts that cannot be read; their samples are drawn again.")
    ] = False,
) -> None:
    """Merge the parts into few large ones; runs may go on beside it."""
    from ttc.bank import Bank

    done = Bank(bank).compact(drop_damaged=drop_damaged)
    print(f"{done.parts_before:,} parts merged into {done.parts_after:,}")
    for path in done.dropped:
        print(f"set aside: {path}")


@app.command()
def export(
    path: Annotated[Path, typer.Argument(help="Target: .parquet or .jsonl.")],
    bank: Folder = DEFAULT,
) -> None:
    """Write all samples to one file."""
    from ttc.bank import Bank

    print(f"{Bank(bank).export(path):,} samples in {path}")
