"""`ttc score` and `ttc audit`: outputs that other programs wrote, by the official and by the careful rules."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from experiments.score import Row, Rule, Scores, Tally

Golds = Annotated[Path | None, typer.Option(help="MMMU's answer file, for a file that holds extracted answers only.")]
Form = Annotated[str | None, typer.Option(help="Form of the outputs, where it is not told by their content.")]
Data = Annotated[
    Path | None,
    typer.Option("--data", help="Local copy of the benchmark, for logs that leave out options, golds or fields."),
]


def score(
    benchmark: Annotated[str, typer.Argument(help="mmmu, mmmu_pro, mmvu or jsonl.")],
    outputs: Annotated[Path, typer.Option(help="File or folder of replies, in any known form.")],
    rules: Annotated[str, typer.Option(help="official, careful or both.")] = "both",
    by: Annotated[
        str, typer.Option(help="Fields of the questions, comma-separated, such as topic_difficulty,discipline.")
    ] = "",
    json: Annotated[Path | None, typer.Option("--json", help="Also write scores and rows to this file.")] = None,
    levels: Annotated[Path | None, typer.Option(help="Other outputs whose rows name the difficulty of the same ids.")] = None,
    split: Annotated[str | None, typer.Option(help="Score this split alone.")] = None,
    golds: Golds = None,
    form: Form = None,
    data: Data = None,
) -> None:
    """Accuracy of outputs that another program wrote, with 95 % intervals, by any field of the questions."""
    from rich.console import Console

    from experiments import score as scoring
    from ttc import outputs as foreign

    read = foreign.read(outputs, benchmark, form=form, known=_known(benchmark, data), golds=golds)
    if levels:
        read = scoring.with_levels(read, foreign.read(levels, foreign.benchmark_of(levels)))
    fields = [name.strip() for name in by.split(",") if name.strip()]
    found = scoring.score(read, benchmark, rules=_rules(rules, benchmark), by=fields, split=split)
    if json:
        _write_json(json, scoring.as_json(found))
    _print(Console(), found)


def audit(
    outputs: Annotated[Path, typer.Argument(help="File or folder of replies, in any known form.")],
    benchmark: Annotated[str | None, typer.Option(help="Told by the form of the outputs where left out.")] = None,
    limit: Annotated[int, typer.Option(help="Rows shown; 0 shows all.")] = 20,
    golds: Golds = None,
    form: Form = None,
    data: Data = None,
) -> None:
    """Rows that the official and the careful rules read differently, with the end of each reply."""
    from rich.console import Console

    from experiments import score as scoring
    from ttc import outputs as foreign
    from ttc.errors import UserError

    name = benchmark or foreign.benchmark_of(outputs)
    if name == "mmvu":
        raise UserError("audit: MMVU has no official rules for the careful ones to differ from; use `ttc score mmvu`")
    found = scoring.score(foreign.read(outputs, name, form=form, known=_known(name, data), golds=golds), name)
    differing = [row for row in found.rows if row.differs]
    console = Console()
    for row in differing[: limit or None]:
        _print_row(console, row)
    credited = [sum(row.readings[rule].correct for row in differing) for rule in ("official", "careful")]
    console.print(
        f"{len(differing)} of {len(found.rows)} rows differ; of these the official rules credit {credited[0]}, "
        f"the careful rules {credited[1]}" + (f"; {limit} are shown (--limit)" if 0 < limit < len(differing) else ""),
        highlight=False,
    )


def _rules(rules: str, benchmark: str) -> "list[Rule]":
    from ttc.errors import UserError

    if rules == "both":
        return ["careful"] if benchmark == "mmvu" else ["official", "careful"]
    if rules == "official":
        return ["official"]
    if rules == "careful":
        return ["careful"]
    raise UserError(f"--rules {rules}: use official, careful or both")


def _known(benchmark: str, data: Path | None) -> dict[str, Any]:
    """Questions and golds by id of a local copy of the benchmark."""
    if data is None:
        return {}
    from ttc.benchmarks import AnyBenchmark
    from ttc.settings import checked

    exam = checked(AnyBenchmark, {"kind": benchmark, "path": data}, f"--data {data}").load()
    return {question.id: (question, exam.golds[question.id]) for question in exam.questions if question.id in exam.golds}


def _write_json(path: Path, content: object) -> None:
    import json

    from ttc.errors import UserError

    try:
        path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")
    except OSError as error:
        raise UserError(f"--json {path}: {error.strerror}") from error


def _print(console: "Console", found: "Scores") -> None:
    from experiments.yardsticks import reference_lines

    console.print(_table(found))
    for note in found.notes:
        console.print(f"note: {note}", style="dim", markup=False, highlight=False)
    for line in reference_lines(found.exam):
        console.print(line, markup=False, highlight=False)


def _table(found: "Scores") -> "Table":
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), title=f"{found.benchmark}: {len(found.rows)} replies")
    table.add_column("rules")
    for name in ("correct", "%", "95 %", "none", "cut off", "refused", "failed"):
        table.add_column(name, justify="right", no_wrap=True)
    for rule, tally in found.overall.items():
        table.add_row(rule, *_cells(tally), style="bold")
        for name, groups in found.by[rule].items():
            table.add_row(name, style="dim")
            for value, group in groups.items():
                table.add_row(f" {value}", *_cells(group))
        table.add_section()
    return table


def _cells(tally: "Tally") -> list[str]:
    low, high = tally.interval
    kinds = [str(tally.statuses.get(status, 0)) for status in ("truncated", "refused", "failed")]
    shares = f"{100 * tally.accuracy:.2f}", f"{100 * low:.1f}-{100 * high:.1f}"
    return [f"{tally.correct}/{tally.n}", *shares, str(tally.none), *kinds]


def _print_row(console: "Console", row: "Row", tail: int = 300) -> None:
    """One differing row: what each rule set read, the gold, the end of the reply."""
    console.rule(row.reply.id, style="dim", align="left")
    for rule, found in row.readings.items():
        mark = "right" if found.correct else "wrong"
        shown = ", ".join(found.prediction) if isinstance(found.prediction, tuple) else found.prediction
        console.print(f"{rule}: {shown or 'nothing'} ({mark}; {found.rule})"[:240], markup=False, highlight=False)
    console.print(f"gold: {' or '.join(row.reply.gold.answers)}", markup=False, highlight=False)
    text = row.reply.text
    console.print(("... " if len(text) > tail else "") + text[-tail:], style="dim", markup=False, highlight=False)
