"""`ttc predict-difficulty`: how hard a question is, from the question alone or with a few samples of it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from training.difficulty import Ladder
    from ttc.statistics import Interval


def predict_difficulty(
    config: Annotated[Path, typer.Argument(help="YAML file, such as those in configs/difficulty/.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
    freeze: Annotated[Path | None, typer.Option(help="Write the primary rung's predictions to this file.")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Also write everything to this file.")] = None,
) -> None:
    """A ladder of predictors of difficulty, each judged on questions it never saw."""
    import sys

    from rich.console import Console

    from experiments.config import override, read_yaml
    from experiments.progress import begun
    from training.difficulty import climb, validate
    from training.difficulty_data import load

    console = Console()
    checked = validate(override(read_yaml(config), assignments or []), str(config))
    tried = None
    if checked.run is not None:
        from experiments.reopened import tried_of_run

        if json is None:
            begun("reading samples", [checked.run])
        tried = tried_of_run(checked.run)
    data, learning = load(checked, tried)
    if json is None:
        print(f"fitting and judging predictors: {len(data.questions):,} questions ...", file=sys.stderr)
    with console.status("") as status:
        ladder, frozen = climb(data, checked, learning=learning, on_rung=lambda name: status.update(name))
    for scheme in dict.fromkeys(entry.scheme for entry in ladder.entries):
        console.print(ladder_table(ladder, scheme))
    console.print(confusion_table(ladder))
    for line in finding(ladder):
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    if freeze is not None:
        frozen.write(freeze)
        print(f"predictions: {freeze}")
    if json is not None:
        json.write_text(ladder.to_json(), encoding="utf-8")


def ladder_table(ladder: "Ladder", scheme: str) -> "Table":
    """One row per rung."""
    from rich import box
    from rich.table import Table

    counts = ", ".join(f"{level} {count:,}" for level, count in zip(ladder.levels, ladder.counts, strict=True))
    caption = (
        f"{counts}; kappa: quadratic weighted; 95 % intervals over groups of questions; * looks at samples of the question"
    )
    shown = Table(title=f"{ladder.level}, {scheme}", caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("rung", overflow="fold")
    for heading in ("kappa", "over majority", "MAE", "macro-MAE", "Spearman"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for entry in ladder.entries:
        if entry.scheme == scheme:
            found = entry.quality
            cells = (found.kappa, entry.gain, found.mae, found.macro_mae, found.spearman)
            signs = ("", "+", "", "", "")
            name = entry.rung + (" *" if entry.reads_policy else "")
            shown.add_row(name, *(_cell(one, sign) for one, sign in zip(cells, signs, strict=True)))
    return shown


def _cell(interval: "Interval", sign: str = "") -> str:
    return f"{interval.mean:{sign}.3f}\n[dim]{interval.low:{sign}.2f}..{interval.high:{sign}.2f}[/dim]"


def _against(gain: "Interval") -> str:
    word = "above" if gain.low > 0 else "below" if gain.high < 0 else "not told apart from"
    return f"{gain.mean:+.3f} ({gain.low:+.3f} to {gain.high:+.3f}) {word}"


def confusion_table(ladder: "Ladder") -> "Table":
    """The primary rung's, under the first scheme."""
    from rich import box
    from rich.table import Table

    entry = ladder.entry(ladder.primary, ladder.entries[0].scheme)
    shown = Table(title=f"{entry.rung}: true level by row, predicted by column", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("")
    for level in ladder.levels:
        shown.add_column(level, justify="right")
    for level, row in zip(ladder.levels, entry.quality.confusion, strict=True):
        shown.add_row(level, *map(str, row))
    return shown


def finding(ladder: "Ladder") -> list[str]:
    """What the primary rung shows under each scheme, whichever way it went."""
    lines = []
    for scheme in dict.fromkeys(entry.scheme for entry in ladder.entries):
        entry = ladder.entry(ladder.primary, scheme)
        lines.append(
            f"{scheme}: {entry.rung} has weighted kappa {entry.quality.kappa.mean:.3f}, {_against(entry.gain)} the majority of "
            f"each subject, and {_against(entry.over_subject)} the subject alone under the same cuts"
        )
    if ladder.left_out:
        lines.append(f"left out for want of an embedder or of samples: {', '.join(ladder.left_out)}")
    return lines
