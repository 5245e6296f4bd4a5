"""The questions that a file of outputs answers, as an exam: for replaying what other programs drew, without the data set."""

import hashlib
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from ttc.benchmarks.markers import bind
from ttc.records import Exam, Question


class ForeignOutputs(BaseModel, frozen=True, extra="forbid"):
    """Questions and golds out of outputs in any form that `ttc score` reads, for the replay backend.

    Outputs hold no images and often not the question's text. No two questions may share samples for that, so each has stand-ins
    for its images, and its id in a text that is missing or that another question has too.
    """

    kind: Literal["outputs"] = "outputs"
    path: Path
    """File or folder of outputs."""
    benchmark: Literal["mmmu", "mmmu_pro", "mmvu", "jsonl"] = "jsonl"
    """Whose questions these are; also chooses the prompt file."""
    form: str | None = None
    """Form of the outputs, where it is not told by their content."""
    split: Literal["stored"] = "stored"
    """Whatever the outputs are of."""

    def load(self) -> Exam:
        """Read the outputs. Raises UserError as `ttc.outputs.read` does."""
        from ttc.outputs import read

        outputs = read(self.path.expanduser(), self.benchmark, form=self.form)
        exam = outputs.exam(self.benchmark)
        return replace(exam, questions=distinct(exam.questions), problems=(*exam.problems, *outputs.problems))


def distinct(questions: tuple[Question, ...]) -> tuple[Question, ...]:
    """The questions, no two of them alike in what a sample's key covers."""
    shown = [_with_stand_ins(question) for question in questions]
    times = Counter(map(_content, shown))
    return tuple(one if one.text.strip() and times[_content(one)] == 1 else _named(one) for one in shown)


def _content(question: Question) -> tuple[object, ...]:
    return question.text, question.options, question.question_type, question.media


def _named(question: Question) -> Question:
    text = question.text if question.text.strip() else "The outputs do not hold the text of this question."
    return replace(question, text=f"{text} [{question.id}]")


def _with_stand_ins(question: Question) -> Question:
    """The question with media in place of the images that it refers to; only an engine that looks at them minds."""
    bound = bind((question.text, *question.options), {})
    text, *options = bound.texts
    media = [
        replace(
            one,
            sha256=hashlib.sha256(f"{question.id} {one.marker}".encode()).hexdigest(),
            problem=f"the outputs do not hold <image {one.marker}>",
        )
        for one in bound.media
    ]
    return replace(question, text=text, options=tuple(options), media=tuple(media))
