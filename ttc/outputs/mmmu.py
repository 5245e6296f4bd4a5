"""MMMU's output forms: a folder per subject with `output.json`, one such file, or one file of extracted answers by id."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ttc.errors import UserError
from ttc.outputs import plain
from ttc.outputs.files import field, json_file
from ttc.outputs.replies import Known, Outputs, Reply
from ttc.records import LETTERS

ANSWERS = "answer_dict_val.json"
"""MMMU's released golds, looked for beside a file of extracted answers."""


def read_folder(path: Path, benchmark: str, known: Known) -> Outputs:
    """A folder with one folder per subject, in the order of MMMU's evaluator.

    Raises:
        UserError: no `output.json` below, or a row without a needed key.
    """
    files = sorted(path.glob("*/output.json"))
    if not files:
        raise UserError(f"outputs {path}: no SUBJECT/output.json in this folder")
    return Outputs("mmmu folder", tuple(reply for file in files for reply in _file(file, benchmark, known)))


def read_file(path: Path, benchmark: str, known: Known) -> Outputs:
    """One `output.json`: a list of rows."""
    return Outputs("mmmu file", tuple(_file(path, benchmark, known)))


def _file(path: Path, benchmark: str, known: Known) -> Iterator[Reply]:
    rows = json_file(path)
    if not isinstance(rows, list):
        raise UserError(f"outputs {path}: {type(rows).__name__} where a list of rows is expected")
    for number, row in enumerate(rows, start=1):
        where = f"{path}, row {number}"
        if not isinstance(row, dict):
            raise UserError(f"outputs {where}: {type(row).__name__} where a JSON object is expected")
        plain_row = {
            "id": field(row, "id", where=where),
            "question_type": field(row, "question_type", where=where),
            "options": row.get("index2ans"),
            "gold": field(row, "answer", where=where),
            "response": field(row, "response", where=where),
        }
        yield from plain.from_row(plain_row, benchmark, known, where=where)


def read_extracted(path: Path, benchmark: str, known: Known, golds: Path | None = None) -> Outputs:
    """A file `{id: letter or text}`, scored against MMMU's answer file or a loaded benchmark.

    A question without an entry stays in as one without a reply; an entry without a question is reported.

    Raises:
        UserError: no answer file at hand, or one of another form.
    """
    entries = json_file(path)
    if not isinstance(entries, dict):
        raise UserError(f"outputs {path}: {type(entries).__name__} where an object {{id: answer}} is expected")
    rows = {} if known else _answer_file(path, golds)
    replies: list[Reply] = []
    for id in known or rows:
        row = {"id": id, **rows.get(id, {}), "response": entries.get(id)}
        for reply in plain.from_row(row, benchmark, known, where=f"{path}, {id}"):
            missing = "no entry in the file" if id not in entries else reply.failure
            replies.append(Reply(reply.question, reply.gold, reply.sample, missing, extracted=True))
    strays = [id for id in entries if id not in (known or rows)]
    problems = [f"{path}: {len(strays)} entries for unknown ids left out, such as {strays[0]!r}"] if strays else []
    return Outputs("mmmu answers", tuple(replies), tuple(problems))


def _answer_file(path: Path, golds: Path | None) -> Mapping[str, Mapping[str, Any]]:
    places = [golds] if golds else [path.parent / ANSWERS, path.parent.parent / ANSWERS]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        raise UserError(
            f"outputs {path}: holds answers only, and there is no {places[0]}; name MMMU's answer file with --golds"
        )
    rows = {}
    for id, entry in json_file(found).items():
        kind = field(entry, "question_type", where=f"{found}, {id}")
        # the file names no options: a letter stands for itself, up to the nine that MMMU has at most
        options = list(LETTERS[:9]) if kind == "multiple-choice" else []
        rows[id] = {"question_type": kind, "options": options, "gold": field(entry, "ground_truth", where=f"{found}, {id}")}
    return rows
