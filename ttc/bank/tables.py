"""The tables of a bank, and the way between records and columns.

Each table is the fields of one record class, and two columns more: `run` (who wrote the row) and `part` (the part that it was
first sealed in, which compaction keeps: of two rows with one identity the first by part name wins).
"""

import itertools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any, Literal, get_origin, get_type_hints

import pyarrow as pa

from ttc.records import Sample, StepScores

VERSION = 1
"""Of the layout; written into every part and the manifest. A bank of a newer one is not read."""
VERSION_KEY = b"ttc_bank"


@dataclass(frozen=True, slots=True)
class Described:
    """What a key stands for."""

    key: str
    question_id: str
    description: str
    """The JSON that was hashed into the key."""


# Columns that can pass 2 GiB when the parts of a large bank are put together, where 32-bit offsets end.
_LONG_TEXTS = frozenset({"text", "description"})
_ARROW_TYPES: dict[object, pa.DataType] = {
    bool: pa.bool_(),
    int: pa.int64(),
    float: pa.float64(),
    float | None: pa.float64(),
    tuple[int, ...]: pa.large_list(pa.int32()),
    tuple[float, ...]: pa.large_list(pa.float64()),
}


class Table:
    """One kind of record, as a folder of Parquet parts."""

    def __init__(self, name: str, record: type, identity: tuple[str, ...]):
        """`identity` names the fields of which no two rows that a reader sees have the same values."""
        self.name = name
        self.record = record
        self.identity = identity
        self.columns = tuple(item.name for item in fields(record))
        hints = get_type_hints(record) | {"run": str, "part": str}
        self.schema = pa.schema([_column(*hint) for hint in hints.items()], metadata={VERSION_KEY: str(VERSION)})
        self.words = tuple(column.name for column in self.schema if column.type == pa.string())
        """Columns of short texts that repeat: read as dictionaries, each value becomes one Python object."""
        self._order: Callable[[Any], Any] = attrgetter(*identity)

    def to_arrow(self, records: Iterable[object], run: str, part: str) -> pa.Table:
        """The records as columns, sorted by identity so that a reader can skip the row groups without its keys."""
        rows = sorted(records, key=self._order)
        columns = [_array([getattr(row, name) for row in rows], self.schema.field(name).type) for name in self.columns]
        columns += [_array([value] * len(rows), pa.string()) for value in (run, part)]
        return pa.Table.from_arrays(columns, schema=self.schema)

    def from_arrow(self, rows: pa.Table) -> Iterable[Any]:
        """The rows as records; a field whose column is absent (not asked for, or younger than the part) has its default."""
        present = set(rows.column_names)
        columns = []
        for item in fields(self.record):
            if item.name not in present:
                columns.append(itertools.repeat(item.default))
            elif rows[item.name].null_count and not self.schema.field(item.name).nullable:
                columns.append(_filled(values(rows[item.name]), item.default))
            else:
                columns.append(values(rows[item.name]))
        return map(self.record, *columns)

    def first_by_part(self, parts: Sequence[pa.Table]) -> pa.Table:
        """The rows of all, without those whose identity an earlier part (by name) has too."""
        if not parts:
            return self.schema.empty_table()
        rows = pa.concat_tables(parts, promote_options="default").unify_dictionaries()
        identity = list(self.identity)
        if rows.group_by(identity).aggregate([]).num_rows == rows.num_rows:
            return rows
        numbers = pa.array(range(rows.num_rows))
        by_part = rows.select(identity).append_column("part", rows["part"].cast(pa.string())).append_column("row", numbers)
        by_part = by_part.sort_by("part").append_column("rank", numbers)
        winners = by_part.group_by(identity).aggregate([("rank", "min")])["rank_min"]
        return rows.take(by_part["row"].take(winners))

    def merge(self, parts: Sequence[pa.Table]) -> pa.Table:
        """One part's rows from those of several; columns that this version does not know are kept."""
        rows = self.first_by_part(parts)
        kinds = {field.name: field.type for field in rows.schema} | dict.fromkeys(self.words, pa.string())
        # Nulls are rows of parts from before the column existed.
        columns = [pa.field(name, kinds[name], nullable=rows[name].null_count > 0) for name in rows.column_names]
        rows = rows.cast(pa.schema(columns, metadata=self.schema.metadata))
        return rows.sort_by([(name, "ascending") for name in self.identity])


def _column(name: str, hint: object) -> pa.Field:
    """The column of a field; a record with a field of another type needs a line in `_ARROW_TYPES`."""
    text = pa.large_string() if name in _LONG_TEXTS else pa.string()
    kind = text if hint is str or get_origin(hint) is Literal else _ARROW_TYPES[hint]
    return pa.field(name, kind, nullable=hint == float | None)


def _array(values: Sequence[object], kind: pa.DataType) -> pa.Array:
    """Texts are made valid Unicode first where they are not: a server's JSON may hold half a surrogate pair."""
    try:
        return pa.array(values, kind)
    except UnicodeEncodeError:
        texts = [str(value).encode("utf-16", "surrogatepass").decode("utf-16", "replace") for value in values]
        return pa.array(texts, kind)


def values(column: pa.ChunkedArray) -> Iterable[Any]:
    """The Python values of a column; several times faster than `to_pylist`, and equal short texts are one object."""
    return itertools.chain.from_iterable(_chunk_values(chunk) for chunk in column.chunks)


def _chunk_values(chunk: pa.Array) -> Iterable[Any]:
    if isinstance(chunk, pa.LargeListArray):
        ends = chunk.offsets.to_numpy()
        items = chunk.values.slice(ends[0], ends[-1] - ends[0]).to_numpy().tolist()
        ends = (ends - ends[0]).tolist()
        return (tuple(items[start:end]) for start, end in itertools.pairwise(ends))
    if chunk.null_count:
        return chunk.to_pylist()
    if isinstance(chunk, pa.DictionaryArray):
        return map(chunk.dictionary.to_pylist().__getitem__, chunk.indices.to_numpy().tolist())
    return chunk.to_numpy(zero_copy_only=False).tolist()


SAMPLES = Table("samples", Sample, ("key", "index"))
REQUESTS = Table("requests", Described, ("key",))
SCORES = Table("scores", StepScores, ("key", "index", "verifier"))
# In this order parts are sealed: no sample without the description of its request, no score without its sample.
TABLES = (REQUESTS, SAMPLES, SCORES)


def _filled(column: Iterable[Any], default: object) -> Iterable[Any]:
    """The column with its default where it has none. Lazy, so the default must be an argument of its own."""
    return (default if value is None else value for value in column)
