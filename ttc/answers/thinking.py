"""What a reply says after it has finished thinking. Thinking is never graded, however sure it sounds."""

import re
from dataclasses import dataclass

_NAMES = r"(?:seed:)?(?:think(?:ing)?|thoughts?|reasoning|reflection|scratchpad|analysis|cot)"
_OPENING = re.compile(rf"<\s*{_NAMES}\s*>|\[THINK\]|◁think▷|<\|(?:begin_of_thought|START_THINKING)\|>", re.IGNORECASE)
_CLOSING = re.compile(rf"<\s*/\s*{_NAMES}\s*>|\[/THINK\]|◁/think▷|<\|(?:end_of_thought|END_THINKING)\|>", re.IGNORECASE)
_CHANNEL = re.compile(r"<\|channel\|>\s*(\w+)[^<]*<\|message\|>")
_CONTROL = re.compile(r"<\|(?:im_end|endoftext|eot_id|end|return|end_of_text|begin_of_solution|end_of_solution)\|>|</s>\s*$")
_MAY = re.compile(rf"<(?:\||\s*/?\s*{_NAMES}|/s>)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Reply:
    """The part of a reply that may be graded."""

    text: str
    thought: bool = False
    """There was thinking before `text`."""
    unfinished: bool = False
    """The thinking never ended, so nothing was answered; `text` is empty."""


def may_think(text: str) -> bool:
    """Whether there may be thinking in a reply; False is certain."""
    if "<" in text and _MAY.search(text):
        return True
    return "THINK]" in text or not (text.isascii() or "◁" not in text)


def final_part(text: str) -> Reply:
    """What follows the thinking.

    A closing tag needs no opening one: many chat templates write that one into the prompt. A block that is opened last and not
    closed leaves no answer.
    """
    if not may_think(text):
        return Reply(text)
    channels = list(_CHANNEL.finditer(text))
    if channels:
        last = channels[-1]
        if last[1].lower() != "final":
            return Reply("", thought=True, unfinished=True)
        return Reply(_CONTROL.sub("", text[last.end() :]), thought=len(channels) > 1)
    closed = list(_CLOSING.finditer(text))
    start = closed[-1].end() if closed else 0
    if _OPENING.search(text, start):
        return Reply("", thought=True, unfinished=True)
    return Reply(_CONTROL.sub("", text[start:]), thought=bool(closed))
