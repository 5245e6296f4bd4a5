"""Numbers as people write them: `-1,250.5 V`, `28.6 %`, `\\frac{1}{64}`, `2 million`, `1.5 × 10^{-3}`, `twenty-five`."""

import re
import unicodedata
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ttc.answers.phrases import NEGATION
from ttc.answers.units import NO_UNIT, Unit, parse_unit
from ttc.answers.words import words_to_number

RELATIVE_TOLERANCE = Fraction(1, 1000)
"""A number this close to a gold number, relative to it, is the same unless both are whole."""
ROUNDING_CAP = Fraction(5, 1000)
"""A number that rounds to the gold as written is the same if it is also this close, relative to it."""

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺", "0123456789-+")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁻⁺]+")
_VULGAR = re.compile("[\u00bc-\u00be\u2150-\u215e]")
_BLANKS = str.maketrans(dict.fromkeys("\u00a0\u202f\u2009\u2007\u2002\u2003\t\n", " ") | dict.fromkeys("−‐‑–—﹣－", "-"))
_FRAC = re.compile(r"\\[dtc]?frac\s*(?:\{\s*([^{}]+?)\s*\}|(\d))\s*(?:\{\s*([^{}]+?)\s*\}|(\d))")
_WRAPPER = re.compile(r"\\(?:text(?:bf|it|rm|normal)?|math(?:rm|bf|it)|mbox|boxed|operatorname)\s*\{([^{}]*)\}")
_NOISE = re.compile(r"\\[()\[\],;:! ]|\\left|\\right|\\displaystyle|(?<!\\)\$(?=\s*[\\{(])|\*\*|`|⟦|⟧")
BARE_POINT = re.compile(r"(?<![\w.,])\.(?=\d)")
_LATEX_SIGNS = {
    r"\times": "×",
    r"\cdot": "×",
    r"\%": "%",
    r"\$": "$",
    r"\approx": "≈",
    r"\degree": "°",
    r"\circ": "°",
    r"\mu": "µ",
    r"\Omega": "Ω",
    r"\pm": "±",
    r"\sim": "~",
}
_LATEX_SIGN = re.compile(r"\\(?:times|cdot|%|\$|approx|degree|circ|mu|Omega|pm|sim)(?![A-Za-z])\s?")
_LEAD = re.compile(
    r"(?:(?:in|at|on|by|year)\s+(?=\d)|(?:is|are|was|be|equals?|equal\s+to|approximately|approx\.?|about|around|roughly|nearly|almost|exactly|precisely|circa|ca\."
    r"|just|only|some|a\s+total\s+of|a\s+value\s+of)(?=\W)|[~≈∼=≅:]|\\approx)\s*",
    re.IGNORECASE,
)
_ASSIGNED = re.compile(r"\\?[A-Za-zα-ωΑ-Ω∆Δ][\w\\{}(),'Δ∆ ]{0,24}?\s*[=≈]\s*(?=[^=])")
_MINUS_WORD = re.compile(r"^(?:minus|negative)\s+(?=[\d.$])", re.IGNORECASE)
_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?!\d)|\d{1,3}(?:\.\d{3}){2,}(?!\d)|\d{1,3}(?: \d{3})+(?!\d)|\d+)"
_COMMA = r"(?:\d{1,3}(?:\.\d{3})+,\d+|\d+,(?:\d{1,2}|\d{4,})|0,\d{3})(?!\d|[,.]\d)"
"""With a comma for the decimal point; `1,250` is read as thousands."""
_DECIMAL = rf"(?:{_COMMA}|{_DIGITS}(?:\.\d*)?|\.\d+)"
_COMMA_NUMBER = re.compile(_COMMA)
_NUMBER = re.compile(
    rf"(?P<sign>[-+]?)\s*(?P<currency>[$€£¥]?|(?:USD|EUR|GBP|Rs\.?)\s+)\s*(?P<sign2>[-+]?)\s*"
    rf"(?:(?P<whole>\d+)\s+(?P<top1>\d+)\s*[/⁄]\s*(?P<bottom1>\d+)"
    rf"|\(?(?P<top>{_DECIMAL})\)?\s*[/⁄]\s*\(?(?P<bottom>{_DECIMAL})\)?"
    rf"|10\s*(?:\^|\*\*)\s*[{{(]?\s*(?P<ten>[-+]?\d+)\s*[)}}]?"
    rf"|(?P<mantissa>{_DECIMAL})(?:\s*(?:[eE]|(?:[×xX*·]\s*10\s*(?:\^|\*\*)\s*))[{{(]?\s*(?P<power>[-+]?\d+)\s*[)}}]?)?)"
)
_SCALE = re.compile(r"\s*(hundred|thousand|million|billion|trillion|mln|bn|k(?![A-Za-z]))(?![A-Za-z])s?", re.IGNORECASE)
_SCALES = {"hundred": 2, "thousand": 3, "k": 3, "million": 6, "mln": 6, "billion": 9, "bn": 9, "trillion": 12}
_PERCENT = re.compile(r"\s*(?:%|per\s?cent(?:age)?(?![A-Za-z])|pct\b)")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number with its unit."""

    number: Fraction
    """As written, scale words applied, percent not."""
    unit: Unit
    percent: bool
    step: Fraction
    """Value of one in the last place as written; 0 for fractions and whole numbers without a scale or exponent."""
    digits: int
    """Significant digits as written."""

    @property
    def value(self) -> Fraction:
        """In base units, a percentage as a fraction."""
        return self.number / 100 if self.percent else self.number * self.unit.factor


@lru_cache(maxsize=65536)
def parse_quantity(text: str) -> Quantity | None:
    """The quantity that the whole text is; None for a text that is more or other than one number with a unit."""
    if len(text) > 80:
        return None
    text = _tidy(text)
    found = _NUMBER.match(text)
    if not found:
        return words_quantity(text)
    number, step, digits = _value(found)
    rest = text[found.end() :]
    scale = _SCALE.match(rest)
    if scale:
        number, rest = number * 10 ** _SCALES[scale[1].lower()], rest[scale.end() :]
        step = (step or 1) * 10 ** _SCALES[scale[1].lower()]
    percent = _PERCENT.match(rest)
    if percent:
        rest = rest[percent.end() :]
    unit = parse_unit(rest.strip(" .,;!").removesuffix(")").strip())
    if unit is None:
        return None
    if currency := (found["currency"] or "").strip():
        if unit.dimensions and unit.dimensions[0][0] not in ("dollar", "euro"):
            # a price per something: the currency is part of no comparison
            return Quantity(number, NO_UNIT, False, step, digits)
        unit = parse_unit(currency.rstrip(".")) or NO_UNIT
    return Quantity(number, unit, bool(percent), step, digits)


def words_quantity(text: str) -> Quantity | None:
    """`twenty-five volts`: a number in words, with or without a unit."""
    spelled = words_to_number(text)
    if spelled is None:
        return None
    percent = _PERCENT.match(spelled.rest)
    unit = parse_unit(spelled.rest[percent.end() if percent else 0 :].strip(" .,;!"))
    return None if unit is None else Quantity(spelled.number, unit, bool(percent), Fraction(0), 9)


def number_key(text: str) -> tuple[Fraction, tuple[tuple[str, int], ...]] | None:
    """What two ways to write one quantity share: value in base units, and dimensions, `%` among them; None for other texts."""
    quantity = parse_quantity(text)
    if quantity is None:
        return None
    return quantity.value, (("%", 1),) if quantity.percent else quantity.unit.dimensions


def close(number: Fraction, gold: Fraction, gold_as_written: Quantity, tolerance: Fraction = RELATIVE_TOLERANCE) -> bool:
    """Whether a number is the gold number, within a relative tolerance or within the gold's own rounding.

    Whole numbers written out must be equal: 1001 is not 1000, 2023 not 2024.
    """
    if number == gold:
        return True
    if number.denominator == 1 and gold.denominator == 1 and not gold_as_written.step:
        return False
    error = abs(number - gold)
    if error <= tolerance * abs(gold):
        return True
    written = abs(gold_as_written.number)
    scale = abs(gold) / written if written else Fraction(1)
    step = gold_as_written.step or (
        Fraction(1) if gold_as_written.digits >= 3 and gold_as_written.number.denominator == 1 else Fraction(0)
    )
    return error <= min(step * scale / 2, ROUNDING_CAP * abs(gold))


def _rounds_fraction(answer: Quantity, gold: Quantity) -> bool:
    """Whether the gold is a fraction, and the answer is it to three significant digits or more: 0.0156 for 1/64."""
    exact = not gold.step and gold.number.denominator != 1
    error = abs(answer.number - gold.number)
    return exact and answer.digits >= 3 and error <= min(answer.step / 2, ROUNDING_CAP * abs(gold.number))


_TEMPERATURES: dict[tuple[tuple[str, int], ...], tuple[tuple[str, int], ...]] = {
    (("C", 1),): (("celsius", 1),),
    (("F", 1),): (("fahrenheit", 1),),
}
"""What `37 C` means where degrees are asked for."""


def same_quantity(answer: Quantity, gold: Quantity, tolerance: Fraction = RELATIVE_TOLERANCE) -> bool:
    """Whether an answer is the gold quantity. A missing unit is understood, another unit is wrong.

    A percentage equals its fraction (28.6 % is 0.286). Either may lack the sign where the gold is in
    percent, or bare and above 1.
    """
    if answer.percent != gold.percent:
        if (answer.percent and answer.unit.dimensions) or (gold.percent and answer.unit.dimensions):
            return False
        if close(answer.value, gold.value, gold, tolerance):
            return True
        return (gold.percent or abs(gold.number) > 1) and close(answer.number, gold.number, gold, tolerance)
    if gold.unit.dimensions and gold.unit.dimensions == _TEMPERATURES.get(answer.unit.dimensions):
        return close(answer.number, gold.number, gold, tolerance)
    if answer.percent or (answer.unit.dimensions == gold.unit.dimensions):
        return close(answer.value, gold.value, gold, tolerance) or (answer.unit == gold.unit and _rounds_fraction(answer, gold))
    if answer.unit.dimensions and gold.unit.dimensions:
        return False
    return close(answer.number, gold.number, gold, tolerance) or _rounds_fraction(answer, gold)


def _tidy(text: str) -> str:
    """One spelling for signs, blanks, exponents, fractions and LaTeX."""
    if not text.isascii():
        text = _RAISED.sub(lambda found: "^" + found[0].translate(_SUPERSCRIPTS), text)
        text = _VULGAR.sub(lambda found: " " + unicodedata.normalize("NFKC", found[0]), text).translate(_BLANKS)
        text = re.sub("[\uff01-\uff5e]", lambda found: unicodedata.normalize("NFKC", found[0]), text).replace("⋅", "·")
    if "\\" in text or "{" in text:
        text = text.replace("{,}", ",").replace("\\ ", " ")
        text = _FRAC.sub(lambda found: f" {found[1] or found[2]}/{found[3] or found[4]}", text)
        text = _LATEX_SIGN.sub(lambda found: _LATEX_SIGNS[found[0].strip()], text)
        text = _WRAPPER.sub(r" \1", text)
    text = _NOISE.sub("", BARE_POINT.sub("0.", text)).strip(" .,;:!?\"'*")
    if text.endswith("$"):
        text = text.strip("$ ") if "$" in text[:-1] else text[:-1]
    while lead := _LEAD.match(text):
        text = text[lead.end() :]
    text = _MINUS_WORD.sub("-", text)
    assigned = _ASSIGNED.match(text)
    if assigned and not NEGATION.search(assigned[0]) and " or " not in assigned[0]:
        text = text[assigned.end() :]
    text = text.strip()
    if (
        text.startswith("(")
        and text.endswith(")")
        and text.count("(") == 1
        and not _COMMA_NUMBER.fullmatch(text, 1, len(text) - 1)
    ):
        text = text[1:-1]
    return text.replace("{", "").replace("}", "").strip()


def _value(found: re.Match[str]) -> tuple[Fraction, Fraction, int]:
    """Number, value of one in its last place (0 where it is exact), significant digits."""
    sign = -1 if "-" in (found["sign"], found["sign2"]) else 1
    if found["whole"]:
        bottom = int(found["bottom1"])
        fraction = Fraction(int(found["top1"]), bottom) if bottom else Fraction(0)
        return sign * (int(found["whole"]) + fraction), Fraction(0), 9
    if found["top"]:
        bottom = _decimal(found["bottom"])
        return sign * (_decimal(found["top"]) / bottom if bottom else Fraction(0)), Fraction(0), 9
    if found["ten"]:
        return sign * _power(found["ten"]), Fraction(0), 9
    written = _plain_digits(found["mantissa"])
    power = _power(found["power"] or "0")
    places = len(written.partition(".")[2])
    digits = len(written.replace(".", "").lstrip("0")) or 1
    step = Fraction(0) if "." not in written and not found["power"] else power / 10**places
    return sign * _decimal(written) * power, step, digits


def _decimal(text: str) -> Fraction:
    return Fraction(_plain_digits(text).rstrip(".") or "0")


def _plain_digits(text: str) -> str:
    """Digits without separators; two points or more in one number separate thousands."""
    if _COMMA_NUMBER.fullmatch(text):
        return text.replace(".", "").replace(",", ".")
    text = text.replace(",", "").replace(" ", "")
    return text.replace(".", "") if text.count(".") > 1 else text


def _power(exponent: str) -> Fraction:
    # beyond the range of floats no benchmark has numbers, and an exponent of a million digits would fill the memory
    return Fraction(10) ** max(-400, min(400, int(exponent)))
