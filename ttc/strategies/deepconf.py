"""A weighted vote among the samples that the model is surest of."""

from typing import Literal

import numpy as np
from pydantic import Field

from ttc import estimators, select
from ttc import pool as pools
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies.parallel import Verified, orders
from ttc.strategies.weighted_vote import MOST_SUBSETS


class DeepConf(Verified, frozen=True, extra="forbid"):
    """Keep the best scored share of the samples, and add up their scores by answer (Fu et al. 2025, arXiv:2508.15260).

    Meant for a `confidence` verifier, over the whole reply, its tail or its least sure window; any verifier will do. A sample
    without an answer may take a place among those kept; it does not vote.
    """

    kind: Literal["deepconf"] = "deepconf"
    top_percent: int = Field(default=10, gt=0, le=100)
    """Of k samples this share is kept, rounded up; 10 trusts the scores, 90 drops the worst only."""

    def kept(self, k: int) -> int:
        """How many of k samples may vote."""
        return -(-k * self.top_percent // 100)

    async def solve(self, session: Session) -> Selection:
        """Draw n, score all, keep the best, and add up."""
        samples = await session.draw(self.draw)
        scores = [one.score for one in await session.score(samples, self.verifier)]
        weights = select.top(scores, self.kept(self.n))
        winner = select.weighted(session.classes(session.answers(samples)), weights)
        return session.stand_by(samples, winner, "weighted")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """Over all sets that can be the best of k where they are few, else over permutations that all strategies share.

        Source: estimators.best_sets.
        """
        scores, m = pool.scores[self.verifier], self.kept(k)
        if estimators.sets_of_best(scores, k, m) <= MOST_SUBSETS:
            member_SN, chance_S = estimators.best_sets(scores, k, m)
        else:
            member_SN = estimators.best_of_orders(scores, orders(pool.n, pool.question_id), k, m)
            chance_S = np.full(len(member_SN), 1 / len(member_SN))
        weighted = estimators.WeightedPool(pool.classes, pool.credits, scores)
        votes_N = [answer is not None and score is not None for answer, score in zip(pool.classes, scores, strict=True)]
        credit = float(weighted.subset_credits(member_SN) @ chance_S)
        coverage = float(member_SN[:, votes_N].any(axis=1) @ chance_S)
        return pools.outcome(pool, k, credit=credit, coverage=coverage, verifier=self.verifier)
