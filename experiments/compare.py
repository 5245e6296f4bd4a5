"""Runs against runs on the same questions: paired differences, tests, and what a comparison of this size could show."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

import numpy as np
from rich import box
from rich.table import Table

from experiments.axes import AXES
from experiments.folder import read_manifest, read_outcomes
from experiments.panel import Panel
from experiments.tariffs import read_tariffs
from ttc.errors import UserError
from ttc.pool import Outcome
from ttc.records import Question
from ttc.statistics import PairedDifference, curve_areas, holm, mcnemar_p, paired_difference


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
    test: Literal["sign flips", "McNemar"]
    """The exact test where both are single runs of 0 and 1 and no questions go together."""
    areas: tuple[float, float] | None
    """Mean accuracy of the first and of the other curve over log2 of a cost, on the range that both cover; None without one."""
    adjusted_p: float
    """By Holm over everything compared here."""
    questions: int
    """That both runs have; the accuracies are over these."""


def compare(runs: Sequence[Path], *, axis: str = "total_tokens", force: bool = False, seed: int = 0) -> list[Comparison]:
    """The first run against each other one, for every strategy that both have, at the largest k that both have.

    Args:
        axis: of the areas under the curves.
        force: compare runs over different data on the questions that they share.

    Raises:
        UserError: runs over different data without `force`, or nothing in common.
    """
    first, *others = runs
    found = [pair for other in others for pair in _pairs(first, other, axis, force=force, seed=seed)]
    if not found:
        raise UserError(f"runs {', '.join(map(str, runs))}: no strategy has a k in common; see `ttc curves`")
    adjusted = holm([one.adjusted_p for one in found])
    return [replace(one, adjusted_p=p) for one, p in zip(found, adjusted, strict=True)]


Found = Mapping[str, Mapping[int, Outcome]]
"""Question id -> k -> outcome of one strategy."""


def _pairs(first: Path, other: Path, axis: str, *, force: bool, seed: int) -> list[Comparison]:
    """With p-values before Holm."""
    _check_data(first, other, force=force)
    (questions, ours), (_, theirs) = read_outcomes(first), read_outcomes(other)
    tariffs = [read_tariffs(read_manifest(run)).strategies for run in (first, other)]
    pairs = []
    for strategy in sorted(ours.keys() & theirs.keys()):
        a, b = ({i: dict(points) for i, points in found[strategy].items()} for found in (ours, theirs))
        shared = [question for question in questions if question.id in a and question.id in b]
        common = set.intersection(*(set(found[q.id]) for q in shared for found in (a, b))) if shared else set()
        if common:
            panels = [
                Panel.build(shared, {strategy: {i: list(found[i].items()) for i in found}}, known)
                for found, known in zip((a, b), tariffs, strict=True)
            ]
            pairs.append(_compared(str(other), strategy, shared, sorted(common), panels, axis, seed))
    return pairs


def _compared(
    run: str,
    strategy: str,
    shared: Sequence[Question],
    ks: Sequence[int],
    panels: Sequence[Panel],
    axis: str,
    seed: int,
) -> Comparison:
    """With the panels of the first run and of the other, of this strategy on the questions that both have."""
    first, second = (panel.credit_QC[:, panel.columns[strategy][ks[-1]]] for panel in panels)
    difference = paired_difference(second, first, [q.unit for q in shared], seed=seed)
    exact = bool(np.isin([first, second], (0.0, 1.0)).all()) and not any(q.cluster for q in shared)
    p = mcnemar_p(second, first) if exact else difference.p_value
    test = "McNemar" if exact else "sign flips"
    means = float(first.mean()), float(second.mean())
    return Comparison(run, strategy, ks[-1], *means, difference, test, _areas(strategy, ks, panels, axis), p, len(shared))


def _areas(strategy: str, ks: Sequence[int], panels: Sequence[Panel], axis: str) -> tuple[float, float] | None:
    """None for one budget, where the curves share no range of the cost, and where it is unknown."""
    costs, heights = [], []
    for panel in panels:
        columns = [panel.columns[strategy][k] for k in ks]
        costs.append(panel.costs[axis][:, columns].mean(axis=0).tolist())
        heights.append(panel.credit_QC[:, columns].mean(axis=0).tolist())
    if np.isnan(costs).any():
        return None
    try:
        left, right = curve_areas(costs, heights)
    except ValueError:
        return None
    return left, right


def _check_data(first: Path, other: Path, *, force: bool) -> None:
    a, b = (read_manifest(run)["benchmark"] for run in (first, other))
    if a["fingerprint"] != b["fingerprint"] and not force:
        raise UserError(
            f"runs {first} and {other} are over different data: {a['name']} {a['split']} revision {a['revision']} "
            f"({a['questions']} questions, {a['fingerprint'][:12]}) and {b['name']} {b['split']} revision {b['revision']} "
            f"({b['questions']} questions, {b['fingerprint'][:12]}); pass --force to compare the questions they share"
        )


def table(found: Sequence[Comparison], first: Path, axis: str = "total_tokens") -> Table:
    """What a terminal shows."""
    caption = (
        "over the n questions that both have; differences in points with 95 % intervals; p after Holm, by sign flips of "
        "clusters or, with *, McNemar's exact test; "
        "can find: the smallest difference that this many questions would show; areas: mean accuracy over log "
        f"{AXES[axis].label}, on the range that both curves cover"
    )
    runs = list(dict.fromkeys(one.run for one in found))
    title = f"{runs[0] if len(runs) == 1 else 'runs'} against {first}"
    shown = Table(title=title, caption=caption, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("strategy", overflow="fold")  # a name may fold, a number must not be cut
    for heading in ("n", "first", "this", "difference", "p", "can find", "areas"):
        shown.add_column(heading, justify="right", no_wrap=True)
    for run in runs:
        if len(runs) > 1:
            shown.add_row(run, style="dim")
        for one in found:
            if one.run == run:
                shown.add_row(*_cells(one))
        shown.add_section()
    return shown


def _cells(one: Comparison) -> list[str]:
    spread, least = one.difference.interval, one.difference.detectable
    return [
        f"{one.strategy}@{one.k}",
        str(one.questions),
        f"{100 * one.first:.1f}",
        f"{100 * one.other:.1f}",
        f"{100 * spread.mean:+.1f} [dim]{100 * spread.low:+.1f}..{100 * spread.high:+.1f}[/dim]",
        f"{one.adjusted_p:.3f}{'*' if one.test == 'McNemar' else ''}",
        "" if least is None else f"{100 * least:.1f}",
        "" if one.areas is None else " / ".join(f"{100 * area:.1f}" for area in one.areas),
    ]
