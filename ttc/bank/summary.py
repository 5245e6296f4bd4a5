"""A bank as a whole: what is in it, in figures, as SQL views, and as one file."""

import json
import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ttc.bank.parts import DamagedPart, leftovers, list_parts, live_parts, read_part, steadily
from ttc.bank.tables import REQUESTS, SAMPLES, SCORES, TABLES, Table, values
from ttc.errors import UserError

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection


@dataclass(frozen=True, slots=True)
class Stats:
    """What a bank holds. Damaged parts are counted, their rows are not."""

    samples: int
    keys: int
    """Distinct keys with samples."""
    requests: int
    """Described keys."""
    scores: int
    parts: int
    bytes: int
    """On disk, of all parts."""
    damaged: tuple[Path, ...]
    """Parts that cannot be read, or that the manifest names and that are gone."""
    leftovers: int
    """Half-written files: of writers at work, and of killed ones."""
    engines: Mapping[str, int]
    """Samples by engine and version."""
    models: Mapping[str, int]
    """Samples by the model of their request's backend; under `` where the request is not described."""


def stats(bank: Path) -> Stats:
    """Figures of a bank, also of one with damaged parts."""
    return steadily(lambda: _count(bank))


def _count(bank: Path) -> Stats:
    rows: dict[Table, pa.Table] = {}
    sizes: list[int] = []
    damaged: list[Path] = []
    for table in TABLES:
        listing = list_parts(bank, table)
        columns = [*table.identity, *({"engine", "description"}.intersection(table.columns)), "part"]
        found = []
        for path in listing.parts:
            try:
                found.append(read_part(path, table, columns))
            except DamagedPart:
                damaged.append(path)
            sizes.append(path.stat().st_size)
        damaged += listing.missing
        rows[table] = table.first_by_part(found)
    per_key = Counter(values(rows[SAMPLES]["key"]))
    requests = rows[REQUESTS]
    model_of = dict(zip(values(requests["key"]), map(_model, values(requests["description"])), strict=True))
    models: Counter[str] = Counter()
    for key, count in per_key.items():
        models[model_of.get(key, "")] += count
    return Stats(
        samples=rows[SAMPLES].num_rows,
        keys=len(per_key),
        requests=rows[REQUESTS].num_rows,
        scores=rows[SCORES].num_rows,
        parts=len(sizes),
        bytes=sum(sizes),
        damaged=tuple(damaged),
        leftovers=sum(len(leftovers(bank, table)) for table in TABLES),
        engines=dict(Counter(values(rows[SAMPLES]["engine"]))),
        models=dict(models),
    )


def sql(bank: Path) -> "DuckDBPyConnection":
    """An in-memory DuckDB connection with one view per table, each row once.

    The views name the parts of this moment: connect again after a compaction.
    """
    return steadily(lambda: _connect({table: live_parts(bank, table) for table in TABLES}))


def export(bank: Path, path: Path) -> int:
    """Write all samples, each once and sorted by key and index, to one `.parquet` or `.jsonl` file; tell their number."""
    forms = {".parquet": "PARQUET, COMPRESSION zstd", ".jsonl": "JSON"}
    if path.suffix not in forms:
        raise UserError(f"{path}: cannot export to {path.suffix or 'a name without suffix'}; name a .parquet or .jsonl file")
    if not path.parent.is_dir():
        raise UserError(f"{path}: the folder {path.parent} does not exist; make it first")
    temporary = path.with_name(f".{path.name}.tmp")
    query = f'COPY (SELECT * FROM samples ORDER BY key, "index") TO {_quoted(temporary)} (FORMAT {forms[path.suffix]})'
    try:
        count = steadily(lambda: _run({table: live_parts(bank, table) for table in TABLES}, query))
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return count


def _run(parts: Mapping[Table, Sequence[Path]], query: str) -> int:
    """Run a query that tells a number."""
    import duckdb

    with _connect(parts) as connection:
        try:
            rows = connection.execute(query).fetchall()
        except duckdb.Error as error:
            raise _reason(parts, error) from error
    return rows[0][0]


def _connect(parts: Mapping[Table, Sequence[Path]]) -> "DuckDBPyConnection":
    import duckdb

    connection = duckdb.connect()
    for table, paths in parts.items():
        source = f"read_parquet([{', '.join(map(_pattern, paths))}], union_by_name = true)"
        if not paths:
            source = f"no_{table.name}"
            connection.register(source, table.schema.empty_table())
        identity = ", ".join(f'"{name}"' for name in table.identity)
        try:
            connection.execute(
                f"CREATE VIEW {table.name} AS SELECT * FROM {source}"
                f" QUALIFY row_number() OVER (PARTITION BY {identity} ORDER BY part) = 1"
            )
        except duckdb.Error as error:
            connection.close()
            raise _reason(parts, error) from error
    return connection


def _reason(parts: Mapping[Table, Sequence[Path]], error: Exception) -> UserError:
    """Why a query failed. Raises as `read_part` where a part is damaged, or is gone since it was listed."""
    for table, paths in parts.items():
        for path in paths:
            read_part(path, table)
    return UserError(f"the bank's query failed: {str(error).splitlines()[0]}; free memory or disk and try again")


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"


def _pattern(path: Path) -> str:
    """The path as a pattern that matches nothing else: DuckDB expands wildcards in the names of its input."""
    return _quoted(Path(re.sub(r"[*?\[]", r"[\g<0>]", str(path))))


def _model(description: str) -> str:
    return str(json.loads(description).get("backend", {}).get("model", ""))
