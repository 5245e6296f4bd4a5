"""`ttc verify`: what the verifiers of a finished run are worth; frozen choices of a dev run."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from rich.console import Console
    from rich.table import Table

    from experiments.verify import Card
    from ttc.statistics import Interval


def verify(
    run: Annotated[Path, typer.Argument(help="Folder of a finished run whose config binds verifiers.")],
    verifier: Annotated[list[str] | None, typer.Option(help="Judge this one alone; repeatable.  \\[default: all]")] = None,
    chains: Annotated[Path | None, typer.Option(help="File of labelled chains (JSON lines) about the run's questions.")] = None,
    freeze: Annotated[Path | None, typer.Option(help="Choose on this dev run, and write NAME.json into this folder.")] = None,
    frozen: Annotated[Path | None, typer.Option(help="Folder with the NAME.json to judge under.")] = None,
    dev: Annotated[Path | None, typer.Option(help="Dev run that --frozen was made on: refuse it where that changed.")] = None,
    calibration: Annotated[str, typer.Option(help="With --freeze: temperature or isotonic.")] = "temperature",
    held_out: Annotated[
        str | None, typer.Option(metavar="FIELD=VALUE", help="Questions that the verifier was not trained on.")
    ] = None,
    probes: Annotated[
        int | None, typer.Option(min=0, help="Replies changed and scored by each probe; 0: none.  \\[default: 256]")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of what is chosen for probes.")] = 0,
    json: Annotated[Path | None, typer.Option("--json", help="Also write everything to this file.")] = None,
) -> None:
    """Judge a run's verifiers: steps, first errors, gains over the vote, calibration, and probes with a verdict each."""
    from rich.console import Console

    from experiments import verify as verifying
    from experiments.progress import begun
    from ttc.errors import UserError

    if freeze and frozen:
        raise UserError("--freeze and --frozen: what is chosen on a run cannot be judged on it; give one of them")
    if dev and not frozen:
        raise UserError("--dev needs --frozen: the files that were made on that run")
    if calibration not in ("temperature", "isotonic"):
        raise UserError(f"--calibration {calibration}: use temperature or isotonic")
    field, equals, value = (held_out or "").partition("=")
    if held_out and not (field and equals and value):
        raise UserError(f"--held-out {held_out}: expected field=value, such as subject=Circuits")
    options = verifying.Options(
        only=tuple(verifier or ()),
        chains=chains,
        frozen=frozen,
        freeze=freeze,
        dev=dev,
        method="isotonic" if calibration == "isotonic" else "temperature",
        held_out=(field, value) if held_out else None,
        probed=verifying.PROBED if probes is None else probes,
        seed=seed,
    )
    if json is None:
        begun("judging verifiers", [run])
    cards = verifying.verify(run, options)
    console = Console()
    for card in cards:
        _print(console, card)
    if json is not None:
        json.write_text(verifying.to_json(cards), encoding="utf-8")
    if freeze:
        print(f"frozen: {', '.join(str(freeze / f'{card.name}.json') for card in cards if not card.uses_gold)}")
    print(f"page: {run / 'verify.html'}")


def _print(console: "Console", card: "Card") -> None:
    console.rule(f"{card.name}{' (gold)' if card.uses_gold else ''}", align="left", style="dim")
    for note in card.notes:
        console.print(f"note: {note}", style="dim", markup=False, highlight=False)
    for table in (
        _steps(card),
        _kinds(card),
        _answers(card),
        _gains(card),
        _aggregations(card),
        _qualities(card),
        _probes(card),
    ):
        if table.row_count:
            console.print(table)


def _table(title: str, caption: str, left: str, *right: str) -> "Table":
    from rich import box
    from rich.table import Table

    gap = int(len(right) < 5)  # of many columns the box's own space apart is all that a terminal of 80 has
    shown = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, gap, 0, 0))
    shown.add_column(left, overflow="fold", min_width=9)  # a level, or the usual subject, in one line
    for heading in right:
        shown.add_column(heading, justify="right", overflow="fold", no_wrap=True)
    return shown


def _short(value: float) -> str:
    from experiments.verify_page import number

    return number(value, 2)


def _under(found: "Interval | None", write: "Callable[[float], str]", end: "Callable[[float], str]") -> str:
    """A figure, and its interval on a line of its own, where a terminal of 80 has no room for both."""
    return "-" if found is None else f"{write(found.mean)}\n[dim]{end(found.low)}..{end(found.high)}[/dim]"


