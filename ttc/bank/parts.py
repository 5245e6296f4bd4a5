"""Parts on disk: sealed whole or not there at all, and which of them a reader has to read.

    bank/
      manifest.json                  which parts compaction has made, and which of the old ones they replace
      samples/TIME-HOST-PID-RANDOM.parquet
      samples/.TIME-HOST-PID-RANDOM.parquet.tmp    being written, or left by a killed writer; nobody reads it
      requests/ scores/              likewise

A part that is in its folder counts, unless the manifest says that it is replaced.
"""

import errno
import os
import re
import secrets
import socket
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pydantic import BaseModel, ValidationError

from ttc.bank.tables import VERSION, VERSION_KEY, Table
from ttc.errors import UserError

T = TypeVar("T")

ROW_GROUP = 4096
"""Rows that are read together: small enough to look up one key in milliseconds, large enough to compress."""

# What reading raises on bytes that are not what was written.
_UNREADABLE = (pa.ArrowException, OSError, UnicodeDecodeError)


class DamagedPart(UserError):
    """A part that cannot be read: cut off, overwritten, or on a failing disk."""


class TableManifest(BaseModel, frozen=True, extra="forbid"):
    """What compaction did to one table."""

    merged: tuple[str, ...] = ()
    """File names of parts that hold the rows of others: they must be there."""
    replaced: tuple[str, ...] = ()
    """File names of parts whose rows are in merged ones: not read any more, deleted next."""


class Manifest(BaseModel, frozen=True, extra="forbid"):
    """The state of compaction. A bank that was never compacted has none."""

    version: int = VERSION
    tables: dict[str, TableManifest] = {}

    def of(self, table: Table) -> TableManifest:
        """The part of it about one table."""
        return self.tables.get(table.name, TableManifest())


@dataclass(frozen=True, slots=True)
class Listing:
    """The parts of one table."""

    parts: tuple[Path, ...]
    """Those to be read, sorted by name."""
    missing: tuple[Path, ...]
    """Those that the manifest names and that are gone."""


def new_part_name() -> str:
    """A name that no other writer has, sorted by time: `20260131T235959.999999Z-host-1234-89abcdef`."""
    return f"{datetime.now(UTC):%Y%m%dT%H%M%S.%fZ}{_here()}{secrets.token_hex(4)}"


def is_own_part(path: str) -> bool:
    """Whether a part that was sealed a moment ago comes from this process."""
    return _here() in path.rpartition("/")[2]


def _here() -> str:
    host = re.sub(r"[^A-Za-z0-9]+", "-", socket.gethostname())[:32]
    return f"-{host}-{os.getpid()}-"


def seal_part(bank: Path, table: Table, name: str, rows: pa.Table) -> Path:
    """Write a part so that a reader sees all of it or nothing, also after a power cut.

    Raises:
        OSError: the disk is full, or the like; nothing is left behind.
    """
    path = bank / table.name / f"{name}.parquet"
    if not path.parent.is_dir():
        path.parent.mkdir(parents=True, exist_ok=True)
        _sync_folder(bank)
    with _replacing(path) as file:
        pq.write_table(rows, file, compression="zstd", row_group_size=ROW_GROUP, write_page_checksum=True)
    return path


def open_part(path: Path, table: Table) -> pq.ParquetFile:
    """An open part, with repeating texts to be read as dictionaries.

    Raises:
        FileNotFoundError: compaction has replaced it since it was listed; see `steadily`.
        DamagedPart: it is no Parquet file.
        UserError: it is not a part of this version of a bank.
    """
    try:
        footer = pq.read_metadata(path)
        # an older part lacks the columns that have joined since
        words = [name for name in table.words if name in footer.schema.names]
        part = pq.ParquetFile(path, metadata=footer, read_dictionary=words, page_checksum_verification=True)
        metadata = part.schema_arrow.metadata or {}
    except FileNotFoundError as error:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path)) from error
    except PermissionError as error:
        raise UserError(f"bank part {path} may not be read: {error}; change its permissions") from error
    except _UNREADABLE as error:
        raise damaged(path, error) from error
    version = metadata.get(VERSION_KEY, b"").decode()
    if not version.isdigit():
        raise UserError(f"{path} was not written by a bank; move it to another folder")
    if int(version) > VERSION:
        raise UserError(f"{path}: version {version} is newer than this program's {VERSION}; update ttc to read this bank")
    return part


