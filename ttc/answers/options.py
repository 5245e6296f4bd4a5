"""The options of one question, as texts that a reply may repeat: equal after folding, never by substring."""

import re
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property, lru_cache
from itertools import takewhile
from typing import Any

from ttc.answers.folding import ENDS, fold, spoken, worded
from ttc.answers.markup import plain
from ttc.answers.number import number_key, parse_quantity
from ttc.answers.text import text_forms, text_key
from ttc.records import LETTERS

AMBIGUOUS = "?"
"""Stands for a letter where a reply names several options, or a text that two options share."""

_ARTICLE = re.compile(r"(?:an?|the)\s+", re.IGNORECASE)
_LABEL = re.compile(r"\(?[A-Za-z][.):]\s+(?=\S)")
_IMAGE = re.compile(r"<\s*image\s*\d+\s*>", re.IGNORECASE)
_NUMBER_BLANK = re.compile(r"(?<=\d)\s+(?=[^\W\d_]|%|°)")
_NUMBER_UNIT = re.compile(r"(?<=\d)(?=[^\W\d_]|%|°)")
_NUMBER_GOES_ON = re.compile(r"%|[.,/^]\d|\s*[-+*/×=^]\s*[\d(]")
_LEFT_SIDE = re.compile(r"[A-Za-zα-ωΑ-Ω][\w'(), ]{0,12}=\s*(?=[^\s=])")
_DIGIT = re.compile(r"\d")
_SINGLE = re.compile(r"\W*[^\W\d_]\W")
"""Opens with one letter, which may be a label: `(A) symmetrical` is not `asymmetrical`."""


