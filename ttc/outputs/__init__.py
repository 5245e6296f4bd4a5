"""Outputs that other programs wrote, read into one record: the benchmarks' own forms, three harnesses, and plain JSON lines.

read(path, "mmmu_pro") -> Outputs(form, replies, problems)
"""

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from ttc.errors import UserError
from ttc.outputs.files import json_file, json_lines
from ttc.outputs.replies import Known, Outputs, Reply, Stored

__all__ = ["FORMS", "Known", "Outputs", "Reply", "Stored", "benchmark_of", "form_for", "form_of", "read"]

Form = Literal[
    "mmmu folder", "mmmu file", "mmmu answers", "mmmu_pro", "mmvu", "jsonl", "samples", "lmms-eval", "vlmevalkit", "inspect_ai"
]

FORMS: dict[Form, str] = {
    "mmmu folder": "mmmu.read_folder",
    "mmmu file": "mmmu.read_file",
    "mmmu answers": "mmmu.read_extracted",
    "mmmu_pro": "mmmu_pro.read",
    "mmvu": "mmvu.read",
    "jsonl": "plain.read",
    "samples": "samples.read",
    "lmms-eval": "lmms_eval.read",
    "vlmevalkit": "vlmevalkit.read",
    "inspect_ai": "inspect_logs.read",
}
"""Name of a form -> the function here that reads it."""


def read(
    path: Path, benchmark: str, *, form: str | None = None, known: Known | None = None, golds: Path | None = None
) -> Outputs:
    """Read outputs of any form.

    Args:
        benchmark: whose questions these are; fills in subjects and disciplines.
        form: one of `FORMS`; told from the content where None.
        known: questions and golds of a loaded benchmark by id, for forms that leave them out.
        golds: MMMU's answer file, for files of extracted answers.

    Raises:
        UserError: no such file, an unknown form, or a malformed row; names file and line.
    """
    chosen = form or form_for(form_of(path), benchmark)
    if chosen not in FORMS:
        raise UserError(f"form {chosen!r}: no such form of outputs; use one of {', '.join(FORMS)}")
    module, name = FORMS[chosen].split(".")
    reader: Callable[..., Outputs] = getattr(importlib.import_module(f"ttc.outputs.{module}"), name)
    more = {"golds": golds} if chosen == "mmmu answers" else {}
    return reader(path, benchmark, known or {}, **more)


def form_of(path: Path) -> Form:
    """The form of a file or folder, told by its keys.

    Raises:
        UserError: it does not exist or is none of the known forms.
    """
    if path.is_dir():
        return "mmmu folder"
    if path.suffix in (".xlsx", ".tsv", ".csv"):
        return "vlmevalkit"
    if path.suffix == ".eval":
        return "inspect_ai"
    if path.suffix == ".jsonl":
        return _form_of_row(_first_row(path))
    content = json_file(path)
    if isinstance(content, list) and content and isinstance(content[0], dict):
        if {"index", "prediction"} <= content[0].keys():
            return "vlmevalkit"
        return "mmmu file" if "all_choices" in content[0] or "choices" not in content[0] else "mmvu"
    if isinstance(content, dict) and "logs" in content:
        return "lmms-eval"
    if isinstance(content, dict) and "samples" in content:
        return "inspect_ai"
    if isinstance(content, dict) and content and all(isinstance(value, str | int | float | None) for value in content.values()):
        return "mmmu answers"
    raise UserError(f"outputs {path}: of no known form ({', '.join(FORMS)}); name it with --form")


def form_for(form: Form, benchmark: str) -> Form:
    """The form to read where none is named: the one that the content tells, but for plain rows that look like a benchmark's."""
    return "jsonl" if benchmark == "jsonl" and form in ("mmmu_pro", "mmvu") else form


def benchmark_of(path: Path) -> str:
    """The benchmark that outputs belong to, as far as their form tells; `jsonl` otherwise."""
    form = form_of(path)
    if form.startswith("mmmu "):
        return "mmmu"
    return form if form in ("mmmu_pro", "mmvu") else "jsonl"


def _first_row(path: Path) -> dict[str, object]:
    """The first complete row, without reading the rest where it stands on the first line."""
    try:
        with path.open("rb") as file:
            row = json.loads(file.readline())
            if isinstance(row, dict):
                return row
    except OSError as error:
        raise UserError(f"outputs {path}: {error.strerror}") from error
    except ValueError:
        pass  # a torn first line; the reader reports it
    return json_lines(path)[0][0][1]


def _form_of_row(row: dict[str, object]) -> Form:
    if "doc_id" in row:
        return "lmms-eval"
    if isinstance(row.get("samples"), list) and "response" not in row:
        return "samples"
    if "choices" in row:
        return "mmvu"
    if "options" in row and "answer" in row and not {"gold", "question_type"} & row.keys():
        return "mmmu_pro"
    return "jsonl"
