"""The replies of a finished run that got no full credit, and what is known of why. Nothing is drawn or graded anew.

run folder -> samples.parquet, bank -> attempts -> wrong replies -> kinds (errors.jsonl)
"""

import json
import os
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pydantic import TypeAdapter

from experiments import folder
from experiments.config import RunConfig
from experiments.plan import plan
from training.errors import ErrorKind, WrongReply
from ttc.bank import Bank
from ttc.errors import UserError
from ttc.records import Answer, Exam, Sample
from ttc.scoring import verifier_id

ERRORS = "errors.jsonl"
"""In a run's folder: the kind of each wrong reply, and who says so."""


@dataclass(frozen=True, slots=True)
class Attempt:
    """One sample as the run graded it."""

    sample: Sample
    answer: Answer
    answer_class: int | None
    """Equal for equal answers to one question; None where there is none."""
    credit: float
    is_graded: bool

    @property
    def id(self) -> str:
        """`key/index`, as everywhere."""
        return f"{self.sample.key}/{self.sample.index}"


@dataclass(frozen=True, slots=True)
class OpenRun:
    """A finished run with the samples of one of its draws."""

    path: Path
    config: RunConfig
    exam: Exam
    draw: str
    """Label of the draw: `cot`."""
    attempts: Mapping[str, Sequence[Attempt]]
    """By question id, in index order."""


def open_run(run: Path, draw: str | None = None) -> OpenRun:
    """Read a run's samples back.

    Args:
        draw: label of the samples to read; those of which there are most where None.

    Raises:
        UserError: no finished run, no such draw, data that changed, or a bank that lacks its samples.
    """
    facts, config = folder.read_manifest(run), folder.read_config(run)
    rows = pq.read_table(run / "samples.parquet").to_pylist()
    counts = Counter(row["draw"] for row in rows)
    if not counts or (draw is not None and draw not in counts):
        raise UserError(f"run {run}: it has no draw {draw!r} among its samples; there are {', '.join(counts) or 'none'}")
    # letters of shuffled options are not the question's; of equally many, one that was sampled says more than a greedy one
    chosen = draw or max(counts, key=lambda label: ("shuffled" not in label, counts[label], "greedy" not in label))
    exam = plan(config).exam
    if exam.fingerprint != facts["benchmark"]["fingerprint"]:
        raise UserError(f"run {run}: the data of {exam.name} have changed since; run `ttc run` again")
    rows = sorted((row for row in rows if row["draw"] == chosen), key=lambda row: row["index"])
    stored = Bank(config.bank).samples({row["key"] for row in rows})
    attempts: dict[str, list[Attempt]] = {question.id: [] for question in exam.questions}
    for row in rows:
        if (sample := stored.get(row["key"], {}).get(row["index"])) is None:
            raise UserError(f"run {run}: the bank {config.bank} no longer holds all its samples; run `ttc run` again")
        attempts[row["question_id"]].append(_attempt(row, sample))
    return OpenRun(run, config, exam, chosen, attempts)


def _attempt(row: Mapping[str, Any], sample: Sample) -> Attempt:
    answer = Answer(tuple(row["answer"]), row["answer_status"], row["answer_rule"])
    return Attempt(sample, answer, row["class"], row["credit"], row["verdict_status"] == "graded")


def wrong_replies(opened: OpenRun, *, verifier: str | None = None, cut: float = 0.5) -> list[WrongReply]:
    """Every reply that was judged and got less than full credit, questions in the exam's order.

    Args:
        verifier: name in the run's config of one whose stored step scores tell the first bad step.
        cut: from which score on a step counts as right.

    Raises:
        UserError: no such verifier, or it scored nothing of this run.
    """
    bad = {} if verifier is None else _bad_steps(opened, verifier, cut)
    by_id = {question.id: question for question in opened.exam.questions}
    return [
        WrongReply(
            by_id[question_id],
            opened.exam.golds[question_id],
            one.sample.text,
            one.answer,
            one.id,
            one.sample.status,
            one.sample.finish,
            bad.get(one.id),
        )
        for question_id, attempts in opened.attempts.items()
        for one in attempts
        if one.is_graded and one.credit < 1
    ]


def _bad_steps(opened: OpenRun, verifier: str, cut: float) -> dict[str, int]:
    known = opened.config.verifiers
    if verifier not in known:
        raise UserError(f"run {opened.path}: it binds no verifier {verifier!r}; choose from {', '.join(known) or 'none'}")
    if known[verifier].uses_gold:
        raise UserError(f"verifier {verifier}: it knows the truth, and would give the kinds away; name another")
    keys = {one.sample.key for attempts in opened.attempts.values() for one in attempts}
    found = Bank(opened.config.bank).scores(keys, verifier_id(known[verifier]))
    if not found:
        raise UserError(f"run {opened.path}: the bank has no scores by {verifier}; use it in a strategy and run it again")
    firsts = {
        f"{key}/{index}": next((place for place, score in enumerate(scores.steps) if score < cut), None)
        for key, by_index in found.items()
        for index, scores in by_index.items()
    }
    return {id: place for id, place in firsts.items() if place is not None}


@dataclass(frozen=True, slots=True)
class Labelled:
    """The kind of one wrong reply, and who says so."""

    id: str
    """`key/index` of the sample."""
    question: str
    kind: ErrorKind
    source: str
    """`rule`, `truth`, `annotation`, `judge` or `classifier`."""


def write_kinds(run: Path, kinds: Sequence[Labelled]) -> None:
    """Put them into the run's folder, whole or not at all."""
    path = run / ERRORS
    part = path.with_name(f".{path.name}.{os.getpid()}")
    part.write_text("".join(json.dumps(asdict(one)) + "\n" for one in kinds), encoding="utf-8")
    part.replace(path)


def read_kinds(run: Path) -> dict[str, Labelled]:
    """By the sample's id.

    Raises:
        UserError: there are none, or the file is damaged.
    """
    path = run / ERRORS
    if not path.exists():
        raise UserError(f"run {run}: nobody has said why its replies are wrong; `ttc errors {run}` does")
    try:
        rows = [TypeAdapter(Labelled).validate_json(line) for line in path.read_text(encoding="utf-8").splitlines()]
    except ValueError as error:
        raise UserError(f"{path}: damaged ({str(error).splitlines()[0]}); make it anew with `ttc errors {run}`") from error
    return {row.id: row for row in rows}