def _steps(card: "Card") -> "Table":
    from rich.markup import escape

    from experiments.numbers import percent
    from experiments.verify_page import number

    caption = f"a step counts as right from {card.cut:.3f} on; AUPRC is of wrong steps; baselines read no question"
    shown = _table(
        "steps",
        caption,
        "replies",
        "steps",
        "wrong\n%",
        "AUROC",
        "AUPRC",
        "first\nerror",
        "±1",
        "process\nF1",
        "macro\nF1",
        "negative\nF1",
    )
    for row in card.steps:
        means = [
            one.mean if one else None
            for one in (row.first_error, row.near_error, row.process_f1, row.macro_f1, row.negative_f1)
        ]
        cells = [f"{row.steps:,}", percent(row.wrong), _under(row.auroc, number, _short), *map(number, [row.auprc, *means])]
        shown.add_row(escape(row.group), *cells)
    for row in card.baselines:
        cells = [number(row.auroc), number(row.auprc), "", "", number(row.process_f1), number(row.macro_f1), ""]
        shown.add_row(f"baseline: {row.baseline}", "", "", *cells, style="dim")
    return shown


def _kinds(card: "Card") -> "Table":
    from rich.markup import escape

    from experiments.verify_page import ranged, share

    shown = _table("kinds of error", "against all right steps", "kind", "wrong steps", "AUROC", "flagged %")
    for row in card.kinds:
        shown.add_row(escape(row.kind), f"{row.wrong:,}", ranged(row.auroc), share(row.flagged))
    if card.steps and (found := card.steps[0].wrong_process):
        shown.add_row("right answer, wrong process", "", "", share(found))
    if card.kinds and card.last_step_lowest:
        shown.add_row("lowest score on the last step", "", "", share(card.last_step_lowest))
    return shown


def _answers(card: "Card") -> "Table":
    from rich.markup import escape

    from experiments.numbers import percent
    from experiments.verify_page import number, ranged

    caption = "length: rank correlation with the number of steps, right and wrong replies held apart"
    shown = _table("answers", caption, "replies", "n", "right %", "AUROC", "at equal\nlength", "length")
    for row in card.answers:
        cells = [f"{row.replies:,}", percent(row.right), ranged(row.auroc), number(row.matched_auroc), ranged(row.length)]
        shown.add_row(escape(row.group), *cells)
    return shown


def _gains(card: "Card") -> "Table":
    """The largest budget of each group; all budgets are in the page."""
    from rich.markup import escape

    from experiments.numbers import percent, signed
    from experiments.verify_page import number

    caption = (
        "in %, paired by question; exact over the samples that were scored, the first of each question, which the vote reads "
        "too (`ttc curves`: the vote over all); finds: a true difference that so many questions show with power 0.8; all k in "
        "the page"
    )
    shown = _table("gain over the vote", caption, "questions", "method@k", "right", "vote", "gain", "oracle gap")
    shown.add_column("reading", min_width=len("unclear; finds"))
    for group in card.gains:
        last = max((gain.k for gain in group.gains), default=0)
        for gain in group.gains:
            if gain.k in (16, last):
                points, gap = _under(gain.over_vote.interval, signed, signed), _under(gain.recovered, number, _short)
                cells = [percent(gain.accuracy), percent(gain.vote), points, gap, gain.reading]
                name = f"{escape(group.group)}\n[dim]({group.questions:,})[/dim]"
                shown.add_row(name, f"{gain.method}\n@{gain.k}", *cells)
    return shown


def _aggregations(card: "Card") -> "Table":
    from experiments.numbers import percent
    from experiments.verify_page import number

    shown = _table(
        "aggregations",
        "best-of-n as mean over k and at the last k; * is used",
        "steps as",
        "AUROC",
        "mean %",
        "last %",
        "weighted %",
    )
    for row in card.aggregations:
        cells = [number(row.auroc), percent(row.best_of_n), percent(row.at_last), percent(row.weighted_vote)]
        shown.add_row(row.aggregation + ("*" if row.chosen else ""), *cells)
    return shown


def _qualities(card: "Card") -> "Table":
    from experiments.verify_page import number

    shown = _table(
        "calibration", "floor: what perfect calibration would read", "scores", "n", "Brier", "log loss", "ECE", "floor"
    )
    for name, row in card.qualities.items():
        shown.add_row(name, f"{row.n:,}", number(row.brier), number(row.nll), number(row.ece), number(row.ece_floor))
    return shown


def _probes(card: "Card") -> "Table":
    from rich.markup import escape

    shown = _table("probes", "", "probe", "verdict", "replies")
    shown.add_column("figures and threshold", overflow="fold")
    for one in card.findings:
        style = {"pass": "green", "fail": "red"}.get(one.verdict, "dim")
        shown.add_row(one.probe, f"[{style}]{one.verdict}[/{style}]", f"{one.replies or ''}", escape(one.said))
    return shown
