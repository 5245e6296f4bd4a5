"""`ttc curves` and `ttc report`: read a finished run; nothing is drawn."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from experiments.axes import AXES

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.curves import Curves
    from experiments.folder import Manifest
    from experiments.panel import Outcomes
    from experiments.risk import Risk
    from experiments.run import Results
    from experiments.verify import Card
    from ttc.records import Question

Run = Annotated[Path, typer.Argument(help="Folder of a finished run.")]


def curves(
    run: Run,
    by: Annotated[
        str | None,
        typer.Option(help="Fields of the questions, comma-separated.  \\[default: the first field of the run's page]"),
    ] = None,
    axis: Annotated[str, typer.Option(help=f"Compute axis: {', '.join(AXES)}.")] = "total_tokens",
    json: Annotated[Path | None, typer.Option("--json", help="Also write the curves to this file.")] = None,
) -> None:
    """Accuracy against compute of a run, in all and by any field of its questions."""
    from rich.console import Console

    from experiments import folder
    from experiments.curve_tables import area_table, lacking, risk_table, table

    questions, outcomes = folder.read_outcomes(run)
    if by is None:
        fields = list(_fields(questions, folder.read_config(run).by)[:1])
    else:
        fields = [field.strip() for field in by.split(",") if field.strip()]
    found = _curves(questions, outcomes, folder.read_manifest(run), fields)
    for field in fields or [""]:
        Console().print(table(found, field, axis))
    found = replace(found, risks=folder.read_risks(run, fields))
    for shown in (area_table(found, axis), risk_table(found)):
        if shown is not None:
            Console().print(shown)
    if said := lacking(found, axis):
        Console().print(said, markup=False, highlight=False)
    if json is not None:
        json.write_text(found.to_json(), encoding="utf-8")


def report(
    run: Run,
    out: Annotated[
        Path | None, typer.Option("-o", "--out", help="Target.  \\[default: report.html in the run's folder]")
    ] = None,
) -> None:
    """Grade the stored samples again and write the page anew."""
    from rich.console import Console

    from experiments import folder as folders
    from experiments.plan import plan
    from experiments.run import execute
    from ttc.bank import Bank

    config = folders.read_config(run)
    facts = folders.read_manifest(run)
    stored = folders.Stored(facts, run)
    results = execute(plan(config), stored, Bank(config.bank))
    facts = {**folders.manifest(results, stored, facts["name"]), "executed": facts["executed"]}
    folders.save(run, results, facts)
    write_results(run, results, facts, Console(), page=out)
    print(f"report: {out or run / 'report.html'}")


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Folders of finished runs; each is compared with the first.")],
    axis: Annotated[str, typer.Option(help=f"Compute axis of the areas under the curves: {', '.join(AXES)}.")] = "total_tokens",
    force: Annotated[bool, typer.Option(help="Compare runs over different data on the questions they share.")] = False,
) -> None:
    """Paired differences between runs, strategy by strategy, at the largest budget they share."""
    from rich.console import Console

    from experiments import compare as comparing
    from experiments.curve_tables import check_axis
    from ttc.errors import UserError

    if len(runs) < 2:
        raise UserError(f"compare needs two runs or more, got {len(runs)}; name their folders")
    check_axis(axis)
    Console().print(comparing.table(comparing.compare(runs, axis=axis, force=force), runs[0], axis))


def submission(
    run: Run,
    out: Annotated[Path, typer.Option("-o", "--out", help="Target, a JSON file.")],
    strategy: Annotated[str, typer.Option(help="Name of the strategy whose answers are submitted.")] = "vote",
) -> None:
    """Write the answer file for a split whose golds are hidden."""
    from experiments import folder as folders
    from experiments.plan import plan
    from experiments.submission import submission as answers_of
    from experiments.submission import write_submission
    from ttc.bank import Bank

    config = folders.read_config(run)
    answers = answers_of(plan(config), folders.Stored(folders.read_manifest(run), run), Bank(config.bank), strategy)
    write_submission(out, answers)
    print(f"{sum(map(bool, answers.values())):,} of {len(answers):,} questions answered in {out}")


def write_results(
    folder: Path, results: "Results", facts: "Manifest", console: "Console", page: Path | None = None
) -> "Curves":
    """Curves, table and page of a graded run."""
    from experiments.curve_tables import risk_table, table
    from experiments.idle import idle_lines
    from experiments.report import write_report
    from experiments.yardsticks import reference_lines, unanswered_lines

    config, questions = results.plan.config, results.plan.exam.questions
    fields = _fields(questions, config.by)
    found = replace(_curves(questions, results.outcomes, facts, fields), risks=tuple(_risks(results, fields)))
    (folder / "curves.json").write_text(found.to_json(), encoding="utf-8")
    write_report(page or folder / "report.html", facts, found, results, cards=_verified(folder, console))
    console.print(table(found, fields[0] if fields else ""))
    if risks := risk_table(found):
        console.print(risks)
    lines = [*results.plan.notes, *idle_lines(results), *unanswered_lines(results.graded), *reference_lines(results.plan.exam)]
    if problems := results.plan.exam.problems:
        lines.append(f"data: {len(problems):,} problems, listed in the report; the first: {problems[0]}")
    for line in lines:
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return found


def _verified(folder: Path, console: "Console") -> "Sequence[Card]":
    """What `ttc verify` last found about the run; a file of another version is left out and said, since the run is done."""
    from experiments.verify import read
    from ttc.errors import UserError

    try:
        return read(folder)
    except UserError as error:
        console.print(f"left out of the page: {error}", markup=False, highlight=False, soft_wrap=True)
        return ()


def _risks(results: "Results", fields: Sequence[str]) -> "list[Risk]":
    from experiments.config import strategy_name
    from experiments.curves import rows_of
    from experiments.risk import KINDS, risks

    questions = results.plan.exam.questions
    groups = {(field, value): rows for field in fields for value, rows in rows_of(questions, field).items()}
    groups = {("", "all"): list(range(len(questions))), **groups}
    found: list[Risk] = []
    for strategy in results.plan.config.parallel:
        if strategy.kind in KINDS:
            name = strategy_name(strategy)
            ks = sorted({k for points in results.outcomes[name].values() for k, _ in points})
            # rejection goes through all thresholds, whichever is its own
            chosen = results.thresholds.get(name) if strategy.kind == "filtered_vote" else None
            found += risks(name, strategy, [results.pools[name].get(q.id) for q in questions], ks, groups, chosen)
    return found


def _fields(questions: "Sequence[Question]", by: Sequence[str] | None) -> Sequence[str]:
    """Fields that get curves of their own: those of the config, else the usual ones that the questions have."""
    if by is not None:
        return by
    present = {field for question in questions for field in question.fields}
    return [field for field in ("topic_difficulty", "subject") if field in present]


def _curves(questions: "Sequence[Question]", outcomes: "Outcomes", facts: "Manifest", fields: Sequence[str]) -> "Curves":
    from experiments.curves import curves as compute
    from experiments.tariffs import read_tariffs

    oracles = {name: strategy["oracle"] for name, strategy in facts["strategies"].items() if strategy["oracle"]}
    golds = [name for name, strategy in facts["strategies"].items() if strategy["uses_gold"] and strategy["oracle"] != name]
    return compute(questions, outcomes, by=fields, oracles=oracles, golds=golds, tariffs=read_tariffs(facts))
