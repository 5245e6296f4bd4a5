"""Questions and golds become an exam: unique ids, clusters of questions that share media, a fingerprint of the content."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import replace

from ttc.errors import UserError
from ttc.records import Exam, Gold, Question


def seal(
    name: str,
    split: str,
    questions: Sequence[Question],
    golds: Iterable[Gold],
    *,
    revision: str = "local",
    problems: Iterable[str] = (),
) -> Exam:
    """The exam, with `cluster` filled in for questions without one that share an image or a video.

    Raises:
        UserError: there is no question, an id occurs twice, or a gold belongs to no question.
    """
    where = f"{name}, split {split}"
    if not questions:
        raise UserError(f"{where}: the data hold no question; check the path, the split and the subjects")
    repeated = [id for id, times in Counter(question.id for question in questions).items() if times > 1]
    if repeated:
        raise UserError(f"{where}: {len(repeated)} ids occur more than once, such as {repeated[0]!r}; make ids unique")
    by_id = {gold.question_id: gold for gold in golds}
    strays = by_id.keys() - {question.id for question in questions}
    if strays:
        raise UserError(f"{where}: gold for {min(strays)!r}, which is no question of the data")
    questions = clustered(questions)
    return Exam(name, split, tuple(questions), by_id, revision, fingerprint(questions, by_id.values()), tuple(problems))


def fingerprint(questions: Iterable[Question], golds: Iterable[Gold]) -> str:
    """SHA-256 in hex over questions, media hashes and golds, whatever their order.

    In it is what could change a score or its grouping: ids, texts, options, types, fields, media by content, accepted answers,
    explanations and sources. Not in it: where a file lies, and `cluster`, which follows from the rest.
    """

    def question_part(q: Question) -> list[object]:
        media = [[m.kind, m.marker, m.sha256] for m in q.media]
        return ["question", q.id, q.benchmark, q.question_type, q.text, q.options, media, dict(q.fields)]

    parts = [question_part(question) for question in questions]
    parts += [["gold", gold.question_id, gold.answers, gold.explanation, gold.knowledge] for gold in golds]
    digests = sorted(hashlib.sha256(json.dumps(part, sort_keys=True).encode()).digest() for part in parts)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def clustered(questions: Sequence[Question]) -> list[Question]:
    """The same questions; those without a cluster that share media, directly or over a third question, get one name.

    Answers to questions about one picture are not independent, so intervals resample whole clusters.
    """
    root = list(range(len(questions)))

    def find(index: int) -> int:
        while root[index] != index:
            root[index] = root[root[index]]
            index = root[index]
        return index

    first_with: dict[str, int] = {}
    for index, question in enumerate(questions):
        for media in question.media:
            if media.sha256 and not question.cluster:
                root[find(index)] = find(first_with.setdefault(media.sha256, index))
    tops = [find(index) for index in range(len(questions))]
    sizes = Counter(tops)
    return [
        question if question.cluster or sizes[top] == 1 else replace(question, cluster=f"media of {questions[top].id}")
        for question, top in zip(questions, tops, strict=True)
    ]
