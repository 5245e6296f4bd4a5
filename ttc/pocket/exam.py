"""The generator: a question is a function of split, subject and number, and of nothing else."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from random import Random
from types import MappingProxyType
from typing import TYPE_CHECKING
from zlib import crc32

from ttc.errors import UserError
from ttc.media import media_from_bytes
from ttc.pocket import bars, circuits, dials, motion, tables
from ttc.pocket.drawing import png
from ttc.pocket.problem import LARGEST, Chain, Move, Problem, Subject, Sum, walk
from ttc.records import LETTERS, Gold, Media, Question

if TYPE_CHECKING:
    from PIL.Image import Image

SUBJECTS = MappingProxyType(
    {one.name: one for one in (tables.SUBJECT, circuits.SUBJECT, bars.SUBJECT, dials.SUBJECT, motion.SUBJECT)}
)

SEEDS = MappingProxyType({"train": 1117, "validation": 2229, "test": 3343})
"""Fixed before any training; the test split's is never changed."""

SIZES = MappingProxyType({"validation": 300, "test": 600})
"""Questions of a split; `train` has no end."""

PARTS = MappingProxyType({"train": (0, 1), "validation": (2,), "test": (3,)})
"""Remainders, modulo 4, of the hash of words and values that belong to a split: no question can be in two of them."""

STEPS = MappingProxyType({"Easy": (1, 2), "Medium": (3, 4), "Hard": (7, 8, 9)})
"""Moves of a chain at each level."""


def problem(split: str, subject: str, index: int) -> Problem:
    """Number `index` (from 0) of a subject. Levels turn with every number, question types with every third."""
    rng = _rng(split, subject, index)
    levels = list(STEPS)
    level = levels[index % len(levels)]
    kind = SUBJECTS[subject]
    steps = rng.choice(STEPS[level])
    chain = next(chain for chain in iter(lambda: kind.write(rng, steps), None) if _part(chain) in PARTS[split])
    bare = Problem(split, kind, index, level, chain)
    if index // len(levels) % 2:
        return bare
    # an answer of one digit can be shown, where the subject has pictures of answers
    is_pictured = kind.draw_option is not None and 1 <= bare.answer <= 9
    return replace(bare, options=_options(rng, bare, is_pictured), is_pictured=is_pictured)


def problems(split: str, subjects: tuple[str, ...] = tuple(SUBJECTS), *, size: int | None = None) -> Iterator[Problem]:
    """Questions of a split, subjects in turn.

    Args:
        size: of the split with all its subjects, each of which has an equal share; needed for `train`, which has no end.
    """
    for index in range((SIZES[split] if size is None else size) // len(SUBJECTS)):
        for subject in subjects:
            yield problem(split, subject, index)


def find(question_id: str) -> Problem:
    """The question behind an id such as `test_Tables_17`, with all that is true about it. Raises UserError for other ids."""
    split, _, rest = question_id.partition("_")
    subject, _, number = rest.rpartition("_")
    if split not in SEEDS or subject not in SUBJECTS or not number.isdecimal() or number == "0":
        raise UserError(f"{question_id!r} is no question of the pocket exam; ids look like test_{next(iter(SUBJECTS))}_1")
    return problem(split, subject, int(number) - 1)


def pictures(source: Problem) -> "tuple[Image, ...]":
    """All that is shown, in order: pictures or the frames of the video, then the options where they are images."""
    rng = _rng(source.split, source.subject.name, source.index, "image")
    shown = source.subject.draw(source.chain.quantities, rng)
    if not source.is_pictured:
        return shown
    assert source.subject.draw_option is not None
    return (*shown, *(source.subject.draw_option(option, rng) for option in source.options))


def media(source: Problem) -> tuple[Media, ...]:
    """What is shown as encoded files: PNGs that markers refer to, or one MP4."""
    if source.subject.is_video:
        return (media_from_bytes(motion.film(pictures(source)), kind="video"),)
    return tuple(media_from_bytes(png(image), marker=n) for n, image in enumerate(pictures(source), start=1))


def question(source: Problem) -> Question:
    """What the model is asked."""
    return replace(worded(source), media=media(source))


def worded(source: Problem) -> Question:
    """The question without its media, which take most of the time."""
    question_type = "multiple-choice" if source.options else "open"
    return Question(
        id=source.id,
        benchmark="pocket",
        question_type=question_type,
        text=source.chain.text,
        options=_option_texts(source),
        fields={
            "subject": source.subject.name,
            "subfield": source.subject.subfield,
            "topic_difficulty": source.level,
            "img_type": (source.subject.image_type,),
            "question_type": question_type,
            "steps": str(len(source.chain.moves)),
        },
    )


def _part(chain: Chain) -> int:
    return crc32(f"{chain.text}{tuple(chain.quantities.values())}".encode()) % 4


def _option_texts(source: Problem) -> tuple[str, ...]:
    if not source.is_pictured:
        return tuple(str(option) for option in source.options)
    first = source.chain.text.count("<image ") + 1
    return tuple(f"<image {n}>" for n in range(first, first + len(source.options)))


def gold(source: Problem) -> Gold:
    """Its key, with the chain of steps as explanation and what it takes to know."""
    known = dict.fromkeys(move.rule for move in source.chain.moves if source.subject.rules[move.rule].is_knowledge)
    knowledge = tuple(f"{source.subject.name}: {name}: {source.subject.rules[name].meaning}" for name in known)
    return Gold(source.id, (answer_text(source),), "\n".join(explanation(source)), knowledge)


def answer_text(source: Problem) -> str:
    """The letter, or the number for an open question."""
    return LETTERS[source.options.index(source.answer)] if source.options else str(source.answer)


def explanation(source: Problem, sums: tuple[Sum, ...] = ()) -> list[str]:
    """One line per step: what is read first, then every sum under the name of what it uses.

    Options that are images are compared one by one, up to the one that shows the result.

    Args:
        sums: what somebody holds to be the sums of the moves; empty for the right ones.
    """
    sums = sums or source.sums
    lines = [f"{source.chain.start}: {source.chain.quantities[source.chain.start]}"]
    for move, held in zip(source.chain.moves, sums, strict=True):
        lines.append(f"{move.label}: {held.expression} = {held.value}")
    if source.is_pictured:
        for letter, option in zip(LETTERS, source.options, strict=False):
            lines.append(f"{letter}: {option} {'yes' if option == sums[-1].value else 'no'}")
            if option == sums[-1].value:
                break
    return lines


def _rng(*parts: object) -> Random:
    split = parts[0]
    if split not in SEEDS:
        raise UserError(f"the pocket exam has no split {split!r}; choose one of {', '.join(SEEDS)}")
    return Random("/".join(str(part) for part in (SEEDS[str(split)], *parts[1:])))


def _options(rng: Random, bare: Problem, is_pictured: bool) -> tuple[int, ...]:
    """Gold among 3 or 4 results of plausible mistakes, in random order; every rank of the gold by size is equally likely.

    Where they are to be pictured they are digits, whatever mistake leads to them.
    """
    wrong = sorted(set(range(1, 10)) - {bare.answer} if is_pictured else _mistakes(bare.subject, bare.chain, bare.answer, rng))
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
        sums = walk(subject.rules, quantities, chain.start, moves)
        if sums:
            results.add(sums[-1].value)
    return results - {answer}
