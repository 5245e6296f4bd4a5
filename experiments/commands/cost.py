"""`ttc cost`: what a run will take, before it starts."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from experiments.forecast import Outlook


def cost(
    config: Annotated[Path, typer.Argument(help="YAML file of a run.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
    questions: Annotated[int, typer.Option(min=2, help="Questions that are probed, the levels in proportion.")] = 48,
    samples: Annotated[int, typer.Option(min=1, help="Samples drawn of each; they are the run's own first ones.")] = 4,
) -> None:
    """Tokens, FLOPs, KV memory, hours and money of a run, from a few of its own samples, which stay in the bank."""
    from rich.console import Console
    from rich.table import Table

    from experiments.config import points
    from experiments.forecast import forecast
    from experiments.progress import drawing
    from experiments.run import plan
    from ttc.bank import Bank

    for name, checked in points(config, assignments or []).items():
        planned, bank = plan(checked), Bank(checked.bank)
        most = min(questions, len(planned.exam.questions)) * sum(min(samples, draw.n) for draw in planned.draws.values())
        with drawing(name, most) as on_sample:
            found = forecast(planned, bank, questions=questions, samples=samples, on_sample=on_sample)
        table = Table("draw", title=f"{name}: {len(planned.exam.questions):,} questions", box=None, padding=(0, 1, 0, 0))
        for heading in ("samples", "prompt tokens", "completion tokens", "FLOPs", "KV of a question", "money"):
            table.add_column(heading, justify="right")
        for one in found.draws:
            spread = f"{one.completion_tokens:,.0f} [dim]{one.completion_low:,.0f}-{one.completion_high:,.0f}[/dim]"
            flops = "unknown" if one.flops is None else f"{one.flops:.2e}"
            memory = "unknown" if one.kv_bytes is None else f"{one.kv_bytes / 2**20:,.1f} MiB"
            money = "no prices" if one.money is None else f"{one.money:,.2f}"
            table.add_row(one.draw, f"{one.samples:,}", f"{one.prompt_tokens:,.0f}", spread, flops, memory, money)
        Console().print(table)
        print(_left(found))


def _left(found: "Outlook") -> str:
    if not found.lacking:
        return "nothing left to draw"
    if found.hours is None:
        return f"{found.lacking:,} samples left to draw; untimed, since the bank held the whole probe; raise --samples"
    return f"about {found.hours:,.2f} hours for the {found.lacking:,} samples that the bank lacks"
