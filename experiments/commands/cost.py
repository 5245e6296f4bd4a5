"""`ttc cost`: what a run will take, before it starts."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.forecast import Forecast, Outlook, Total
    from experiments.plan import Plan
    from ttc.bank import Bank


def cost(
    config: Annotated[Path, typer.Argument(help="YAML file of a run.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
    questions: Annotated[int, typer.Option(min=2, help="Questions that are probed, the levels in proportion.")] = 48,
    samples: Annotated[int, typer.Option(min=1, help="Samples drawn of each; they are the run's own first ones.")] = 4,
    live_questions: Annotated[
        int, typer.Option(min=2, help="Questions of these on which strategies that draw as they go are run for real.")
    ] = 12,
) -> None:
    """Tokens, FLOPs, KV memory, hours and money of a run, from a few of its own samples, which stay in the bank."""
    from rich.console import Console

    from experiments.config import points
    from experiments.forecast import forecast, probe_of
    from experiments.plan import lacking, plan
    from experiments.progress import drawing
    from ttc.bank import Bank

    for name, checked in points(config, assignments or []).items():
        planned, bank = plan(checked), Bank(checked.bank)
        wanted = probe_of(planned, questions, samples, live_questions).wanted(checked.backend.identity())
        with drawing(name, lacking(bank, wanted), wanted) as on_sample:
            probed = {"questions": questions, "samples": samples, "live_questions": live_questions}
            found = forecast(planned, bank, **probed, on_sample=on_sample)
        console = Console()
        whole = (*found.draws, *found.passes, *found.live)
        console.print(table(f"{name}: {len(planned.exam.questions):,} questions", whole))
        if found.alone:
            console.print(table("if run alone", found.alone))
        print(_left(found))


def print_price(planned: "Plan", bank: "Bank") -> None:
    """What is known of a run's price without drawing: by the samples that the bank holds, else the most that it can be."""
    from rich.console import Console

    from experiments.forecast import stored
    from experiments.tariffs import costs_of

    found = stored(planned, bank)
    if found:
        Console().print(table("the whole, by the samples in the bank", list(found.values())))
    prices, count = costs_of(planned.config).prices, len(planned.exam.questions)
    for label, draw in planned.draws.items():
        if label not in found:
            most = count * draw.n * planned.config.sampling.max_tokens
            money = "" if prices is None else f", {prices.money(0, most):,.2f} {prices.currency} for these"
            print(f"  draw {label}: at most {most:,} completion tokens by sampling.max_tokens{money}")
    unseen = [f"draw {label}" for label in planned.draws if label not in found]
    unseen += [f"verifier {verifier}" for verifier in dict.fromkeys(verifier for _, verifier in planned.scored)]
    unseen += dict.fromkeys(strategy.kind for strategy, _ in planned.live)
    if unseen:
        print(f"  `ttc cost` tells what {', '.join(unseen)} will take, from a few samples that the run then has already")


def table(title: str, forecasts: Sequence["Forecast"]) -> "Table":
    """A row per forecast; columns that nothing is known of are left out."""
    from rich.table import Table

    shown = Table("", title=title, box=None, padding=(0, 1, 0, 0))
    columns = {
        "samples": [_total(one.samples) for one in forecasts],
        "prompt tokens": [_total(one.prompt_tokens) for one in forecasts],
        "completion tokens": [_total(one.completion_tokens) for one in forecasts],
        "verifier tokens": [_total(one.verifier_tokens) for one in forecasts],
        "FLOPs": ["" if one.flops is None else f"{one.flops:.2e}" for one in forecasts],
        "KV of a question": ["" if one.kv_bytes is None else f"{one.kv_bytes / 2**20:,.1f} MiB" for one in forecasts],
        "money": ["" if one.money is None else f"{one.money:,.2f}" for one in forecasts],
    }
    known = {heading: cells for heading, cells in columns.items() if any(cells)}
    for heading in known:
        shown.add_column(heading, justify="right", overflow="fold")
    for one, *cells in zip(forecasts, *known.values(), strict=True):
        shown.add_row(one.what, *(cell or "-" for cell in cells))
    unknown = ", ".join(heading for heading in ("completion tokens", "FLOPs", "money") if heading not in known)
    shown.caption = f"unknown: {unknown}" if unknown else None
    return shown


def _total(total: "Total | None") -> str:
    if total is None:
        return ""
    if not total.low < total.high:
        return f"{total.value:,.0f}"
    return f"{total.value:,.0f}\n[dim]{total.low:,.0f}-\n{total.high:,.0f}[/dim]"


def _left(found: "Outlook") -> str:
    left = [f"the {found.lacking:,} samples that the bank lacks"] if found.lacking else []
    left += ["what strategies draw as they go"] if found.live else []
    if not left:
        return "nothing left to draw"
    if found.hours is None:
        return f"untimed: {' and '.join(left)}, for the bank held the whole probe, or no tokens are counted"
    return f"about {found.hours:,.2f} hours of drawing for {' and '.join(left)}; scoring comes on top"
