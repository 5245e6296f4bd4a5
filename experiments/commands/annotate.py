"""`ttc annotate`: a person says why replies are wrong."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.annotate import Agreement


def annotate(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    name: Annotated[str, typer.Option("--name", help="Who labels: each has a file, and sees nobody else's labels.")] = "",
    size: Annotated[int, typer.Option(min=1, help="Replies to label in all, of as many questions.")] = 150,
    draw: Annotated[str | None, typer.Option(help="Which samples, such as cot.  \\[default: the draw with most]")] = None,
    seed: Annotated[int, typer.Option(help="Of the choice of replies; the same for everybody who is to agree.")] = 0,
) -> None:
    """Label wrong replies, the explanation beside each; q stops, the same command goes on. Without a name: agreement."""
    from rich.console import Console

    from experiments import annotate as labelling
    from experiments.annotate_terminal import Session
    from experiments.mistakes import open_run, wrong_replies

    console = Console()
    if name:
        labels = labelling.Labels(run, name)
        replies = labelling.queue(wrong_replies(open_run(run, draw)), size=size, seed=seed)
        given = Session(replies, labels, console, input).run()
        done = sum(reply.id in labels.by_id for reply in replies)
        console.print(f"{given} labelled now, {done} of {len(replies)} in all: {labels.path}", highlight=False, markup=False)
    raters = {who: {id: one.kind for id, one in found.items()} for who, found in labelling.annotators(run).items()}
    _print(console, labelling.agreement(raters))


def _print(console: "Console", found: "Agreement") -> None:
    from rich import box
    from rich.table import Table

    if not found.pairs:
        console.print(f"agreement: no reply that two annotators labelled (annotators: {len(found.labels)})", highlight=False)
        return
    shown = Table(title="agreement", caption="95 % intervals", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("annotators", "both", "same", "Cohen's kappa", "by kind"):
        shown.add_column(heading, justify="left" if heading in ("annotators", "by kind") else "right", overflow="fold")
    for pair in found.pairs:
        spread = pair.kappa
        kinds = ", ".join(f"{kind.replace('_', ' ')} {one.mean:.2f}" for kind, one in pair.by_kind.items())
        ranged = f"{spread.mean:.2f} {spread.low:.2f}..{spread.high:.2f}"
        shown.add_row(f"{pair.first}, {pair.second}", str(pair.both), str(pair.same), ranged, kinds)
    console.print(shown)
    if found.alpha is not None:
        spread = found.alpha
        console.print(f"Krippendorff's alpha {spread.mean:.2f} ({spread.low:.2f} to {spread.high:.2f})", highlight=False)
