"""Numbers in English words."""

import re
from dataclasses import dataclass
from fractions import Fraction

from ttc.answers.phrases import words

_UNITS = words(
    """zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen
    nineteen"""
)
_TENS = dict(zip(words("twenty thirty forty fifty sixty seventy eighty ninety"), range(20, 100, 10), strict=True))
_SMALL = {word: value for value, word in enumerate(_UNITS)} | _TENS
_LARGE = {"thousand": 10**3, "million": 10**6, "billion": 10**9, "trillion": 10**12}
_PARTS = {"half": 2, "halve": 2, "third": 3, "quarter": 4, "fourth": 4, "fifth": 5, "sixth": 6, "eighth": 8, "tenth": 10}
_HALF = re.compile(r"\s+(?:a|one)\s+half\b", re.IGNORECASE)
_WORD = re.compile(r"[\s-]*([A-Za-z]+)")


@dataclass(frozen=True, slots=True)
class Spelled:
    """A number in words and the text after it."""

    number: Fraction
    rest: str


def words_to_number(text: str) -> Spelled | None:
    """The number a text begins with in words: `minus two`, `three hundred and five`, `one half`, `two million volts`."""
    total, current, place, sign, seen = 0, 0, 0, 1, False
    while found := _WORD.match(text, place):
        word = found[1].lower()
        if word in ("a", "an") and not seen and (after := _WORD.match(text, found.end())) and _is_scale(after[1]):
            current, seen = 1, True
        elif word in ("minus", "negative") and not seen and not place:
            sign = -1
        elif word in _SMALL:
            if seen and current % 100 and not (current % 10 == 0 and current % 100 >= 20 and _SMALL[word] < 10):
                return None
            current, seen = current + _SMALL[word], True
        elif word == "hundred" and seen:
            current *= 100
        elif word in _LARGE and seen:
            total, current = total + current * _LARGE[word], 0
        elif word == "and" and seen and (half := _HALF.match(text, found.end())):
            return Spelled(Fraction(sign * (2 * (total + current) + 1), 2), text[half.end() :])
        elif word == "and" and seen and current >= 100 and _next_is_number(text, found.end()):
            pass
        elif seen and word.removesuffix("s") in _PARTS and total + current:
            return Spelled(Fraction(sign * (total + current), _PARTS[word.removesuffix("s")]), text[found.end() :])
        else:
            break
        place = found.end()
    return Spelled(Fraction(sign * (total + current)), text[place:]) if seen else None


def _is_scale(word: str) -> bool:
    return word.lower() == "hundred" or word.lower() in _LARGE or word.lower() in _PARTS


def _next_is_number(text: str, place: int) -> bool:
    found = _WORD.match(text, place)
    return bool(found and found[1].lower() in _SMALL)