def read_part(path: Path, table: Table, columns: Sequence[str] = (), keys: Sequence[str] | None = None) -> pa.Table:
    """The rows of a part with one of the keys (sorted), or all rows; some columns, as far as the part has them, or all.

    Raises as `open_part`.
    """
    with open_part(path, table) as part:
        names = [name for name in part.schema_arrow.names if not columns or name in columns]
        try:
            groups = range(part.num_row_groups) if keys is None else _groups_with(part, keys)
            # On a small part starting threads takes longer than reading.
            rows = part.read_row_groups(list(groups), columns=names, use_threads=part.metadata.num_rows > ROW_GROUP)
        except _UNREADABLE as error:
            raise damaged(path, error) from error
    return rows if keys is None else rows.filter(pc.field("key").isin(keys))


def _groups_with(part: pq.ParquetFile, keys: Sequence[str]) -> list[int]:
    """The row groups whose range of keys holds one of the keys. The key is the first column, and rows are sorted by it."""
    groups = []
    for group in range(part.num_row_groups):
        span = part.metadata.row_group(group).column(0).statistics
        if span is None or bisect_left(keys, span.min) < bisect_right(keys, span.max):
            groups.append(group)
    return groups


def damaged(path: Path, error: BaseException) -> DamagedPart:
    """What to tell a user about a part that cannot be read."""
    size = path.stat().st_size if path.exists() else 0
    reason = str(error).strip().splitlines()[0].rstrip(".")
    return DamagedPart(
        f"bank part {path} ({size} bytes) is damaged: {reason}; `ttc bank compact --drop-damaged` sets it aside,"
        " and the same run draws its samples again; all other parts are whole"
    )


def list_parts(bank: Path, table: Table) -> Listing:
    """The parts as the manifest has them.

    A listing is no snapshot: while it runs, a compaction may add a merged part behind it and delete the old ones before it. But
    it commits its manifest in between, so a listing between two equal manifests is sound.
    """
    while True:
        manifest = read_manifest(bank)
        names = _names(bank / table.name)
        if read_manifest(bank) == manifest:
            break
    state = manifest.of(table)
    parts = {name for name in names if name.endswith(".parquet") and not name.startswith(".")} - set(state.replaced)
    missing = set(state.merged) - parts
    folder = bank / table.name
    return Listing(tuple(folder / name for name in sorted(parts)), tuple(folder / name for name in sorted(missing)))


def live_parts(bank: Path, table: Table) -> list[Path]:
    """The parts to be read, sorted by name: together they hold each sealed row. Raises DamagedPart where one is gone."""
    listing = list_parts(bank, table)
    if listing.missing:
        raise DamagedPart(
            f"bank part {listing.missing[0]} is gone; bring it back, or let `ttc bank compact --drop-damaged` forget it and the"
            " same run draw its samples again"
        )
    return list(listing.parts)


def steadily(read: Callable[[], T]) -> T:
    """What `read` returns, asked again while a compaction takes parts away that it has just listed.

    Raises:
        DamagedPart: the same part is listed and cannot be opened, again and again.
    """
    gone = None
    while True:
        try:
            return read()
        except FileNotFoundError as error:
            if error.filename == gone:
                raise DamagedPart(f"bank part {gone} is in its folder but cannot be opened; delete it") from error
            gone = error.filename


def leftovers(bank: Path, table: Table) -> list[Path]:
    """Files that a writer is writing now, or has left half written."""
    return [bank / table.name / name for name in _names(bank / table.name) if name.endswith(".tmp")]


def read_manifest(bank: Path) -> Manifest:
    """The manifest as it stands. Raises UserError where this program is too old for it, or it is no manifest."""
    path = bank / "manifest.json"
    try:
        text = path.read_bytes()
        version = _Version.model_validate_json(text).version
        if version > VERSION:
            raise UserError(f"{path}: version {version} is newer than this program's {VERSION}; update ttc to read this bank")
        return Manifest.model_validate_json(text)
    except FileNotFoundError:
        return Manifest()
    except ValidationError as error:
        reason = error.errors()[0]["msg"]
        raise UserError(f"{path} is not a manifest ({reason}); delete it: no row is lost or counted twice") from error


def write_manifest(bank: Path, manifest: Manifest) -> None:
    """Replace the manifest in one step."""
    with _replacing(bank / "manifest.json") as file:
        file.write(manifest.model_dump_json(indent=1).encode())


class _Version(BaseModel):
    """The one field of a manifest that every version has."""

    version: int


def _names(folder: Path) -> list[str]:
    try:
        return os.listdir(folder)
    except FileNotFoundError:
        return []


@contextmanager
def _replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes its name when it is whole and on the disk."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with open(temporary, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Without this a power cut may forget that a file got its name."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
