"""Runs against runs on the same questions: paired differences, tests, and what a comparison of this size could show."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from rich import box
from rich.table import Table

from experiments.folder import read_manifest, read_outcomes
from ttc.errors import UserError
from ttc.statistics import PairedDifference, holm, paired_difference


@dataclass(frozen=True, slots=True)
class Comparison:
    """One strategy at one budget in two runs."""

    run: str
    """The run compared with the first."""
    strategy: str
    k: int
    first: float
    """Accuracy in the first run."""
    other: float
    difference: PairedDifference
    """Other minus first."""
    adjusted_p: float
    """By Holm over everything compared here."""


def compare(runs: Sequence[Path], *, force: bool = False, seed: int = 0) -> list[Comparison]:
    """The first run against each other one, for every strategy that both have, at the largest k that both have.

    Args:
        force: compare runs over different data on the questions that they share.

    Raises:
        UserError: runs over different data without `force`, or nothing in common.
    """
    first, *others = runs
    pairs = [pair for other in others for pair in _pairs(first, other, force=force, seed=seed)]
    if not pairs:
        raise UserError(f"runs {', '.join(map(str, runs))}: no strategy has a k in common; see `ttc curves`")
    adjusted = holm([difference.p_value for *_, difference in pairs])
    return [Comparison(*pair, adjusted_p=p) for pair, p in zip(pairs, adjusted, strict=True)]


Pair = tuple[str, str, int, float, float, PairedDifference]


def _pairs(first: Path, other: Path, *, force: bool, seed: int) -> list[Pair]:
    _check_data(first, other, force=force)
    (questions, ours), (_, theirs) = read_outcomes(first), read_outcomes(other)
    pairs: list[Pair] = []
    for strategy in ours.keys() & theirs.keys():
        shared = [q for q in questions if q.id in ours[strategy] and q.id in theirs[strategy]]
        budgets = [{k for k, _ in found[strategy][q.id]} for q in shared for found in (ours, theirs)]
        common = set.intersection(*budgets) if budgets else set()
        if common:
            k = max(common)
            a, b = (np.array([dict(found[strategy][q.id])[k].credit for q in shared]) for found in (ours, theirs))
            difference = paired_difference(b, a, [q.cluster or q.id for q in shared], seed=seed)
            pairs.append((str(other), strategy, k, float(a.mean()), float(b.mean()), difference))
    return sorted(pairs, key=lambda pair: pair[:3])


def _check_data(first: Path, other: Path, *, force: bool) -> None:
    a, b = (read_manifest(run)["benchmark"] for run in (first, other))
    if a["fingerprint"] != b["fingerprint"] and not force:
        raise UserError(
            f"runs {first} and {other} are over different data: {a['name']} {a['split']} revision {a['revision']} "
            f"({a['questions']} questions, {a['fingerprint'][:12]}) and {b['name']} {b['split']} revision {b['revision']} "
            f"({b['questions']} questions, {b['fingerprint'][:12]}); pass --force to compare the questions they share"
        )


def table(found: Sequence[Comparison], first: Path) -> Table:
    """What a terminal shows."""
    caption = "differences in points with 95 % intervals; p by sign flips of clusters, after Holm"
    shown = Table(title=f"against {first}", caption=caption, box=box.SIMPLE_HEAD)
    for heading in ("run", "strategy", "first", "this", "difference", "p", "detectable"):
        shown.add_column(heading, justify="left" if heading in ("run", "strategy") else "right", no_wrap=True)
    for one in found:
        spread, least = one.difference.interval, one.difference.detectable
        shown.add_row(
            one.run,
            f"{one.strategy}@{one.k}",
            f"{100 * one.first:.1f}",
            f"{100 * one.other:.1f}",
            f"{100 * spread.mean:+.1f} [dim]{100 * spread.low:+.1f} to {100 * spread.high:+.1f}[/dim]",
            f"{one.adjusted_p:.3f}",
            "" if least is None else f"{100 * least:.1f}",
        )
    return shown
