"""`ttc run`: draw, grade, and show the curves."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeVar

import typer

if TYPE_CHECKING:
    from collections.abc import Callable

    from experiments.config import RunConfig
    from ttc.records import Exam

Found = TypeVar("Found")


def run(
    config: Annotated[Path, typer.Argument(help="YAML file of a run or, with a `grid:`, of a sweep.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder of the results.  \\[default: runs/ and the config's name]")] = None,
    limit: Annotated[int | None, typer.Option(help="Only so many questions, the levels in proportion.")] = None,
    dry_run: Annotated[bool, typer.Option(help="Check everything and count what would be drawn.")] = False,
    replace: Annotated[bool, typer.Option(help="Take over a folder that holds a run with other settings.")] = False,
) -> None:
    """Run a config, or every point of its grid. Run it again to resume: only what the bank lacks is drawn."""
    from experiments.config import points
    from experiments.sweep import point_folders, summarise

    extra = [*(assignments or []), *([f"limit={limit}"] if limit is not None else [])]
    runs = points(config, extra)
    folder = out or Path("runs") / config.stem
    folders = point_folders(folder, runs)
    if dry_run:
        for name, checked in runs.items():
            _count(name, checked)
        return
    for name, checked in runs.items():
        _run_one(name, checked, folders[name], group=folder.name if len(runs) > 1 else None, replace=replace)
    if len(runs) > 1:
        summarise(folder, folders)


def draw(
    config: Annotated[Path, typer.Argument(help="YAML file of a run.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
) -> None:
    """Draw the samples that a run lacks, in this process, and do nothing else: no grading, no curves."""
    from experiments.config import points
    from experiments.plan import lacking, plan
    from experiments.progress import drawing
    from experiments.run import draw_all
    from ttc.bank import Bank

    for name, checked in points(config, assignments or []).items():
        planned, bank = plan(checked), Bank(checked.bank)
        wanted = planned.wanted(checked.backend.identity())
        with drawing(name, lacking(bank, wanted), wanted) as on_sample:
            draw_all(planned, checked.backend, bank, on_sample=on_sample)


def _count(name: str, config: "RunConfig") -> None:
    """What a run would draw, with everything checked that can be without loading the model; nothing is fetched.

    Raises:
        UserError: all that is missing here, in one line.
    """
    from experiments.commands.cost import print_price
    from experiments.doctor import lacks
    from experiments.plan import check_archive, lacking, plan
    from ttc.bank import Bank
    from ttc.errors import UserError

    missing: list[str] = []

    def tried(look: "Callable[[], Found]") -> "Found | None":
        try:
            return look()
        except UserError as error:
            missing.append(str(error))
            return None

    fetches = getattr(config.benchmark, "fetch", False)
    local = config.benchmark.model_copy(update={"fetch": False}) if fetches else config.benchmark
    planned = tried(lambda: plan(config.model_copy(update={"benchmark": local})))
    identity = tried(config.backend.identity)
    if planned is not None and identity is not None:
        tried(lambda: check_archive(planned, Bank(config.bank)))
    absent = "" if planned is None or fetches else _absent_videos(planned.exam)
    if config.placement is not None:
        tried(lambda: _check_placement(config))
    missing += filter(None, ("" if config.placement else lacks(config.backend.kind), absent))
    if planned is None or identity is None or missing:
        raise UserError(f"{name}: {'; '.join(missing)}")
    wanted = planned.wanted(identity)
    live = dict.fromkeys(strategy.kind for strategy in config.strategies if not hasattr(strategy, "draw"))
    print(
        f"{name}: {len(planned.exam.questions):,} questions of {planned.exam.name} {planned.exam.split}, "
        f"{sum(wanted.values()):,} samples wanted, {lacking(Bank(config.bank), wanted):,} to draw"
        + (f"; not counted: what {', '.join(live)} will ask for as they go" if live else "")
    )
    print_price(planned, Bank(config.bank))
    for problem in planned.exam.problems[:5]:
        print(f"  data: {problem}")
    if len(planned.exam.problems) > 5:
        print(f"  data: and {len(planned.exam.problems) - 5} more problems")


def _check_placement(config: "RunConfig") -> None:
    if config.placement is not None:
        config.placement.check(config.backend.kind if config.backend.kind in ("transformers", "vllm") else "")


def _absent_videos(exam: "Exam") -> str:
    """What to say where videos were never fetched: such a run would only count failures. One whose fetching failed is data."""
    from ttc.benchmarks.videos import NOT_THERE

    absent = sum(any(media.problem.startswith(NOT_THERE) for media in question.media) for question in exam.questions)
    return (
        f"{absent} of {len(exam.questions)} questions have a video that is not here; set benchmark.fetch=true" if absent else ""
    )


def _run_one(name: str, config: "RunConfig", folder: Path, *, group: str | None, replace: bool) -> None:
    from rich.console import Console

    from experiments import folder as folders
    from experiments import unchanged
    from experiments.commands.results import write_results
    from experiments.plan import check_archive, lacking, plan
    from experiments.progress import drawing
    from experiments.run import execute
    from experiments.tracking import tracked
    from ttc.bank import Bank
    from ttc.errors import UserError

    inputs = unchanged.inputs(config)
    kept = unchanged.holds(folder, inputs)
    if kept and config.benchmark.kind == "pocket":  # our code says all about it, so it need not be loaded
        return _show(folder)
    planned = plan(config)
    wanted = planned.wanted(config.backend.identity())
    if kept and unchanged.knows(folder, planned, wanted):
        return _show(folder)
    if absent := _absent_videos(planned.exam):
        raise UserError(f"{name}: {absent}")
    bank = Bank(config.bank)
    check_archive(planned, bank)
    missing = lacking(bank, wanted)
    folders.claim(folder, config, replace=replace)
    apart = missing if config.placement is not None else 0
    if config.placement is not None and apart:
        _check_placement(config)
        config.placement.sample(folder / "config.yaml")
    with tracked(config, folder, name=name, group=group) as publish:
        with drawing(name, missing - apart, wanted) as on_sample:
            results = execute(planned, config.backend, bank, run=name, on_sample=on_sample)
        facts = folders.manifest(results, config.backend, name)
        folders.save(folder, results, facts)
        found = write_results(folder, results, facts, Console())
        where = publish(found, results, facts)
    if not results.ungraded:
        unchanged.remember(folder, inputs, config, planned, wanted)
    drew = results.executed
    if apart:
        print(f"the sampling process drew {apart:,} samples")
    tokens = f" ({drew.completion_tokens:,} tokens)" if drew.completion_tokens or not drew.samples else ""
    print(f"drew {drew.samples:,} samples{tokens} now; the rest was in {config.bank}")
    print(f"report: {folder / 'report.html'}" + (f"\n{where}" if where else ""))


def _show(folder: Path) -> None:
    """What a run found when nothing that it follows from has changed since."""
    from rich.console import Console

    from experiments.curve_tables import risk_table, table
    from experiments.curves import Curves

    found = Curves.from_json((folder / "curves.json").read_text(encoding="utf-8"))
    for shown in (table(found, found.fields[0] if found.fields else ""), risk_table(found)):
        if shown is not None:
            Console().print(shown)
    print(f"drew 0 samples: nothing changed since these results were made; `ttc report {folder}` makes them anew from the bank")
    print(f"report: {folder / 'report.html'}")
