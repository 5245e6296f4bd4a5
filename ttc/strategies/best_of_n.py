"""The sample that a verifier likes best."""

from typing import Literal

from ttc import estimators, select
from ttc import pool as pools
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies.parallel import Verified


class BestOfN(Verified, frozen=True, extra="forbid"):
    """Stand by the sample with an answer and the highest score (Cobbe et al. 2021, arXiv:2110.14168).

    One without an answer does not compete, as it does not vote; one without a score loses to any that has one.
    """

    kind: Literal["best_of_n"] = "best_of_n"

    async def solve(self, session: Session) -> Selection:
        """Draw n, score all, take the best; abstain where none has an answer."""
        samples = await session.draw(self.draw)
        scores = await session.score(samples, self.verifier)
        classes = session.classes(session.answers(samples))
        candidates = select.eligible(classes, [one.score for one in scores])
        return session.stand_by(samples, select.best(candidates), "best")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """best-of-k with uniform tie-break. Source: estimators.best_of_k."""
        scores = pool.eligible(self.verifier)
        credit = estimators.best_of_k(scores, pool.credits, k)
        coverage = estimators.best_of_k(scores, pool.answered, k)
        return pools.outcome(pool, k, credit=credit, coverage=coverage, verifier=self.verifier)
