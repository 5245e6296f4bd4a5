"""How a conversation about a question goes on: the model reads its own reply again, or several replies to choose among.

Each begins with the question as it was asked, images included, so that an engine can reuse what it has computed of it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

from pydantic import BaseModel

from ttc.answers.thinking import final_part
from ttc.prompts.templates import fill
from ttc.prompts.words import read_words
from ttc.records import Message, Prompt, Text

OWN = Path(__file__).with_name("turns.yaml")
_BEST = re.compile(r"\bbest\b\W*(?:solution\b\W*)?(\d+)", re.IGNORECASE)


class Turns(BaseModel, frozen=True, extra="forbid"):
    """A file of such words."""

    source: str
    """Who wrote them."""
    revise: str
    """The turn after a reply."""
    choose: str
    """What follows the question; `{count}` and `{candidates}` stand for the replies."""
    candidate: str
    """One of them; `{number}`, from 1, and `{reply}`."""


def revising(prompt: Prompt, reply: str, words: Path | None = None) -> Prompt:
    """The prompt that shows a reply to its author and asks to check it. Raises UserError as `load`."""
    turns = Message("assistant", (Text(shown(reply)),)), Message("user", (Text(load(words or OWN).revise),))
    return replace(prompt, messages=(*prompt.messages, *turns), style=f"{prompt.style}/revise")


def choosing(prompt: Prompt, replies: Sequence[str], words: Path | None = None) -> Prompt:
    """The prompt that shows replies, numbered from 1 in this order, and asks which is best.

    They follow the question in its own turn: many chat templates refuse two turns of the user in a row.

    Raises:
        UserError: as `load`, or a placeholder that nothing fills.
    """
    turns, where = load(words or OWN), str(words or "ttc/prompts/turns.yaml")
    candidates = [
        fill(turns.candidate, {"number": str(number), "reply": shown(reply)}, where=where)
        for number, reply in enumerate(replies, start=1)
    ]
    text = fill(turns.choose, {"count": str(len(replies)), "candidates": "\n\n".join(candidates)}, where=where)
    *before, question = prompt.messages
    asked = replace(question, parts=(*question.parts, Text(text)))
    return replace(prompt, messages=(*before, asked), style=f"{prompt.style}/choose")


def chosen(reply: str, count: int) -> int | None:
    """The number, from 1 to `count`, that a reply to `choosing` names last; None where it names none such."""
    named = _BEST.findall(final_part(reply).text)
    return int(named[-1]) if named and 1 <= int(named[-1]) <= count else None


def shown(reply: str) -> str:
    """A reply as others see it: without its thinking, unless there is nothing else."""
    return final_part(reply).text.strip() or reply.strip()


@cache
def load(path: Path) -> Turns:
    """A file of words.

    Raises:
        UserError: it is missing, or not of this form.
    """
    return read_words(path, Turns, what="words", example="ttc/prompts/turns.yaml")
