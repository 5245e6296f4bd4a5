"""Kinds for all wrong replies of runs: by rule where form decides, by whoever teaches, and by a classifier for the rest.

runs -> wrong replies -> rules | labels (truth, annotations, judge, planted errors) -> classifier -> errors.jsonl, and how good
each of them is
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import numpy as np

from experiments.annotate import annotators
from experiments.mistakes import Labelled, OpenRun, open_run, write_kinds, wrong_replies
from training.agreement import kappa
from training.errors import KINDS, ErrorKind, WrongReply, pocket_kind, ruled
from training.errors_classifier import FOLDS, Quality, crossfitted, fit, quality, with_labels
from training.errors_features import table
from training.errors_judge import ErrorJudge
from ttc.bank import Bank
from ttc.errors import UserError
from ttc.records import Exam
from ttc.settings import checked, read_yaml

if TYPE_CHECKING:
    from scipy.sparse import csr_array

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked for."""

    labels: str = "annotations"
    """`truth`, `annotations`, `planted`, or the path of a judge's YAML file."""
    draw: str | None = None
    encoder: Path | None = None
    verifier: str | None = None
    most: int = 4000
    """Labels that the classifier learns from, and replies that a judge is asked about."""
    curve: tuple[int, ...] = ()
    """Numbers of labels to judge it by."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of one run's wrong replies."""

    run: Path
    kinds: tuple[Labelled, ...]
    qualities: dict[str, Quality] = field(default_factory=dict)
    """By title; of the run that taught."""
    notes: tuple[str, ...] = ()


def explain(runs: Sequence[Path], options: Options) -> list[Found]:
    """Say why each wrong reply of the runs is wrong, and write it into their folders. The first run is the one with labels.

    Raises:
        UserError: as `open_run`; no labels, or labels that teach nothing.
    """
    opened = [open_run(run, options.draw) for run in runs]
    replies = [wrong_replies(one, verifier=options.verifier) for one in opened]
    source, known = _labels(opened[0], replies[0], options)
    qualities, notes = {}, []
    taught = _planted(opened[0].exam, options) if source == "planted" else _taught(replies[0], known, options)
    kinds, groups = [kind for _, kind in taught], [reply.question.id for reply, _ in taught]
    teaches = len(set(kinds)) > 1
    if not teaches and (any(_open(replies[0], known)) or len(runs) > 1):
        raise UserError(
            f"run {runs[0]}: {len(kinds)} labels of {len(set(kinds))} kinds teach no classifier; label more, or name another "
            "judge in --labels"
        )
    rows = table([reply for reply, _ in taught], encoder=options.encoder) if teaches else None
    if rows is not None:
        qualities, notes = _judged(rows, kinds, groups, options)
    if source == "judge":
        qualities |= _against(opened[0], replies[0], known, "judge")
        asked = min(options.most, sum(ruled(reply) is None for reply in replies[0]))
        notes.append(f"judge: one kind for {len(known):,} of the {asked:,} replies that it was asked about")
    known_by_run: list[Mapping[str, ErrorKind]] = [known, *({} for _ in runs[1:])]
    left = [_open(wrong, held) for wrong, held in zip(replies, known_by_run, strict=True)]
    model = fit(rows, kinds, groups, seed=options.seed) if rows is not None and any(left) else None
    found: list[Found] = []
    for run, wrong, held, unknown in zip(runs, replies, known_by_run, left, strict=True):
        said = model.predict(table(unknown, encoder=options.encoder)) if model and unknown else ()
        guessed: dict[str, ErrorKind] = {
            reply.id: next(kind for kind in KINDS if kind == one) for reply, one in zip(unknown, said, strict=True)
        }
        if source == "planted" and run is runs[0]:
            qualities |= _against(opened[0], wrong, guessed, f"classifier of {len(kinds):,} planted errors")
        labelled = _together(wrong, held, source, guessed)
        write_kinds(run, labelled)
        found.append(Found(run, labelled, qualities if run is runs[0] else {}, tuple(notes) if run is runs[0] else ()))
    return found


def _labels(opened: OpenRun, replies: Sequence[WrongReply], options: Options) -> tuple[str, Mapping[str, ErrorKind]]:
    """Who says so, and the kind of each reply that somebody speaks of."""
    unruled = [reply for reply in replies if ruled(reply) is None]
    if options.labels == "truth":
        if opened.exam.name != "pocket":
            raise UserError(f"run {opened.path}: the truth about {opened.exam.name} is not known; use --labels annotations")
        return "truth", {reply.id: pocket_kind(reply) for reply in unruled}
    if options.labels == "annotations":
        found = _by_people(opened.path)
        if not found:
            raise UserError(f"run {opened.path}: nobody has labelled it; `ttc annotate {opened.path} --name YOU` does")
        return "annotation", found
    if options.labels == "planted":
        return "planted", {}
    judge, asked = read_judge(Path(options.labels)), _some(unruled, options)
    said = judge.labels(asked, Bank(opened.config.bank))
    return "judge", {reply.id: kind for reply, kind in zip(asked, said, strict=True) if kind is not None}


