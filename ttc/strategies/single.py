"""One sample, taken as it is: answer at once, or reason first. The baselines of every curve."""

from typing import ClassVar, Literal

from pydantic import BaseModel

from ttc import pool as pools
from ttc.draw import Draw, Style
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session


class _Single(BaseModel, frozen=True, extra="forbid"):
    greedy: bool = True
    """Temperature 0; false takes one sample at the run's temperature."""
    uses_gold: ClassVar[bool] = False
    style: ClassVar[Style]

    @property
    def draw(self) -> Draw:
        """One sample."""
        return Draw(style=self.style, greedy=self.greedy)

    async def solve(self, session: Session) -> Selection:
        """The answer of the one sample."""
        samples = await session.draw(self.draw)
        return session.stand_by(samples, 0 if session.answers(samples)[0].values else None, "single")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """Mean credit of one sample; only k = 1 is defined."""
        if k != 1:
            raise ValueError(f"{self.style} takes one sample, so k={k} is undefined; use vote or best_of_n for more")
        answered = sum(answer is not None for answer in pool.classes) / pool.n
        return pools.outcome(pool, k, credit=sum(pool.credits) / pool.n, coverage=answered)


class Direct(_Single, frozen=True, extra="forbid"):
    """Answer at once, greedily by default."""

    kind: Literal["direct"] = "direct"
    style: ClassVar[Style] = "direct"


class ChainOfThought(_Single, frozen=True, extra="forbid"):
    """Reason first, then answer, greedily by default (Wei et al. 2022, arXiv:2201.11903)."""

    kind: Literal["cot"] = "cot"
    style: ClassVar[Style] = "cot"
