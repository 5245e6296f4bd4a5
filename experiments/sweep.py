"""What a sweep found, over its points."""

import json
from collections.abc import Mapping
from pathlib import Path

from rich.console import Console
from rich.table import Table

from experiments.curves import Curves
from experiments.numbers import short


def summarise(folder: Path, folders: Mapping[str, Path]) -> None:
    """Write `sweep.json` and print every strategy's last point, overall, for every point of the grid."""
    shown = Table(title=f"sweep {folder.name}", caption="accuracy over all questions at the largest budget")
    for heading in ("point", "strategy", "k", "accuracy in %", "tokens / question"):
        shown.add_column(heading, justify="left" if heading in ("point", "strategy") else "right")
    content: dict[str, dict[str, object]] = {}
    for name, path in folders.items():
        found = Curves.from_json((path / "curves.json").read_text(encoding="utf-8"))
        for curve in found.overall.curves:
            last = curve.points[-1]
            interval = f"{100 * last.accuracy:.1f} [dim]{100 * last.low:.0f}-{100 * last.high:.0f}[/dim]"
            shown.add_row(name, curve.strategy, str(last.k), interval, short(last.total_tokens))
        content[name] = {"folder": path.name, "strategies": [curve.strategy for curve in found.overall.curves]}
        shown.add_section()
    (folder / "sweep.json").write_text(json.dumps(content, indent=1), encoding="utf-8")
    Console().print(shown)
    print(f"sweep: {folder / 'sweep.json'}")
