"""`ttc difficulty` and `ttc power`: what a finished run says about levels of difficulty, and about the next run's size."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.axes import AXES

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from experiments.difficulty import Difficulty
    from experiments.gaps import Estimate, LevelGap
    from experiments.policy import Policies
    from experiments.power import Power

Run = Annotated[Path, typer.Argument(help="Folder of a finished run.")]
Json = Annotated[Path | None, typer.Option("--json", help="Also write everything to this file.")]


def difficulty(
    run: Run,
    by: Annotated[
        str, typer.Option(help="Field with the levels.  \\[default: topic_difficulty, else the first of the run's `by`]")
    ] = "",
    bins: Annotated[
        int, typer.Option(min=0, max=9, help="Cross-fitted bins of pass@1 in place of a field.  \\[default: 5 without levels]")
    ] = 0,
    axis: Annotated[
        str,
        typer.Option(
            help=f"Of the gaps at equal compute (all are in --json) and of the budgets of policies: {', '.join(AXES)}."
        ),
    ] = "total_tokens",
    seed: Annotated[int, typer.Option(help="Of the resamples.")] = 0,
    json: Json = None,
) -> None:
    """Gaps between easy and hard, what stays unsolved, losses, and the best use of compute for each level."""
    from rich.console import Console

    from experiments.curve_tables import check_axis, table
    from experiments.difficulty import analyse

    check_axis(axis)
    found = analyse(run, by=by, bins=bins, axis=axis, seed=seed)
    console = Console()
    console.print(table(found.curves, found.source))
    console.print(_gap_table(found, axis))
    console.print(_loss_table(found))
    console.print(_unsolved_table(found))
    if found.policies:
        console.print(_policy_table(found.policies))
        console.print(_choice_table(found.policies, found.levels))
    else:
        console.print(f"no best use of compute: no strategy with two samples or more has a known cost in {AXES[axis].label}")
    if json is not None:
        json.write_text(found.to_json(), encoding="utf-8")


def power(
    run: Run,
    first: Annotated[str, typer.Argument(help="Strategy and budget, such as vote@16; the largest budget without @.")],
    second: Annotated[str | None, typer.Argument(help="What it is compared with; assumed where left out.")] = None,
    other: Annotated[Path | None, typer.Option(help="Run that the second is from.  \\[default: the same]")] = None,
    correlation: Annotated[
        float, typer.Option(min=-1, max=1, help="Assumed between the credits of both on a question, without a second.")
    ] = 0.5,
    difference: Annotated[list[float] | None, typer.Option(help="Difference to be found, in points; repeatable.")] = None,
    json: Json = None,
) -> None:
    """The smallest difference that a comparison of this size would show, and the questions that smaller ones take."""
    import json as encoder
    from dataclasses import asdict

    from rich.console import Console

    from experiments import power as sizes
    from ttc.errors import UserError

    if difference and min(difference) <= 0:
        raise UserError(f"--difference {min(difference)}: it must be above 0 points")
    wanted = [points / 100 for points in difference] if difference else sizes.DIFFERENCES
    against = sizes.entry(other or run, second) if second else None
    found = sizes.power(sizes.entry(run, first), against, correlation=correlation, differences=wanted)
    Console().print(_power_table(found))
    if json is not None:
        json.write_text(encoder.dumps(asdict(found), indent=1), encoding="utf-8")


def _power_table(found: "Power") -> "Table":
    against = found.second or f"another with correlation {found.correlation:.2f}"
    shown = _table(f"{found.first} against {against}", "at the 5 % level, with power 0.8", "", "")
    shown.show_header = False
    shown.add_row("questions", f"{found.questions:,} in {found.clusters:,} clusters")
    shown.add_row("correlation of credits", f"{found.correlation:.2f}")
    shown.add_row("standard error of the difference", f"{100 * found.standard_error:.2f} points")
    shown.add_row("smallest difference found", f"{100 * found.detectable:.1f} points")
    if found.split and found.detectable_at_best is not None:
        whole = found.split.questions + found.split.sampling
        shown.add_row("share of the variance from sampling", f"{100 * found.split.sampling / whole:.0f} %")
        shown.add_row("smallest found with endless samples", f"{100 * found.detectable_at_best:.1f} points")
    for size, questions in found.needed.items():
        shown.add_row(f"questions to find {100 * size:g} points", f"{questions:,}")
    return shown


def _table(title: str, caption: str, left: str, *right: str) -> "Table":
    from rich import box
    from rich.table import Table

    shown = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column(left, overflow="fold")
    for heading in right:
        shown.add_column(heading, justify="right", no_wrap=True)
    return shown


def _percent(estimate: "Estimate", signed: str = "") -> str:
    value, low, high = (100 * part for part in (estimate.value, estimate.low, estimate.high))
    return f"{value:{signed}.1f} [dim]{low:{signed}.0f}..{high:{signed}.0f}[/dim]"


def _gap_table(found: "Difficulty", axis: str) -> "Table":
    caption = "a change below 0 narrows the gap; points, and log odds, with paired 95 % intervals"
    shown = _table("gap of the easiest and the hardest level", caption, "at equal", "first", "last", "change", "log odds")
    shown.add_column("gap", justify="right", min_width=len("in points"))
    logits = {(gap.strategy, gap.axis): gap.change for gap in found.gaps if gap.scale == "logits"}
    for gap in found.gaps:
        odds = logits[gap.strategy, gap.axis]
        if gap.axis in ("samples", axis) and gap.scale == "accuracy" and gap.change and odds:
            ends = [f"{100 * one.value:.1f}" for one in (gap.gaps[0], gap.gaps[-1])]
            change = f"{odds.value:+.2f} [dim]{odds.low:+.1f}..{odds.high:+.1f}[/dim]"
            shown.add_row(
                f"{AXES[gap.axis].label}, {gap.strategy} {_span(gap)}",
                *ends,
                _percent(gap.change, "+"),
                change,
                reading(gap.change, odds),
            )
    return shown


def _span(gap: "LevelGap") -> str:
    from experiments.numbers import short

    return f"{short(gap.at[0])} to {short(gap.at[-1])}"


def reading(points: "Estimate", odds: "Estimate") -> str:
    """What the gap does, where accuracy and log odds agree: near 0 and 1 a gap in points narrows for want of room."""
    said, also = ("narrows" if one.high < 0 else "widens" if one.low > 0 else "unclear" for one in (points, odds))
    return said if also == said or said == "unclear" else f"{said} in points only"


def _loss_table(found: "Difficulty") -> "Table":
    caption = "of 100 questions: right sample not chosen / only with more samples / no right sample; all k in --json"
    shown = _table("selection, budget and capability loss at the last k", caption, "strategy", *found.levels)
    cells: dict[str, dict[int, list[str]]] = {}
    for group in found.curves.by(found.source):
        for loss in group.losses:
            parts = " / ".join(str(round(100 * part)) for part in (loss.selection, loss.budget, loss.capability))
            cells.setdefault(loss.strategy, {}).setdefault(loss.k, []).append(parts)
    for strategy, rows in cells.items():
        shown.add_row(f"{strategy}@{max(rows)}", *rows[max(rows)])
    return shown


def _unsolved_table(found: "Difficulty") -> "Table":
    caption = "at 95 % confidence a question without a right sample may still be solved at the rate in the last column"
    shown = _table("questions without a right sample", caption, "level", "questions", "samples", "unsolved %", "rate up to")
    for one in found.unsolved:
        shown.add_row(one.level, str(one.questions), str(one.n), _percent(one.share), f"{one.bound:.3f}")
    return shown


def _policy_table(found: "Policies") -> "Table":
    from experiments.numbers import short

    caption = (
        "accuracy in % within so much per question, on average over all; oracle: chosen for each question on one half of its "
        "samples; choices are judged on others than made them, and their luck is not in the intervals"
    )
    shown = _table("best use of a budget", caption, AXES[found.axis].label, "by level", "one for all", "gain", "oracle")
    for point in found.points:
        level, uniform, oracle = (f"{100 * one.mean:.1f}" for one in (point.by_level, point.uniform, point.oracle))
        gain = f"{100 * point.gain.mean:+.1f} [dim]{100 * point.gain.low:+.1f}..{100 * point.gain.high:+.1f}[/dim]"
        shown.add_row(short(point.budget), level, uniform, gain, oracle)
    return shown


def _choice_table(found: "Policies", levels: "Sequence[str]") -> "Table":
    from collections import Counter

    from rich import box
    from rich.table import Table

    from experiments.numbers import short

    shown = Table(title="chosen by most folds", caption="and by how many", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column(AXES[found.axis].label)
    for level in levels:
        shown.add_column(level, overflow="fold")
    for point in found.points:
        most = [Counter(point.choices.get(level, ())).most_common(1) for level in levels]
        cells = [
            f"{one[0][0]} [dim]{one[0][1]}/{len(point.choices[level])}[/dim]" if one else ""
            for level, one in zip(levels, most, strict=True)
        ]
        shown.add_row(short(point.budget), *cells)
    return shown
