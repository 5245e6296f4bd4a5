"""Where questions with levels come from, and what models did on them: exams, and released outputs."""

from collections.abc import Mapping, Sequence
from pathlib import Path

from training.difficulty import Difficulty, Labelled, label
from training.difficulty_features import Tried
from ttc import answers as reading
from ttc import outputs
from ttc.errors import UserError
from ttc.judges.rules import Rules
from ttc.outputs import Reply
from ttc.records import Question

KEPT = Path("runs/embeddings")
"""Where embeddings stay."""


def load(config: Difficulty, tried: Mapping[str, Tried] | None = None) -> tuple[Labelled, int]:
    """The questions with their features, and how many of them, the first ones, are only learned from.

    Args:
        tried: by question id, of a run on the benchmark.

    Raises:
        UserError: an exam or a file cannot be read, or has no levels; a question judged is learned from, too.
    """
    read = [outputs.read(path, outputs.benchmark_of(path)) for path in config.outputs]
    if config.benchmark is not None:
        questions = config.benchmark.load().questions
    else:
        questions = read[0].exam(outputs.benchmark_of(config.outputs[0])).questions
    if read:
        tried = tried_of(questions, [reply for one in read for reply in one.replies])
    first = config.learn_from.load().questions if config.learn_from else ()
    if both := {question.id for question in first} & {question.id for question in questions}:
        raise UserError(f"learn_from: question {min(both)} is among those judged, too; name another split")
    asked = (*first, *questions)
    if tried and (absent := {question.id for question in questions} - tried.keys()):
        raise UserError(
            f"run: {len(absent):,} questions of the exam are not in it, such as {min(absent)}; run it on all of them"
        )
    embeddings = None
    if config.embedder is not None:
        from training.difficulty_embeddings import embed_questions

        embeddings = embed_questions(asked, config.embedder, kept=KEPT)
    data = label(asked, config, embeddings=embeddings, tried=None if first else tried)
    ids = {question.id for question in first}
    return data, sum(question.id in ids for question in data.questions)


def tried_of(questions: Sequence[Question], replies: Sequence[Reply]) -> dict[str, Tried] | None:
    """What released replies show, by careful extraction; lengths in words. None where a question has no reply."""
    judge, by_id = Rules(), {question.id: question for question in questions}
    found: dict[str, list[Reply]] = {}
    for reply in replies:
        if reply.id in by_id and reply.sample is not None:
            found.setdefault(reply.id, []).append(reply)
    if found.keys() != by_id.keys():
        return None
    tried = {}
    for id, mine in found.items():
        read = [reading.extract(by_id[id], reply.sample) for reply in mine if reply.sample]
        credits = tuple(judge.judge(by_id[id], reply.gold, answer).credit for reply, answer in zip(mine, read, strict=True))
        lengths = tuple(float(len(reply.text.split())) for reply in mine)
        tried[id] = Tried(tuple(reading.classes(by_id[id], read)), credits, lengths)
    return tried
