"""The ceiling of every way to select."""

from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from ttc import estimators
from ttc import pool as pools
from ttc.draw import Draw
from ttc.errors import UserError
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session


class Oracle(BaseModel, frozen=True, extra="forbid"):
    """pass@k: the best of k samples, chosen with the gold in hand (Chen et al. 2021, arXiv:2107.03374)."""

    kind: Literal["oracle"] = "oracle"
    n: int = Field(gt=0)
    uses_gold: ClassVar[bool] = True

    @property
    def draw(self) -> Draw:
        """n chains of thought."""
        return Draw(n=self.n)

    async def solve(self, session: Session) -> Selection:
        """Refused: a strategy never sees the gold, so the oracle exists only as a curve."""
        raise UserError(
            f"question {session.question.id}: the oracle needs the gold and cannot be run live; read its curve instead"
        )

    def expected(self, pool: Pool, k: int) -> Outcome:
        """pass@k. Source: estimators.pass_at_k."""
        answered = [float(answer is not None) for answer in pool.classes]
        credit, coverage = estimators.pass_at_k(pool.credits, k), estimators.pass_at_k(answered, k)
        return pools.outcome(pool, k, credit=credit, coverage=coverage)
