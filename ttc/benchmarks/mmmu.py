"""MMMU: 11.5 thousand college questions with images in 30 subjects (Yue et al. 2023, arXiv:2311.16502)."""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from ttc.benchmarks.exams import seal
from ttc.benchmarks.files import hub_folder, parquet_rows, shards
from ttc.benchmarks.rows import Reading, read_row, subject_of
from ttc.benchmarks.tables import MMMU_ROWS, MMMU_SUBJECTS
from ttc.errors import UserError
from ttc.records import Exam


class MMMU(BaseModel, frozen=True, extra="forbid"):
    """MMMU from the hub, or from a folder of parquet files in the hub's schema."""

    kind: Literal["mmmu"] = "mmmu"
    split: Literal["dev", "validation", "test"] = "validation"
    """`dev` holds the few-shot examples; prompts are chosen on `validation`; `test` is sealed."""
    subjects: tuple[str, ...] | None = None
    """Subjects in the hub's spelling, such as `Art_Theory`; None for all 30, or all that a local folder has."""
    path: Path | None = None
    """Folder with `<Subject>/<split>-00000-of-00001.parquet`; None for the hub."""
    repository: str = "MMMU/MMMU"
    """Name on the hub."""
    revision: str = "main"
    """Branch, tag or commit on the hub. Golds have changed over time: pin the commit that a run recorded."""

    def load(self) -> Exam:
        """Read and check the data.

        Raises:
            UserError: no such folder, subject, revision or file.
        """
        if self.path is None:
            known = MMMU_SUBJECTS if self.subjects is None else self.subjects
            self._check(known, MMMU_SUBJECTS, self.repository)
            patterns = [f"{subject}/{self.split}-*.parquet" for subject in known]
            folder, revision = hub_folder(self.repository, self.revision, patterns)
        else:
            folder, revision = self.path.expanduser(), "local"
        present = sorted(file.parent.name for file in folder.glob(f"*/{self.split}-*.parquet"))
        if not present:
            raise UserError(f"{folder}: no <Subject>/{self.split}-*.parquet below it; check the path and the split")
        subjects = tuple(dict.fromkeys(present)) if self.subjects is None else self.subjects
        self._check(subjects, present, str(folder))
        readings = [reading for subject in subjects for reading in self._read(folder, subject)]
        problems = [problem for reading in readings for problem in reading.problems]
        return seal(
            self.kind,
            self.split,
            [reading.question for reading in readings],
            [reading.gold for reading in readings],
            revision=revision,
            problems=[*self._incomplete(subjects, readings), *problems],
        )

    def _read(self, folder: Path, subject: str) -> list[Reading]:
        rows = enumerate(parquet_rows(shards(folder / subject, self.split)), 1)
        ids = ((str(row.get("id") or f"{self.split}_{subject}_{number}"), row) for number, row in rows)
        return [self._checked(read_row(row, id=id, benchmark=self.kind, subject=subject), subject) for id, row in ids]

    @staticmethod
    def _checked(reading: Reading, subject: str) -> Reading:
        """With a problem line where the id names another subject than the folder, which counts."""
        id = reading.question.id
        if subject_of(id) in ("", subject):
            return reading
        return Reading(reading.question, reading.gold, (*reading.problems, f"{id}: lies in the folder of {subject}"))

    def _incomplete(self, subjects: tuple[str, ...], readings: list[Reading]) -> list[str]:
        """A line where a copy of the real MMMU lacks subjects or rows: its score is none to compare with published ones."""
        if not set(subjects) <= set(MMMU_SUBJECTS):
            return []
        lines = []
        if self.subjects is None and len(subjects) < len(MMMU_SUBJECTS):
            lines.append(f"only {len(subjects)} of {len(MMMU_SUBJECTS)} subjects are there")
        published = MMMU_ROWS.get(self.split, 0) * len(subjects)
        if published and len(readings) != published:
            lines.append(f"{len(readings)} questions where {published} were published for these subjects")
        return lines

    @staticmethod
    def _check(subjects: tuple[str, ...], known: tuple[str, ...] | list[str], where: str) -> None:
        unknown = [subject for subject in subjects if subject not in known]
        if unknown or not subjects:
            raise UserError(f"{where}: no subject {unknown[0] if unknown else '(empty list)'!r}; there are {', '.join(known)}")
