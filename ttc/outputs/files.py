"""JSON and JSON lines as killed and resumed writers leave them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from ttc.errors import UserError

Model = TypeVar("Model", bound=BaseModel)
Rows = list[tuple[str, dict[str, Any]]]
"""`file:line` and the row."""


def read_bytes(path: Path) -> bytes:
    """A file's bytes.

    Raises:
        UserError: it cannot be read.
    """
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"outputs {path}: {error.strerror}") from error


def json_file(path: Path) -> Any:
    """The content of a JSON file.

    Raises:
        UserError: it cannot be read or is not JSON; names the line.
    """
    try:
        return json.loads(read_bytes(path))
    except json.JSONDecodeError as error:
        raise UserError(
            f"outputs {path}:{error.lineno}: not JSON ({error.msg}); a cut-off file must be written again"
        ) from error
    except (UnicodeDecodeError, RecursionError) as error:
        raise UserError(f"outputs {path}: not JSON in UTF-8") from error


def json_lines(path: Path) -> tuple[Rows, list[str]]:
    """The complete rows of a file of JSON lines, and a line about those that are torn.

    Raises:
        UserError: no complete row, or a line that is JSON but no object.
    """
    rows: Rows = []
    torn: list[int] = []
    for number, line in enumerate(read_bytes(path).split(b"\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError):
            torn.append(number)
            continue
        if not isinstance(row, dict):
            raise UserError(f"outputs {path}:{number}: {type(row).__name__} where a JSON object is expected")
        rows.append((f"{path}:{number}", row))
    if not rows:
        raise UserError(f"outputs {path}:{torn[0] if torn else 1}: no complete JSON object on any line; is it JSON lines?")
    problems = [f"{path}: {len(torn)} torn lines left out, the first is line {torn[0]}"] if torn else []
    return rows, problems


def last_of_each(rows: Rows, key: Callable[[Mapping[str, Any]], object]) -> tuple[Rows, list[str]]:
    """Each row once, at the place of its last copy, and a line about those that were repeated."""
    last = {str(key(row)): position for position, (_, row) in enumerate(rows)}
    kept = [rows[position] for position in sorted(last.values())]
    repeated = len(rows) - len(kept)
    if not repeated:
        return kept, []
    return kept, [f"{rows[0][0].rpartition(':')[0]}: {repeated} repeated rows; the last copy of each id counts"]


def field(row: Mapping[str, Any], name: str, *, where: str) -> Any:
    """A value that must be there.

    Raises:
        UserError: it is not.
    """
    if name not in row:
        raise UserError(f"{where}: no {name!r}; the row has {', '.join(map(str, row)) or 'nothing'}")
    return row[name]


def checked(model: type[Model], content: object, *, where: str) -> Model:
    """Foreign content as a model of the parts that are read.

    Raises:
        UserError: a part is missing or of another type; names its place.
    """
    try:
        return model.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"]))
        raise UserError(f"{where}: {place or 'the whole'}: {first['msg'].lower()}") from error
