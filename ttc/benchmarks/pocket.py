"""The embedded exam: questions written by program, for the tiny model that ships with the project."""

from typing import Literal

from pydantic import BaseModel

from ttc.benchmarks.exams import seal
from ttc.errors import UserError
from ttc.pocket import exam
from ttc.records import Exam


class Pocket(BaseModel, frozen=True, extra="forbid"):
    """A split of the pocket exam. Its scores say nothing about MMMU."""

    kind: Literal["pocket"] = "pocket"
    split: Literal["validation", "test"] = "test"
    subjects: tuple[str, ...] | None = None
    """All where None."""

    def load(self) -> Exam:
        """Write the questions: the same ones every time. Raises UserError for a subject that does not exist."""
        for subject in self.subjects or ():
            if subject not in exam.SUBJECTS:
                raise UserError(f"pocket: no subject {subject!r}; choose from {', '.join(exam.SUBJECTS)}")
        problems = list(exam.problems(self.split, self.subjects or tuple(exam.SUBJECTS)))
        return seal("pocket", self.split, [exam.question(one) for one in problems], [exam.gold(one) for one in problems])
