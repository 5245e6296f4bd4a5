"""A reply as steps of reasoning: character spans that tile it, and the token at which each of them ends.

One splitter serves training, scoring and evaluation. A step begins behind a blank line, at a list marker or a "Step k"; a reply
without any of them is split at its lines, and a reply of one line at its sentences. No step begins inside LaTeX, a table or a
fence of code, and a heading or a line that ends in a colon belongs to what it announces.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from ttc.records import Reply

MOST_STEPS = 12
"""More steps are merged in runs of equal length (VisualPRM, Wang et al. 2025, arXiv:2503.10291)."""

_WHOLE = re.compile(
    r"^[ \t]*(?P<fence>```+|~~~+).*?(?:^[ \t]*(?P=fence)|\Z)"  # an open one is a reply cut short
    r"|\\begin\{(?P<name>[^}\n]+)\}.*?(?:\\end\{(?P=name)\}|\Z)"
    r"|(?<!\\)\\\[.*?(?:\\\]|\Z)"
    r"|(?<!\\)\\\(.*?(?:\\\)|(?=\n\s*\n)|\Z)"
    r"|(?<!\\)\$\$.*?(?:\$\$|\Z)"
    # as pandoc reads dollars: the sum of money in `$5, then $10` closes nothing
    r"|(?<!\\)\$(?![\s$])(?:[^$\\\n]|\\.|\n(?!\s*\n))*+(?<!\s)\$(?!\d)"
    r"|^[ \t]*\|[^\n]*(?:\n[ \t]*\|[^\n]*)+",
    re.DOTALL | re.MULTILINE,
)
_BLANK_LINE = re.compile(r"\n[^\S\n]*\n\s*")
_MARKED = re.compile(
    r"^(?P<indent>[ \t]*)(?:[-*+•][ \t]+\S|\(?\d{1,2}[.)][ \t]+\S|#{1,6}[ \t]|(?:[*_#]{1,3}[ \t]*)?(?:Step|STEP)[ \t]+\d+\b)",
    re.MULTILINE,
)
_LINE = re.compile(r"\n\s*")
_SENTENCE = re.compile(r"""(?<=[.!?])["'”’)\]*]*\s+(?=["'“‘(\[*]*[A-Z0-9\\$]|[^\x00-\x7f])""")
_ABBREVIATED = re.compile(
    r"(?:[\s(\[](?:e\.g|i\.e|cf|vs|approx|et al|resp|Figs?|Eqs?|Ref|Vol|Sec|Dr|Mr|Mrs|Ms|Prof|St)|(?:^|\bby\s|\.\s?)[A-Z])"
    r"\.\s+$",
    re.IGNORECASE,
)
_ENUMERATOR = re.compile(r"\s*\(?(?:\d{1,2}|[A-Za-z])[.)]\s+")
_HEADING = re.compile(r"\s*(?:#{1,6}\s[^\n]*|[^\n]*:(?:\*\*)?|\*\*[^\n*]+\*\*|(?:Step|STEP)\s+\d+\W*)\s*")


@dataclass(frozen=True, slots=True)
class Step:
    """One step: `response[start:end] == text`, the blanks behind it included."""

    text: str
    start: int
    """Characters from the reply's beginning."""
    end: int
    """One past its last character; the next step's start."""


def split(response: str, *, at_most: int = MOST_STEPS) -> tuple[Step, ...]:
    """The steps of a reply; joined, they are the reply to the letter. A reply of blanks only has none.

    Raises:
        ValueError: `at_most` is not positive.
    """
    if at_most < 1:
        raise ValueError(f"at_most={at_most}; a reply has at least one step")
    if not response.strip():
        return ()
    whole = [match.span() for match in _WHOLE.finditer(response)]
    for places in (_structure(response), _places(_LINE, response), _sentences(response)):
        if len(starts := _starts(response, places, whole)) > 1:
            break
    starts = starts[:: -(-len(starts) // at_most)]
    return tuple(Step(response[start:end], start, end) for start, end in pairwise([*starts, len(response)]))


def steps_of(reply: Reply, *, at_most: int = MOST_STEPS) -> list[str]:
    """Texts of a reply's steps: those it comes with, however many, else as `split` has them; at most 1: the whole reply."""
    if reply.steps and at_most > 1:
        return list(reply.steps)
    return [step.text for step in split(reply.text, at_most=at_most)]


@lru_cache(maxsize=1 << 10)  # many samples of a question say the same
def texts_of(text: str, count: int) -> tuple[str, ...] | None:
    """The reply as that many steps: as `split` has them, or its lines; None where neither fits. A count of 0 fits any."""
    steps = tuple(step.text for step in split(text))
    lines = tuple(line for line in text.splitlines(keepends=True) if line.strip())
    return next((found for found in (steps, lines) if count in (0, len(found))), None)


def end_tokens(steps: Iterable[Step], offsets: Sequence[tuple[int, int]]) -> tuple[int, ...]:
    """Index of the token that holds each step's last visible character; of several (the bytes of one character), the last.

    Args:
        offsets: a tokenizer's offset mapping of the reply, in characters; tokens of no width (special ones) are passed over.

    Raises:
        ValueError: a step ends behind the last token, so the reply was truncated.
    """
    found, token = [], 0
    for step in steps:
        last = step.start + len(step.text.rstrip()) - 1
        while token < len(offsets) and offsets[token][1] <= last:
            token += 1
        if token == len(offsets):
            raise ValueError(f"step {step.text[:40]!r} ends at character {last + 1}, behind the last of {len(offsets)} tokens")
        while token + 1 < len(offsets) and offsets[token + 1][0] <= last < offsets[token + 1][1]:
            token += 1
        found.append(token)
    return tuple(found)


def _structure(response: str) -> set[int]:
    """Where paragraphs and list items begin; items of a list within a list belong to the outer item."""
    markers = list(_MARKED.finditer(response))
    outer = min((len(match["indent"]) for match in markers), default=0)
    marked = {match.start() for match in markers if len(match["indent"]) == outer}
    places = sorted(_places(_BLANK_LINE, response) | marked)
    headings = {end for start, end in pairwise([0, *places]) if _HEADING.fullmatch(response, start, end)}
    return set(places) - headings


def _sentences(response: str) -> set[int]:
    """Where sentences begin: not behind an abbreviation, an initial, or the number of an item."""
    places, start = set(), 0
    for match in _SENTENCE.finditer(response):
        end = match.end()
        if not _ABBREVIATED.search(response, max(0, match.start() - 8), end) and not _ENUMERATOR.fullmatch(
            response, start, end
        ):
            places.add(end)
            start = end
    return places


def _places(pattern: re.Pattern[str], response: str) -> set[int]:
    return {match.end() for match in pattern.finditer(response)}


def _starts(response: str, places: Iterable[int], whole: Sequence[tuple[int, int]]) -> list[int]:
    """The places that begin a step: 0, and those outside of what stays whole with something visible before and behind them."""
    starts, spans = [0], iter(whole)
    span = next(spans, None)
    for place in sorted(places):
        while span and span[1] <= place:
            span = next(spans, None)
        is_inside = span is not None and span[0] < place
        if not is_inside and response[starts[-1] : place].strip() and response[place:].strip():
            starts.append(place)
    return starts
