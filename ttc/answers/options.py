"""The options of one question, as texts that a reply may repeat: equal after folding, never by substring."""

import re
import unicodedata
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any

from ttc.answers.markup import plain
from ttc.answers.number import number_key, parse_quantity
from ttc.records import LETTERS

AMBIGUOUS = "?"
"""Stands for a letter where a reply names several options, or a text that two options share."""

_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SYMBOLS = {"times": "×", "cdot": "·", "degree": "°", "circ": "°", "%": "%", "pm": "±", "leq": "≤", "le": "≤", "geq": "≥", "ge": "≥"}
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigmaf sigma tau upsilon phi chi psi omega"
_SYMBOLS |= {name: chr(0x3B1 + place) for place, name in enumerate(_GREEK.split())}
_SYMBOLS |= {name.title(): chr(0x391 + place) for place, name in enumerate(_GREEK.split()) if name != "sigmaf"}
_COMMAND = re.compile(r"\\(" + "|".join(sorted(_SYMBOLS, key=len, reverse=True)) + r")(?![a-zA-Z])\s?")
_THOUSANDS = re.compile(r"(?<=\d)(?:,|\{,\})(?=\d{3}(?!\d))")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[ ]?[-–—‐][ ]?(?=[^\W\d_])")
_DROPPED = re.compile(r"""[\s"'`{}\\]+""")
_ENDS = " \t\n.,;:!?"
_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_LABEL = re.compile(r"\(?[A-Za-z][.):]\s+(?=\S)")
_IMAGE = re.compile(r"<\s*image\s*\d+\s*>", re.IGNORECASE)
_SPACES = re.compile(r"\s+")


def fold(text: str) -> str:
    """A text's form for comparison: no markup, blanks, quotes, hyphens between letters, thousands commas or closing marks."""
    text = _FRACTION.sub(r"\1/\2", plain(text))
    text = _COMMAND.sub(lambda found: _SYMBOLS[found[1]], text).replace("–", "-").replace("≈", "").replace("µ", "μ")
    text = unicodedata.normalize("NFC", text) if not text.isascii() else text
    return _DROPPED.sub("", _HYPHEN.sub("", _THOUSANDS.sub("", text)).strip(_ENDS)).strip(_ENDS)


def spoken(text: str) -> str:
    """A text with its words apart but otherwise folded for search: lower case, one blank between words, no markup."""
    text = _FRACTION.sub(r"\1/\2", plain(text))
    text = _COMMAND.sub(lambda found: _SYMBOLS[found[1]], text).replace("–", "-")
    return _SPACES.sub(" ", _THOUSANDS.sub("", text)).strip().casefold()


class Options:
    """Option texts made ready for comparison; each table is made when first needed."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts
        self.letters = LETTERS[: len(texts)]
        self._pairs = tuple(zip(self.letters, texts, strict=True))

    @cached_property
    def exact(self) -> dict[str, str]:
        """Folded text, case kept, to letter or AMBIGUOUS."""
        return _unique((fold(text), letter) for letter, text in self._pairs)

    @cached_property
    def caseless(self) -> dict[str, str]:
        """As `exact`, case dropped."""
        return _unique((fold(text).casefold(), letter) for letter, text in self._pairs)

    @cached_property
    def bare(self) -> dict[str, str]:
        """As `caseless`, without a leading article or an embedded label."""
        return _unique((fold(_without_article(_LABEL.sub("", text.strip(), count=1))).casefold(), letter) for letter, text in self._pairs)

    @cached_property
    def numbers(self) -> dict[Fraction | tuple[object, ...], str]:
        """Value with dimensions, and value alone, to letter; the value alone stands for the option that has it in any unit."""
        quantities = [(parse_quantity(text), letter) for letter, text in self._pairs]
        return _unique((number_key(text), letter) for letter, text in self._pairs) | _unique(
            (quantity.number, letter) for quantity, letter in quantities if quantity
        )

    @cached_property
    def spoken(self) -> dict[str, str]:
        """Letter to the option's text as `spoken`."""
        return {letter: spoken(text) for letter, text in self._pairs}

    @cached_property
    def mentions(self) -> tuple[tuple[re.Pattern[str], str], ...]:
        """Pattern of each text as whole words, longest first, and its letter, AMBIGUOUS for a text that options share."""
        texts = _unique((text.strip(_ENDS), letter) for letter, text in self.spoken.items())
        labels = self.letters.lower()
        return tuple(
            (_mention(text), texts[text])
            for text in sorted(texts, key=len, reverse=True)
            if not (len(text.strip("()")) == 1 and text.strip("()") in labels)
        )

    def letter_of(self, text: str) -> str | None:
        """The option whose text this is; AMBIGUOUS for a text that several share; None for anything else.

        One letter that labels an option is never taken for the text of another.
        """
        key = fold(text)
        if not key or (len(key.strip("()[].:")) == 1 and key.strip("()[].:").upper() in self.letters):
            return None
        if key in self.exact:
            return self.exact[key]
        key = key.casefold()
        if key in self.caseless:
            return self.caseless[key]
        key = fold(_without_article(text.strip())).casefold()
        if key in self.bare:
            return self.bare[key]
        number = number_key(text)
        if number is None:
            return None
        return self.numbers.get(number) or (None if number[1] else self.numbers.get(number[0]))

    def starts(self, text: str) -> str | None:
        """The option whose text opens this one, the longest if several do, and ends there as a word."""
        text = spoken(text)
        for pattern, letter in self.mentions:
            found = pattern.match(text)
            if found:
                return letter
        return None

    def is_image(self, letter: str) -> bool:
        """Whether the option is nothing but pictures, so that a reply cannot repeat its text."""
        return not _IMAGE.sub("", self.texts[self.letters.index(letter)]).strip(" ,.;")


@lru_cache(maxsize=4096)
def prepare(texts: tuple[str, ...]) -> Options:
    """The options of a question. Cached: a question is read once per sample."""
    return Options(texts)


def _without_article(text: str) -> str:
    found = _ARTICLE.match(text)
    return text[found.end() :] if found else text


def _unique(pairs: Iterable[tuple[Any, str]]) -> dict[Any, str]:
    table: dict[Any, str] = {}
    for key, letter in pairs:
        if key is not None and key != "":
            table[key] = AMBIGUOUS if key in table and table[key] != letter else letter
    return table


def _mention(text: str) -> re.Pattern[str]:
    """The text as whole words: no digit, sign or decimal point may touch a number at either end."""
    numeric = text[:1].isdigit() or text[:1] in "$-+."
    body = re.escape(text).replace(r"\ ", r"\s*" if numeric else r"\s+")
    if numeric:
        # the blank between a number and its unit is a matter of taste
        body = re.sub(r"(?<=\d)(?=\\?[^\W\d_]|%)(?!\\s)", r"\\s*", body)
    first, last = text[0], text[-1]
    before = r"(?<![\w.])" if not (first.isdigit() or first in ".$") else r"(?<![\w.,/^-])(?<![-+]\s)(?<![\w)]\s[-])"
    if first in "-+":
        before = r"(?<![\w.,)])"
    after = r"(?![\w%])(?![.,/^]\d)(?!\s*[-+*/×=^]\s*[\d(])" if last.isdigit() else r"(?!\w)"
    return re.compile(before + body + after)
