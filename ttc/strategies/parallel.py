"""What all strategies have in common that choose among independent samples."""

import itertools
import zlib
from functools import lru_cache
from math import factorial
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from ttc import estimators
from ttc.draw import Draw
from ttc.estimators.replay import DEFAULT_PERMUTATIONS


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


@lru_cache(maxsize=64)
def orders(n: int, question_id: str) -> NDArray[np.int64]:
    """orders_MN that all strategies share where no closed form exists: every order of few samples, else random ones.

    Questions are permuted independently, so that what permuting leaves of noise averages out over the data set.
    """
    if factorial(n) <= DEFAULT_PERMUTATIONS:
        return np.array(list(itertools.permutations(range(n))))
    return estimators.permutations(n, stream=zlib.crc32(question_id.encode()))
