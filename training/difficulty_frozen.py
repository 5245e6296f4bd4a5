"""Predicted levels in a file that stays: what allocation and subsets read, so that neither can look at a true level."""

from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from ttc.sealed import Sealed, read_sealed


class Prediction(BaseModel, frozen=True, extra="forbid"):
    """Of one question, by a predictor that never saw its level."""

    level: str
    score: float
    """Expected level, the easiest being 0."""


class Frozen(Sealed, frozen=True, extra="forbid"):
    """One predictor's word on every question."""

    version: Literal[1] = 1
    levels: tuple[str, ...]
    """The easiest first."""
    rung: str
    scheme: str
    """How the questions it learned from were kept apart from these."""
    reads_policy: bool
    """It looked at samples: what it saves on others it has spent on these."""
    questions: Mapping[str, Prediction]
    """By id."""


def read(path: Path) -> Frozen:
    """A file of predictions.

    Raises:
        UserError: there is none, it is something else, or it was edited.
    """
    return read_sealed(path, Frozen, what="predictions", writer="ttc predict-difficulty --freeze", made="they were made")
