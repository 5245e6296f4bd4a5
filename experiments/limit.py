"""A part of an exam that keeps its levels in proportion."""

import hashlib
import math
from collections import defaultdict
from dataclasses import replace

from ttc.records import Exam, Question


def limited(exam: Exam, limit: int | None, field: str = "topic_difficulty") -> Exam:
    """At most `limit` questions, each level's share as in the whole (largest remainders), chosen by a hash of the id.

    The choice for a smaller limit is not always inside that for a larger one: shares are rounded.
    """
    if limit is None or limit >= len(exam.questions):
        return exam
    levels: dict[object, list[Question]] = defaultdict(list)
    for question in exam.questions:
        levels[question.fields.get(field, "")].append(question)
    exact = {level: limit * len(members) / len(exam.questions) for level, members in levels.items()}
    counts = {level: math.floor(share) for level, share in exact.items()}
    by_remainder = sorted(exact, key=lambda level: (counts[level] - exact[level], str(level)))
    for level in by_remainder[: limit - sum(counts.values())]:
        counts[level] += 1
    chosen = {q.id for level, members in levels.items() for q in sorted(members, key=_order)[: counts[level]]}
    questions = tuple(question for question in exam.questions if question.id in chosen)
    return replace(exam, questions=questions, golds={question.id: exam.golds[question.id] for question in questions})


def _order(question: Question) -> bytes:
    return hashlib.sha256(question.id.encode()).digest()
