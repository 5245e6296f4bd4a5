"""`ttc subset`: fewer questions that still tell models apart."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.subset import Subset


def subset(
    runs: Annotated[list[Path], typer.Argument(help="Finished runs on one exam with different models: they choose.")],
    questions: Annotated[int, typer.Option(min=1, help="How many questions to keep.")] = 100,
    judge: Annotated[
        list[Path] | None, typer.Option(help="Run that judges the choice; repeatable.  \\[default: those that chose]")
    ] = None,
    predictions: Annotated[Path | None, typer.Option(help="File of `ttc predict-difficulty --freeze`.")] = None,
    seed: Annotated[int, typer.Option(help="Of the random subsets.")] = 0,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write the ids to this file, one a line.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Also write everything to this file.")] = None,
) -> None:
    """Choose the questions that tell models apart best, and say what error the choice makes."""
    from rich.console import Console

    from experiments.subset import Results
    from experiments.subset import subset as compute
    from training.difficulty_frozen import read
    from ttc.errors import UserError

    learning = Results.halves(runs)
    asked = learning[0].questions
    judging = Results.read(judge or runs, asked)
    prior = None
    if predictions is not None:
        prior = {id: one.score for id, one in read(predictions).questions.items()}
        if absent := [question.id for question in asked if question.id not in prior]:
            raise UserError(f"predictions {predictions}: {len(absent):,} questions are not in it, such as {absent[0]}")
    found = compute(learning, judging, questions, prior=prior, seed=seed)
    console = Console()
    console.print(subset_table(found))
    console.print(accuracy_table(found))
    if not found.is_apart:
        console.print("judged by runs that took part in the choice, so it looks better than it is; name others with --judge")
    if out is not None:
        out.write_text("\n".join(found.questions) + "\n", encoding="utf-8")
        print(f"subset: {out}")
    if json is not None:
        json.write_text(found.to_json(), encoding="utf-8")


def subset_table(found: "Subset") -> "Table":
    """The choice beside random ones."""
    from rich import box
    from rich.table import Table

    runs = f"{len(found.judged_by)} runs judged, {len(found.learned_from)} learned from"
    caption = f"{runs}; random: mean of 200 subsets, stratified alike"
    title = f"{len(found.questions):,} questions against all"
    shown = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("", overflow="fold")
    for heading in ("pairs in order %", "Kendall's tau", "all in order %", "error in points"):
        shown.add_column(heading, justify="right")
    rows = {"chosen": found.chosen, "random": found.chance, "random, by ability": found.chance_fitted}
    for name, one in rows.items():
        cells = (f"{100 * one.ordered:.1f}", f"{one.kendall:.3f}", f"{100 * one.is_same_order:.0f}", f"{100 * one.error:.2f}")
        shown.add_row(name, *cells)
    return shown


def accuracy_table(found: "Subset") -> "Table":
    """Each judged run, the best first."""
    from rich import box
    from rich.table import Table

    shown = Table(title="accuracy in %", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("run", "all questions", "from the subset"):
        shown.add_column(heading, justify="left" if heading == "run" else "right", overflow="fold")
    ranked = sorted(zip(found.judged_by, found.full, found.chosen.accuracies, strict=True), key=lambda row: -row[1])
    for name, full, seen in ranked:
        shown.add_row(name, f"{100 * full:.1f}", f"{100 * seen:.1f}")
    return shown
