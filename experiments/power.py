"""What a comparison of a given size can show, read off a finished run before the next one is paid for."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from experiments import folder
from experiments.panel import Outcomes
from ttc import statistics
from ttc.errors import UserError

DIFFERENCES = (0.01, 0.02, 0.03, 0.05, 0.1)


@dataclass(frozen=True, slots=True)
class Entry:
    """One side of a comparison."""

    run: Path
    strategy: str
    k: int

    @property
    def name(self) -> str:
        """As in tables."""
        return f"{self.strategy}@{self.k}"


@dataclass(frozen=True, slots=True)
class VarianceSplit:
    """Where the spread of a difference per question comes from."""

    questions: float
    """Variance between the questions themselves."""
    sampling: float
    """Variance that more samples per question would remove."""


@dataclass(frozen=True, slots=True)
class Power:
    """A paired comparison at the 5 % level with power 0.8."""

    first: str
    second: str
    """Empty where its correlation with the first was assumed."""
    questions: int
    clusters: int
    """Independent units among the questions."""
    correlation: float
    """Of the credits of both on the same questions."""
    standard_error: float
    """Of the mean difference."""
    detectable: float
    """Smallest true difference that this many questions would show."""
    needed: Mapping[float, int]
    """Difference -> questions that it takes, in clusters as here."""
    split: VarianceSplit | None
    """Of the difference per question, from the halves of the samples, which are independent: no bias at any k up to n/2. None
    beyond, for a strategy with a single sample, and for an assumed correlation."""
    detectable_at_best: float | None
    """Smallest difference that these questions would show with endless samples of each."""


def entry(run: Path, text: str) -> Entry:
    """Read `vote@16`, or `vote` for its largest k.

    Raises:
        UserError: no such strategy or k in the run.
    """
    _, outcomes = folder.read_outcomes(run)
    name, _, k = text.rpartition("@") if "@" in text else (text, "", "")
    if name not in outcomes:
        raise UserError(f"run {run} has no strategy {name!r}; it has {', '.join(outcomes)}")
    ks = sorted(set.intersection(*({k for k, _ in points} for points in outcomes[name].values())))
    if k and (not k.isdigit() or int(k) not in ks):
        raise UserError(f"run {run}: {name} has no k={k}; it has {', '.join(map(str, ks))}")
    return Entry(run, name, int(k) if k else ks[-1])


def power(first: Entry, second: Entry | None, *, correlation: float = 0.5, differences: Sequence[float] = DIFFERENCES) -> Power:
    """The power of comparing two strategies, or one with another that is as noisy and correlates so much with it.

    Args:
        correlation: assumed; read only without a second.

    Raises:
        UserError: fewer than two clusters of questions that both have, or all of these have the same difference.
    """
    asked, _ = folder.read_outcomes(first.run)
    columns = [_credits(side, folder.read_outcomes(side.run)[1]) for side in (first, second) if side]
    shared = [q for q in asked if all(q.id in column for column in columns)]
    clusters = [question.cluster for question in shared]
    if len({name or number for number, name in enumerate(clusters)}) < 2:
        raise UserError(
            f"runs {first.run} and {second.run if second else first.run}: {len(shared)} questions in common; too few"
        )
    credits = [np.array([column[q.id] for q in shared]) for column in columns]
    difference = credits[0] - credits[1] if second else credits[0]
    error = statistics.standard_error(difference, clusters)
    if not error:
        names = " minus ".join(side.name for side in (first, second) if side)
        raise UserError(
            f"run {first.run}: {names} is the same on all {len(shared)} questions, so nothing tells how much a difference "
            "would vary; name strategies that differ, or a larger run"
        )
    if second is None:
        error *= math.sqrt(2 * (1 - correlation))
        split = at_best = None
    else:
        correlation = _correlation(credits[0], credits[1])
        split = _split([first, second], [q.id for q in shared], difference)
        spread = float(np.var(difference, ddof=1))
        at_best = None if split is None else 2.80 * error * math.sqrt(min(1.0, split.questions / spread))
    detectable = 2.80 * error
    needed = {size: math.ceil(len(shared) * (detectable / size) ** 2) for size in differences}
    units = len(statistics.cluster_sums(credits[0][:, None], clusters)[1])
    name = second.name if second else ""
    return Power(first.name, name, len(shared), units, correlation, error, detectable, needed, split, at_best)


def _credits(side: Entry, outcomes: Outcomes) -> dict[str, float]:
    """Question id -> expected credit at that k, for the questions that have it."""
    found = {i: dict(points).get(side.k) for i, points in outcomes[side.strategy].items()}
    return {i: outcome.credit for i, outcome in found.items() if outcome is not None}


def _split(sides: Sequence[Entry], ids: Sequence[str], difference_Q: np.ndarray) -> VarianceSplit | None:
    """What the halves agree on is the questions' own; the rest of the spread is sampling."""
    halves = {side.run: folder.read_halves(side.run) for side in sides}
    if any(
        side.strategy in halves[side.run].indivisible or side.strategy not in halves[side.run].outcomes[0] for side in sides
    ):
        return None
    parts = []
    for which in (0, 1):
        first, second = (_credits(side, halves[side.run].outcomes[which]) for side in sides)
        if not all(i in first and i in second for i in ids):
            return None
        parts.append(np.array([first[i] - second[i] for i in ids]))
    own = max(0.0, float(np.cov(parts[0], parts[1])[0, 1]))
    return VarianceSplit(own, max(0.0, float(np.var(difference_Q, ddof=1)) - own))


def _correlation(first_Q: np.ndarray, second_Q: np.ndarray) -> float:
    """0 where one of them does not vary."""
    spread = float(first_Q.std() * second_Q.std())
    return float(((first_Q - first_Q.mean()) * (second_Q - second_Q.mean())).mean()) / spread if spread else 0.0
