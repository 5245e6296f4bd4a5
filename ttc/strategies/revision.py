"""The model goes over its own reply."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from ttc import select
from ttc.draw import Draw
from ttc.errors import BudgetSpent
from ttc.prompts import turns
from ttc.records import Sample, Selection
from ttc.session import Session


class Revision(BaseModel, frozen=True, extra="forbid"):
    """Show the model its reply, and ask it to check and revise it (Self-Refine, Madaan et al. 2023, arXiv:2303.17651).

    Each round sees the question with its images and the reply of the round before. Without anybody else's judgement it may as
    well lose a right answer (Huang et al. 2023, arXiv:2310.01798): compare with a vote at equal tokens.
    """

    kind: Literal["revision"] = "revision"
    rounds: int = Field(default=2, gt=0)
    """Revisions after the first reply, at most."""
    stop_when_kept: bool = True
    """End with the round that keeps the answer of the one before."""
    choose: Literal["last", "vote"] = "last"
    """The answer of the last round that has one, or the most common one of all rounds."""
    words: Path | None = None
    """A file in the form of `ttc/prompts/turns.yaml` with other words."""
    budget_tokens: int | None = Field(default=None, gt=0)
    """Completion tokens after which no further round begins; the last one may go beyond."""
    uses_gold: ClassVar[bool] = False
    size: ClassVar[str] = "rounds"
    """The setting in which the points of its curve differ, where they have no `budget_tokens`."""

    async def solve(self, session: Session) -> Selection:
        """Draw a reply, and have it revised until it stays or the rounds are over."""
        replies = await session.draw(Draw(n=1))
        for _ in range(self.rounds):
            if replies[-1].status != "ok":
                break
            try:
                replies += await session.ask(turns.revising(session.prompt, replies[-1].text, self.words))
            except BudgetSpent:
                break
            *_, before, now = self._classes(session, replies)
            if self.stop_when_kept and now is not None and now == before:
                break
        classes = self._classes(session, replies)
        answered = [place for place, answer in enumerate(classes) if answer is not None]
        winner = select.plurality(classes) if self.choose == "vote" else max(answered, default=None)
        # An index would not say which of the rounds is meant.
        return replace(session.stand_by(replies, winner, self.choose), sample=None)

    def _classes(self, session: Session, replies: Sequence[Sample]) -> tuple[int | None, ...]:
        return session.classes(session.answers(replies))
