"""People say why replies are wrong: who labels what, where it is kept, and how far they agree.

run -> wrong replies, one a question, in one order for all -> RUN/annotations/NAME.jsonl -> kappa of every two, alpha of all

An annotator's file is read by that annotator's own sessions only, until agreement is asked for: nobody sees another's labels.
"""

import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from training.agreement import alpha, confusion, kappa
from training.errors import KINDS, ErrorKind, WrongReply, ruled
from ttc.errors import UserError
from ttc.statistics import Interval

FOLDER = "annotations"
_NAME = re.compile(r"[\w.-]{1,40}")


@dataclass(frozen=True, slots=True)
class Annotation:
    """One label by one person."""

    id: str
    """`key/index` of the sample."""
    question: str
    kind: ErrorKind
    """Of the first error, the one that the others follow from."""
    also: tuple[ErrorKind, ...] = ()
    """What contributed."""


def queue(replies: Sequence[WrongReply], *, size: int, seed: int = 0) -> list[WrongReply]:
    """What is to be labelled: one reply of each question, in an order that depends on the seed alone, at most `size`.

    What form alone decides is not asked. Since the order is a hash, a run that grew keeps the order of what it had.
    """

    def rank(text: str) -> bytes:
        return hashlib.sha256(f"{seed}/{text}".encode()).digest()

    chosen: dict[str, WrongReply] = {}
    for reply in sorted((one for one in replies if ruled(one) is None), key=lambda one: rank(one.id)):
        chosen.setdefault(reply.question.id, reply)
    return sorted(chosen.values(), key=lambda one: rank(one.question.id))[:size]


class Labels:
    """One annotator's file: a line for every label, on disk before the next is asked for. The last one of a reply holds."""

    def __init__(self, run: Path, annotator: str) -> None:
        """Raises UserError for a name that is no file name, or a damaged file."""
        if not _NAME.fullmatch(annotator) or annotator.startswith("."):
            raise UserError(f"annotator {annotator!r}: a name of letters, digits, dots and dashes, please")
        self.path = run / FOLDER / f"{annotator}.jsonl"
        self.by_id = read(self.path) if self.path.exists() else {}
        if self.path.exists() and not self.path.read_bytes().endswith(b"\n"):
            # the next label must not be written behind half a line, nor behind a whole one that an editor left unended
            whole = self.path.with_suffix(".part")
            whole.write_text("".join(map(_line, self.by_id.values())), encoding="utf-8")
            whole.replace(self.path)

    def add(self, label: Annotation) -> None:
        """Keep it. Replaces an earlier one of the same reply."""
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(_line(label))
            file.flush()
            os.fsync(file.fileno())
        self.by_id[label.id] = label


def _line(label: Annotation) -> str:
    return json.dumps(asdict(label)) + "\n"


def read(path: Path) -> dict[str, Annotation]:
    """Labels by the reply's id. A line that a kill left half is passed over; any other damage is an error."""
    text = path.read_text(encoding="utf-8")
    lines = text.splitlines()
    found: dict[str, Annotation] = {}
    for number, line in enumerate(lines, 1):
        try:
            label = TypeAdapter(Annotation).validate_json(line)
        except ValidationError as error:
            if number == len(lines) and not text.endswith("\n"):
                break
            raise UserError(f"{path}, line {number}: no label ({error.errors()[0]['msg']}); mend or remove the line") from error
        found[label.id] = label
    return found


def annotators(run: Path) -> dict[str, dict[str, Annotation]]:
    """All files of a run, by annotator."""
    return {path.stem: read(path) for path in sorted((run / FOLDER).glob("*.jsonl"))}


@dataclass(frozen=True, slots=True)
class Pair:
    """Two who labelled the same replies."""

    first: str
    second: str
    both: int
    """Replies that both labelled."""
    same: int
    kappa: Interval
    kinds: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """By the first's kind, then by the second's."""
    by_kind: Mapping[str, Interval]
    """Kappa of each kind against all others."""


@dataclass(frozen=True, slots=True)
class Agreement:
    """Of everybody who labelled a run."""

    labels: Mapping[str, int]
    """How many each gave."""
    pairs: tuple[Pair, ...]
    alpha: Interval | None
    """Krippendorff's, over everybody; None where no reply has two labels."""


def agreement(raters: Mapping[str, Mapping[str, str]], *, draws: int = 2000, seed: int = 0) -> Agreement:
    """How far people, judges and classifiers agree on the kind of the first error.

    Args:
        raters: by name, the kind of each reply's first error by the reply's id.
    """
    pairs = [_pair(a, b, raters[a], raters[b], draws, seed) for a, b in combinations(raters, 2)]
    ids = sorted({id for labels in raters.values() for id in labels})
    ratings = [[labels.get(id) for id in ids] for labels in raters.values()]
    shared = any(sum(row[at] is not None for row in ratings) > 1 for at in range(len(ids)))
    overall = alpha(ratings, KINDS, draws=draws, seed=seed) if shared else None
    return Agreement({name: len(labels) for name, labels in raters.items()}, tuple(filter(None, pairs)), overall)


def _pair(first: str, second: str, one: Mapping[str, str], two: Mapping[str, str], draws: int, seed: int) -> Pair | None:
    ids = sorted(one.keys() & two.keys())
    if not ids:
        return None
    left, right = [one[id] for id in ids], [two[id] for id in ids]
    used = tuple(kind for kind in KINDS if kind in {*left, *right})
    by_kind = {}
    for kind in used:
        is_it = [[str(label == kind) for label in row] for row in (left, right)]
        by_kind[kind] = kappa(is_it[0], is_it[1], ("True", "False"), draws=draws, seed=seed)
    same = sum(a == b for a, b in zip(left, right, strict=True))
    overall = kappa(left, right, used, draws=draws, seed=seed)
    return Pair(first, second, len(ids), same, overall, used, confusion(left, right, used), by_kind)
