"""Votes that weigh what a verifier, or the model's own confidence, gives them."""

from collections.abc import Sequence
from functools import lru_cache
from math import comb
from typing import Literal

from ttc import estimators, select
from ttc import pool as pools
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies.parallel import Verified, orders

MOST_SUBSETS = 2_500
"""Subsets up to which enumerating costs no more than permuting."""


class WeightedVote(Verified, frozen=True, extra="forbid"):
    """The answer with the largest sum of scores (Li et al. 2023, arXiv:2206.02336). A sample without a score does not vote.

    With a `confidence` verifier it is the confidence-weighted vote (Fu et al. 2025, arXiv:2508.15260).
    """

    kind: Literal["weighted_vote"] = "weighted_vote"
    weights: Literal["probability", "clipped_logit"] = "probability"
    """The score itself, or its log-odds: independent votes then multiply, and doubted ones count against their answer."""

    async def solve(self, session: Session) -> Selection:
        """Draw n, score all, and add up."""
        samples = await session.draw(self.draw)
        weights = self._weights([one.score for one in await session.score(samples, self.verifier)])
        winner = select.weighted(session.classes(session.answers(samples)), weights)
        return session.stand_by(samples, winner, "weighted")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """Over all subsets where they are few, else over permutations that all k and all weights of a question share.

        Source: estimators.WeightedPool.
        """
        weighted = self.votes(pool)
        voters = [answer if weight is not None else None for answer, weight in zip(pool.classes, weighted.weights, strict=True)]
        if comb(pool.n, k) <= MOST_SUBSETS:
            credit = weighted.enumerate(k)
        else:
            credit = float(weighted.replay(orders(pool.n, pool.question_id), k).mean())
        coverage = estimators.vote_coverage_at_k(voters, k)
        return pools.outcome(pool, k, credit=credit, coverage=coverage, verifier=self.verifier)

    def votes(self, pool: Pool) -> estimators.WeightedPool:
        """What each sample's vote weighs."""
        weights = tuple(self._weights(pool.scores[self.verifier]))
        return _weighted(pool.classes, pool.credits, weights, self.weights == "clipped_logit")

    def _weights(self, scores: Sequence[float | None]) -> list[float | None]:
        if self.weights == "probability":
            return list(scores)
        return [None if score is None else select.clipped_logit(score) for score in scores]


@lru_cache(maxsize=8)
def _weighted(
    classes: tuple[int | None, ...], credits: tuple[float, ...], weights: tuple[float | None, ...], log_odds: bool
) -> estimators.WeightedPool:
    """One for all budgets of a question."""
    return estimators.WeightedPool(classes, credits, weights, log_odds=log_odds)
