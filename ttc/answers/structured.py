"""Answers in JSON or in tags: `{"reasoning": ..., "answer": "B"}`, `<answer>B</answer>`."""

import ast
import json
import re
from dataclasses import dataclass

from ttc.answers.phrases import one_of

_QUALIFIER = one_of("the final correct predicted selected chosen best your model extracted")
_KEY = (
    rf"(?:{_QUALIFIER}[ _-]?)*(?:answer|ans|choice|option|prediction|selection|label|letter|result|response|conclusion|solution"
    r"|output|value|final)(?:[ _-]?(?:letter|choice|option|key|label|id|text|value))?"
)
_IS_KEY = re.compile(_KEY, re.IGNORECASE)
_STRONG_KEY = re.compile(r"answer|final", re.IGNORECASE)
_FENCE = re.compile(r"```[A-Za-z0-9]*\s*\n?(.*?)(?:```|\Z)", re.DOTALL)
_PAIR = re.compile(
    rf"""["']({_KEY})["']\s*[:=]\s*(?:"((?:[^"\\]|\\.)*)"|'((?:[^'\\]|\\.)*)'|([-+.\w]+)|(\[[^\]]*\]))""", re.IGNORECASE
)
_TAG = re.compile(
    r"<\s*((?:final[ _-]?|correct[ _-]?)*(?:answer|choice|option|conclusion|final|solution|response|output|result|ans))"
    r"(?:\s[^<>]*)?>"
    r"(.*?)(?:<\s*/\s*\1\s*>|\Z)",
    re.IGNORECASE | re.DOTALL,
)
_ANSWER_ROW = re.compile(r"\n\|\s*\**(?:final |correct )?answer\**\s*\|([^|\n]+)\|\s*\Z", re.IGNORECASE)
_ANY_TAG = re.compile(r"</?[A-Za-z][\w-]*>")
_TABLE = re.compile(r"^\|(?P<heads>[^\n]*)\|[ \t]*\n\|[\s:|-]+\|[ \t]*\n\|(?P<cells>[^\n]*)\|\s*(?!\|)(?=\S|\Z)", re.MULTILINE)
"""A Markdown table with one row below its heads."""
_HINT = re.compile(
    r"""["'](?:\s*[:=])|</?\s*(?:final|correct|answer|choice|option|conclusion|solution|response|output|result|ans)""", re.I
)


@dataclass(frozen=True, slots=True)
class Field:
    """A value that a structured reply labels as its answer."""

    text: str
    rule: str
    several: bool = False
    """The field holds a list of more than one value, or contradicting fields."""


def answer_field(text: str) -> Field | None:
    """The labelled answer, or None where the reply is not structured. An empty string where the label holds nothing."""
    if "|\n|" in text and (cell := _from_table(text)):
        return cell
    if ("<" not in text and '"' not in text and "':" not in text) or not _HINT.search(text):
        return None
    tags = list(_TAG.finditer(text))
    if tags:
        return Field(_innermost(tags[-1][2]), "tag")
    parsed = _parsed(text)
    if parsed is not None:
        return _from_object(parsed)
    pairs = [found for found in _PAIR.finditer(text) if "{" in text[: found.start()] or text.lstrip()[:1] in "\"'"]
    if not pairs:
        return None
    strong = [found for found in pairs if _STRONG_KEY.search(found[1])] or pairs
    value = next((group for group in strong[-1].groups()[1:] if group is not None), "")
    return Field(value.replace('\\"', '"').replace("\\n", "\n"), "json")


def _innermost(held: str) -> str:
    """What a tag holds, read from the answer's tag where it holds several."""
    while inner := list(_TAG.finditer(held)):
        held = inner[-1][2]
    return _ANY_TAG.sub(" ", held).strip()


def _from_table(text: str) -> Field | None:
    """The cell below the head that names an answer, in a table of one row at the end of the reply."""
    if row := _ANSWER_ROW.search(text):
        return Field(row[1].strip(), "table")
    found = list(_TABLE.finditer(text))
    if not found or text[found[-1].end() :].strip():
        return None
    heads = [head.strip(" *") for head in found[-1]["heads"].split("|")]
    cells = [cell.strip() for cell in found[-1]["cells"].split("|")]
    named = [place for place, head in enumerate(heads) if _STRONG_KEY.search(head) and _IS_KEY.fullmatch(head)]
    return Field(cells[named[0]], "table") if len(named) == 1 and len(cells) == len(heads) else None


def _parsed(text: str) -> dict | None:
    """The reply as one object, fenced or with a few words around it."""
    fenced = _FENCE.findall(text)
    for body in [*reversed(fenced), text]:
        start, end = body.find("{"), body.rfind("}")
        if start < 0 or end < start:
            continue
        body = body[start : end + 1]
        for read in (json.loads, ast.literal_eval):
            try:
                value = read(body)
            except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError):
                continue
            if isinstance(value, dict):
                return value
    return None


def _from_object(value: dict) -> Field | None:
    """The answer in an object: under an answer's key, at the top or one level down; or the one key marked true."""
    keys = [key for key in value if isinstance(key, str) and _IS_KEY.fullmatch(key.strip())]
    keys.sort(key=lambda key: not _STRONG_KEY.search(key))
    for key in keys:
        held = value[key]
        if isinstance(held, dict):
            return _from_object(held)
        if isinstance(held, list):
            return Field(str(held[0]) if held else "", "json", several=len(held) > 1)
        return Field("" if held is None else str(held), "json")
    chosen = [key for key, held in value.items() if held is True]
    if len(chosen) == 1 and all(isinstance(held, bool) for held in value.values()):
        return Field(str(chosen[0]), "json-flags")
    nested = [found for held in value.values() if isinstance(held, dict) and (found := _from_object(held))]
    return nested[0] if len(nested) == 1 else None
