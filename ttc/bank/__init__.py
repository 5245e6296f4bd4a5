"""The sample bank: samples drawn once, kept for ever, found by what determines them.

    keys -> missing ranges -> (drawn) -> writer -> sealed Parquet parts -> samples

A bank is a folder; `parts.py` tells its layout. *Committed* means sealed; a crash costs what is not. DuckDB, pandas and
`datasets` read `BANK/samples/*.parquet` as it is; only where writers overlapped or a compaction was killed does a sample stand
there twice, and then `Bank.sql` and `Bank.export` tell it once.
"""

import os
from collections.abc import Collection
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ttc.bank import compaction, summary
from ttc.bank.compaction import Compacted
from ttc.bank.parts import DamagedPart
from ttc.bank.reader import Reader
from ttc.bank.summary import Stats
from ttc.bank.tables import REQUESTS, SAMPLES, SCORES
from ttc.bank.writer import SEAL_SECONDS, Writer
from ttc.errors import UserError
from ttc.records import Sample, StepScores

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection

__all__ = ["Bank", "Compacted", "DamagedPart", "Stats", "Writer"]


class Bank:
    """A folder of samples, of what their keys stand for, and of verifiers' scores.

    Reading sees what is sealed at that moment, by this process or any other. Every reading method raises DamagedPart
    (a UserError) where a part cannot be read: going on without it would lose samples in silence.
    """

    def __init__(self, folder: Path | str):
        """An empty bank where the folder does not exist; the first writer makes it."""
        self.folder = Path(folder)
        if self.folder.exists() and not self.folder.is_dir():
            raise UserError(f"bank {self.folder} is a file; name a folder")
        self._samples = Reader(self.folder, SAMPLES)
        self._requests = Reader(self.folder, REQUESTS)
        self._scores = Reader(self.folder, SCORES)

    def samples(self, keys: Collection[str], *, tokens: bool = True) -> dict[str, dict[int, Sample]]:
        """All samples of these keys, by key and index. A key without samples is not in it.

        Args:
            keys: ask for many at once: a thousand keys cost little more than one.
            tokens: False leaves `token_ids` and `logprobs` empty, which is several times faster where replies are long.
        """
        without = () if tokens else ("token_ids", "logprobs")
        found: dict[str, dict[int, Sample]] = {}
        for sample in SAMPLES.from_arrow(self._samples.rows(keys, without)):
            found.setdefault(sample.key, {})[sample.index] = sample
        return found

    def missing(self, key: str, n: int) -> list[range]:
        """The indices below n that are not stored, as contiguous ranges in order. Costs microseconds."""
        stored = self._samples.indices(key)
        gaps = (index for index in range(n) if not stored >> index & 1)
        # Within a gap, index minus position does not change.
        runs = [[index for _, index in run] for _, run in groupby(enumerate(gaps), key=lambda pair: pair[1] - pair[0])]
        return [range(run[0], run[-1] + 1) for run in runs]

    def descriptions(self, keys: Collection[str]) -> dict[str, str]:
        """The JSON that was hashed into each key, where it was described."""
        return {row.key: row.description for row in REQUESTS.from_arrow(self._requests.rows(keys))}

    def scores(self, keys: Collection[str], verifier: str) -> dict[str, dict[int, StepScores]]:
        """A verifier's scores of the samples of these keys, by key and index."""
        found: dict[str, dict[int, StepScores]] = {}
        for scores in SCORES.from_arrow(self._scores.rows(keys)):
            if scores.verifier == verifier:
                found.setdefault(scores.key, {})[scores.index] = scores
        return found

    def writer(self, run: str = "", *, seal_seconds: float = SEAL_SECONDS) -> Writer:
        """A writer, to be used in a `with` block; `run` is kept beside each of its rows.

        Raises:
            UserError: the folder cannot be made or written.
        """
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UserError(f"bank {self.folder} cannot be made: {error.strerror}; name another folder") from error
        if not os.access(self.folder, os.W_OK):
            raise UserError(f"bank {self.folder} may not be written; change its permissions, or name another folder")
        return Writer(self.folder, run, set(self._requests.keys()), seal_seconds)

    def compact(self, *, drop_damaged: bool = False, target_bytes: int = compaction.TARGET_BYTES) -> Compacted:
        """Merge small parts into large ones; safe beside readers and writers. See `compaction.compact`."""
        return compaction.compact(self._existing(), drop_damaged=drop_damaged, target_bytes=target_bytes)

    def stats(self) -> Stats:
        """What is in the bank, damaged parts included."""
        return summary.stats(self._existing())

    def export(self, path: Path | str) -> int:
        """Write all samples to one `.parquet` or `.jsonl` file; tell how many there are."""
        return summary.export(self._existing(), Path(path))

    def sql(self) -> "DuckDBPyConnection":
        """An in-memory DuckDB connection with the views `samples`, `requests` and `scores`."""
        return summary.sql(self._existing())

    def _existing(self) -> Path:
        """The folder; a misspelt one must not look like an empty bank."""
        if not self.folder.is_dir():
            raise UserError(f"bank {self.folder} does not exist; check the path")
        return self.folder
