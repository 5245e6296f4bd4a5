"""Plain rows, the common form of questions that come as JSON: `{id, question, question_type, options, gold, ...}`.

Any other key becomes a field to group by. Read by the `jsonl` benchmark and by the readers of foreign outputs.
"""

import re
from collections.abc import Mapping
from contextlib import suppress

from ttc.benchmarks.rows import string_list
from ttc.errors import UserError
from ttc.records import LETTERS, Gold, Question, QuestionType

Row = Mapping[str, object]

_TYPES: Mapping[str, QuestionType] = {
    "multiple-choice": "multiple-choice",
    "open": "open",
    "short-answer": "open",
    "open-ended": "open",
}
_KNOWN = {"id", "question", "question_type", "options", "gold", "answer", "explanation", "knowledge", "cluster"}
_PRINTED_LIST = re.compile(r"\[\s*['\"]")
_MEDIA = re.compile(r"images?|image_\d+|video")


def question(row: Row, *, benchmark: str, where: str) -> Question:
    """The question of a plain row, without media.

    Args:
        where: file and line, for messages.

    Raises:
        UserError: no id, an unknown type, or options that are no list of texts.
    """
    if row.get("id") in (None, "") or not isinstance(row["id"], str | int):
        raise UserError(f"{where}: no id; give each row one, a text or a number")
    options = texts(row.get("options"), where=f"{where}, options")
    given = row.get("question_type")
    kind = _TYPES.get(str(given)) if given else ("multiple-choice" if options else "open")
    if kind is None:
        raise UserError(f"{where}: question_type {given!r}; use multiple-choice or open")
    if kind == "multiple-choice" and not options:
        raise UserError(f"{where}: a multiple-choice question without options; add them or make it open")
    if len(options) > len(LETTERS):
        raise UserError(f"{where}: {len(options)} options; letters go to Z")
    return Question(
        id=str(row["id"]),
        benchmark=benchmark,
        question_type=kind,
        text=str(row.get("question") or ""),
        options=options if kind == "multiple-choice" else (),
        fields={"question_type": kind}
        | {name: shown for name, value in row.items() if _is_field(name) and (shown := _field(value))},
        cluster=str(row.get("cluster") or ""),
    )


def gold(row: Row, question: Question, *, where: str) -> Gold:
    """The answer key of a plain row: a letter or an option's text, or the accepted texts of an open question.

    A text that stands under several letters makes each of them right. No answer means that the split is hidden.

    Raises:
        UserError: a multiple-choice answer that is neither a letter of the question nor one of its options.
    """
    answers = _answers(row.get("gold", row.get("answer")))
    if question.question_type == "multiple-choice":
        answers = tuple(letter for answer in answers for letter in _letters(answer, question, where))
    knowledge = row.get("knowledge")
    sources = tuple(map(str, knowledge)) if isinstance(knowledge, list) else ()
    return Gold(question.id, answers, str(row.get("explanation") or ""), sources)


def texts(value: object, *, where: str) -> tuple[str, ...]:
    """A list of texts: a list, the printed form of one, or a mapping from letters; a list within a list is unwrapped.

    Raises:
        UserError: none of these.
    """
    if isinstance(value, Mapping):
        value = [value[letter] for letter in sorted(value)]
    if not value:
        return ()
    try:
        return string_list(value)
    except ValueError as error:
        raise UserError(f"{where}: {error}") from error


def _answers(value: object) -> tuple[str, ...]:
    if isinstance(value, str) and _PRINTED_LIST.match(value):
        with suppress(ValueError):  # an answer that merely stands in brackets
            return string_list(value)
    if value is None or value == "":
        return ()
    return tuple(map(str, value)) if isinstance(value, list) else (str(value),)


def _letters(answer: str, question: Question, where: str) -> tuple[str, ...]:
    if answer in question.letters:
        return (answer,)
    named = tuple(letter for letter, text in zip(question.letters, question.options, strict=True) if text == answer)
    if not named and answer.strip().upper() in question.letters:
        named = (answer.strip().upper(),)
    if not named:
        raise UserError(f"{where}: gold {answer!r:.80} is neither a letter up to {question.letters[-1]} nor one of the options")
    return named


def _is_field(name: str) -> bool:
    return name not in _KNOWN and not _MEDIA.fullmatch(name)


def _field(value: object) -> str | tuple[str, ...]:
    """A group name, or several; empty where the value is nothing to group by."""
    if isinstance(value, str) and _PRINTED_LIST.match(value):
        return _answers(value)
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str | int | float):
        return str(value)
    if isinstance(value, list) and all(isinstance(part, str | int | float) for part in value):
        return tuple(map(str, value))
    return ""
