"""A vote among the samples that a verifier lets through."""

from math import comb
from typing import Literal

from ttc import estimators, select
from ttc import pool as pools
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies.parallel import Verified
from ttc.strategies.threshold import Threshold, fixed


class FilteredVote(Verified, frozen=True, extra="forbid"):
    """Plurality among the samples scored at least `threshold`; one without a score is not among them."""

    kind: Literal["filtered_vote"] = "filtered_vote"
    threshold: Threshold
    """A number, to be chosen on other questions than those it is judged on; or what a run is to choose it for."""
    fallback: Literal["abstain", "vote"] = "abstain"
    """Where nobody may vote: no answer, or the plain vote of all samples."""

    async def solve(self, session: Session) -> Selection:
        """Draw n, score all, and count those let through."""
        samples = await session.draw(self.draw)
        scores = [one.score for one in await session.score(samples, self.verifier)]
        classes = session.classes(session.answers(samples))
        winner = select.filtered(classes, scores, fixed(self.threshold))
        if winner is None and self.fallback == "vote":
            return session.stand_by(samples, select.plurality(classes), "fallback")
        return session.stand_by(samples, winner, "filtered")

    def votes(self, pool: Pool) -> estimators.WeightedPool:
        """One vote for each sample let through."""
        cut = fixed(self.threshold)
        weights = [1.0 if score is not None and score >= cut else None for score in pool.scores[self.verifier]]
        return estimators.WeightedPool(pool.classes, pool.credits, weights)

    def expected(self, pool: Pool, k: int) -> Outcome:
        """vote@k of those let through. Source: estimators.vote_at_k."""
        votes = select.voters(pool.classes, pool.scores[self.verifier], fixed(self.threshold))
        credit, coverage = estimators.vote_at_k(votes, pool.credits, k), estimators.vote_coverage_at_k(votes, k)
        silent = [i for i, vote in enumerate(votes) if vote is None]
        if self.fallback == "vote" and len(silent) >= k:
            # Given that none of k may vote, they are k of the silent ones, each set of them as likely.
            chance = comb(len(silent), k) / comb(pool.n, k)
            classes = [pool.classes[i] for i in silent]
            credit += chance * estimators.vote_at_k(classes, [pool.credits[i] for i in silent], k)
            coverage += chance * estimators.vote_coverage_at_k(classes, k)
        return pools.outcome(pool, k, credit=credit, coverage=coverage, verifier=self.verifier)
