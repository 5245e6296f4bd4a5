"""What all strategies have in common that choose among independent samples."""

from typing import ClassVar

from pydantic import BaseModel, Field

from ttc.draw import Draw


class Parallel(BaseModel, frozen=True, extra="forbid"):
    """n independent chains of thought."""

    n: int = Field(gt=0)
    """Samples drawn; the curve gives every k up to it."""
    cap_tokens: int | None = Field(default=None, gt=0)
    """Replay a length cap over the same samples: a longer one costs this much and has no answer."""
    uses_gold: ClassVar[bool] = False

    @property
    def draw(self) -> Draw:
        """The samples it needs."""
        return Draw(n=self.n, cap_tokens=self.cap_tokens)


class Verified(Parallel, frozen=True, extra="forbid"):
    """n independent chains of thought, scored by a verifier."""

    verifier: str
    """Name of a verifier under the run's `verifiers`."""
