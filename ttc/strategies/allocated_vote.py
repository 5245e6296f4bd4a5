"""A vote that spends a common budget where it is worth most, as a frozen plan says."""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field

from ttc import select
from ttc.draw import Draw
from ttc.errors import UserError
from ttc.records import Sample, Selection
from ttc.sealed import Sealed, read_sealed
from ttc.session import Session

State = tuple[int, int]
"""Votes of the leading answer and of the next."""


class Plan(Sealed, frozen=True, extra="forbid"):
    """When to stop asking, for each group of questions and each budget. `ttc allocate` writes it."""

    version: Literal[1] = 1
    checkpoints: tuple[int, ...] = Field(min_length=1)
    """Numbers of samples at which the vote is looked at, rising; at the last it ends."""
    watches: bool
    """Whether the votes so far decide too; else the group alone does, and every state is (0, 0)."""
    groups: Mapping[str, str]
    """Question id -> its group: its predicted difficulty, and the fold that it was no part of."""
    stops: Mapping[int, Mapping[str, Mapping[int, frozenset[State]]]]
    """Samples per question on average -> group -> checkpoint -> states in which to stop."""
    predictions: str = ""
    """Seal of the predictions that the groups come from; empty where there were none."""

    def ends(self, n: int, question_id: str, classes: Sequence[int | None]) -> bool:
        """Whether a vote that has come to a checkpoint is over."""
        drawn = len(classes)
        if drawn >= self.checkpoints[-1]:
            return True
        state = state_of(classes) if self.watches else (0, 0)
        return state in self.stops[n][self.groups[question_id]].get(drawn, frozenset())

    def content(self) -> dict[str, Any]:
        """See `Sealed`; states in order, since a set has none."""
        content = super().content()
        stops = {
            str(n): {
                group: {str(at): sorted(map(list, states)) for at, states in by_checkpoint.items()}
                for group, by_checkpoint in by_group.items()
            }
            for n, by_group in self.stops.items()
        }
        return {**content, "stops": stops}


def state_of(classes: Sequence[int | None]) -> State:
    """Votes of the two leading answers."""
    votes = sorted(Counter(answer for answer in classes if answer is not None).values(), reverse=True)
    return (votes[0] if votes else 0, votes[1] if len(votes) > 1 else 0)


@lru_cache(maxsize=8)
def read_plan(path: Path) -> Plan:
    """A plan from its file.

    Raises:
        UserError: there is none, it is something else, or it was edited.
    """
    return read_sealed(path, Plan, what="plan", writer="ttc allocate RUN --freeze", made="it was made")


class AllocatedVote(BaseModel, frozen=True, extra="forbid"):
    """Plurality over as many samples as predicted difficulty and the votes so far are worth, n on average over all questions.

    The plan's prices and gains were learned on other questions. Compute-optimal allocation: Snell et al. 2024,
    arXiv:2408.03314; by expected gain of a question: Damani et al. 2024, arXiv:2410.04707.
    """

    kind: Literal["allocated_vote"] = "allocated_vote"
    n: int = Field(gt=0)
    """Samples per question on average; one of the plan's budgets. A single question may take up to the last checkpoint."""
    plan: Path
    """File of `ttc allocate --freeze`."""
    uses_gold: ClassVar[bool] = False

    async def solve(self, session: Session) -> Selection:
        """Draw from checkpoint to checkpoint until the plan ends it, and stand by the most common answer."""
        plan, asked = read_plan(self.plan), session.question.id
        if self.n not in plan.stops:
            raise UserError(f"plan {self.plan}: it has no budget n={self.n}; its budgets are {', '.join(map(str, plan.stops))}")
        if asked not in plan.groups:
            raise UserError(f"plan {self.plan}: it does not know question {asked}; make one with predictions for this exam")
        samples: list[Sample] = []
        classes: Sequence[int | None] = ()
        for checkpoint in plan.checkpoints:
            samples += await session.draw(Draw(n=checkpoint - len(samples)))
            classes = session.classes(session.answers(samples))
            if plan.ends(self.n, asked, classes):
                break
        return session.stand_by(samples, select.plurality(classes), "plurality")
