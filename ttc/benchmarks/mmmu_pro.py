"""MMMU-Pro: 1730 harder questions, with up to twelve options or drawn into one picture (Yue et al. 2024, arXiv:2409.02813)."""

import re
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, BeforeValidator

from ttc.benchmarks.exams import seal
from ttc.benchmarks.files import Row, hub_folder, json_rows, parquet_rows, shards
from ttc.benchmarks.rows import read_row, subject_of
from ttc.errors import UserError
from ttc.records import Exam


def _spelled_as_on_the_hub(setting: object) -> object:
    """`standard(10 options)` means the same: the official scripts and their README differ in the blank."""
    if not isinstance(setting, str):
        return setting
    return re.sub(r"\s*\(\s*", " (", " ".join(setting.lower().split())).replace(" )", ")")


Setting = Annotated[Literal["standard (10 options)", "standard (4 options)", "vision"], BeforeValidator(_spelled_as_on_the_hub)]


class MMMUPro(BaseModel, frozen=True, extra="forbid"):
    """MMMU-Pro from the hub, from a folder of parquet files in the hub's schema, or from a JSONL file with images beside it."""

    kind: Literal["mmmu_pro"] = "mmmu_pro"
    setting: Setting = "standard (10 options)"
    """In `vision`, question and options are drawn in the image and there is no text."""
    split: Literal["test"] = "test"
    """The only one."""
    path: Path | None = None
    """Folder with `<setting>/test-*.parquet`, or such a folder itself, or a JSONL file; None for the hub."""
    repository: str = "MMMU/MMMU_Pro"
    """Name on the hub."""
    revision: str = "main"
    """Branch, tag or commit on the hub; pin the commit that a run recorded."""

    def load(self) -> Exam:
        """Read and check the data.

        Raises:
            UserError: no such folder, revision or file.
        """
        if self.path is None:
            patterns = [f"{self.setting}/{self.split}-*.parquet"]
            folder, revision = hub_folder(self.repository, self.revision, patterns)
        else:
            folder, revision = self.path.expanduser(), "local"
        readings = [
            read_row(
                row,
                id=id,
                benchmark=self.kind,
                subject=str(row.get("subject") or "") or subject_of(id),
                root=folder.parent if folder.suffix == ".jsonl" else None,
                drawn_in=self.setting == "vision",
            )
            for id, row in self._rows(folder)
        ]
        return seal(
            self.kind,
            self.split,
            [reading.question for reading in readings],
            [reading.gold for reading in readings],
            revision=revision,
            problems=[problem for reading in readings for problem in reading.problems],
        )

    def _rows(self, source: Path) -> list[tuple[str, Row]]:
        if source.suffix == ".jsonl":
            rows = json_rows(source)
        else:
            files = shards(source / self.setting, self.split) or shards(source, self.split)
            if not files:
                raise UserError(
                    f"{source}: no '{self.setting}/{self.split}-*.parquet' below it; check the path and the setting"
                )
            rows = list(parquet_rows(files))
        return [(str(row.get("id") or f"{source.stem}_{number}"), row) for number, row in enumerate(rows, 1)]