def read_judge(path: Path) -> ErrorJudge:
    """A judge from its YAML file. Raises UserError where it cannot be read, or says something else."""
    if not path.is_file():
        raise UserError(f"--labels {path}: use truth, annotations, planted, or the YAML file of a judge; there is no such file")
    return checked(ErrorJudge, read_yaml(path), f"--labels {path}")


def _taught(
    replies: Sequence[WrongReply], known: Mapping[str, ErrorKind], options: Options
) -> Sequence[tuple[WrongReply, ErrorKind]]:
    """Labelled replies, at most so many, of all questions alike."""
    pairs: list[tuple[WrongReply, ErrorKind]] = [
        (reply, known[reply.id]) for reply in replies if reply.id in known and ruled(reply) is None
    ]
    return _some(pairs, options)


def _some(rows: Sequence[T], options: Options) -> Sequence[T]:
    """As many as are learned from at most, by lot, in their order."""
    if len(rows) <= options.most:
        return rows
    return [rows[row] for row in sorted(np.random.default_rng(options.seed).choice(len(rows), options.most, replace=False))]


def _planted(exam: Exam, options: Options) -> Sequence[tuple[WrongReply, ErrorKind]]:
    """The exam's explanations with an error put in: labels that nobody had to give."""
    from training.errors_synthetic import planted_replies, synthetic

    if exam.name == "pocket":
        replies, kinds = planted_replies(exam, options.most, seed=options.seed)
    else:
        replies, kinds = synthetic(exam, seed=options.seed)
    return _some([pair for pair in zip(replies, kinds, strict=True) if ruled(pair[0]) is None], options)


def _open(replies: Sequence[WrongReply], known: Mapping[str, ErrorKind]) -> list[WrongReply]:
    """What neither form nor anybody decides."""
    return [reply for reply in replies if ruled(reply) is None and reply.id not in known]


def _judged(
    rows: "csr_array", kinds: Sequence[str], groups: Sequence[str], options: Options
) -> tuple[dict[str, Quality], list[str]]:
    """The classifier on questions that it has not seen."""
    qualities = {}
    try:
        cross = crossfitted(rows, kinds, groups, seed=options.seed)
    except UserError as error:
        return {}, [f"classifier not judged: {error}"]
    share = round(len(kinds) * (1 - 1 / FOLDS))
    qualities[f"classifier, {FOLDS} folds of questions, {share:,} labels"] = quality(kinds, cross, groups, labels=share)
    spread = kappa(kinds, cross, KINDS, clusters=groups)
    notes = [f"classifier and labels: Cohen's kappa {spread.mean:.3f} ({spread.low:.3f} to {spread.high:.3f})"]
    for labels in options.curve:
        one = with_labels(rows, kinds, groups, labels, seed=options.seed)
        qualities[f"classifier, {labels:,} labels (5 draws, standard deviation {one.spread:.3f})"] = one
    return qualities, notes


def _against(opened: OpenRun, replies: Sequence[WrongReply], said: Mapping[str, ErrorKind], name: str) -> dict[str, Quality]:
    """What was said against whoever knows better: the pocket exam itself, or people; nothing where neither speaks."""
    if opened.exam.name == "pocket":
        true: Mapping[str, str] = {reply.id: pocket_kind(reply) for reply in replies if reply.id in said}
    else:
        true = _by_people(opened.path)
    kept = [reply for reply in replies if reply.id in said and reply.id in true]
    if not kept:
        return {}
    right, found = [true[reply.id] for reply in kept], [said[reply.id] for reply in kept]
    who = "the truth" if opened.exam.name == "pocket" else "people"
    return {f"{name} against {who}": quality(right, found, [reply.question.id for reply in kept], labels=0)}


def _by_people(run: Path) -> dict[str, ErrorKind]:
    """Of a reply with several labels, that of the first annotator by name."""
    return {id: one.kind for labels in reversed(annotators(run).values()) for id, one in labels.items()}


def _together(
    replies: Sequence[WrongReply], known: Mapping[str, ErrorKind], source: str, guessed: Mapping[str, ErrorKind]
) -> tuple[Labelled, ...]:
    """One label for every reply: the rule's before anybody's, anybody's before the classifier's."""
    found = []
    for reply in replies:
        if (kind := ruled(reply)) is not None:
            found.append(Labelled(reply.id, reply.question.id, kind, "rule"))
        elif reply.id in known:
            found.append(Labelled(reply.id, reply.question.id, known[reply.id], source))
        else:
            found.append(Labelled(reply.id, reply.question.id, guessed[reply.id], "classifier"))
    return tuple(found)
