"""Replies that grow step by step under a verifier's eye: what beam search, tree search and particle filters share."""

from asyncio import gather
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from ttc import select
from ttc.records import Sample, Selection
from ttc.session import Session


@dataclass(frozen=True, slots=True)
class Chain:
    """A reply up to some step."""

    last: Sample
    """Its last step."""
    ids: tuple[int, ...] = ()
    """Token ids of all its steps."""
    before: str = ""
    """What it says ahead of the last step."""
    goes_on: bool = True
    """The last step ended where another one can begin."""
    ended: bool = False
    """The model ended it, or nothing more can be drawn."""
    score: float | None = None
    """The verifier's for the reply so far; None where scoring failed."""

    @property
    def text(self) -> str:
        """What it says, the end of its last step included; the next step goes on behind it."""
        return self.before + self.last.text + self.last.tail

    @property
    def reply(self) -> Sample:
        """All its steps as one sample, under the key and index of the last."""
        # Whoever reads an answer must know that a reply which could go on is cut here.
        finish = "length" if self.goes_on else self.last.finish
        text = self.before + self.last.text
        return replace(self.last, text=text, finish=finish, token_ids=self.ids, completion_tokens=len(self.ids))

    def then(self, step: Sample, score: float | None, *, goes_on: bool, most_tokens: int) -> "Chain":
        """The chain with one step more."""
        ids = self.ids + step.token_ids
        return Chain(step, ids, self.text, goes_on, not goes_on or len(ids) >= most_tokens, score)


BEGINNING = Chain(Sample("", 0, "", ""))
"""Nothing said yet."""


class StepSearch(BaseModel, frozen=True, extra="forbid"):
    """Chains of thought that a verifier scores after every step.

    How a verifier makes one score of its steps (`aggregation`) is its own setting. Where the budget is spent, the search stands
    by the best it has. Pruned, duplicate and unfinished chains count like all others.
    """

    verifier: str
    """Name of a verifier under the run's `verifiers`."""
    max_steps: int = Field(default=40, gt=0)
    """Steps after which no chain goes on."""
    stop: str = Field(default="\n", min_length=1)
    """What ends a step."""
    choose: Literal["best", "weighted_vote"] = "best"
    """Among the chains at the end: the best scored that has an answer, or the answer with the largest sum of scores."""
    budget_tokens: int | None = Field(default=None, gt=0)
    """Policy and verifier tokens after which no further round begins; the last one may go beyond."""
    uses_gold: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    """It goes on from the tokens of a reply, which not every backend can."""
    size: ClassVar[str]
    """The setting in which the points of its curve differ, where they have no `budget_tokens`."""

    async def grow(self, session: Session, chains: Sequence[Chain], n: int = 1) -> list[list[Chain]]:
        """For each chain, `n` scored children with one step more; equal ones both, for they are paid for.

        Raises:
            BudgetSpent: nothing was drawn.
        """
        drawn = await session.extend([chain.ids for chain in chains], self.stop, n)
        with session.side_by_side():
            scored = await gather(
                *(session.score(steps, self.verifier, before=chain.text) for chain, steps in zip(chains, drawn, strict=True))
            )

        def grown(chain: Chain, step: Sample, score: float | None) -> Chain:
            whole = chain.text + step.text + step.tail
            goes_on = step.tail.startswith(self.stop) and not any(stop in whole for stop in session.reply_stops)
            return chain.then(step, score, goes_on=goes_on, most_tokens=session.reply_tokens)

        return [
            [grown(chain, step, one.score) for step, one in zip(steps, scores, strict=True)]
            for chain, steps, scores in zip(chains, drawn, scored, strict=True)
        ]

    def stand_by(self, session: Session, chains: Sequence[Chain]) -> Selection:
        """The choice among the chains that have ended; where none has, among all."""
        chains = [chain for chain in chains if chain.ended] or list(chains)
        replies, scores = [chain.reply for chain in chains], [chain.score for chain in chains]
        classes = session.classes(session.answers(replies))
        is_best = self.choose == "best"
        winner = select.best(select.eligible(classes, scores)) if is_best else select.weighted(classes, scores)
        # An index would not say which of the prefixes is meant.
        return replace(session.stand_by(replies, winner, self.choose), sample=None)
