"""The model reads its own candidates and picks one."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from ttc import select
from ttc.draw import Draw
from ttc.errors import BudgetSpent
from ttc.prompts import turns
from ttc.records import Question, Sample, Selection
from ttc.session import Session


@dataclass(frozen=True, slots=True)
class Pick:
    """What one reading of the candidates came to."""

    position: int | None
    """Of the candidate that was picked; None where the reading failed."""
    status: str = "ok"
    """Why it failed: the sample's own status, `cut` at its token limit, or `unclear`."""


class GenerativeSelection(BaseModel, frozen=True, extra="forbid"):
    """Show the model n candidate solutions, and stand by the one it picks (GenSelect, Toshniwal et al. 2025, arXiv:2507.17797).

    The candidates are the samples that a vote reads. Every reading sees them in an order of its own, for models favour places.
    """

    kind: Literal["generative_selection"] = "generative_selection"
    n: int = Field(gt=1)
    """Candidates. It is run live: list it with several n for several points of its curve."""
    readings: int = Field(default=1, gt=0)
    """Times they are read; the answers picked are counted, ties go to the earlier reading."""
    fallback: Literal["vote", "abstain"] = "vote"
    """Where no reading picks a candidate with an answer: the vote over them, or no answer."""
    words: Path | None = None
    """A file in the form of `ttc/prompts/turns.yaml` with other words."""
    budget_tokens: int | None = Field(default=None, gt=0)
    """Completion tokens after which nothing is read; the readings themselves may go beyond."""
    seed: int = 0
    """Of the orders."""
    uses_gold: ClassVar[bool] = False

    async def solve(self, session: Session) -> Selection:
        """Draw, read, count what was picked."""
        samples = await session.draw(Draw(n=self.n))
        classes = session.classes(session.answers(samples))
        candidates = [place for place, sample in enumerate(samples) if sample.text.strip()]
        picks = await self._picks(session, samples, candidates)
        found = [pick.position for pick in picks if pick.position is not None]
        winner = select.plurality([classes[position] for position in found])
        if winner is not None:
            return session.stand_by(samples, found[winner], "picked")
        failures = Counter("no answer" if pick.status == "ok" else pick.status for pick in picks)
        why = ", ".join(f"{count} {status}" for status, count in failures.items())
        return session.stand_by(samples, select.plurality(classes) if self.fallback == "vote" else None, f"fallback: {why}")

    async def _picks(self, session: Session, samples: Sequence[Sample], candidates: Sequence[int]) -> list[Pick]:
        if not candidates:
            return [Pick(None, "no candidate")]
        orders = [self.order(session.question, reading, candidates) for reading in range(self.readings)]
        try:
            with session.side_by_side():
                return await asyncio.gather(*(self._read(session, samples, order) for order in orders))
        except BudgetSpent:
            return [Pick(None, "budget spent")]

    async def _read(self, session: Session, samples: Sequence[Sample], order: Sequence[int]) -> Pick:
        prompt = turns.choosing(session.prompt, [samples[position].text for position in order], self.words)
        [reading] = await session.ask(prompt)
        number = turns.chosen(reading.text, len(order))
        if number is not None:
            return Pick(order[number - 1])
        return Pick(None, reading.status if reading.status != "ok" else "cut" if reading.finish == "length" else "unclear")

    def order(self, question: Question, reading: int, candidates: Sequence[int]) -> list[int]:
        """The candidates as one reading sees them."""
        return Random(f"{self.seed}/{question.id}/{reading}").sample(candidates, len(candidates))
