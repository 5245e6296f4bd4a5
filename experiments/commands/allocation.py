"""`ttc allocate`: a common budget spent where it is worth most."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rich.table import Table

    from experiments.allocation_report import Allocation
    from training.difficulty_frozen import Prediction
    from ttc.records import Question


def allocate(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run with votes.")],
    predictions: Annotated[
        Path | None, typer.Option(help="File of `ttc predict-difficulty --freeze`; without it the votes so far alone decide.")
    ] = None,
    by_subject: Annotated[bool, typer.Option(help="A group for each predicted level of each subject.")] = False,
    budget: Annotated[
        list[int] | None, typer.Option(min=1, help="Samples per question; repeatable.  \\[default: 2 4 8 16]")
    ] = None,
    most: Annotated[int | None, typer.Option(min=2, help="Most samples of one question.  \\[default: all there are]")] = None,
    freeze: Annotated[Path | None, typer.Option(help="Write the plan for the strategy allocated_vote to this file.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Also write everything to this file.")] = None,
) -> None:
    """Predicted difficulty and the votes so far against equally many samples for all, stopping early, and the oracle."""
    from rich.console import Console

    from experiments import allocation_report
    from experiments.allocation import plan_of
    from experiments.progress import begun
    from experiments.reopened import pools_of
    from training.difficulty_frozen import read
    from ttc.errors import UserError

    if json is None:
        begun("replaying votes", [run])
    results, pools = pools_of(run)
    questions, most = results.plan.exam.questions, most or min(pool.n for pool in pools.values())
    if wrong := [n for n in budget or () if n >= most]:
        raise UserError(f"--budget {wrong[0]}: one question may take {most} samples here, and a budget lies below that")
    budgets = sorted(set(budget)) if budget else [n for n in (2, 4, 8, 16) if n < most]
    frozen = read(predictions) if predictions else None
    names = groups_of(questions, frozen.questions, by_subject, predictions) if frozen and predictions else None
    found, replays, rules = allocation_report.compare(questions, pools, names, budgets, most=most)
    for n in budgets:
        Console().print(allocation_table(found, n))
        if n in found.added:
            part = found.added[n].interval
            low, high = (f"{100 * end:+.2f}" for end in (part.low, part.high))
            print(f"predicted difficulty adds {100 * part.mean:+.2f} points to the votes so far (95 % from {low} to {high})")
    if freeze is not None:
        method = allocation_report.BOTH if names else allocation_report.WATCHED
        seal = frozen.seal if frozen else ""
        plan_of(questions, replays, names or [""] * len(questions), rules[method], predictions=seal).write(freeze)
        print(f"plan: {freeze}")
    if json is not None:
        json.write_text(found.to_json(), encoding="utf-8")


def groups_of(
    questions: "tuple[Question, ...]", predicted: "Mapping[str, Prediction]", by_subject: bool, where: Path
) -> list[str]:
    """Name of each question's group: its predicted level, and its subject where asked for.

    Raises:
        UserError: a question has no prediction.
    """
    from ttc.errors import UserError

    if absent := [question.id for question in questions if question.id not in predicted]:
        raise UserError(f"predictions {where}: {len(absent):,} questions of the run are not in it, such as {absent[0]}")
    levels = [predicted[question.id].level for question in questions]
    subjects = [str(question.fields.get("subject", "")) for question in questions]
    return [f"{level}, {subject}" if by_subject else level for level, subject in zip(levels, subjects, strict=True)]


def allocation_table(found: "Allocation", n: int) -> "Table":
    """One row per way to spend the tokens of a vote over n."""
    from rich import box
    from rich.table import Table

    caption = (
        f"{found.questions:,} questions, at most {found.most} samples of one; gain over equally many samples for all at the "
        "same tokens, paired, in points; learned on other questions; * knows the truth: chosen and judged on the same samples "
        "(hindsight), or chosen on one half of them and judged on the other (halves), which can take half of them only; "
        "tokens are completion tokens; vote is of replayed orders of samples, hence near `ttc curves`, not equal to it"
    )
    shown = Table(title=f"at the completion tokens of vote@{n}", caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("", overflow="fold")
    for heading in ("tokens", "accuracy %", "gain", "p"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for row in found.rows:
        if row.n == n:
            gain = f"{100 * row.gain.mean:+.2f} [dim]{100 * row.gain.low:+.2f}..{100 * row.gain.high:+.2f}[/dim]"
            name = row.method + (" *" if row.uses_gold else "")
            cells = ("", "") if row.method == "vote" else (gain, f"{row.p_value:.4f}")
            shown.add_row(name, f"{row.tokens:.1f}", f"{100 * row.accuracy.mean:.2f}", *cells)
    return shown
