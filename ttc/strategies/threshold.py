"""When a verifier's score is good enough: a number, or what the number is to be chosen for."""

import re
from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Literal

from pydantic import AfterValidator

from ttc.errors import UserError

_GOAL = re.compile(r"(accuracy)|(coverage|selective_accuracy) ?>= ?(0(?:\.\d+)?|1(?:\.0+)?)")


@dataclass(frozen=True, slots=True)
class Goal:
    """What a threshold is chosen for."""

    kind: Literal["accuracy", "coverage", "selective_accuracy"]
    """`accuracy`: the highest, abstentions counting 0. `coverage`: the highest selective accuracy that still answers so many.
    `selective_accuracy`: the most answers of which so many are right."""
    least: float = 0.0
    """What coverage or selective accuracy must reach."""


def goal(text: str) -> Goal:
    """Read `accuracy`, `coverage >= 0.8` or `selective_accuracy >= 0.9`. Raises ValueError for anything else."""
    found = _GOAL.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"a threshold is a number, accuracy, coverage>=0.8 or selective_accuracy>=0.9, not {text!r}")
    plain, kind, least = found.groups()
    return Goal("accuracy") if plain else Goal("coverage" if kind == "coverage" else "selective_accuracy", float(least))


def _spelled(threshold: float | str) -> float | str:
    if isinstance(threshold, str):
        goal(threshold)
        return threshold.replace(" ", "")
    if not isfinite(threshold):
        raise ValueError(f"a threshold is a finite number: {threshold} lets every score through, or none")
    return threshold


Threshold = Annotated[float | str, AfterValidator(_spelled)]
"""A number; or a goal, for which a run chooses it on other questions than those it is judged on, for every budget."""


def fixed(threshold: Threshold) -> float:
    """The number. Raises UserError for a goal: a single question cannot choose."""
    if isinstance(threshold, str):
        raise UserError(
            f"threshold {threshold!r} is chosen on the other questions of a run, and here there are none; "
            "give a number, such as one that run.json of such a run lists under thresholds"
        )
    return threshold
