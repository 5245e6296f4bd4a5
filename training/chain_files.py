"""Labelled chains as JSON lines. A row names its question, whose text and images stay in the benchmark they came from."""

import json
from collections.abc import Iterable
from pathlib import Path

from pydantic import BaseModel, ValidationError, model_validator

from training.chains import LabelledChain, Origin
from ttc.errors import UserError
from ttc.records import Question


class _Row(BaseModel, frozen=True, extra="forbid"):
    """One line of the file."""

    question: str
    benchmark: str
    steps: tuple[str, ...]
    labels: tuple[bool | None, ...]
    kinds: tuple[str | None, ...] | None = None
    origin: Origin
    source: str
    group: str
    is_right: bool | None = None
    sample: str | None = None

    @model_validator(mode="after")
    def _one_each(self) -> "_Row":
        kinds = self.labels if self.kinds is None else self.kinds
        if not len(self.steps) == len(self.labels) == len(kinds):
            raise ValueError(
                f"{len(self.steps)} steps, {len(self.labels)} labels, {len(kinds)} kinds; give one of each per step"
            )
        return self


def write_chains(path: Path, chains: Iterable[LabelledChain]) -> int:
    """Write a file, whole or not at all; tell how many chains it has."""
    partial, count = path.with_name(f".{path.name}.partial"), 0
    path.parent.mkdir(parents=True, exist_ok=True)
    with partial.open("w", encoding="utf-8") as file:
        for chain in chains:
            row = _Row(
                question=chain.question.id,
                benchmark=chain.question.benchmark,
                steps=chain.steps,
                labels=chain.labels,
                kinds=chain.kinds if any(chain.kinds) else None,
                origin=chain.origin,
                source=chain.source,
                group=chain.group,
                is_right=chain.is_right,
                sample=chain.sample_id,
            )
            file.write(json.dumps(row.model_dump(), ensure_ascii=False) + "\n")
            count += 1
    partial.replace(path)
    return count


def read_chains(path: Path, questions: Iterable[Question]) -> list[LabelledChain]:
    """The chains of a file.

    Args:
        questions: as their benchmarks load them; one id may stand for one of each benchmark.

    Raises:
        UserError: no such file, a line of another form, or a question that is not among those given.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")  # a step may hold other line breaks
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(
            f"chains {path}: {getattr(error, 'strerror', None) or error}; give a file of labelled chains"
        ) from error
    known = {(question.benchmark, question.id): question for question in questions}
    found = []
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = _Row.model_validate_json(line)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise UserError(f"chains {path}, line {number}: {place or 'row'}: {first['msg']}") from error
        question = known.get((row.benchmark, row.question))
        if question is None:
            raise UserError(
                f"chains {path}, line {number}: there is no question {row.question!r} of {row.benchmark} at hand; "
                "load the benchmark and split that the chains were made from"
            )
        kinds = row.kinds if row.kinds is not None else (None,) * len(row.labels)
        found.append(
            LabelledChain(question, row.steps, row.labels, kinds, row.origin, row.source, row.group, row.is_right, row.sample)
        )
    return found
