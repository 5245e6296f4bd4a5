"""Search over steps by chance instead of by rank."""

from collections.abc import Sequence
from math import exp
from random import Random
from typing import ClassVar, Literal

from pydantic import Field

from ttc import select
from ttc.errors import BudgetSpent
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies.chains import BEGINNING, Chain, StepSearch


class ParticleFilter(StepSearch, frozen=True, extra="forbid"):
    """Chains survive each step in proportion to what the verifier makes of them (Puri et al. 2025, arXiv:2502.01618).

    Where a beam trusts every score, this one leaves doubtful chains a chance, so a verifier that errs early costs less.
    """

    kind: Literal["particle_filter"] = "particle_filter"
    size: ClassVar[str] = "particles"
    particles: int = Field(default=8, gt=0)
    """Chains at any time; a good one may be among them several times, and its copies go on apart."""
    resampling_temperature: float = Field(default=1.0, gt=0)
    """Divides the log-odds of the scores: near 0 only the best survive, at large values all are alike."""
    seed: int = 0
    """Of the survival."""

    async def solve(self, session: Session) -> Selection:
        """Grow all by one step, resample, until all have ended."""
        chances = Random(f"{self.seed}/{session.question.id}")
        chains = [BEGINNING] * self.particles
        for _ in range(self.max_steps):
            growing = [place for place, chain in enumerate(chains) if not chain.ended]
            if not growing:
                break
            try:
                children = await self.grow(session, [chains[place] for place in growing])
            except BudgetSpent:
                break
            for place, [child] in zip(growing, children, strict=True):
                chains[place] = child
            chains = chances.choices(chains, self._weights(chains), k=self.particles)
        return self.stand_by(session, chains)

    def _weights(self, chains: Sequence[Chain]) -> list[float]:
        """Softmax of the log-odds, up to a factor. Chains without a score survive only where all are without."""
        logits = [None if chain.score is None else select.clipped_logit(chain.score) for chain in chains]
        known = [logit for logit in logits if logit is not None]
        if not known:
            return [1.0] * len(chains)
        top = max(known)
        return [0.0 if logit is None else exp((logit - top) / self.resampling_temperature) for logit in logits]
