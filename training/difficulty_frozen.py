"""Predicted levels in a file that stays: what allocation and subsets read, so that neither can look at a true level."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ValidationError

from ttc.errors import UserError


class Prediction(BaseModel, frozen=True, extra="forbid"):
    """Of one question, by a predictor that never saw its level."""

    level: str
    score: float
    """Expected level, the easiest being 0."""


class Frozen(BaseModel, frozen=True, extra="forbid"):
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
    seal: str = ""
    """Hash of all the rest."""

    @classmethod
    def sealed(
        cls, levels: tuple[str, ...], rung: str, scheme: str, reads_policy: bool, questions: Mapping[str, Prediction]
    ) -> "Frozen":
        """With its seal."""
        bare = cls(levels=levels, rung=rung, scheme=scheme, reads_policy=reads_policy, questions=questions)
        return bare.model_copy(update={"seal": bare._hash()})

    def _hash(self) -> str:
        content = self.model_dump(mode="json", exclude={"seal"})
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()

    def write(self, path: Path) -> None:
        """As JSON."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(self.model_dump_json(indent=1) + "\n", encoding="utf-8")


def read(path: Path) -> Frozen:
    """A file of predictions.

    Raises:
        UserError: there is none, it is something else, or it was edited.
    """
    try:
        found = Frozen.model_validate_json(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"predictions {path}: {error.strerror}; `ttc predict-difficulty` writes them") from error
    except (ValidationError, UnicodeDecodeError) as error:
        raise UserError(f"predictions {path}: not a file of `ttc predict-difficulty`; name one that it wrote") from error
    if found.seal != found._hash():
        raise UserError(f"predictions {path}: changed since they were made; run `ttc predict-difficulty` again")
    return found
