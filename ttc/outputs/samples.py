"""Judged samples, many a row: `{id, samples: [{answer, correct or score, text?, model?}]}`; the rest as in plain rows."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, Field

from ttc.benchmarks import plain
from ttc.outputs.files import checked, json_lines, last_of_each
from ttc.outputs.replies import Known, Outputs, Reply, Stored
from ttc.outputs.subjects import grouped
from ttc.records import Gold, Sample


class _Sample(BaseModel):
    answer: str | int | float | None = None
    text: str | None = None
    correct: bool | None = None
    score: float | None = Field(default=None, ge=0, le=1)
    model: str = ""

    @property
    def credit(self) -> float | None:
        return float(self.correct) if self.score is None and self.correct is not None else self.score

    @property
    def stored(self) -> Stored | None:
        """What its evaluator said, if it said anything."""
        if self.credit is None:
            return None
        return Stored(None if self.answer is None else str(self.answer), self.credit == 1, self.credit)


class _Row(BaseModel):
    samples: list[_Sample] = Field(min_length=1)


def read(path: Path, benchmark: str, known: Known) -> Outputs:
    """A file of such rows. Samples pooled from several models are told as a problem: curves are about samples of one.

    Raises:
        UserError: a row without samples, or with an impossible value; names file and line.
    """
    rows, torn = json_lines(path)
    rows, repeated = last_of_each(rows, lambda row: row.get("id"))
    replies: list[Reply] = []
    models: set[str] = set()
    for where, row in rows:
        samples = checked(_Row, row, where=where).samples
        models |= {sample.model for sample in samples}
        replies += _replies(row, samples, benchmark, known, where)
    pooled = [f"{path}: samples of {len(models)} models in one pool; curves hold for samples of one"] if len(models) > 1 else []
    return Outputs("samples", tuple(replies), (*torn, *repeated, *pooled))


def _replies(row: Mapping[str, Any], samples: list[_Sample], benchmark: str, known: Known, where: str) -> Iterator[Reply]:
    """A row without a gold has the answers with full credit in its place: all that is known of it."""
    if (id := str(row.get("id"))) in known:
        question, gold = known[id]
    else:
        question = grouped(plain.question(row, benchmark=benchmark, where=where))
        gold = plain.gold(row, question, where=where)
    if not gold.answers and not question.options:
        right = dict.fromkeys(str(sample.answer) for sample in samples if sample.credit == 1 and sample.answer is not None)
        gold = Gold(question.id, tuple(right))
    for index, one in enumerate(samples):
        text = one.text if one.text is not None else "" if one.answer is None else str(one.answer)
        yield Reply(
            question, gold, Sample(key="", index=index, question_id=question.id, text=text), stored=one.stored, model=one.model
        )
