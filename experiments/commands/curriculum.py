"""`ttc curriculum`: whether the order of training matters."""

from pathlib import Path
from typing import Annotated

import typer


def curriculum(
    config: Annotated[Path, typer.Argument(help="YAML file of a step verifier's training, such as those in configs/train/.")],
    assignments: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides, such as data.leave_out=[Dials].")
    ] = None,
    order: Annotated[
        list[str] | None,
        typer.Option(
            help="One to compare, the first against the others; repeatable.  \\[default: random, easy_first, hard_first]"
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, help="Runs of each order.")] = 3,
    out: Annotated[
        Path | None, typer.Option(help="Folder of all runs.  \\[default: runs/curriculum/ and the config's name]")
    ] = None,
) -> None:
    """Compare orders of training at equal steps on subjects held out, or go on where a killed comparison stopped."""
    from rich import box
    from rich.console import Console
    from rich.table import Table

    from experiments.config import override, read_yaml
    from experiments.numbers import percent, signed
    from training.config import OutcomeVerifierTraining, StepVerifierTraining, validate
    from training.curriculum import compare, orders, summary, write
    from ttc.errors import UserError

    checked = validate(override(read_yaml(config), assignments or []), str(config))
    if not isinstance(checked, StepVerifierTraining) or isinstance(checked, OutcomeVerifierTraining):
        raise UserError(f"config {config}: kind {checked.kind} has no labelled steps to compare by; give a step_verifier's")
    folder = out or Path("runs/curriculum") / config.stem
    rows = summary(compare(checked, orders(order or ("random", "easy_first", "hard_first")), seeds, folder))
    write(rows, folder / "curriculum.json")
    questions = rows[0].auroc.clusters
    shown = Table(
        title="step AUROC in % on held-out subjects",
        caption=f"intervals: 95 %, over {questions} questions, seeds as they are; difference: paired",
        box=box.SIMPLE_HEAD,
    )
    for heading in ("order", "steps", "AUROC", "each seed", f"against {rows[0].order}"):
        shown.add_column(heading, justify="left" if heading == "order" else "right", no_wrap=heading != "each seed")
    for row in rows:
        mean, gap = row.auroc, row.difference
        against = f"{signed(gap.mean)} ({signed(gap.low)} to {signed(gap.high)})" if gap else ""
        interval = f"{percent(mean.mean)} ({percent(mean.low)} to {percent(mean.high)})"
        shown.add_row(row.order, str(row.steps), interval, ", ".join(map(percent, row.aurocs)), against)
    Console().print(shown)
    print(f"curriculum: {folder / 'curriculum.json'}")
