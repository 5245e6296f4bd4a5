"""A bank as a whole: what is in it, in figures, as SQL views, and as one file."""

import json
import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pyarrow as pa

from ttc.bank.parts import DamagedPart, leftovers, list_parts, live_parts, read_part
from ttc.bank.tables import JUDGEMENTS, REQUESTS, SAMPLES, SCORES, TABLES, Table, values
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
    judgements: int
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
    rows: dict[Table, pa.Table] = {}
    parts: list[Path] = []
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
        damaged += listing.missing
        parts += listing.parts
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
        judgements=rows[JUDGEMENTS].num_rows,
        parts=len(parts),
        bytes=sum(path.stat().st_size for path in parts),
        damaged=tuple(damaged),
        leftovers=sum(len(leftovers(bank, table)) for table in TABLES),
        engines=dict(Counter(values(rows[SAMPLES]["engine"]))),
        models=dict(models),
    )


def sql(bank: Path) -> "DuckDBPyConnection":
    """An in-memory DuckDB connection with one view per table, each row once.

    The views name the parts of this moment: connect again after a compaction.
    """
    import duckdb

    connection = duckdb.connect()
    for table in TABLES:
        parts = live_parts(bank, table)
        if not parts:
            connection.register(f"no_{table.name}", table.schema.empty_table())
            connection.execute(f"CREATE VIEW {table.name} AS SELECT * FROM no_{table.name}")
            continue
        files = ", ".join("'" + str(path).replace("'", "''") + "'" for path in parts)
        identity = ", ".join(f'"{name}"' for name in table.identity)
        connection.execute(
            f"CREATE VIEW {table.name} AS SELECT * FROM read_parquet([{files}], union_by_name = true)"
            f" QUALIFY row_number() OVER (PARTITION BY {identity} ORDER BY part) = 1"
        )
    return connection


def export(bank: Path, path: Path) -> int:
    """Write all samples, each once and sorted by key and index, to one `.parquet` or `.jsonl` file; tell their number."""
    forms = {".parquet": "PARQUET, COMPRESSION zstd", ".jsonl": "JSON"}
    if path.suffix not in forms:
        raise UserError(f"{path}: cannot export to {path.suffix or 'a name without suffix'}; name a .parquet or .jsonl file")
    temporary = path.with_name(f".{path.name}.tmp")
    target = str(temporary).replace("'", "''")
    import duckdb

    with sql(bank) as connection:
        try:
            query = f"COPY (SELECT * FROM samples ORDER BY key, \"index\") TO '{target}' (FORMAT {forms[path.suffix]})"
            count = connection.execute(query).fetchone()
        except duckdb.Error as error:
            temporary.unlink(missing_ok=True)
            raise UserError(f"{path}: cannot export: {error}") from error
    os.replace(temporary, path)
    return count[0] if count else 0


def _model(description: str) -> str:
    return str(json.loads(description).get("backend", {}).get("model", ""))
