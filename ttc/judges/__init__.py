"""Judges: an answer against its gold. Which one, by its `kind`."""

from typing import Annotated

from pydantic import Field

from ttc.judges.model import Cascade, ModelJudge
from ttc.judges.rules import Rules

AnyJudge = Annotated[Rules | ModelJudge | Cascade, Field(discriminator="kind")]
"""A judge's config, told apart by `kind`: `rules`, `model` or `cascade`."""

__all__ = ["AnyJudge", "Cascade", "ModelJudge", "Rules"]
