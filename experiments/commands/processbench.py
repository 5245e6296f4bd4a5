"""`ttc processbench`: verifiers on replies whose steps people labelled."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.processbench import Bench


def processbench(
    config: Annotated[Path, typer.Argument(help="YAML file with `verifiers`, such as that of a run.")],
    files: Annotated[list[Path], typer.Argument(help="Files of ProcessBench or VisualProcessBench, told by their content.")],
    trained: Annotated[
        Path | None, typer.Option(metavar="TRAIN_CONFIG", help="Training config: leave out chains of its questions.")
    ] = None,
    frozen: Annotated[Path | None, typer.Option(help="Folder with the NAME.json to judge under (ttc verify --freeze).")] = None,
    json: Annotated[Path | None, typer.Option("--json", help="Also write everything to this file.")] = None,
) -> None:
    """ProcessBench F1 of verifiers, and what else their step scores are worth; scores stay in the config's bank."""
    from rich.console import Console

    from experiments import processbench as benching

    benches = benching.judge(config, list(dict.fromkeys(files)), trained=trained, chosen=frozen)
    console = Console()
    for bench in benches:
        console.print(_table(bench))
        for note in _notes(bench):
            console.print(f"note: {note}", style="dim", markup=False, highlight=False)
    if len(benches) > 1:
        for name, f1 in benching.mean_of_files(benches).items():
            print(f"{name}: process F1 {f1:.3f}, mean of {len(benches)} files")
    if json is not None:
        json.write_text(benching.to_json(benches), encoding="utf-8")


def _table(bench: "Bench") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    from experiments.numbers import percent
    from experiments.verify_page import number, ranged, share
    from verifiers.card import ALL

    caption = (
        "wrong: chains with an error, of which so many errors are found; macro F1 pools sources; "
        "baselines read no question and know the labels of other chains"
    )
    shown = Table(title=escape(bench.file), caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("verifier", "source"):
        shown.add_column(heading, overflow="fold")
    shares = ("wrong %", "step AUROC", "error found %", "right passed %")
    for heading in ("chains", *shares, "process F1", "macro F1", "by source", "negative F1"):
        shown.add_column(heading, justify="right", overflow="fold")
    for row in bench.rows:
        found = row.steps
        cells = [escape(row.verifier), "" if found.group == ALL else escape(found.group), f"{found.replies:,}"]
        cells += [percent(row.erroneous), ranged(found.auroc), share(found.first_error), share(row.passed)]
        macro, negative = (one.mean if one else None for one in (found.macro_f1, found.negative_f1))
        shown.add_row(*cells, ranged(found.process_f1), *map(number, (macro, row.sources_macro_f1, negative)))
    for one in bench.baselines:
        cells = [number(one.auroc), "", "", number(one.process_f1), number(one.macro_f1), "", ""]
        shown.add_row(f"baseline: {one.baseline}", "", "", "", *cells, style="dim")
    return shown


def _notes(bench: "Bench") -> Iterator[str]:
    from verifiers.card import ALL

    if bench.dropped:
        yield f"{bench.dropped} of {bench.chains + bench.dropped} chains are left out: their questions were trained on"
    for row in bench.rows:
        if row.steps.group != ALL:
            continue
        if not row.frozen:
            yield f"{row.verifier}: a step counts as right from {row.cut} on; nothing was chosen on dev (--frozen)"
        if row.unscored:
            yield f"{row.verifier}: {row.unscored} of {bench.chains} chains have no scores and are in no figure ({row.why})"
