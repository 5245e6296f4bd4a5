"""MMVU's output forms: a JSON list of the data's rows with `response`, or of its judge's rows with `correct`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ttc.errors import UserError
from ttc.outputs import plain
from ttc.outputs.files import checked, field, json_file, json_lines, last_of_each
from ttc.outputs.replies import Known, Outputs, Stored


def read(path: Path, benchmark: str, known: Known) -> Outputs:
    """A file of MMVU's outputs.

    Raises:
        UserError: it is no list of rows, or a row lacks a needed key.
    """
    rows, problems = _rows(path)
    rows, repeated = last_of_each(rows, lambda row: row.get("id"))
    replies = [
        reply
        for where, row in rows
        for reply in plain.from_row(_plain(row, where), benchmark, known, where=where, stored=_stored(row))
    ]
    return Outputs("mmvu", tuple(replies), (*problems, *repeated))


def _rows(path: Path) -> tuple[list[tuple[str, dict[str, Any]]], list[str]]:
    if path.suffix == ".jsonl":
        return json_lines(path)
    content = json_file(path)
    if not isinstance(content, list) or not all(isinstance(row, dict) for row in content):
        raise UserError(f"outputs {path}: expected a JSON list of rows")
    return [(f"{path}, row {number}", row) for number, row in enumerate(content, start=1)], []


class _Row(BaseModel):
    """The parts of a row that need a shape."""

    choices: dict[str, str | None]
    metadata: dict[str, object] | None = None


def _plain(row: Mapping[str, Any], where: str) -> dict[str, Any]:
    shaped = checked(_Row, row, where=where)
    metadata = shaped.metadata or {}
    shown = any(shaped.choices.values())
    return {
        "id": field(row, "id", where=where),
        "question": row.get("question"),
        "question_type": row.get("question_type") or ("multiple-choice" if shown else "open-ended"),
        "options": shaped.choices if shown else None,
        "gold": row["ground_truth_answer"] if "ground_truth_answer" in row else field(row, "answer", where=where),
        "response": field(row, "response", where=where),
        "subject": metadata.get("subject"),
        "explanation": metadata.get("rationale"),
        "knowledge": metadata.get("knowledge"),
        "cluster": row.get("video"),
    }


def _stored(row: Mapping[str, Any]) -> Stored | None:
    return Stored(row.get("extracted_answer"), bool(row["correct"])) if "correct" in row else None
