"""What was chosen on a dev split, in a file that stays: calibration, thresholds, aggregation, and the gain seen there.

    dev run -> Frozen -> file -> checked against the run it is used on -> scores

Thresholds and temperatures tuned on test questions make any verifier look good, so a file that was edited, belongs to another
verifier, was made from other dev data, or knows a question of the test is refused.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from ttc.errors import UserError
from ttc.keys import key_of
from ttc.records import Question, StepScores
from ttc.sealed import Sealed, read_sealed
from verifiers.aggregate import Aggregation, aggregate
from verifiers.calibrate import Calibrator
from verifiers.gains import METHODS, Method

CUT = 0.5
"""From which on a step counts as right where nothing is frozen."""


class Dev(BaseModel, frozen=True, extra="forbid"):
    """The dev split that everything was chosen on."""

    benchmark: str
    split: str
    fingerprint: str
    """Of the exam, questions and golds."""
    questions: tuple[str, ...]
    """Content hashes, sorted."""
    replies: int
    hash: str
    """Of the questions, their replies, the scores and the labels."""

    def refuse(self, questions: Iterable[Question], where: str) -> None:
        """Raise UserError where any of these questions is in it.

        Args:
            where: the file that was chosen on it, for the message.
        """
        known = set(self.questions)
        if shared := [question.id for question in questions if question_hash(question) in known]:
            raise UserError(
                f"{where}: {len(shared)} of the questions were in its dev split (the first: {shared[0]}); "
                f"what was chosen on them cannot be judged on them, use another split"
            )


class DevGain(BaseModel, frozen=True, extra="forbid"):
    """Gain over the vote on dev, in accuracy."""

    method: Method
    k: int
    mean: float
    low: float
    high: float


class Frozen(Sealed, frozen=True, extra="forbid"):
    """One verifier's choices."""

    version: Literal[1] = 1
    verifier: str
    """Kind and content hash: another verifier has another file."""
    aggregation: Aggregation | None = None
    """Of step scores; None for a verifier without steps."""
    aggregations: Mapping[Aggregation, float] = {}
    """Accuracy of best-of-k on dev, mean over k, under each aggregation."""
    steps: Calibrator | None = None
    """Of step scores, before they are aggregated; None where dev had no step labels."""
    response: Calibrator | None = None
    """Of the aggregate."""
    step_threshold: float | None = None
    """On calibrated step scores: from it on a step counts as right."""
    response_threshold: float | None = None
    """On calibrated response scores."""
    gains: tuple[DevGain, ...] = ()
    dev: Dev

    def response_score(self, scores: StepScores) -> float | None:
        """The whole reply's calibrated score from what is stored; None where scoring failed."""
        if scores.score is None:
            return None
        raw = scores.score if self.aggregation is None else aggregate(self.step_scores(scores.steps), self.aggregation)
        if raw is None or self.response is None:
            return raw
        return float(self.response.apply([raw])[0])

    def step_scores(self, steps: Sequence[float]) -> tuple[float, ...]:
        """Calibrated probabilities of the steps."""
        return tuple(self.steps.apply(steps).tolist()) if self.steps and steps else tuple(steps)

    def gain(self, method: str) -> DevGain | None:
        """The gain at the largest budget; of a method that was not measured, the better one of those that were."""
        measured = [method] if method in METHODS else list(METHODS)
        largest = max((one.k for one in self.gains), default=0)
        return max(
            (one for one in self.gains if one.k == largest and one.method in measured), key=lambda g: g.mean, default=None
        )

    def is_useful(self, method: str) -> bool:
        """Whether dev showed any gain over the vote."""
        found = self.gain(method)
        return found is not None and found.mean > 0

    def check(self, verifier: str, questions: Iterable[Question], where: str) -> None:
        """Raise UserError unless it may be used for this verifier on these questions.

        Args:
            verifier: `ttc.scoring.verifier_id` of the verifier used.
            where: the file, for the message.
        """
        if verifier != self.verifier:
            raise UserError(
                f"frozen file {where}: made for {self.verifier}, and this verifier is {verifier}; freeze it again on dev"
            )
        self.dev.refuse(questions, f"frozen file {where}")


def step_cut(chosen: Frozen | None) -> float:
    """From which on a step counts as right: as frozen, else `CUT`."""
    return CUT if chosen is None or chosen.step_threshold is None else chosen.step_threshold


def read(path: Path) -> Frozen:
    """Read a file and make sure that it is as it was frozen.

    Raises:
        UserError: no such file, of another form, or changed since.
    """
    return read_sealed(path, Frozen, what="frozen file", writer="ttc verify --freeze", made="it was frozen")


def question_hash(question: Question) -> str:
    """Hash of what is asked, media by their content: the same question under another id has the same."""
    media = [[one.kind, one.sha256] for one in question.media]
    return _hash([question.question_type, question.text, list(question.options), media])


def dev_hash(rows: Iterable[object]) -> str:
    """Hash of all that was learned from: plain JSON values, whatever their order."""
    return hashlib.sha256("\n".join(sorted(_hash(row) for row in rows)).encode()).hexdigest()


def _hash(value: object) -> str:
    return key_of(json.dumps(value, sort_keys=True, separators=(",", ":")))
