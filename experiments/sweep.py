"""A grid of runs: where its points lie, how far each is, and what they found."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal

from rich import box
from rich.console import Console
from rich.table import Table

from experiments.config import RunConfig
from experiments.curves import Curves
from experiments.folder import holds
from experiments.numbers import short
from experiments.plan import lacking, plan
from ttc.bank import Bank


def point_folders(folder: Path, runs: Iterable[str]) -> dict[str, Path]:
    """Where the results of each point are: in the folder itself where there is one only."""
    names = list(runs)
    return {name: folder if len(names) == 1 else folder / name for name in names}


@dataclass(frozen=True, slots=True)
class Status:
    """How far one point is."""

    name: str
    state: Literal["done", "drawn", "partly", "not begun", "other settings"]
    """`drawn`: all known samples are in the bank, and nothing is computed from them yet; `other settings`: its folder holds the
    results of another config."""
    samples: int
    """In the bank, of those wanted."""
    wanted: int
    """By parallel strategies, over all questions."""
    live: tuple[str, ...]
    """Strategies whose draws are not known beforehand."""
    bytes: int
    """Of its folder."""


def status(name: str, config: RunConfig, folder: Path) -> Status:
    """Count what the bank has, and look for results; no model is opened."""
    planned = plan(config)
    wanted = planned.wanted(config.backend.identity())
    total = sum(wanted.values())
    samples = total - lacking(Bank(config.bank), wanted)
    live = tuple(dict.fromkeys(strategy.kind for strategy in config.strategies if not hasattr(strategy, "draw")))
    there, state = holds(folder, config), "partly"
    if there is not None:
        state = "done" if there else "other settings"
    elif samples == total and total:
        state = "drawn"
    elif not samples:
        state = "not begun"
    return Status(name, state, samples, total, live, _bytes(folder))


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def status_table(found: Sequence[Status], banks: Iterable[Path]) -> Table:
    """What a terminal shows."""
    sizes = [f"{short(_bytes(bank))}B in {bank}" for bank in dict.fromkeys(banks)]
    live = dict.fromkeys(kind for one in found for kind in one.live)
    caption = f"bank: {', '.join(sizes)}" + (f"; not counted: what {', '.join(live)} draw as they go" if live else "")
    shown = Table(title="sweep", caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("point", "state", "samples", "results"):
        shown.add_column(heading, justify="left" if heading in ("point", "state") else "right")
    for one in found:
        shown.add_row(one.name, one.state, f"{one.samples:,} of {one.wanted:,}", f"{short(one.bytes)}B" if one.bytes else "")
    return shown


def summarise(folder: Path, folders: Mapping[str, Path]) -> None:
    """Write `sweep.json`, every point of every overall curve, and print the last of each."""
    shown = Table(title=f"sweep {folder.name}", caption="accuracy over all questions at the largest budget")
    for heading in ("point", "strategy", "k", "accuracy in %", "tokens / question", "FLOPs / question"):
        shown.add_column(heading, justify="left" if heading in ("point", "strategy") else "right")
    content: dict[str, dict[str, object]] = {}
    for name, path in folders.items():
        found = Curves.from_json((path / "curves.json").read_text(encoding="utf-8"))
        for curve in found.overall.curves:
            last = curve.points[-1]
            interval = f"{100 * last.accuracy:.1f} [dim]{100 * last.low:.0f}-{100 * last.high:.0f}[/dim]"
            shown.add_row(name, curve.strategy, str(last.k), interval, short(last.total_tokens), short(last.flops))
        curves = {curve.strategy: [asdict(point) for point in curve.points] for curve in found.overall.curves}
        content[name] = {"folder": path.name, "strategies": list(curves), "curves": curves}
        shown.add_section()
    (folder / "sweep.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    Console().print(shown)
    print(f"sweep: {folder / 'sweep.json'}")
