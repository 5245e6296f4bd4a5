"""What a planted error must not show: each check names one way in which an edit fails, for rules and language models alike."""

import re
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

from ttc.answers.equivalence import ground_of_equality
from verifiers.steps import split

_REPEATED = re.compile(r"\b([A-Za-z]+) \1\b", re.IGNORECASE)
_WRONG_ARTICLE = re.compile(r"\b(?:an [bcdfgjklmnpqrtvwyz][a-z]|a [aei][a-z])", re.IGNORECASE)
_TELLTALE = re.compile(
    r"\b(?:incorrectly|erroneous(?:ly)?|mistake(?:n|nly)?|wrong(?:ly)?|errors?|edited|modified|original step|corrected|note)\b",
    re.IGNORECASE,
)
_BRACKETS = '()[]{}$"`*'
MOST_CHANGED = 0.5
"""Share of a step's words that a minimal edit may change; at least four."""


def faults(before: Sequence[str], after: Sequence[str], place: int, *, old: str = "", new: str = "") -> list[str]:
    """Names of the checks that an edit of one step fails; empty for a good one.

    Args:
        before: the right chain.
        after: the chain with the error; behind its step, values may have followed.
        place: index of the step that is edited.
        old: what was replaced, and
        new: by what, where that is known: the two must differ as numbers, texts and formulas.
    """
    original, edited = before[place], after[place]
    checks = {
        "prefix": list(before[:place]) != list(after[:place]) or len(before) != len(after),
        "says the same": _folded(original) == _folded(edited),
        "equal value": bool(old) and ground_of_equality(old, new, formulas=bool(re.search(r"[\d\\=^]", old))) is not None,
        "repeats its prefix": _folded(edited) in map(_folded, before[:place]),
        "not one step": _pieces(original) != _pieces(edited),
        "too long an edit": changed_words(original, edited) > max(4, MOST_CHANGED * len(original.split())),
        "blanks": _blanks(original) != _blanks(edited) or ("  " in edited.strip() and "  " not in original.strip()),
        "closing mark": original.rstrip()[-1:] != edited.rstrip()[-1:],
        "capital": original.lstrip()[:1].isupper() != edited.lstrip()[:1].isupper(),
        "brackets": _brackets(original) != _brackets(edited),
        "repeated word": _more(_REPEATED, original, edited),
        "article": _more(_WRONG_ARTICLE, original, edited),
        "telltale word": _more(_TELLTALE, original, edited),
    }
    return [name for name, failed in checks.items() if failed]


def changed_words(original: str, edited: str) -> int:
    """Words of the longer side of every difference."""
    matcher = SequenceMatcher(None, original.split(), edited.split(), autojunk=False)
    return sum(max(b - a, d - c) for tag, a, b, c, d in matcher.get_opcodes() if tag != "equal")


def _pieces(step: str) -> int:
    """How many steps a step would be on its own."""
    return len(split(step, at_most=len(step)))


def _folded(text: str) -> str:
    return re.sub(r"\W+", " ", text).strip().casefold() if re.search(r"\w", text) else text


def _blanks(text: str) -> tuple[str, str]:
    """What leads and trails."""
    return text[: len(text) - len(text.lstrip())], text[len(text.rstrip()) :]


def _brackets(text: str) -> Counter[str]:
    return Counter(character for character in text if character in _BRACKETS)


def _more(pattern: re.Pattern[str], original: str, edited: str) -> bool:
    return len(pattern.findall(edited)) > len(pattern.findall(original))
