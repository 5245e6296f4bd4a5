"""Mathematical equality through math-verify: slow, so asked last, and only of texts that look like formulas."""

import logging
import re
import threading
import zlib
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from sympy import Basic

_FUNCTIONS = "sqrt|log|ln|sin|cos|tan|exp|pi|theta|omega|alpha|beta|gamma|lambda|sigma|rho|phi|mu|infty"
_FORMULA = re.compile(r"\\[a-zA-Z]+|[=^√π∞+*/<>]|\d|\b(?:sqrt|log|ln|sin|cos|tan|exp|pi)\b")
_PROSE = re.compile(
    r"(?<![\\A-Za-z])(?!(?:"
    + _FUNCTIONS
    + r"|frac|dfrac|text|left|right|times|cdot)(?![a-z]))[A-Za-z]{4,}|[A-Za-z]{2,} [A-Za-z]{3,}"
)
_BARE_FUNCTION = re.compile(r"(?<![\\A-Za-z])(" + _FUNCTIONS + r")(?![a-z])")
_BARE_ROOT = re.compile(r"(?:√|\\sqrt)\s*(?:\(([^()]*)\)|(\d+(?:\.\d+)?|[A-Za-z](?![A-Za-z])))")
_ANY_SIGN = frozenset("xyztnk")
# it warns of the missing limit on threads, which is met here by comparing short texts only
logging.getLogger("math_verify").setLevel(logging.ERROR)
_LONGEST = 120
_SECONDS = 15
"""Generous, because a busy machine must not turn equal formulas into different ones."""


def looks_like_formula(text: str) -> bool:
    """Whether it is worth parsing: some mathematics, and no prose."""
    return len(text) <= _LONGEST and bool(_FORMULA.search(text)) and not _PROSE.search(text)


@lru_cache(maxsize=8192)
def equal(gold: str, answer: str) -> bool:
    """Whether two formulas are equal. False for what cannot be parsed, or takes too long.

    Quantities named by other letters than x, y, z, t, n, k are taken to be positive: 1/sqrt(LC) is sqrt(1/(LC)).
    """
    left, right = _formula(gold), _formula(answer)
    if left is None or right is None:
        return False
    here, there = _value_at_a_point(left), _value_at_a_point(right)
    if here is not None and there is not None and abs(here - there) > 1e-6 * max(abs(here), abs(there)):
        return False
    from math_verify import verify

    return verify(left, right, timeout_seconds=_limit())


@lru_cache(maxsize=8192)
def _value_at_a_point(expression: "Basic") -> complex | None:
    """The value where each variable has a fixed value of its own: formulas that differ there need no proof that they differ."""
    point = {symbol: 0.3 + (zlib.crc32(str(symbol).encode()) % 10007) / 7919 for symbol in expression.free_symbols}
    try:
        return complex(expression.evalf(15, subs=point))  # pyright: ignore[reportAttributeAccessIssue]
    except (TypeError, ValueError, AttributeError):
        return None


def number(text: str) -> Fraction | None:
    """The value of a formula without variables, such as `2\\pi`; None for other texts."""
    expression = _formula(text)
    if expression is None or expression.free_symbols or not getattr(expression, "is_real", False):
        return None
    try:
        return Fraction(str(expression.evalf(17)))  # pyright: ignore[reportAttributeAccessIssue]
    except ValueError:
        return None


def _limit() -> int | None:
    """Seconds a parse or comparison may take.

    math-verify's limit is an alarm, which only the main thread of a process can set; elsewhere only short texts are compared.
    """
    return _SECONDS if threading.current_thread() is threading.main_thread() else None


def _formula(text: str) -> "Basic | None":
    limit = _limit()
    if not looks_like_formula(text) or (limit is None and len(text) > _LONGEST // 2):
        return None
    return _parsed(text.strip(" .$"), limit)


@lru_cache(maxsize=8192)
def _parsed(text: str, limit: int | None) -> "Basic | None":
    from math_verify import LatexExtractionConfig, parse
    from sympy import Abs, Basic, Symbol

    text = _BARE_FUNCTION.sub(r"\\\1 ", text.removeprefix("\\(").removesuffix("\\)").replace("**", "^").replace("π", "\\pi "))
    text = _BARE_ROOT.sub(lambda found: f"\\sqrt{{{found[1] or found[2]}}}", text.replace("\\sqrt ", "\\sqrt"))
    found = parse(f"${text}$", [LatexExtractionConfig()], "no_fallback", parsing_timeout=limit)  # pyright: ignore[reportArgumentType]
    expression = found[0] if found else None
    if not isinstance(expression, Basic):
        return None
    if expression.has(Abs):
        return expression
    positive = {
        symbol: Symbol(str(symbol), positive=True) for symbol in expression.free_symbols if str(symbol) not in _ANY_SIGN
    }
    return expression.xreplace(positive)  # pyright: ignore[reportArgumentType]
