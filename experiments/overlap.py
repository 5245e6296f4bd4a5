"""Do several models solve the same questions? From judged samples of all of them.

M models, Q questions. Right is full credit. Everything is exact for single samples: a model's own overlap, the yardstick of the
others, is that of two different samples of it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ttc.errors import UserError
from ttc.outputs import benchmark_of, read
from ttc.outputs.replies import Reply


@dataclass(frozen=True, slots=True)
class Member:
    """One model, on the questions it answered."""

    model: str
    questions: int
    samples: int
    accuracy: float
    """Mean over questions of the share of its samples that are right."""
    reached: float
    """Share of questions with a right sample."""
    alone: float
    """Share of questions with a right sample of this model, and of no other."""


@dataclass(frozen=True, slots=True)
class Overlap:
    """Models by falling accuracy."""

    members: tuple[Member, ...]
    shared: tuple[tuple[float | None, ...], ...]
    """Row and column as the members: of the questions that one sample of either solves, the share that both solve. None where
    nothing can be said: no question in common, none solved, or one sample each for a model with itself."""
    reached: float
    """Share of questions that any sample of any model solves."""


def overlap(path: Path, *, form: str | None = None) -> Overlap:
    """The overlap of the models in a file of judged samples.

    Raises:
        UserError: the outputs cannot be read, or hold no verdicts or fewer than two models.
    """
    replies = read(path, benchmark_of(path), form=form).replies
    if any(reply.stored is None for reply in replies):
        raise UserError(f"outputs {path}: samples without a verdict; each needs correct or score")
    models, right_MQ, drawn_MQ = _counts(replies)
    if len(models) < 2:
        raise UserError(
            f"outputs {path}: samples of {len(models)} named models; an overlap takes two, each sample with its model"
        )
    return overlap_of(models, right_MQ, drawn_MQ)


def overlap_of(models: list[str], right_MQ: np.ndarray, drawn_MQ: np.ndarray) -> Overlap:
    """The overlap of models that each answered some questions.

    Args:
        right_MQ: how many of each model's samples are right.
        drawn_MQ: how many it drew; 0 for a question it was not asked.
    """
    rate_MQ = np.divide(right_MQ, drawn_MQ, out=np.zeros_like(right_MQ), where=drawn_MQ > 0)
    accuracy_M = rate_MQ.sum(axis=1) / (drawn_MQ > 0).sum(axis=1)
    order = np.argsort(-accuracy_M, kind="stable")
    solvers_Q = (right_MQ > 0).sum(axis=0)
    members = tuple(
        Member(
            models[m],
            int((drawn_MQ[m] > 0).sum()),
            int(drawn_MQ[m].sum()),
            float(accuracy_M[m]),
            float((right_MQ[m] > 0)[drawn_MQ[m] > 0].mean()),
            float(((right_MQ[m] > 0) & (solvers_Q == 1))[drawn_MQ[m] > 0].mean()),
        )
        for m in order
    )
    shared = tuple(tuple(_shared(right_MQ[[a, b]], drawn_MQ[[a, b]], itself=bool(a == b)) for b in order) for a in order)
    return Overlap(members, shared, float((solvers_Q > 0).mean()))


def _counts(replies: Sequence[Reply]) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Models, right_MQ and drawn_MQ."""
    drawn = Counter((reply.model, reply.id) for reply in replies if reply.model)
    right = Counter((reply.model, reply.id) for reply in replies if reply.stored is not None and reply.stored.credit == 1)
    models, questions = sorted({model for model, _ in drawn}), dict.fromkeys(reply.id for reply in replies)
    right_MQ, drawn_MQ = (np.array([[float(of[m, q]) for q in questions] for m in models]) for of in (right, drawn))
    return models, right_MQ, drawn_MQ


def _shared(right_2Q: np.ndarray, drawn_2Q: np.ndarray, *, itself: bool) -> float | None:
    """P(both right) over P(either right), each a mean over the questions that both answered."""
    known_Q = (drawn_2Q > (1 if itself else 0)).all(axis=0)
    (right_Q, other_Q), (n_Q, m_Q) = right_2Q[:, known_Q], drawn_2Q[:, known_Q]
    if itself:
        other_Q, m_Q = (
            right_Q - 1,
            n_Q - 1,
        )  # another sample than the first: exact, since it counts only where the first is right
    both = float((right_Q / n_Q * other_Q / m_Q).sum())
    either = float((right_2Q[:, known_Q] / drawn_2Q[:, known_Q]).sum()) - both
    return both / either if either > 0 else None
