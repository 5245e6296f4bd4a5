"""The options of one question, as texts that a reply may repeat: equal after folding, never by substring."""

import re
import unicodedata
from dataclasses import dataclass
from functools import lru_cache

from ttc.answers.markup import plain
from ttc.answers.number import number_key, parse_quantity
from ttc.records import LETTERS

AMBIGUOUS = "?"
"""Stands for a letter where a reply names several options, or a text that two options share."""

_FRACTION = re.compile(r"\\[dt]?frac\s*\{([^{}]*)\}\s*\{([^{}]*)\}")
_SYMBOLS = {r"\times": "×", r"\cdot": "·", r"\degree": "°", r"\circ": "°", r"\%": "%", r"\pm": "±", r"\leq": "≤", r"\geq": "≥"}
_COMMAND = re.compile(r"\\(?:times|cdot|degree|circ|%|pm|leq|geq)(?![a-zA-Z])")
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
    text = _COMMAND.sub(lambda found: _SYMBOLS[found[0]], text).replace("–", "-").replace("≈", "")
    text = unicodedata.normalize("NFC", text) if not text.isascii() else text
    return _DROPPED.sub("", _HYPHEN.sub("", _THOUSANDS.sub("", text)).strip(_ENDS)).strip(_ENDS)


def spoken(text: str) -> str:
    """A text with its words apart but otherwise folded for search: lower case, one blank between words, no markup."""
    text = _FRACTION.sub(r"\1/\2", plain(text))
    text = _COMMAND.sub(lambda found: _SYMBOLS[found[0]], text).replace("–", "-")
    return _SPACES.sub(" ", _THOUSANDS.sub("", text)).strip().casefold()


@dataclass(frozen=True, slots=True)
class Options:
    """Option texts made ready for comparison."""

    texts: tuple[str, ...]
    letters: str
    exact: dict[str, str]
    """Folded text, case kept, to letter or AMBIGUOUS."""
    caseless: dict[str, str]
    bare: dict[str, str]
    """As `caseless`, without a leading article or an embedded label, where that makes no two alike."""
    numbers: dict[object, str]
    """Value and dimensions to letter; a value alone stands for the option that has it with whatever unit."""
    mentions: tuple[tuple[re.Pattern[str], str], ...]
    """Pattern of each text as whole words, longest first, and its letter."""

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
        stripped = _ARTICLE.sub("", text.strip(), count=1) if _ARTICLE.match(text.strip()) else text
        key = fold(stripped).casefold()
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
    """Fold the option texts of a question. Cached: a question is read once per sample."""
    letters = LETTERS[: len(texts)]
    pairs = list(zip(letters, texts, strict=True))
    exact = _unique((fold(text), letter) for letter, text in pairs)
    caseless = _unique((fold(text).casefold(), letter) for letter, text in pairs)
    bare = _unique(
        (fold(_ARTICLE.sub("", _LABEL.sub("", text.strip(), count=1), count=1)).casefold(), letter) for letter, text in pairs
    )
    quantities = [(parse_quantity(text), letter) for letter, text in pairs]
    numbers = _unique((number_key(text), letter) for letter, text in pairs) | _unique(
        (quantity.number, letter) for quantity, letter in quantities if quantity
    )
    mentions = sorted(((spoken(text).strip(_ENDS), letter) for letter, text in pairs), key=lambda pair: -len(pair[0]))
    alphabet = letters.lower()
    patterns = tuple(
        (_mention(text), letter)
        for text, letter in mentions
        if text and not (len(text.strip("()")) == 1 and text.strip("()") in alphabet)
    )
    return Options(texts, letters, exact, caseless, bare, numbers, patterns)


def _unique(pairs) -> dict:
    table: dict = {}
    for key, letter in pairs:
        if key is not None and key != "":
            table[key] = AMBIGUOUS if key in table and table[key] != letter else letter
    return table


def _mention(text: str) -> re.Pattern[str]:
    """The text as whole words: no digit, sign or decimal point may touch a number at either end."""
    body = re.escape(text).replace(r"\ ", r"\s*" if text[:1].isdigit() or text[:1] in "$-+" else r"\s+")
    first, last = text[0], text[-1]
    before = r"(?<![\w.])" if not (first.isdigit() or first in ".$") else r"(?<![\w.,/^-])(?<![-+]\s)(?<![\w)]\s[-])"
    if first in "-+":
        before = r"(?<![\w.,)])"
    after = r"(?![\w%])(?![.,/^]\d)" if last.isdigit() else r"(?!\w)"
    return re.compile(before + body + after)
