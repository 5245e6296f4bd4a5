"""Progress of the drawing, with rates and the time left."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ttc.records import Sample


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
