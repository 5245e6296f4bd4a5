"""`ttc errors`: why replies are wrong, as far as rules, the exam, people, a judge and a classifier can tell."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.errors import Found
    from training.errors_classifier import Quality


def errors(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run.")],
    others: Annotated[list[Path] | None, typer.Argument(help="More runs, to be labelled by what the first teaches.")] = None,
    labels: Annotated[
        str,
        typer.Option(
            help="Who teaches: truth (the pocket exam's own), annotations, planted (errors put into the explanations), or the "
            "YAML file of a judge."
        ),
    ] = "annotations",
    draw: Annotated[str | None, typer.Option(help="Which samples, such as cot.  \\[default: the draw with most]")] = None,
    encoder: Annotated[Path | None, typer.Option(help="Folder of a sentence encoder; words are hashed without one.")] = None,
    verifier: Annotated[str | None, typer.Option(help="Verifier of the run whose first bad step is looked at.")] = None,
    most: Annotated[int, typer.Option(min=10, help="Labels to learn from, or to have from a judge, at most.")] = 4000,
    curve: Annotated[list[int] | None, typer.Option(help="Also tell how good it gets from so many labels.")] = None,
    terms: Annotated[
        Literal["ours", "mmmu", "mmvu"], typer.Option(help="Count kinds as the paper of that exam names them.")
    ] = "ours",
    seed: int = 0,
) -> None:
    """Say why each wrong reply is wrong, and how far that is to be trusted. Writes errors.jsonl into the run's folder."""
    from rich.console import Console

    from experiments.errors import Options, explain
    from experiments.progress import begun

    options = Options(labels, draw, encoder, verifier, most, tuple(curve or ()), seed)
    runs = [run, *(others or ())]
    begun("reading wrong replies", runs)
    found = explain(runs, options)
    console = Console()
    for one in found:
        console.print(_kinds(one, terms))
    first = found[0]
    for name, quality in first.qualities.items():
        console.print(_quality(name, quality))
    for note in first.notes:
        console.print(note, style="dim", markup=False, highlight=False)


def _kinds(found: "Found", terms: Literal["ours", "mmmu", "mmvu"]) -> "Table":
    from collections import Counter

    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from training.errors import KINDS, TO_MMMU, TO_MMVU

    named = {"ours": {}, "mmmu": TO_MMMU, "mmvu": TO_MMVU}[terms]
    names = {kind: str(named.get(kind, kind) or "none of its kinds").replace("_", " ") for kind in KINDS}
    sources = sorted({one.source for one in found.kinds})
    counts = Counter((names[one.kind], one.source) for one in found.kinds)
    title = f"{escape(str(found.run))}: {len(found.kinds):,} wrong replies"
    shown = Table(title=title, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("kind")
    for heading in (*sources, "all %"):
        shown.add_column(heading, justify="right")
    for name in dict.fromkeys(names.values()):
        if total := sum(counts[name, source] for source in sources):
            cells = (f"{counts[name, source]:,}" for source in sources)
            shown.add_row(name, *cells, f"{100 * total / len(found.kinds):.1f}")
    return shown


def _quality(name: str, quality: "Quality") -> "Table":
    from rich import box
    from rich.table import Table

    f1, right = quality.f1, quality.accuracy
    caption = (
        f"macro-F1 {f1.mean:.3f} ({f1.low:.3f} to {f1.high:.3f}), right {100 * right.mean:.1f} % "
        f"({100 * right.low:.1f} to {100 * right.high:.1f}); rows: what is taken for the truth"
    )
    shown = Table(title=name, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("")
    for kind in quality.kinds:
        shown.add_column(kind.replace("_", " "), justify="right", overflow="fold")
    for kind, row in zip(quality.kinds, quality.confusion, strict=True):
        shown.add_row(kind.replace("_", " "), *(f"{count:,}" for count in row))
    return shown
