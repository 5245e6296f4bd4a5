"""The generator: a question is a function of split, subject and number, and of nothing else."""

import hashlib
from collections.abc import Iterator, Mapping
from random import Random
from types import MappingProxyType

from ttc.errors import UserError
from ttc.pocket import circuits, tables
from ttc.pocket.drawing import png
from ttc.pocket.problem import LARGEST, Chain, Move, Problem, Subject, walk
from ttc.records import LETTERS, Gold, Media, Question

SUBJECTS = MappingProxyType({subject.name: subject for subject in (tables.SUBJECT, circuits.SUBJECT)})

SEEDS = MappingProxyType({"train": 1117, "validation": 2229, "test": 3343})
"""Fixed before any training; the test split's is never changed."""

SIZES = MappingProxyType({"validation": 300, "test": 600})
"""Questions of a split; `train` has no end."""

STEPS = MappingProxyType({"Easy": (1, 2), "Medium": (3, 4), "Hard": (5, 6, 7, 8)})
"""Moves of a chain at each level."""


def problem(split: str, subject: str, index: int) -> Problem:
    """Number `index` (from 0) of a subject. Levels turn with every number, question types with every third."""
    rng = _rng(split, subject, index)
    levels = list(STEPS)
    level = levels[index % len(levels)]
    kind = SUBJECTS[subject]
    chain = kind.write(rng, rng.choice(STEPS[level]))
    bare = Problem(split, kind, index, level, chain)
    if index // len(levels) % 2:
        return bare
    return Problem(split, kind, index, level, chain, _options(rng, bare))


def problems(split: str, subjects: tuple[str, ...] = tuple(SUBJECTS)) -> Iterator[Problem]:
    """All questions of a finite split, subjects in turn. Each subject has an equal share of the split's size."""
    for index in range(SIZES[split] // len(SUBJECTS)):
        for subject in subjects:
            yield problem(split, subject, index)


def find(question_id: str) -> Problem:
    """The question behind an id such as `test_Tables_17`, with all that is true about it. Raises UserError for other ids."""
    split, _, rest = question_id.partition("_")
    subject, _, number = rest.rpartition("_")
    if split not in SEEDS or subject not in SUBJECTS or not number.isdecimal() or number == "0":
        raise UserError(f"{question_id!r} is no question of the pocket exam; ids look like test_{next(iter(SUBJECTS))}_1")
    return problem(split, subject, int(number) - 1)


def picture(source: Problem) -> bytes:
    """The question's image as an encoded file."""
    rng = _rng(source.split, source.subject.name, source.index, "image")
    return png(source.subject.draw(source.chain.quantities, rng))


def question(source: Problem) -> Question:
    """What the model is asked."""
    data = picture(source)
    question_type = "multiple-choice" if source.options else "open"
    return Question(
        id=source.id,
        benchmark="pocket",
        question_type=question_type,
        text=source.chain.text,
        options=tuple(str(option) for option in source.options),
        media=(Media("image", 1, hashlib.sha256(data).hexdigest(), data),),
        fields={
            "subject": source.subject.name,
            "subfield": source.subject.subfield,
            "topic_difficulty": source.level,
            "img_type": (source.subject.image_type,),
            "question_type": question_type,
            "steps": str(len(source.chain.moves)),
        },
    )


def gold(source: Problem) -> Gold:
    """Its key, with the chain of steps as explanation."""
    return Gold(source.id, (answer_text(source),), explanation="\n".join(explanation(source)))


def answer_text(source: Problem) -> str:
    """The letter, or the number for an open question."""
    return LETTERS[source.options.index(source.answer)] if source.options else str(source.answer)


def explanation(source: Problem) -> list[str]:
    """One line per step: what is read first, then every sum under the name of what it uses."""
    lines = [f"{source.chain.start}: {source.chain.quantities[source.chain.start]}"]
    for move, expression in zip(source.chain.moves, source.expressions, strict=True):
        lines.append(f"{move.label}: {expression} = {expression.value}")
    return lines


def _rng(*parts: object) -> Random:
    split = parts[0]
    if split not in SEEDS:
        raise UserError(f"the pocket exam has no split {split!r}; choose one of {', '.join(SEEDS)}")
    return Random("/".join(str(part) for part in (SEEDS[str(split)], *parts[1:])))


def _options(rng: Random, bare: Problem) -> tuple[int, ...]:
    """Gold among 3 or 4 results of plausible mistakes, in random order; every rank of the gold by size is equally likely."""
    wrong = sorted(_mistakes(bare.subject, bare.chain, bare.answer, rng))
    low, high = [v for v in wrong if v < bare.answer], [v for v in wrong if v > bare.answer]
    count = rng.choice((3, 4))
    below = rng.randrange(count + 1)
    below = min(max(below, count - len(high)), len(low))
    options = [bare.answer, *rng.sample(low, k=below), *rng.sample(high, k=count - below)]
    rng.shuffle(options)
    return tuple(options)


def _mistakes(subject: Subject, chain: Chain, answer: int, rng: Random) -> set[int]:
    """Results of one misread digit, one misunderstood rule, one step left out, or a slip in the last sum."""
    slips = {answer + delta for delta in (-10, -2, -1, 1, 2, 10)}
    results = {value for value in slips if 0 <= value <= LARGEST}
    # in order of use: the order of a set of strings would differ from one process to the next
    used = dict.fromkeys((chain.start, *(move.quantity for move in chain.moves if move.quantity)))
    variants: list[tuple[Mapping[str, int], tuple[Move, ...]]] = [
        ({**chain.quantities, name: rng.randrange(1, 10)}, chain.moves) for name in used
    ]
    for place, move in enumerate(chain.moves):
        rest = chain.moves[:place], chain.moves[place + 1 :]
        if len(chain.moves) > 1:
            variants.append((chain.quantities, (*rest[0], *rest[1])))
        for name, rule in subject.rules.items():
            if rule.reads == subject.rules[move.rule].reads and name != move.rule:
                variants.append((chain.quantities, (*rest[0], Move(name, move.quantity), *rest[1])))
    for quantities, moves in variants:
        sums = walk(subject, quantities, chain.start, moves)
        if sums and sums[-1].value is not None:
            results.add(sums[-1].value)
    return results - {answer}