class Options:
    """Option texts made ready for comparison; each table is made when first needed."""

    def __init__(self, texts: tuple[str, ...]) -> None:
        self.texts = texts
        self.letters = LETTERS[: len(texts)]
        self._pairs = tuple(zip(self.letters, texts, strict=True))
        self._reach = 100 + 4 * max(map(len, texts), default=0)
        """Characters; no longer text can be an option's."""

    @cached_property
    def exact(self) -> dict[str, str]:
        """Folded text, case kept, to letter or AMBIGUOUS."""
        return _unique((fold(text), letter) for letter, text in self._pairs)

    @cached_property
    def caseless(self) -> dict[str, str]:
        """As `exact`, case dropped."""
        return _unique((text.casefold(), letter) for text, letter in self.exact.items())

    @cached_property
    def bare(self) -> dict[str, str]:
        """As `caseless`, without a leading article or an embedded label."""
        return _unique(
            (fold(_without_article(_LABEL.sub("", text.strip(), count=1))).casefold(), letter) for letter, text in self._pairs
        )

    @cached_property
    def worded(self) -> dict[str, str]:
        """Words alone to letter, for texts that are nothing but words."""
        return _unique((worded(text), letter) for letter, text in self._pairs)

    @cached_property
    def forms(self) -> dict[str, str]:
        """By `text_key`: each option's text, its declared synonyms, and its words without the first or last that all share."""
        pairs = [(form, letter) for letter, text in self._pairs for form in text_forms(text) if len(form) > 1]
        heads = [text.rpartition(" ") for text in self.texts]
        if len(heads) > 1 and len({tail.casefold().strip(ENDS) for _, _, tail in heads}) == 1:
            pairs += [(text_key(head), letter) for letter, (head, _, _) in zip(self.letters, heads, strict=True)]
        columns = zip(*(text.casefold().split() for text in self.texts), strict=False)
        shared = sum(1 for _ in takewhile(lambda column: len(self.texts) > 1 and len(set(column)) == 1, columns))
        if shared:
            rests = [" ".join(text.split()[shared:]) for text in self.texts]
            pairs += [(text_key(rest), letter) for rest, letter in zip(rests, self.letters, strict=True) if len(rest) > 1]
        return _unique(pairs)

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
        return {letter: self.say(text) for letter, text in self._pairs}

    @cached_property
    def _cased(self) -> bool:
        """Whether case alone tells two options apart, as in `Aa` and `AA`."""
        return AMBIGUOUS in self.caseless.values() and AMBIGUOUS not in self.exact.values()

    def say(self, text: str) -> str:
        """A text `spoken`, in the case that comparisons with these options need."""
        return spoken(text, self._cased)

    @cached_property
    def mentions(self) -> tuple[tuple[str, str], ...]:
        """Spoken text, with and without the blank between a number and its unit, and letter or AMBIGUOUS; longest first.

        Single letters that label an option are left out.
        """
        texts = _unique(
            (form, letter)
            for letter, text in self.spoken.items()
            for form in _spacings(text.strip(ENDS))
            if not self._is_label(form)
        )
        return tuple((text, texts[text]) for text in sorted(texts, key=lambda text: (-len(text), text)))

    def _is_label(self, key: str) -> bool:
        key = key.strip("()[].:")
        return len(key) == 1 and key.upper() in self.letters

    def letter_of(self, text: str) -> str | None:
        """The option whose text this is; AMBIGUOUS for a text that several share; None for anything else.

        One letter that labels an option is never taken for the text of another.
        """
        if len(text) > self._reach or not (key := fold(text)) or self._is_label(key):
            return None
        if key in self.exact:
            return self.exact[key]
        key = key.casefold()
        if key in self.caseless:
            return self.caseless[key]
        key = fold(_without_article(text.strip())).casefold() if key[:1] in "at" else key
        if key in self.bare:
            return self.bare[key]
        number = number_key(text)
        if number is None:
            words = worded(text)
            return (self.worded.get(words) if words else None) or self._similar(text)
        return self.numbers.get(number) or (None if number[1] else self.numbers.get(number[0]))

    def _similar(self, text: str) -> str | None:
        """The option that a short text is but for a plural, a spelling, a synonym in parentheses or a left side `f(x) =`."""
        if len(text) > 80 or text.rstrip(ENDS)[-1:] in "+-−" or _SINGLE.match(text):
            return None
        if not _DIGIT.search(text) and all(map(_DIGIT.search, self.texts)):
            return None
        if letter := self.forms.get(text_key(text)):
            return letter
        side = _LEFT_SIDE.match(plain(text).strip())
        if not side or any("=" in own for own in self.texts):
            return None
        return self.letter_of(plain(text).strip()[side.end() :])

    def starts(self, text: str) -> str | None:
        """The option whose text opens this one, the longest if several do, and ends there as a word."""
        text = self.say(text)
        return next((letter for own, letter in self.mentions if text.startswith(own) and _is_whole(text, 0, len(own))), None)

    def mentioned_in(self, said: str) -> list[tuple[str, int, int]]:
        """Letter, start and end of each option text that stands in a spoken text as whole words, outside longer ones."""
        found, taken = [], [False] * len(said)
        for own, letter in self.mentions:
            start = said.find(own)
            while start >= 0:
                end = start + len(own)
                if not any(taken[start:end]) and _is_whole(said, start, end):
                    found.append((letter, start, end))
                    taken[start:end] = [True] * len(own)
                start = said.find(own, start + 1)
        return found

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


def _spacings(text: str) -> set[str]:
    """The blank between a number and its unit is a matter of taste."""
    return {text, _NUMBER_BLANK.sub("", text), _NUMBER_UNIT.sub(" ", text)} if text else set()


def _is_whole(said: str, start: int, end: int) -> bool:
    """Whether a stretch is whole words: no letter, digit, sign or decimal point that belongs to it touches it."""
    first, last = said[start], said[end - 1]
    before, after = said[max(0, start - 2) : start], said[end : end + 4]
    if before and (before[-1].isalnum() or before[-1] in "_."):
        return False
    if first.isdigit() or first in ".$":
        if before and (before[-1] in ",/^-+" or before in ("- ", "+ ")):
            return False
    elif first in "-+" and before and before[-1] in ",)":
        return False
    if after and (after[0].isalnum() or after[0] == "_"):
        return False
    return not (last.isdigit() and _NUMBER_GOES_ON.match(after))
