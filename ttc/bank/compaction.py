"""Compaction: many small parts become few large ones, while others read and write.

    merged part sealed -> manifest commits it -> replaced parts deleted -> manifest forgets them

Killed anywhere in between, the bank is valid: before the commit the merged part holds rows that others hold too, which readers
count once; after it the replaced parts are not read. The next compaction finishes the work.
"""

import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from ttc.bank.parts import (
    DamagedPart,
    Manifest,
    TableManifest,
    leftovers,
    list_parts,
    live_parts,
    new_part_name,
    open_part,
    read_manifest,
    read_part,
    seal_part,
    write_manifest,
)
from ttc.bank.tables import TABLES, Table
from ttc.errors import UserError

TARGET_BYTES = 256 << 20
"""Size of a merged part before compression: bounds the memory of compaction, and of whoever reads a part."""
LEFTOVER_SECONDS = 3600.0
"""A half-written part as old as this has no writer any more."""


@dataclass(frozen=True, slots=True)
class Compacted:
    """What a compaction did."""

    parts_before: int
    parts_after: int
    dropped: tuple[Path, ...] = ()
    """Damaged parts that were set aside, by their new names; for a part that was gone altogether, its old one."""


def compact(bank: Path, *, drop_damaged: bool = False, target_bytes: int = TARGET_BYTES) -> Compacted:
    """Merge the parts of all tables; safe beside readers and writers.

    Args:
        bank: the bank's folder.
        drop_damaged: rename damaged parts to `NAME.damaged`, which no reader looks at, instead of raising.
        target_bytes: upper size of a merged part before compression; parts of more than half of it stay as they are.

    Raises:
        DamagedPart: a part cannot be read; it and the parts that would have been merged with it stay as they are.
        UserError: another compaction of this bank is running, or the disk is full.
    """
    try:
        with FileLock(bank / "compact.lock", timeout=0):
            dropped = [path for table in TABLES for path in _set_aside(bank, table)] if drop_damaged else []
            before = sum(len(live_parts(bank, table)) for table in TABLES)
            for table in TABLES:
                _finish(bank, table)
                for batch in _batches(live_parts(bank, table), table, target_bytes):
                    _merge(bank, table, batch)
            after = sum(len(live_parts(bank, table)) for table in TABLES)
    except Timeout as error:
        raise UserError(f"bank {bank} is being compacted by another process; wait for it to end") from error
    except OSError as error:
        raise UserError(f"bank {bank} cannot be compacted now: {error}; it is as valid as before") from error
    return Compacted(before, after, tuple(dropped))


def _batches(parts: list[Path], table: Table, target_bytes: int) -> Iterator[list[Path]]:
    """Groups of two or more small parts that together stay below the target."""
    batch: list[Path] = []
    size = 0
    for path in parts:
        with open_part(path, table) as part:
            groups = range(part.num_row_groups)
            part_bytes = sum(part.metadata.row_group(group).total_byte_size for group in groups)
        if part_bytes > target_bytes / 2:
            continue
        if size + part_bytes > target_bytes:
            if len(batch) > 1:
                yield batch
            batch, size = [], 0
        batch.append(path)
        size += part_bytes
    if len(batch) > 1:
        yield batch


def _merge(bank: Path, table: Table, batch: list[Path]) -> None:
    name = new_part_name()
    seal_part(bank, table, name, table.merge([read_part(path, table) for path in batch]))
    replaced = tuple(path.name for path in batch)
    kept = (merged for merged in read_manifest(bank).of(table).merged if merged not in replaced)
    _commit(bank, table, TableManifest(merged=(*kept, f"{name}.parquet"), replaced=replaced))
    _finish(bank, table)


def _finish(bank: Path, table: Table) -> None:
    """Delete what the manifest says is replaced, and what killed writers left."""
    live_parts(bank, table)  # raises where a merged part is gone: then the parts that it replaced are all there is
    state = read_manifest(bank).of(table)
    for name in state.replaced:
        (bank / table.name / name).unlink(missing_ok=True)
    if state.replaced:
        _commit(bank, table, TableManifest(merged=state.merged))
    for path in leftovers(bank, table):
        with suppress(FileNotFoundError):  # its writer has just sealed it
            if time.time() - path.stat().st_mtime > LEFTOVER_SECONDS:
                path.unlink()


def _set_aside(bank: Path, table: Table) -> Iterator[Path]:
    """Rename damaged parts and let the manifest forget those that are gone: what they replaced counts again, if it is there."""
    listing = list_parts(bank, table)
    damaged = [path for path in listing.parts if _is_damaged(path, table)]
    lost = {path.name for path in (*damaged, *listing.missing)}
    merged = read_manifest(bank).of(table).merged
    if lost.intersection(merged):
        _commit(bank, table, TableManifest(merged=tuple(name for name in merged if name not in lost)))
    for path in damaged:
        yield path.rename(path.with_name(f"{path.name}.damaged"))
    yield from listing.missing


def _is_damaged(path: Path, table: Table) -> bool:
    try:
        read_part(path, table)
    except DamagedPart:
        return True
    return False


def _commit(bank: Path, table: Table, state: TableManifest) -> None:
    write_manifest(bank, Manifest(tables={**read_manifest(bank).tables, table.name: state}))
