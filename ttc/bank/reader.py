"""Reading one table: an index of what is where, kept up to date cheaply, and the rows themselves."""

import time
from collections.abc import Collection
from pathlib import Path
from threading import RLock

import pyarrow as pa

from ttc.bank.parts import live_parts, read_part, steadily
from ttc.bank.tables import Table, values

SETTLED_SECONDS = 2.0
"""A folder changed less than this long ago may change again with no new time stamp, on a file system with coarse ones."""


class Reader:
    """The sealed rows of one table. Safe to use from several threads.

    The index knows for each key the parts that hold it. Parts never change, so only new ones have to be read; a lookup costs a
    stat of the folder when there are none.
    """

    def __init__(self, bank: Path, table: Table):
        self.bank = bank
        self.table = table
        self._lock = RLock()
        self._forget()

    def keys(self) -> Collection[str]:
        """All keys that have a row."""
        with self._lock:
            self._refresh()
            return set(self._parts_of)

    def indices(self, key: str) -> int:
        """The indices stored under a key, as a bit set: bit i is 1 where index i is."""
        with self._lock:
            self._refresh()
            return self._indices.get(key, 0)

    def rows(self, keys: Collection[str], without: Collection[str] = ()) -> pa.Table:
        """The rows with these keys, each identity once; `without` names columns that are not needed."""
        columns = [name for name in self.table.schema.names if name not in without]
        return steadily(lambda: self._read(keys, columns))

    def _read(self, keys: Collection[str], columns: list[str]) -> pa.Table:
        with self._lock:
            self._refresh()
            wanted = sorted(self._parts_of.keys() & set(keys))
            parts = sorted({part for key in wanted for part in self._parts_of[key]})
        try:
            found = [read_part(part, self.table, columns, wanted) for part in parts]
        except FileNotFoundError:
            self._stamp = None  # a network file system may show an old time stamp for a while
            raise
        return self.table.first_by_part(found)

    def _refresh(self) -> None:
        stamp = self._stamp_now()
        if stamp == self._stamp:
            return
        settled = time.time_ns() - max(stamp) > SETTLED_SECONDS * 1e9
        steadily(self._learn)
        self._stamp = stamp if settled else None

    def _learn(self) -> None:
        parts = live_parts(self.bank, self.table)
        if not self._known.issubset(parts):
            self._forget()
        for part in parts:
            if part not in self._known:
                self._learn_part(part)
                self._known.add(part)

    def _learn_part(self, part: Path) -> None:
        indexed = "index" in self.table.columns
        rows = read_part(part, self.table, ["key", "index"] if indexed else ["key"])
        keys = list(values(rows["key"]))
        for key in set(keys):
            self._parts_of.setdefault(key, []).append(part)
        if indexed:
            for key, index in zip(keys, values(rows["index"]), strict=True):
                self._indices[key] = self._indices.get(key, 0) | 1 << index

    def _forget(self) -> None:
        self._stamp: tuple[int, ...] | None = None
        self._known: set[Path] = set()
        self._parts_of: dict[str, list[Path]] = {}
        # A set of small integers as the bits of one: a tenth of the memory or less.
        self._indices: dict[str, int] = {}

    def _stamp_now(self) -> tuple[int, ...]:
        """Changes when a part comes or goes, or compaction commits."""
        stamps = []
        for path in (self.bank / self.table.name, self.bank / "manifest.json"):
            try:
                stamps.append(path.stat().st_mtime_ns)
            except FileNotFoundError:
                stamps.append(0)
        return tuple(stamps)
