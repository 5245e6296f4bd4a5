"""What a predictor of difficulty may look at: tables of numbers, one row per question, none of them made from its level.

subject    the names of its groups: subject, discipline, subfield
form       lengths, numbers, formulas, options, images, types
embedding  sentence embeddings of question and options (`training.difficulty_embeddings`)
policy     what a model's samples do without a key: agreement, entropy, answers given, length, a verifier's score
pass_rate  how often they are right: needs the key, and is the model's difficulty rather than the expert's
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ttc.records import Question

FloatArray = NDArray[np.float64]
Family = Literal["subject", "form", "embedding", "policy", "pass_rate"]

GROUPS = ("subject", "discipline", "subfield")
TYPES = ("img_type", "question_type")
"""Other fields of a question are its level, or the benchmark's own and may hold it."""


@dataclass(frozen=True, slots=True)
class Tried:
    """A model's samples of one question, as far as difficulty shows in them."""

    classes: tuple[int | None, ...]
    """Equivalence class of each answer; None where there is none."""
    credits: tuple[float, ...]
    lengths: tuple[float, ...]
    """Of each reply, in tokens or words, the same for all questions."""
    scores: tuple[float, ...] = ()
    """A verifier's, of those that have one."""


def subject(questions: Sequence[Question]) -> FloatArray:
    """One column for every value of every group."""
    return _indicators(questions, GROUPS)


def form(questions: Sequence[Question]) -> FloatArray:
    """Lengths and types: what is seen without reading."""
    return np.hstack([np.array([_counts(question) for question in questions]), _indicators(questions, TYPES)])


def policy(tried: Sequence[Tried]) -> FloatArray:
    """What samples show without a key: share of the leading answer, entropy, share answered, length, verifier's scores."""
    return np.array([_behaviour(one) for one in tried])


def pass_rate(tried: Sequence[Tried]) -> FloatArray:
    """The share of right samples, as the one column."""
    return np.array([[sum(one.credits) / len(one.credits)] for one in tried])


def _counts(question: Question) -> list[float]:
    words, optional = question.text.split(), [option.split() for option in question.options]
    lengths = [len(option) for option in optional]
    return [
        np.log1p(len(words)),
        float(len(words)),
        np.log1p(len(question.text)),
        float(question.text.count(",")),
        float(len(re.findall(r"[.?!](?:\s|$)", question.text))),
        float(len(re.findall(r"\d+", question.text))),
        float(question.text.count("$") + question.text.count("\\")),
        float(len(question.options)),
        np.log1p(sum(lengths)),
        float(max(lengths, default=0)),
        float(np.mean([bool(re.search(r"\d", option)) for option in question.options])) if optional else 0.0,
        float(len(question.media) or len(set(re.findall(r"<image (\d+)>", " ".join((question.text, *question.options)))))),
    ]


def _indicators(questions: Sequence[Question], fields: Sequence[str]) -> FloatArray:
    held = [[(name, value) for name in fields for value in question.values(name)] for question in questions]
    column = {item: place for place, item in enumerate(sorted({item for row in held for item in row}))}
    table = np.zeros((len(questions), len(column)))
    for row, items in enumerate(held):
        table[row, [column[item] for item in items]] = 1
    return table


def _behaviour(tried: Tried) -> list[float]:
    votes, n = Counter(answer for answer in tried.classes if answer is not None), len(tried.classes)
    leading = [*sorted(votes.values(), reverse=True)[:2], 0, 0]
    shares = [count / n for count in votes.values()]
    known = tried.scores or (0.0,)
    return [
        leading[0] / n,
        (leading[0] - leading[1]) / n,
        -sum(share * log2(share) for share in shares),
        len(votes) / n,
        sum(votes.values()) / n,
        float(np.mean(np.log1p(tried.lengths))),
        float(np.std(np.log1p(tried.lengths))),
        float(np.mean(known)),
        min(known),
    ]


def tables(
    questions: Sequence[Question], *, embeddings: FloatArray | None = None, tried: Mapping[str, Tried] | None = None
) -> dict[Family, FloatArray]:
    """Every family that can be had.

    Args:
        tried: by question id, of all questions; None where nothing was sampled.
    """
    found: dict[Family, FloatArray] = {"subject": subject(questions), "form": form(questions)}
    if embeddings is not None:
        found["embedding"] = embeddings
    if tried is not None:
        samples = [tried[question.id] for question in questions]
        found |= {"policy": policy(samples), "pass_rate": pass_rate(samples)}
    return found
