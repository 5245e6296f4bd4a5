"""Self-consistency."""

from typing import Literal

from ttc import estimators, select
from ttc import pool as pools
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies.parallel import Parallel


class Vote(Parallel, frozen=True, extra="forbid"):
    """Plurality over extracted answers (self-consistency, Wang et al. 2022, arXiv:2203.11171)."""

    kind: Literal["vote"] = "vote"
    fallback: Literal["abstain", "guess"] = "abstain"
    """What happens where no sample has an answer: no answer, or the expected credit of a uniform guess among the options."""

    async def solve(self, session: Session) -> Selection:
        """Draw n, and stand by the most common answer."""
        samples = await session.draw(self.draw)
        winner = select.plurality(session.classes(session.answers(samples)))
        return session.stand_by(samples, winner, "plurality")

    def votes(self, pool: Pool) -> estimators.WeightedPool:
        """One vote for each sample."""
        return estimators.WeightedPool(pool.classes, pool.credits, (1.0,) * pool.n)

    def expected(self, pool: Pool, k: int) -> Outcome:
        """vote@k with uniform tie-break. Source: estimators.vote_at_k."""
        guess = 1 / pool.n_options if self.fallback == "guess" and pool.n_options else 0.0
        credit = estimators.vote_at_k(pool.classes, pool.credits, k, fallback_credit=guess)
        return pools.outcome(pool, k, credit=credit, coverage=estimators.vote_coverage_at_k(pool.classes, k))
