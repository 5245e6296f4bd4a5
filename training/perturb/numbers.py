"""Numbers of a step: where they stand, what form they have, and what follows from one of them through the sums around it."""

import ast
import operator
import re
from collections.abc import Callable, Mapping

_UNIT = r"(?:[kMGmµn]?(?:Hz|V|A|W|g|m|s|L|J|N|Pa|Ω|eV)|cm|gm|mol|[°%])"
NUMBER = re.compile(
    rf"(?<![\w.,^/-])\d+(?:,\d{{3}})*(?:\.\d+)?(?!\w|[.,]\d|/\d|-\w)|(?<![\w.,^/-])\d+(?:\.\d+)?(?={_UNIT}(?!\w))"
)
_NAMED = re.compile(
    r"(?:types?|figures?|fig\.|steps?|parts?|equations?|eq\.|tables?|no\.|stage|phase|chapter|mark)\s*$", re.IGNORECASE
)
_NAME_BEFORE = re.compile(r"[^\W\d_][^.!?:(]*\s[A-Z]\w*\s$")
"""A capital inside a sentence: `Office 365` is a name."""
_ENUMERATOR = re.compile(r"(?:^|(?<=[.;:]))\s*\(?$")
_LIST_MARK = re.compile(r"[.)]\s+\S")
_EQUATION = re.compile(
    r"(?<![\w.^)])(?P<left>[(\d](?:[\d.,()+*/^×·÷−–\s-]|\\times|\\cdot){0,200}[\d)])\s*(?:=|≈)\s*"
    r"(?P<right>\d+(?:,\d{3})*(?:\.\d+)?)(?![\w^(*/+]|[.,]\d)"
)
_PLAIN = str.maketrans({"×": "*", "·": "*", "÷": "/", "−": "-", "–": "-", "^": "**", ",": ""})

_SIGNS: Mapping[type, Callable[[float, float], float]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.Pow: operator.pow,
}
_LARGEST_POWER = 64


def numbers(step: str) -> list[re.Match[str]]:
    """Numbers that state a quantity: not the marks of a list, not `type 2`, not part of a word."""
    return [
        match
        for match in NUMBER.finditer(step)
        if not _NAMED.search(step, 0, match.start())
        and not _NAME_BEFORE.search(step, 0, match.start())
        and not (_ENUMERATOR.search(step, 0, match.start()) and _LIST_MARK.match(step, match.end()))
    ]


def form(number: str) -> str:
    """How a number is written: `d.dd`, `dd00`, `year`. Numbers of one form look alike."""
    if re.fullmatch(r"1[5-9]\d\d|20\d\d", number):
        return "year"
    zeros = re.search(r"(?<=[1-9])0*$", number)
    kept = len(zeros[0]) if zeros and "." not in number else 0
    body = number[: len(number) - kept]
    return re.sub(r"\d", "d", body) + "0" * kept


def ratio(one: str, other: str) -> float:
    """Of two numbers as written; infinite where the second is 0."""
    divisor = float(other.replace(",", ""))
    return float(one.replace(",", "")) / divisor if divisor else float("inf")


def results(step: str) -> list[re.Match[str]]:
    """Right-hand sides of sums that are worked out rightly, as matches with the group `right`."""
    return [match for match in _EQUATION.finditer(step) if _holds(match["left"], match["right"])]


def with_changes(step: str, changes: dict[str, str]) -> str:
    """The step on other numbers: each is replaced wherever it stands, and sums that held are worked out again.

    Args:
        changes: new number by old one; what the sums of this step yield is added to it.
    """
    parts, at = [], 0
    for match in results(step):
        parts.append(_replaced(step[at : match.start("left")], changes))
        left = _replaced(match["left"], changes)
        right = match["right"]
        if left != match["left"] and (value := _evaluate(left)) is not None:
            right = _written_like(value, match["right"])
            if right != match["right"]:
                changes[match["right"]] = right
        parts.append(left + step[match.end("left") : match.start("right")] + right)
        at = match.end()
    parts.append(_replaced(step[at:], changes))
    return "".join(parts)


def _replaced(text: str, changes: Mapping[str, str]) -> str:
    for match in reversed(numbers(text)):
        if match[0] in changes:
            text = text[: match.start()] + changes[match[0]] + text[match.end() :]
    return text


def _holds(left: str, right: str) -> bool:
    value = _evaluate(left)
    return value is not None and bool(re.search(r"\d\)*\s*(?:[+*/^×·÷−–-]|\\)", left)) and _written_like(value, right) == right


def _written_like(value: float, number: str) -> str:
    """To as many places as the number has; one that was whole stays whole where it can."""
    places = len(number.partition(".")[2])
    if not places and abs(value - round(value)) > 1e-9:
        places = 2
    return f"{value:{',' if ',' in number else ''}.{places}f}"


def _evaluate(text: str) -> float | None:
    """The value of a sum of plain numbers; None for anything else."""
    try:
        return _value(ast.parse(re.sub(r"\\(?:times|cdot)", "*", text).translate(_PLAIN).strip(), mode="eval").body)
    except (SyntaxError, ArithmeticError, ValueError, RecursionError):
        return None


def _value(node: ast.expr) -> float:
    match node:
        case ast.Constant(value=int() | float() as value):
            return float(value)
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            return -_value(inner)
        case ast.BinOp(left=left, op=sign, right=right) if type(sign) in _SIGNS:
            one, other = _value(left), _value(right)
            if isinstance(sign, ast.Pow) and abs(other) > _LARGEST_POWER:
                raise OverflowError("too large a power")
            result = _SIGNS[type(sign)](one, other)
            if isinstance(result, complex):
                raise ArithmeticError("no real number")
            return result
    raise ValueError("not a sum of plain numbers")
