"""Self-consistency."""

from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from ttc import estimators, select
from ttc import pool as pools
from ttc.draw import Draw
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session


class Vote(BaseModel, frozen=True, extra="forbid"):
    """Plurality over extracted answers (self-consistency, Wang et al. 2022, arXiv:2203.11171)."""

    kind: Literal["vote"] = "vote"
    n: int = Field(gt=0)
    """Samples drawn; the curve gives every k up to it."""
    fallback: Literal["abstain", "guess"] = "abstain"
    """What happens where no sample has an answer: no answer, or the expected credit of a uniform guess among the options."""
    uses_gold: ClassVar[bool] = False

    @property
    def draw(self) -> Draw:
        """n chains of thought."""
        return Draw(n=self.n)

    async def solve(self, session: Session) -> Selection:
        """Draw n, and stand by the most common answer."""
        samples = await session.draw(self.draw)
        winner = select.plurality(session.classes(session.answers(samples)))
        return session.stand_by(samples, winner, "plurality")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """vote@k with uniform tie-break. Source: estimators.vote_at_k."""
        guess = 1 / pool.n_options if self.fallback == "guess" and pool.n_options else 0.0
        credit = estimators.vote_at_k(pool.classes, pool.credits, k, fallback_credit=guess)
        answered = [float(answer is not None) for answer in pool.classes]
        return pools.outcome(pool, k, credit=credit, coverage=estimators.pass_at_k(answered, k))
