"""Progress of the drawing, with rates and the time left."""

import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from experiments.folder import read_manifest
from ttc.records import Sample


def begun(doing: str, runs: Sequence[Path]) -> None:
    """Say on standard error what is begun, which takes a while, and on how much. Raises UserError for what is no run."""
    questions = sum(read_manifest(run)["benchmark"]["questions"] for run in runs)
    print(f"{doing}: {questions:,} questions of {', '.join(map(str, runs))} ...", file=sys.stderr)


@contextmanager
def drawing(name: str, total: int, wanted: Mapping[str, int]) -> Iterator[Callable[[Sample], None]]:
    """A bar on standard error while samples come in; silent where there is nothing to draw.

    What strategies draw as they go is not known beforehand: it is counted on a line of its own, which has no end.

    Args:
        total: samples that the plan wants and the bank lacks.
        wanted: key -> samples, of all that the plan wants.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("samples, {task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), refresh_per_second=4) as progress:
        tokens: Counter[TaskID] = Counter()
        planned = progress.add_task(name, total=total, rate="starting the engine") if total else None
        further: TaskID | None = None

        def on_sample(sample: Sample) -> None:
            nonlocal further
            task = planned if sample.index < wanted.get(sample.key, 0) else further
            if task is None:
                task = further = progress.add_task("as strategies go", total=None, rate="")
            tokens[task] += sample.completion_tokens
            elapsed = progress.tasks[progress.task_ids.index(task)].elapsed or 0
            progress.update(task, advance=1, rate=f"{tokens[task] / elapsed:,.0f} tokens/s" if elapsed > 1 else "")

        yield on_sample
