"""Judges: an answer against its gold. Which one, by its `kind`."""

from typing import Annotated

from pydantic import Field

from ttc.judges.model import Cascade, ModelJudge
from ttc.judges.rules import Rules
from ttc.judges.stored import StoredVerdicts
from ttc.plugins import Joined

AnyJudge = Annotated[Rules | ModelJudge | Cascade | StoredVerdicts, Field(discriminator="kind"), Joined("ttc.judges")]
"""A judge's config, told apart by `kind`: `rules`, `model`, `cascade` or `stored`."""

__all__ = ["AnyJudge", "Cascade", "ModelJudge", "Rules", "StoredVerdicts"]
