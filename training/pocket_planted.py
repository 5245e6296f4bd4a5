"""Chains for the pocket exam with one error put in by program: many more errors than a model makes of itself, at no cost.

A value read wrongly, another law than the one that holds, or a slip in a sum, anywhere; what follows goes on from it rightly,
as a model would. Labels are the exam's own, so that a plant that happens to change nothing is not called an error.
"""

from collections.abc import Sequence
from random import Random

from training.chains import LabelledChain
from training.corpora import pocket_labels
from ttc.pocket import exam
from ttc.pocket.problem import LARGEST, Expression, Move, Problem
from ttc.records import Question
from verifiers.steps import split

KINDS = ("reading", "law", "slip")
SLIPS = (-10, -2, -1, 1, 2, 10)
_SOUND = 0.25
"""Share of chains in which nothing is planted."""
_TRIES = 50


def planted_chains(questions: Sequence[Question], count: int, seed: int) -> list[LabelledChain]:
    """That many chains over these questions, in turn. Those whose options are pictures are passed over."""
    rng, chains = Random(f"{seed}/planted"), []
    sources = [(question, exam.find(question.id)) for question in questions]
    sources = [(question, source) for question, source in sources if not getattr(source, "is_pictured", False)]
    for number in range(count if sources else 0):
        question, source = sources[number % len(sources)]
        steps = tuple(step.text for step in split(planted(source, rng)))
        labels, kinds, _ = pocket_labels(question, steps)
        is_right = all(labels)
        chains.append(LabelledChain(question, steps, labels, kinds, "perturbed", "pocket/planted", question.id, is_right))
    return chains


def planted(source: Problem, rng: Random) -> str:
    """A reply with at most one error. Its numbers are all among those that the exam knows."""
    sound = "\n".join([*exam.explanation(source), f"Answer: {source.answer}"])
    if rng.random() < _SOUND:
        return sound
    for _ in range(_TRIES):
        lines = _walked(source, rng.choice(KINDS), rng.randrange(len(source.chain.moves) + 1), rng)
        if lines is not None:
            return "\n".join(lines)
    return sound


def _walked(source: Problem, kind: str, place: int, rng: Random) -> list[str] | None:
    """The lines of a chain that goes wrong at step `place`; None where that cannot be."""
    chain = source.chain
    if place == 0 and kind != "reading":
        return None
    value = _other(chain.quantities[chain.start], rng) if place == 0 else chain.quantities[chain.start]
    lines = [f"{chain.start}: {value}"]
    for number, move in enumerate(chain.moves, start=1):
        sum_ = _sum(source, move, value, kind if number == place else "", rng)
        result = None if sum_ is None else sum_.value
        if result is not None and number == place and kind == "slip":
            result += rng.choice(SLIPS)
        if result is None or not 0 <= result <= LARGEST:
            return None
        lines.append(f"{move.label}: {sum_} = {result}")
        value = result
    return [*lines, f"Answer: {value}"]


def _sum(source: Problem, move: Move, value: int, kind: str, rng: Random) -> Expression | None:
    """The sum of one move, wrong in the way asked for."""
    rules = source.subject.rules
    rule, read = rules[move.rule], source.chain.quantities.get(move.quantity, 0)
    if kind == "reading":
        return rule.expression(value, _other(read, rng)) if rule.reads else None
    if kind == "law":
        others = [name for name, other in rules.items() if other.reads == rule.reads and name != move.rule]
        return rules[rng.choice(others)].expression(value, read) if others else None
    return rule.expression(value, read)


def _other(digit: int, rng: Random) -> int:
    """Another digit that an image can show."""
    return rng.choice([one for one in range(1, 10) if one != digit])
