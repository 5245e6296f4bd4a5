"""Units of measure: `mV`, `g/mol`, `feet per second`, `m s^-2`. Written so that equal units have equal `dimensions`."""

import re
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache

from ttc.answers.phrases import words

_PREFIXES = {"p": -12, "n": -9, "µ": -6, "u": -6, "m": -3, "c": -2, "d": -1, "k": 3, "M": 6, "G": 9, "T": 12}
_PREFIX_NAMES = {"pico": -12, "nano": -9, "micro": -6, "milli": -3, "centi": -2, "kilo": 3, "mega": 6, "giga": 9, "tera": 12}

# symbol: (base, factor); a symbol in the first table also takes an SI prefix
_SI = {
    "m": ("m", 1),
    "g": ("g", 1),
    "s": ("s", 1),
    "A": ("A", 1),
    "K": ("K", 1),
    "mol": ("mol", 1),
    "V": ("V", 1),
    "W": ("W", 1),
    "J": ("J", 1),
    "N": ("N", 1),
    "Pa": ("Pa", 1),
    "Hz": ("Hz", 1),
    "C": ("C", 1),
    "F": ("F", 1),
    "Ω": ("Ω", 1),
    "H": ("H", 1),
    "T": ("T", 1),
    "Wb": ("Wb", 1),
    "eV": ("eV", 1),
    "L": ("L", 1),
    "l": ("L", 1),
    "VA": ("VA", 1),
    "S": ("S", 1),
    "bit": ("bit", 1),
    "B": ("byte", 1),
    "Sv": ("Sv", 1),
    "Gy": ("Gy", 1),
    "Bq": ("Bq", 1),
    "cal": ("cal", 1),
    "bar": ("bar", 1),
    "rad": ("rad", 1),
}
_OTHER = {
    "min": ("s", 60),
    "h": ("s", 3600),
    "hr": ("s", 3600),
    "hrs": ("s", 3600),
    "sec": ("s", 1),
    "secs": ("s", 1),
    "mins": ("s", 60),
    "msec": ("s", Fraction(1, 1000)),
    "wk": ("week", 1),
    "yr": ("year", 1),
    "yrs": ("year", 1),
    "d": ("day", 1),
    "a": ("year", 1),
    "ft": ("foot", 1),
    "in": ("inch", 1),
    "mi": ("mile", 1),
    "yd": ("yard", 1),
    "lb": ("pound", 1),
    "lbs": ("pound", 1),
    "oz": ("ounce", 1),
    "psi": ("psi", 1),
    "ksi": ("psi", 1000),
    "kip": ("kip", 1),
    "kips": ("kip", 1),
    "mph": ("mph", 1),
    "rpm": ("rpm", 1),
    "dB": ("dB", 1),
    "atm": ("atm", 1),
    "mmHg": ("mmHg", 1),
    "Å": ("m", Fraction(1, 10**10)),
    "°": ("degree", 1),
    "deg": ("degree", 1),
    "°C": ("celsius", 1),
    "°F": ("fahrenheit", 1),
    "c": ("lightspeed", 1),
    "bp": ("bp", 1),
    "Da": ("dalton", 1),
    "M": ("molar", 1),
    "mM": ("molar", Fraction(1, 1000)),
    "$": ("dollar", 1),
    "USD": ("dollar", 1),
    "usd": ("dollar", 1),
    "€": ("euro", 1),
    "EUR": ("euro", 1),
    "£": ("pound sterling", 1),
    "¥": ("yen", 1),
    "¢": ("dollar", Fraction(1, 100)),
}
_NAMES = {
    "meter": "m",
    "metre": "m",
    "gram": "g",
    "gramme": "g",
    "second": "s",
    "ampere": "A",
    "amp": "A",
    "kelvin": "K",
    "mole": "mol",
    "volt": "V",
    "watt": "W",
    "joule": "J",
    "newton": "N",
    "pascal": "Pa",
    "hertz": "Hz",
    "coulomb": "C",
    "farad": "F",
    "ohm": "Ω",
    "henry": "H",
    "tesla": "T",
    "weber": "Wb",
    "electronvolt": "eV",
    "liter": "L",
    "litre": "L",
    "siemen": "S",
    "byte": "B",
    "calorie": "cal",
    "radian": "rad",
    "minute": "min",
    "hour": "h",
    "feet": "ft",
    "celsius": "°C",
    "fahrenheit": "°F",
    "inche": "in",
    "dollar": "$",
    "cent": "¢",
    "euro": "€",
    "degree": "°",
}
_PHRASES = tuple(
    (re.compile(pattern, re.IGNORECASE), unit)
    for pattern, unit in (
        (r"\bbeats?\s*(?:/|per)\s*min(?:ute)?\b", "bpm"),
        (r"\brev(?:olution)?s?\s*(?:/|per)\s*min(?:ute)?\b", "rpm"),
        (r"\bmi(?:les?)?\s*(?:/|per)\s*h(?:r|our)?\b", "mph"),
        (r"\bk(?:ph|mh)\b", "km/h"),
        (r"\bparts\s+per\s+million\b", "ppm"),
        (r"\b(?:sq\.?|square)\s+([A-Za-z]+)", r"\1^2"),
        (r"\b(?:cu\.?|cubic)\s+([A-Za-z]+)", r"\1^3"),
        (r"\b([A-Za-z]+)\s+squared\b", r"\1^2"),
        (r"\b([A-Za-z]+)\s+cubed\b", r"\1^3"),
    )
)
_NOT_UNITS = frozenset(
    words(
        """of or and to in is are the a an by with from for than as at on times plus minus over out but not because so if when
        which that while since it this each more less"""
    )
)
_ATOM = re.compile(r"(°\s?[CF]\b|°|[$€£¥¢]|[A-Za-zµΩÅ]+)(?:\s*\^\s*[{(]?\s*([-+]?\d)\s*[)}]?|([-+]?\d))?")
_JOIN = re.compile(r"\s*(/|\bper\b|[·*⋅×]|\s)\s*")


