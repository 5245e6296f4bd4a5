"""MMMU-Pro's output form: JSON lines of the data's rows with `response`, once evaluated with `pred_indexs` and `if_right`."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ttc.outputs import plain
from ttc.outputs.files import field, json_lines, last_of_each
from ttc.outputs.replies import Known, Outputs, Reply, Stored


def read(path: Path, benchmark: str, known: Known) -> Outputs:
    """A file of MMMU-Pro's outputs.

    Raises:
        UserError: a row without a needed key; names file and line.
    """
    rows, torn = json_lines(path)
    rows, repeated = last_of_each(rows, lambda row: row.get("id"))
    replies = [reply for where, row in rows for reply in _replies(row, benchmark, known, where)]
    return Outputs("mmmu_pro", tuple(replies), (*torn, *repeated))


def _replies(row: Mapping[str, Any], benchmark: str, known: Known, where: str) -> Iterator[Reply]:
    options = field(row, "options", where=where)
    kept = {name: value for name, value in row.items() if name not in ("options", "pred_indexs", "if_right")}
    # "?" stands for a hidden explanation
    kept["explanation"] = "" if row.get("explanation") == "?" else row.get("explanation")
    kept |= {"question_type": "multiple-choice", "options": options, "gold": kept.pop("answer", None)}
    stored = Stored(row.get("pred_indexs"), row.get("if_right")) if "pred_indexs" in row else None
    for reply in plain.from_row(kept, benchmark, known, where=where, stored=stored):
        # one row holds its option list inside a list, which the evaluator takes for a single option
        nested = str(options).startswith("[[")
        yield replace(reply, released_options=(str(options),)) if nested else reply
