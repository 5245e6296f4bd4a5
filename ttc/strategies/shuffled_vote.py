"""Self-consistency over options in random order, so that a liking for a letter is no vote for an answer."""

import asyncio
from collections import Counter
from random import Random
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from ttc import select
from ttc.draw import Draw
from ttc.records import Question, Selection
from ttc.session import Session


class ShuffledVote(BaseModel, frozen=True, extra="forbid"):
    """Plurality over samples that each see the options in an order of their own (Zheng et al. 2024, arXiv:2309.03882).

    Every order is a prompt, and is paid for as one. Options that speak of other options by letter lose their sense. Open
    questions get the plain vote.
    """

    kind: Literal["shuffled_vote"] = "shuffled_vote"
    n: int = Field(gt=0)
    """Samples drawn. It is run live: list it with several n for several points of its curve."""
    seed: int = 0
    """Of the orders; sample i has the same one whatever n is."""
    uses_gold: ClassVar[bool] = False

    async def solve(self, session: Session) -> Selection:
        """Draw each order as often as it comes, bring the answers back to the letters as they were, and vote."""
        orders = [self.order(session.question, index) for index in range(self.n)]
        draws = {order: Draw(n=count, order=order) for order, count in Counter(orders).items()}
        with session.side_by_side():
            drawn = await asyncio.gather(*map(session.draw, draws.values()))
        found = {
            order: iter(session.answers(samples, draw)) for (order, draw), samples in zip(draws.items(), drawn, strict=True)
        }
        answers = [next(found[order]) for order in orders]
        winner = select.plurality(session.classes(answers))
        # An index would not say which of the orders is meant.
        return Selection(None, reason="abstain") if winner is None else Selection(answers[winner], reason="plurality")

    def order(self, question: Question, index: int) -> tuple[int, ...]:
        """The places of the options as sample `index` sees them."""
        places = list(range(len(question.options)))
        Random(f"{self.seed}/{question.id}/{index}").shuffle(places)
        return tuple(places)
