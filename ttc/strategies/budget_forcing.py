"""Thinking held to a length: lengthened by a word, or cut short."""

from dataclasses import replace
from typing import ClassVar, Literal

from pydantic import BaseModel, Field, model_validator

from ttc.errors import BudgetSpent
from ttc.records import Sample, Selection
from ttc.session import Session


class BudgetForcing(BaseModel, frozen=True, extra="forbid"):
    """Make the model think for at least and at most so many tokens (s1, Muennighoff et al. 2025, arXiv:2501.19393).

    An end before the minimum is taken back and `continuation` put in its place; at the maximum `cue` asks for the answer. What
    is put in counts as prompt, what is taken back as drawn. The answer comes on top of the thinking, within `answer_tokens`.
    """

    kind: Literal["budget_forcing"] = "budget_forcing"
    min_thinking: int = Field(default=0, ge=0)
    """Tokens, those of continuations included."""
    max_thinking: int | None = Field(default=None, gt=0)
    """Tokens; `sampling.max_tokens` where not given, and never more."""
    end: str = Field(default="Answer:", min_length=1)
    """What ends the thinking; `</think>` for models that think in a block of its own. The end of the whole reply does too."""
    continuation: str = Field(default="\nWait", min_length=1)
    """Stands in place of an end that came too early, and of the blanks before it."""
    most_continuations: int = Field(default=4, ge=0)
    """Ends taken back; the next one stands, however short the thinking."""
    cue: str = Field(default="\nAnswer:", min_length=1)
    """Stands where thinking is cut; `\\n</think>\\n\\nAnswer:` for models that think in a block of its own."""
    answer_tokens: int = Field(default=256, gt=0)
    """Most tokens of the answer."""
    budget_tokens: int | None = Field(default=None, gt=0)
    """Completion tokens after which nothing further is drawn."""
    uses_gold: ClassVar[bool] = False
    continues: ClassVar[bool] = True
    appends: ClassVar[bool] = True
    """It puts words of its own into replies, for which the backend must have an `encoder`."""
    size: ClassVar[str] = "min_thinking"
    """The setting in which the points of its curve differ, where they have no `budget_tokens`."""

    @model_validator(mode="after")
    def _in_order(self) -> "BudgetForcing":
        if self.max_thinking is not None and self.min_thinking > self.max_thinking:
            raise ValueError(f"min_thinking={self.min_thinking} is above max_thinking={self.max_thinking}; lower it")
        return self

    async def solve(self, session: Session) -> Selection:
        """Think, go on thinking, and answer."""
        try:
            reply = await self._reply(session)
        except BudgetSpent:
            return Selection(None, reason="abstain")
        # An index would not say which of the pieces is meant.
        return replace(session.stand_by([reply], 0, "forced"), sample=None)

    async def _reply(self, session: Session) -> Sample:
        """The whole reply as one sample, under the key of its last piece."""
        most = min(self.max_thinking or session.reply_tokens, session.reply_tokens)
        ids: tuple[int, ...] = ()
        text, appended, taken_back = "", 0, 0
        while True:
            [[piece]] = await session.extend([ids], self.end, most_tokens=most - len(ids), appended=appended)
            drawn, ended = text + piece.text, piece.tail.startswith(self.end)
            if piece.status != "ok":
                return piece
            if piece.finish == "length":
                cue = await session.token_ids(self.cue)
                return await self._answer(session, (*ids, *piece.token_ids, *cue), drawn + self.cue, len(cue))
            # The end may share a token with what is before it, so what stays is made tokens again.
            kept = (*ids, *await session.token_ids(piece.text.rstrip()))
            wait = await session.token_ids(self.continuation)
            if len(kept) < self.min_thinking and taken_back < self.most_continuations and len(kept) + len(wait) < most:
                ids, text = (*kept, *wait), drawn.rstrip() + self.continuation
                appended, taken_back = len(wait), taken_back + 1
                continue
            if not ended:
                return replace(piece, text=drawn)
            return await self._answer(session, (*ids, *piece.token_ids), drawn + piece.tail, 0)

    async def _answer(self, session: Session, ids: tuple[int, ...], text: str, appended: int) -> Sample:
        [[piece]] = await session.extend([ids], most_tokens=self.answer_tokens, appended=appended)
        return replace(piece, text=text + piece.text)
