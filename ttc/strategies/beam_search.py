"""Search over steps: one beam, or many independent ones."""

from collections.abc import Iterable
from typing import ClassVar, Literal

from pydantic import Field

from ttc import select
from ttc.errors import BudgetSpent
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies.chains import BEGINNING, Chain, StepSearch


class BeamSearch(StepSearch, frozen=True, extra="forbid"):
    """Keep the best `width` chains after every step (step-guided beam search, Snell et al. 2024, arXiv:2408.03314).

    Chains that have ended stay and compete with those that go on; equal chains are kept once.
    """

    kind: Literal["beam_search"] = "beam_search"
    size: ClassVar[str] = "width"
    width: int = Field(default=4, gt=0)
    """Chains kept."""
    expand: int = Field(default=4, gt=0)
    """Continuations drawn of each; `width * expand` first steps."""
    narrowing: int = Field(default=0, ge=0)
    """Chains fewer kept after each further step, down to one: wide where a chain's course is open, cheap where it is set (beam
    annealing, Hu et al. 2025, arXiv:2504.10222)."""

    async def solve(self, session: Session) -> Selection:
        """Draw, score, prune, until every kept chain has ended."""
        [beam] = await search(self, session, 1, self.width, self.expand, self.narrowing)
        return self.stand_by(session, beam)


class DVTS(StepSearch, frozen=True, extra="forbid"):
    """Diverse verifier tree search: greedy searches that never compete, so that one early favourite cannot take all (Beeching
    et al. 2024, "Scaling test-time compute with open models")."""

    kind: Literal["dvts"] = "dvts"
    size: ClassVar[str] = "subtrees"
    subtrees: int = Field(default=4, gt=0)
    """Independent searches, each keeping one chain."""
    expand: int = Field(default=4, gt=0)
    """Continuations drawn of it."""

    async def solve(self, session: Session) -> Selection:
        """Let every subtree follow its best step to the end, and choose among the ends."""
        beams = await search(self, session, self.subtrees, 1, self.expand)
        return self.stand_by(session, [chain for beam in beams for chain in beam])


async def search(
    strategy: StepSearch, session: Session, beams: int, width: int, expand: int, narrowing: int = 0
) -> list[list[Chain]]:
    """Independent beams in step with each other, so that what they draw does not depend on which is faster.

    Returns:
        the chains of each at the end: all ended, cut at `max_steps`, or as they were when the budget was spent.
    """
    kept = [[BEGINNING] for _ in range(beams)]
    for step in range(strategy.max_steps):
        growing = [(place, chain) for place, beam in enumerate(kept) for chain in beam if not chain.ended]
        if not growing:
            break
        try:
            children = await strategy.grow(session, [chain for _, chain in growing], expand if step else width * expand)
        except BudgetSpent:
            break
        candidates = [[chain for chain in beam if chain.ended] for beam in kept]
        for (place, _), born in zip(growing, children, strict=True):
            candidates[place] += born
        kept = [best(pool, max(1, width - step * narrowing)) for pool in candidates]
    return kept


def best(chains: Iterable[Chain], width: int) -> list[Chain]:
    """The `width` chains with the highest scores, best first; equal chains count once, ties go to the earlier."""
    different: dict[tuple[int, ...], Chain] = {}
    for chain in chains:
        different.setdefault(chain.ids, chain)
    scored = list(different.values())
    ranked = select.ranked([chain.score for chain in scored])
    return [scored[place] for place in ranked[:width]]
