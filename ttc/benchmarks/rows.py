"""One row in MMMU's schema becomes a question and its gold. MMMU, MMMU-Pro and the pocket exam's export share it.

Lists stand in the rows as the repr of Python lists. They are read as literals and never evaluated: what cannot be read is a
problem of that row, and the row stays in the exam.
"""

import ast
import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from ttc.benchmarks.files import Row
from ttc.benchmarks.markers import as_words, bind
from ttc.benchmarks.tables import MMMU_DISCIPLINES, discipline_of
from ttc.media import media_from_bytes, media_from_file
from ttc.records import LETTERS, Gold, Media, Question, QuestionType

_QUESTION_TYPES: Mapping[str, QuestionType] = {
    "multiple-choice": "multiple-choice",
    "open": "open",
    "short-answer": "open",
    "open-ended": "open",
}
_HIDDEN = {"", "?"}


@dataclass(frozen=True, slots=True)
class Reading:
    """What one row holds."""

    question: Question
    gold: Gold
    problems: tuple[str, ...]
    """What is wrong with it, one line each, naming the row."""


def read_row(row: Row, *, id: str, benchmark: str, subject: str, root: Path | None = None, drawn_in: bool = False) -> Reading:
    """A question with exactly the images it refers to, its gold, and what was wrong.

    Args:
        root: the folder that image file names are relative to, where the rows hold names and not bytes.
        drawn_in: question and options are drawn in the one `image` of the row (MMMU-Pro's vision setting): there is no text,
            and markers in options are only words.
    """
    options, problems = _options(row.get("options"))
    kind = _question_type(row.get("question_type"), options, problems)
    options = () if kind == "open" else options
    text = "" if drawn_in else str(row.get("question") or "")
    if drawn_in:
        options = tuple(map(as_words, options))
    bound = bind((text, *options), {} if drawn_in else _numbered_images(row, root))
    text, *normal_options = bound.texts
    media = bound.media
    if row.get("image") is not None:
        media = (_media(row["image"], 0, root), *media)
    if drawn_in and not media:
        media = (Media("image", 0, sha256="", problem="the row does not hold its image"),)
    problems += bound.problems
    problems += [item.problem for item in media if item.marker == 0 and item.problem]
    question = Question(
        id=id,
        benchmark=benchmark,
        question_type=kind,
        text=text,
        options=tuple(normal_options),
        media=media,
        fields=_fields(row, subject, kind, problems),
    )
    problems += _option_problems(question)
    gold = Gold(id, _gold_answers(row.get("answer"), question, problems), _released(row.get("explanation")))
    return Reading(question, gold, tuple(f"{id}: {problem}" for problem in problems))


def subject_of(id: str) -> str:
    """`Art_Theory` of `validation_Art_Theory_12`; empty where the id is formed otherwise."""
    match = re.fullmatch(r"(?:dev|validation|test)_(.+)_\d+", id)
    return match[1] if match else ""


def string_list(value: object) -> tuple[str, ...]:
    """A list of texts from a list or from the repr of one; a list within a one-element list is taken for the list itself.

    Raises:
        ValueError: it is no list of plain values, or no literal at all.
    """
    items = _literal(value) if isinstance(value, str) else value
    if isinstance(items, list | tuple) and len(items) == 1 and isinstance(items[0], list | tuple):
        items = items[0]
    if not isinstance(items, list | tuple) or not all(isinstance(item, str | int | float) for item in items):
        raise ValueError(f"not a list of texts: {str(value)[:60]!r}")
    return tuple(str(item) for item in items)


def _literal(text: str) -> object:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # a stray backslash in a text is no news
        try:
            return ast.literal_eval(text.strip())
        except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
            raise ValueError(f"not a Python list: {text[:60]!r}") from error


def _options(value: object) -> tuple[tuple[str, ...], list[str]]:
    if value is None or value == "":
        return (), []
    try:
        options = string_list(value)
    except ValueError as error:
        return (), [f"options cannot be read ({error})"]
    problems = []
    if str(value).strip().startswith("[["):
        problems.append(f"options are a list within a list; read as {len(options)} options")
    if len(options) > len(LETTERS):
        problems.append(f"has {len(options)} options for {len(LETTERS)} letters; the rest are left out")
    return options[: len(LETTERS)], problems


