"""Prediction sheets of VLMEvalKit: a row per question with options in columns A, B, ..., as xlsx, tsv, csv or
json.

After its evaluation a sheet may hold open questions rewritten as "A = gold, B = Other Answers"; they are read as open again.
"""

import csv
import importlib.util
from collections.abc import Iterator, Mapping
from pathlib import Path

from ttc.errors import UserError
from ttc.outputs import plain
from ttc.outputs.files import field, json_file
from ttc.outputs.replies import Known, Outputs, Reply
from ttc.records import LETTERS

_LARGEST_CELL = 1 << 30
"""Sheets may carry images as base64."""
_FAILED = "Failed to obtain answer"
_REWRITTEN = "Other Answers"
_GROUPS = {
    "split": "split",
    "category": "category",
    "l2-category": "l2_category",
    "subject": "subject",
    "topic_difficulty": "topic_difficulty",
}


def read(path: Path, benchmark: str, known: Known) -> Outputs:
    """A sheet.

    Raises:
        UserError: it cannot be read, lacks a column, or is xlsx and openpyxl is not installed.
    """
    readers = {".xlsx": _workbook, ".json": _records}
    rows = readers.get(path.suffix, _table)(path)
    replies = [
        reply for number, row in enumerate(rows, start=2) for reply in _replies(row, benchmark, known, f"{path}:{number}")
    ]
    if not replies:
        raise UserError(f"outputs {path}: the sheet has no rows")
    return Outputs("vlmevalkit", tuple(replies))


def _table(path: Path) -> list[dict[str, str]]:
    csv.field_size_limit(_LARGEST_CELL)
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file, delimiter="\t" if path.suffix == ".tsv" else ",", restval=""))
    except OSError as error:
        raise UserError(f"outputs {path}: {error.strerror}") from error
    except (csv.Error, UnicodeDecodeError) as error:
        raise UserError(f"outputs {path}: no table in UTF-8 ({error})") from error


def _records(path: Path) -> list[dict[str, str]]:
    rows = json_file(path)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(f"outputs {path}: expected a JSON list of rows")
    return [{name: "" if value is None else str(value) for name, value in row.items()} for row in rows]


def _workbook(path: Path) -> list[dict[str, str]]:
    if importlib.util.find_spec("openpyxl") is None:
        raise UserError(f"outputs {path}: reading xlsx needs openpyxl: `pip install openpyxl`, or save the sheet as tsv")
    import zipfile

    import openpyxl

    try:
        sheet = openpyxl.load_workbook(path, read_only=True, data_only=True).worksheets[0]
        header, *rows = sheet.iter_rows(values_only=True)
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise UserError(f"outputs {path}: no xlsx sheet ({error})") from error
    names = [str(name) for name in header]
    return [dict(zip(names, ("" if cell is None else str(cell) for cell in row), strict=True)) for row in rows]


def _replies(row: Mapping[str, str], benchmark: str, known: Known, where: str) -> Iterator[Reply]:
    options: list[str] = []
    for letter in LETTERS:
        if not (text := row.get(letter, "")) or text == "nan":
            break
        options.append(text)
    gold: object = field(row, "answer", where=where)
    if options[1:] == [_REWRITTEN]:
        gold, options = options[0], []
    prediction = field(row, "prediction", where=where)
    plain_row = {
        "id": row.get("id") or field(row, "index", where=where),
        "question": row.get("question"),
        "question_type": "multiple-choice" if options else "open",
        "options": options,
        "gold": gold,
        "response": {"error": prediction} if prediction.startswith(_FAILED) else prediction,
        **{name: row[column] for column, name in _GROUPS.items() if row.get(column)},
    }
    return plain.from_row(plain_row, benchmark, known, where=where)
