"""Self-consistency over options in random order, so that a liking for a letter is no vote for an answer."""

import asyncio
from typing import Literal

from ttc import estimators, select
from ttc import pool as pools
from ttc.draw import Draw, together
from ttc.pool import Outcome, Pool
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies.parallel import Parallel


class ShuffledVote(Parallel, frozen=True, extra="forbid"):
    """Plurality over samples that each see the options in an order of their own (Zheng et al. 2024, arXiv:2309.03882).

    Every distinct order is a prompt, and is paid for as one: at k the expected prompt tokens are the sum, over orders that c of
    the n samples see, of (1 - C(n - c, k) / C(n, k)) times those of its prompt, and prefill FLOPs likewise. Options that speak
    of other options by letter lose their sense. Open questions get the plain vote.
    """

    kind: Literal["shuffled_vote"] = "shuffled_vote"
    seed: int = 0
    """Of the orders; sample i has the same one whatever n is."""

    @property
    def draw(self) -> Draw:
        """The samples it needs."""
        return Draw(n=self.n, cap_tokens=self.cap_tokens, shuffled=self.seed)

    async def solve(self, session: Session) -> Selection:
        """Draw each order as often as it comes, bring the answers back to the letters as they were, and vote."""
        parts = self.draw.parts(session.question)
        with session.side_by_side():
            drawn = await asyncio.gather(*map(session.draw, parts))
        answers = together(parts, map(session.answers, drawn, parts))
        winner = select.plurality(session.classes(answers))
        # An index would not say which of the orders is meant.
        return Selection(None, reason="abstain") if winner is None else Selection(answers[winner], reason="plurality")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """vote@k with uniform tie-break, over answers in the letters as they were. Source: estimators.vote_at_k."""
        credit = estimators.vote_at_k(pool.classes, pool.credits, k)
        return pools.outcome(pool, k, credit=credit, coverage=estimators.vote_coverage_at_k(pool.classes, k))