def _question_type(value: object, options: tuple[str, ...], problems: list[str]) -> QuestionType:
    """As the row says; MMMU-Pro's rows say nothing, and what they hold decides."""
    known = _QUESTION_TYPES.get(str(value or "").strip().lower())
    if known == "open" and options:
        problems.append(f"is an open question with {len(options)} options; they are left out")
    if known:
        return known
    held: QuestionType = "multiple-choice" if options or problems else "open"
    if value:
        problems.append(f"question type {str(value)[:40]!r} is unknown; read as {held}")
    return held


def _numbered_images(row: Row, root: Path | None) -> dict[int, Media]:
    names = ((re.fullmatch(r"image_(\d+)", name), value) for name, value in row.items())
    return {int(name[1]): _media(value, int(name[1]), root) for name, value in names if name and value is not None}


def _media(value: object, marker: int, root: Path | None) -> Media:
    """From the hub's {bytes, path} form, plain bytes, or a file name inside `root`. A struct's path is never followed."""
    if isinstance(value, Mapping):
        value = value.get("bytes")
    if isinstance(value, str) and root is not None:
        return media_from_file(value, root=root, marker=marker)
    return media_from_bytes(value if isinstance(value, bytes) else None, marker=marker)


def _fields(row: Row, subject: str, kind: QuestionType, problems: list[str]) -> dict[str, str | tuple[str, ...]]:
    img_type = row.get("img_type")
    image_types: tuple[str, ...] = ()
    if isinstance(img_type, str) and not img_type.lstrip().startswith("["):
        image_types = (img_type.strip(),) if img_type.strip() else ()
    elif img_type is not None:
        try:
            image_types = string_list(img_type)
        except ValueError as error:
            problems.append(f"image types cannot be read ({error})")
    fields: dict[str, str | tuple[str, ...]] = {
        "subject": subject,
        "discipline": discipline_of(subject, MMMU_DISCIPLINES),
        "subfield": str(row.get("subfield") or "").strip(),
        "topic_difficulty": str(row.get("topic_difficulty") or "").strip(),
        "img_type": image_types,
        "question_type": kind,
    }
    return {name: value for name, value in fields.items() if value}


def _option_problems(question: Question) -> list[str]:
    if question.question_type == "multiple-choice" and not question.options:
        return ["is multiple choice without any option"]
    by_text: dict[str, str] = {}
    for letter, option in zip(question.letters, question.options, strict=True):
        by_text[option] = by_text.get(option, "") + letter
    return [f"options {' and '.join(same)} are the same text" for same in by_text.values() if len(same) > 1]


def _gold_answers(value: object, question: Question, problems: list[str]) -> tuple[str, ...]:
    """Accepted answers; none where the split is hidden. Of two options with the same text only the letter named counts."""
    text = "" if value is None else str(value).strip()
    if text in _HIDDEN:
        return ()
    answers: tuple[str, ...] = (text,)
    if isinstance(value, list | tuple) or re.match(r"\[\s*['\"]", text):
        try:
            answers = string_list(value)
        except ValueError as error:
            problems.append(f"gold cannot be read as a list of answers ({error}); taken as one text")
    if question.question_type == "multiple-choice":
        answers = tuple(answer.strip().upper() for answer in answers)
        problems += [line for answer in answers for line in _letter_problems(answer, question)]
    return answers


def _letter_problems(answer: str, question: Question) -> list[str]:
    if len(answer) != 1 or answer not in question.letters:
        return [f"gold {answer!r} is not among the letters {question.letters!r}"]
    if question.options.count(question.options[question.letters.index(answer)]) > 1:
        return [f"the text of gold {answer} stands under another letter too, which is not accepted"]
    return []


def _released(explanation: object) -> str:
    text = "" if explanation is None else str(explanation)
    return "" if text.strip() in _HIDDEN else text
