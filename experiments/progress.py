"""Progress of the drawing, with rates and the time left."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from ttc.records import Sample


@contextmanager
def drawing(name: str, total: int) -> Iterator[Callable[[Sample], None]]:
    """A bar on standard error while samples come in; silent where there is nothing to draw.

    Args:
        total: samples that the plan wants and the bank lacks. What live strategies draw comes on top.
    """
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("samples, {task.fields[rate]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(elapsed_when_finished=True),
    )
    with Progress(*columns, console=Console(stderr=True), disable=total == 0, refresh_per_second=4) as progress:
        task = progress.add_task(name, total=total, rate="starting the engine")
        tokens = 0

        def on_sample(sample: Sample) -> None:
            nonlocal tokens
            tokens += sample.completion_tokens
            elapsed = progress.tasks[0].elapsed or 0
            progress.update(task, advance=1, rate=f"{tokens / elapsed:,.0f} tokens/s" if elapsed > 1 else "")

        yield on_sample
