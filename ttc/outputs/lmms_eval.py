"""Sample logs of lmms-eval: JSON lines of one task, or its older single JSON with `logs`.

A log names the prompt, the target and the reply. Options come from the row of the data set where it was logged, from a loaded
benchmark, or from the lines "A. text" of the logged prompt.
"""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ttc.outputs import plain
from ttc.outputs.files import Rows, field, json_file, json_lines, last_of_each
from ttc.outputs.replies import Known, Outputs, Reply
from ttc.records import LETTERS

_OPTION = re.compile(r"^\(?([A-Z])[.):]\s*(.+)$")


def read(path: Path, benchmark: str, known: Known) -> Outputs:
    """A sample log.

    Raises:
        UserError: a row without a needed key; names file and line.
    """
    rows, torn = _rows(path)
    rows, repeated = last_of_each(rows, lambda row: row.get("doc_id"))
    replies = [reply for where, row in rows for reply in _replies(row, benchmark, known, where)]
    return Outputs("lmms-eval", tuple(replies), (*torn, *repeated))


def _rows(path: Path) -> tuple[Rows, list[str]]:
    if path.suffix == ".jsonl":
        return json_lines(path)
    logs = field(json_file(path), "logs", where=f"outputs {path}")
    return [(f"{path}, log {number}", row) for number, row in enumerate(logs, start=1)], []


def _replies(row: Mapping[str, Any], benchmark: str, known: Known, where: str) -> Iterator[Reply]:
    metric = next((value for value in row.values() if isinstance(value, dict) and "answer" in value), {})
    doc = row.get("doc") or {}
    merged = {**metric, **doc}
    prompt = next((text for text in (row.get("input"), *_texts(row.get("arguments"))) if isinstance(text, str)), "")
    options = merged.get("options", merged.get("choices")) or _options(prompt)
    kind = merged.get("question_type")
    gold = merged["answer"] if "answer" in merged else field(row, "target", where=where)
    responses = _texts(row.get("resps")) or _texts(field(row, "filtered_resps", where=where))
    plain_row = {
        "id": merged.get("id") or merged.get("question_id") or f"doc {field(row, 'doc_id', where=where)}",
        "question": merged.get("question"),
        "question_type": kind,
        "options": None if kind in ("open", "open-ended", "short-answer") else options,
        "gold": gold,
        "response": responses if len(responses) != 1 else responses[0],
        **{name: merged[name] for name in ("topic_difficulty", "subfield", "img_type", "subject") if merged.get(name)},
    }
    return plain.from_row(plain_row, benchmark, known, where=where)


def _texts(value: object) -> list[str]:
    """The strings in nested lists, in order: the log wraps replies by request and by repeat."""
    if isinstance(value, str):
        return [value]
    return [text for part in value for text in _texts(part)] if isinstance(value, list) else []


def _options(prompt: str) -> list[str]:
    """Option texts from consecutive lines "A. text", "B. text" ... of a prompt; of several such runs the last."""
    options: list[str] = []
    for line in prompt.split("\n"):
        match = _OPTION.match(line)
        if match and match[1] == "A":
            options = [match[2]]
        elif match and options and match[1] == LETTERS[len(options) : len(options) + 1]:
            options.append(match[2])
    return options if len(options) > 1 else []
