"""The embedded exam: questions written by program, for the tiny model that ships with the project."""

from functools import lru_cache
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from ttc.benchmarks.exams import seal
from ttc.errors import UserError
from ttc.pocket import exam
from ttc.records import Exam


class Pocket(BaseModel, frozen=True, extra="forbid"):
    """A split of the pocket exam. Its scores say nothing about MMMU."""

    kind: Literal["pocket"] = "pocket"
    split: Literal["train", "validation", "test"] = "test"
    subjects: tuple[str, ...] | None = None
    """All where None."""
    size: int | None = Field(default=None, gt=0)
    """Questions of `train`, over all subjects that exist; the other splits have sizes of their own."""

    @model_validator(mode="after")
    def _has_a_size(self) -> "Pocket":
        if (self.split == "train") != (self.size is not None):
            raise ValueError("pocket: `size` is needed for split train, which has no end, and belongs to no other")
        return self

    def load(self) -> Exam:
        """Write the questions: the same ones every time. Raises UserError for a subject that does not exist."""
        for subject in self.subjects or ():
            if subject not in exam.SUBJECTS:
                raise UserError(f"pocket: no subject {subject!r}; choose from {', '.join(exam.SUBJECTS)}")
        return _written(self.split, self.subjects or tuple(exam.SUBJECTS), self.size)


@lru_cache(maxsize=4)
def _written(split: str, subjects: tuple[str, ...], size: int | None) -> Exam:
    """Kept, since drawing pictures and films takes seconds, and every point of a sweep asks for them."""
    problems = list(exam.problems(split, subjects, size=size))
    return seal("pocket", split, [exam.question(one) for one in problems], [exam.gold(one) for one in problems])
