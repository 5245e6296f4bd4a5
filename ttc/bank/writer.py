"""Writing: rows wait in memory for seconds, then become parts."""

import time
from pathlib import Path
from threading import Event, RLock, Thread
from types import TracebackType
from typing import Any, Self

from ttc.bank.parts import new_part_name, seal_part
from ttc.bank.tables import REQUESTS, SAMPLES, SCORES, TABLES, Described, Table
from ttc.errors import UserError
from ttc.records import Sample, StepScores

SEAL_SECONDS = 8.0
"""How long a row waits; with the time until somebody looks, and to write, under ten seconds."""
SEAL_ROWS = 50_000
"""A part is sealed early with this many rows, which bounds memory."""


class Writer:
    """Adds rows to a bank. Rows are committed when sealed: at least every 10 seconds, on `seal`, and at the end of the `with`.

    The adding thread seals when it is time; a background thread does so where nothing more is added. When a part cannot be
    written (the disk is full), its rows stay in memory, the next call raises UserError, and each later one tries again.
    Safe to use from several threads; several writers, in other processes and on other machines, may fill one bank.
    """

    def __init__(self, bank: Path, run: str, described: set[str], seal_seconds: float = SEAL_SECONDS):
        """`described` holds the keys that the bank describes already; `run` is written beside each row."""
        self.bank = bank
        self.run = run
        self.seal_seconds = seal_seconds
        self._described = described
        self._waiting: dict[Table, list[Any]] = {table: [] for table in TABLES}
        self._oldest: float | None = None
        self._lock = RLock()
        self._closing = Event()
        self._thread = Thread(target=self._seal_idle, name="bank-sealer", daemon=True)
        self._thread.start()

    def add(self, sample: Sample) -> None:
        """Take a sample into the bank. Raises UserError where a part is due and cannot be sealed; the sample is kept."""
        self._add(SAMPLES, sample)

    def describe(self, key: str, question_id: str, description: str) -> None:
        """Keep what a key stands for (`ttc.keys.description`), where the bank does not know it yet. Raises as `add`."""
        with self._lock:
            if key not in self._described:
                self._described.add(key)
                self._add(REQUESTS, Described(key, question_id, description))

    def add_score(self, score: StepScores) -> None:
        """Keep a verifier's scores of one sample. Raises as `add`."""
        self._add(SCORES, score)

    def seal(self) -> None:
        """Commit everything added so far. Raises UserError where the disk does not take it; nothing is lost then."""
        with self._lock:
            for table, rows in self._waiting.items():
                if rows:
                    self._seal(table, rows)
            self._oldest = None

    def close(self) -> None:
        """Seal and stop. Raises as `seal`, and may then be called again."""
        self._closing.set()
        if self._thread.is_alive():
            self._thread.join()
        self.seal()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def _add(self, table: Table, row: object) -> None:
        with self._lock:
            self._waiting[table].append(row)
            if self._oldest is None:
                self._oldest = time.monotonic()
            if self._due() or len(self._waiting[table]) >= SEAL_ROWS:
                self.seal()

    def _due(self) -> bool:
        return self._oldest is not None and time.monotonic() - self._oldest >= self.seal_seconds

    def _seal(self, table: Table, rows: list[Any]) -> None:
        name = new_part_name()
        try:
            seal_part(self.bank, table, name, table.to_arrow(rows, self.run, name))
        except OSError as error:
            raise UserError(
                f"bank {self.bank}: {len(rows)} rows of {table.name} cannot be written: {error.strerror or error}; free space"
                " or mend the disk, and run the same command again: what is sealed stays"
            ) from error
        rows.clear()

    def _seal_idle(self) -> None:
        """Seal on time when nobody adds. Looks often enough that no row waits much longer than `seal_seconds`."""
        while not self._closing.wait(self.seal_seconds / 8):
            with self._lock:
                if self._due():
                    try:
                        self.seal()
                    except UserError:
                        # The rows are still due: the next call from the run's own thread tries again, and raises there.
                        continue
