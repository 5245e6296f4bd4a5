"""`ttc sweep`: look at a grid of runs from outside."""

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="Grids of runs: how far each point is. `ttc run` runs them.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """A single command would otherwise stand for the group."""


@app.command()
def status(
    config: Annotated[Path, typer.Argument(help="YAML file of a sweep, or of a run.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the results.  \\[default: runs/ and the config's name]")] = None,
) -> None:
    """What is done, what is half done and what is not begun; read from the bank and the folders, without opening a model."""
    from rich.console import Console

    from experiments.config import points
    from experiments.sweep import point_folders, status, status_table

    runs = points(config, assignments or [])
    folders = point_folders(out or Path("runs") / config.stem, runs)
    found = [status(name, checked, folders[name]) for name, checked in runs.items()]
    Console().print(status_table(found, [checked.bank for checked in runs.values()]))
