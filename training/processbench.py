"""ProcessBench and VisualProcessBench: replies of many models with steps that people labelled.

ProcessBench (Zheng et al. 2024, arXiv:2412.06559): mathematics in text, the first wrong step or none. Fields as in the card of
Qwen/ProcessBench.
VisualProcessBench (Wang et al. 2025, arXiv:2503.10291): questions with images, every step right (1), wrong (-1) or neutral (0).
Outer fields as in the card of OpenGVLab/VisualProcessBench (test.jsonl beside what images.zip holds); those of `response`, a
mapping where the card says text, as several public evaluators of it read them.
"""

from pathlib import Path
from typing import Annotated, Literal, Self, TypeVar

from pydantic import BaseModel, Field, StrictInt, ValidationError, model_validator

from training.chains import LabelledChain
from ttc.benchmarks.files import Row, json_rows
from ttc.errors import UserError
from ttc.media import media_from_file
from ttc.records import Question

_Steps = Annotated[list[Annotated[str, Field(pattern=r"\S")]], Field(min_length=1)]
_LABELS = {1: True, -1: False, 0: None}


class _TextRow(BaseModel):
    """One row of ProcessBench; other keys are passed over."""

    id: str
    generator: str = ""
    problem: str
    steps: _Steps
    final_answer_correct: bool | None = None
    label: Annotated[StrictInt, Field(ge=-1)]
    """Index of the first wrong step, or -1."""

    @model_validator(mode="after")
    def _label_is_a_step(self) -> Self:
        if self.label >= len(self.steps):
            raise ValueError(f"label {self.label} with {len(self.steps)} steps")
        return self


class _Response(BaseModel):
    """The labelled reply of a row of VisualProcessBench."""

    steps: _Steps
    process_correctness: list[Literal[1, 0, -1]]

    @model_validator(mode="after")
    def _one_each(self) -> Self:
        if len(self.process_correctness) != len(self.steps):
            raise ValueError(f"{len(self.process_correctness)} labels for {len(self.steps)} steps")
        return self


class _SeenRow(BaseModel):
    """One row of VisualProcessBench; other keys are passed over."""

    image: list[str] | str = []
    question: str
    response: _Response
    policy_model: str = ""
    data_source: str = ""


def bench_chains(path: Path) -> list[LabelledChain]:
    """The chains of a file of either, which its first row tells.

    Raises:
        UserError: no such file, an empty one, or a row of another form; names it.
    """
    rows = json_rows(path.expanduser())
    if not rows:
        raise UserError(f"{path}: no rows; give a file of ProcessBench or VisualProcessBench")
    return visual_process_bench(path) if "response" in rows[0] else process_bench(path)


def process_bench(path: Path) -> list[LabelledChain]:
    """The chains of one of its files, such as `gsm8k.json`. Steps behind the first error are unlabelled.

    Steps come without what stood between them; they are joined by blank lines.

    Raises:
        UserError: no such file, or a row of another form; names it.
    """
    chains = []
    for number, raw in enumerate(json_rows(path.expanduser()), start=1):
        row = _read(_TextRow, raw, f"{path}, row {raw.get('id', number)}")
        question = Question(row.id, "processbench", "open", row.problem, fields={"subset": path.stem})
        labels: list[bool | None] = [True] * len(row.steps)
        if row.label >= 0:
            labels[row.label :] = [False, *[None] * (len(row.steps) - row.label - 1)]
        chains.append(_chain(question, row.steps, labels, f"processbench/{row.generator}", row.final_answer_correct))
    return chains


def visual_process_bench(path: Path) -> list[LabelledChain]:
    """The chains of its file of JSON lines; images lie in its folder or below. A neutral step is unlabelled.

    Raises:
        UserError: no such file, or a row of another form; names it.
    """
    path, chains = path.expanduser(), []
    for number, raw in enumerate(json_rows(path), start=1):
        row = _read(_SeenRow, raw, f"{path}, row {number}")
        names = [row.image] if isinstance(row.image, str) else row.image
        media = tuple(media_from_file(name, root=path.parent) for name in names)
        text, fields = row.question.replace("<image>", ""), {"subset": row.data_source}
        question = Question(str(number), "visualprocessbench", "open", text, media=media, fields=fields)
        labels = [_LABELS[mark] for mark in row.response.process_correctness]
        chains.append(_chain(question, row.response.steps, labels, f"visualprocessbench/{row.policy_model}", None))
    return chains


_RowKind = TypeVar("_RowKind", bound=BaseModel)


def _read(kind: type[_RowKind], raw: Row, where: str) -> _RowKind:
    try:
        return kind.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(map(str, first["loc"])) or "row"
        raise UserError(f"{where}: {place}: {first['msg']}; give the benchmark's released file") from error


def _chain(
    question: Question, steps: list[str], labels: list[bool | None], source: str, is_right: bool | None
) -> LabelledChain:
    texts = (*(f"{step.rstrip()}\n\n" for step in steps[:-1]), steps[-1])
    return LabelledChain(question, texts, tuple(labels), (None,) * len(texts), "natural", source, question.id, is_right)
