"""Plain rows with a response: `{id, question_type, options, gold, response}`; what other forms are turned into."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ttc.benchmarks import plain
from ttc.errors import UserError
from ttc.outputs.files import field, json_lines, last_of_each
from ttc.outputs.replies import Known, Outputs, Reply, Stored
from ttc.outputs.subjects import grouped
from ttc.records import Finish, Sample


def read(path: Path, benchmark: str, known: Known) -> Outputs:
    """A file of plain JSON lines.

    Raises:
        UserError: a row without a needed key or with an impossible value; names file and line.
    """
    rows, torn = json_lines(path)
    rows, repeated = last_of_each(rows, lambda row: row.get("id"))
    replies = [reply for where, row in rows for reply in from_row(row, benchmark, known, where=where)]
    return Outputs("jsonl", tuple(replies), (*torn, *repeated))


def from_row(
    row: Mapping[str, Any],
    benchmark: str,
    known: Known,
    *,
    where: str,
    stored: Stored | None = None,
    finish: Finish = "",
) -> Iterator[Reply]:
    """The replies of one plain row: several where `response` is a list of samples."""
    response = field(row, "response", where=where)
    if (id := str(row.get("id"))) in known:
        question, gold = known[id]
    else:
        rest = {name: value for name, value in row.items() if name != "response"}
        if "gold" not in rest and "answer" not in rest:
            raise UserError(f"{where}: neither gold nor answer; add one, or name the benchmark's data")
        question = grouped(plain.question(rest, benchmark=benchmark, where=where))
        gold = plain.gold(rest, question, where=where)
    for index, text in enumerate(response if isinstance(response, list) else [response]):
        failure = _failure(text)
        sample = None if failure else Sample(key="", index=index, question_id=question.id, text=str(text), finish=finish)
        yield Reply(question, gold, sample, failure, stored)


def _failure(response: object) -> str:
    """Why a row has no reply: MMMU-Pro's scripts store `{"error": ...}`, others null."""
    if isinstance(response, Mapping):
        return str(response.get("error", response))[:200]
    return "" if isinstance(response, str | int | float) else "no reply stored"
