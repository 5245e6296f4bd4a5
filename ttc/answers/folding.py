"""Texts in the forms in which they are compared with others: folded, as spoken, and as words alone."""

import re
import unicodedata

from ttc.answers.markup import plain
from ttc.answers.number import BARE_POINT
from ttc.answers.phrases import words

_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SYMBOLS = {
    "times": "×",
    "cdot": "·",
    "degree": "°",
    "circ": "°",
    "%": "%",
    "pm": "±",
    "leq": "≤",
    "le": "≤",
    "geq": "≥",
    "ge": "≥",
    "neq": "≠",
    "infty": "∞",
    "rightarrow": "→",
    "to": "→",
    "sqrt": "√",
}
_GREEK = words(
    """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi
    psi omega"""
)
_SYMBOLS |= {name: chr(0x3B1 + place) for place, name in enumerate(_GREEK)}
_SYMBOLS |= {name.title(): chr(0x391 + place) for place, name in enumerate(_GREEK) if name != "sigmaf"}
_COMMAND = re.compile(r"\\(" + "|".join(sorted(_SYMBOLS, key=len, reverse=True)) + r")(?![a-zA-Z])\s?")
_THOUSANDS = re.compile(r"(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[ ]?[-–—‐][ ]?(?=[^\W\d_])")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_LOWERED = re.compile("[₀-₉]|(?<=[A-Za-z)])_(?=[A-Za-z0-9{])")
_SMALL_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺₀₁₂₃₄₅₆₇₈₉", "0123456789-+0123456789", "_")
_ROOT = re.compile(r"(?:\bsqrt|√)\s*(?:\(\s*(\w+)\s*\)|\{\s*(\w+)\s*\})?")
_WORDED = re.compile(r"[^\W\d]+(?:[\s,;:.'’\"“”()!?-]+[^\W\d]+){2,}[\s.,;:!?\"”)]*")
"""Three words or more, without numbers and signs: their commas are a matter of taste."""
_CONTRACTED = re.compile(r"\bcan(?:not|['’]t)|\bwon['’]t|n['’]t\b")
_DROPPED = str.maketrans("", "", "\"'`{}\\")
ENDS = " \t\n.,;:!?"
"""What may close a text without being part of it."""


def fold(text: str) -> str:
    """A text's form for comparison: no markup, blanks, quotes, hyphens between letters, thousands commas or closing marks."""
    text = plain(text)
    if "\\" in text:
        text = _COMMAND.sub(lambda found: _SYMBOLS[found[1]], _FRACTION.sub(r"\1/\2", text))
    if not text.isascii():
        text = text.replace("–", "-").replace("≈", "").replace("µ", "μ")
        text = _RAISED.sub(lambda found: "^" + found[0].translate(_SMALL_DIGITS), text)
        text = unicodedata.normalize("NFC", _LOWERED.sub(lambda found: found[0].translate(_SMALL_DIGITS), text))
    elif "_" in text:
        text = _LOWERED.sub("", text)
    if "√" in text or "sqrt" in text:
        text = _ROOT.sub(lambda found: f"√{found[1] or found[2] or ''}", text)
    if "," in text:
        text = _THOUSANDS.sub("", text)
    if "." in text:
        text = BARE_POINT.sub("0.", text)
    text = text.strip(ENDS)
    if "-" in text or not text.isascii():
        text = _HYPHEN.sub("", text)
    return "".join(text.translate(_DROPPED).split()).strip(ENDS)


def worded(text: str) -> str:
    """The words of a text that is nothing but three or more, contractions written out; empty for other texts."""
    if text.count(" ") < 2 or not _WORDED.fullmatch(text := plain(text).strip()):
        return ""
    full = _CONTRACTED.sub(lambda found: {"w": " will not", "c": " can not"}.get(found[0][0], " not"), text.lower())
    return " ".join(re.findall(r"\w+", full))


def spoken(text: str, cased: bool = False) -> str:
    """A text with its words apart but otherwise folded for search: lower case, one blank between words, no markup."""
    text = plain(text)
    if "\\" in text:
        text = _COMMAND.sub(lambda found: _SYMBOLS[found[1]], _FRACTION.sub(r"\1/\2", text))
    text = " ".join(_THOUSANDS.sub("", text.replace("–", "-")).split())
    return text if cased else text.casefold()
