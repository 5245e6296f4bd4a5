"""Whether a reply's value is a gold answer: as a number with its unit, as a text, or as a formula."""

from fractions import Fraction
from typing import Literal

from ttc.answers import mathematics
from ttc.answers.number import RELATIVE_TOLERANCE, Quantity, close, parse_quantity, same_quantity
from ttc.answers.text import text_forms, text_key

Ground = Literal["number", "text", "formula"]


def ground_of_equality(gold: str, value: str, tolerance: Fraction = RELATIVE_TOLERANCE, formulas: bool = True) -> Ground | None:
    """On what ground a value equals a gold answer; None where it does not, and for an empty value."""
    if not value.strip() or not gold.strip():
        return None
    expected, given = parse_quantity(gold), parse_quantity(value)
    if expected and given:
        # two numbers are compared as numbers only: `10^2` is not `102`
        return "number" if same_quantity(given, expected, tolerance) else None
    if text_key(gold) and text_forms(gold) & text_forms(value):
        return "text"
    if expected and (bare := _number_in_forms(value)):
        return "number" if same_quantity(bare, expected, tolerance) else None
    if not formulas:
        return None
    if expected or given:
        known, text = (expected, value) if expected else (given, gold)
        worked_out = mathematics.number(text)
        if known and worked_out is not None:
            return "number" if close(worked_out, known.number, known, tolerance) else None
    return "formula" if mathematics.equal(gold, value) else None


def _number_in_forms(value: str) -> Quantity | None:
    """A number followed by its explanation in parentheses: `7 (seven)`, `12 V (approximately)`."""
    return parse_quantity(value.partition("(")[0]) if "(" in value and not value.startswith("(") else None