@dataclass(frozen=True, slots=True)
class Unit:
    """What a number is multiplied by."""

    factor: Fraction
    """Into the base units named in `dimensions`."""
    dimensions: tuple[tuple[str, int], ...]
    """Base unit and exponent, sorted; empty for no unit. A unit without an entry here, such as `nodes`, is its own base."""


NO_UNIT = Unit(Fraction(1), ())


@lru_cache(maxsize=4096)
def parse_unit(text: str) -> Unit | None:
    """The unit that this text is, or None. Two letters or fewer must be a known symbol, so that `2x` has no unit."""
    text = text.strip().replace("μ", "µ").replace("℃", "°C").replace("Ω", "Ω").replace("^\\circ", "°").replace("^°", "°")
    for pattern, unit in _PHRASES:
        text = pattern.sub(unit, text)
    text = re.sub(r"\bdegrees?\s+(?:celsius|centigrade|C)\b", "°C", text, flags=re.IGNORECASE)
    text = re.sub(r"\bdegrees?\s+(?:fahrenheit|F)\b", "°F", text, flags=re.IGNORECASE).rstrip(" .")
    if not text:
        return NO_UNIT
    factor, dimensions = Fraction(1), {}
    inverse = re.match(r"(?:/|per\b)\s*", text)
    sign, place = (-1, inverse.end()) if inverse else (1, 0)
    for _ in range(5):
        atom = _ATOM.match(text, place)
        if not atom:
            return None
        known = _atom(atom[1].replace(" ", ""))
        if known is None:
            return None
        base, scale = known
        exponent = sign * int(atom[2] or atom[3] or 1)
        factor *= scale**exponent
        dimensions[base] = dimensions.get(base, 0) + exponent
        place = atom.end()
        if place == len(text):
            return Unit(factor, tuple(sorted((base, power) for base, power in dimensions.items() if power)))
        join = _JOIN.match(text, place)
        if not join:
            return None
        sign = -1 if join[1] in ("/", "per") else 1 if join[1] in "·*⋅×" else sign
        place = join.end()
    return None


def _atom(text: str) -> tuple[str, Fraction] | None:
    """Base unit and factor of one symbol or name."""
    if text in _OTHER:
        base, factor = _OTHER[text]
        return base, Fraction(factor)
    if text in _SI:
        return _SI[text][0], Fraction(_SI[text][1])
    if text[1:] in _SI and text[0] in _PREFIXES:
        return _SI[text[1:]][0], _ten(_PREFIXES[text[0]])
    word = text.casefold()
    if word in _NOT_UNITS:
        return None
    for singular in (word, word.removesuffix("s")):
        if singular in _NAMES:
            return _atom(_NAMES[singular])
        for prefix, exponent in _PREFIX_NAMES.items():
            name = singular.removeprefix(prefix)
            if name != singular and name in _NAMES:
                base, factor = _atom(_NAMES[name]) or (name, Fraction(1))
                return base, factor * _ten(exponent)
    if len(word) < 3:
        return None
    return word.removesuffix("s") if len(word) > 3 else word, Fraction(1)


def _ten(exponent: int) -> Fraction:
    return Fraction(10) ** exponent
