"""How a chain over named quantities and words of knowledge is written; tables, charts, dials and films share it."""

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from ttc.pocket.problem import Chain, Expression, Move, Rule, walk

ADD = Rule("add the value", lambda value, read: Expression(value, "+", read), is_knowledge=False, reads=True)
SUBTRACT = Rule("subtract the value", lambda value, read: Expression(value, "-", read), is_knowledge=False, reads=True)

ARITHMETIC: Mapping[str, Rule] = {"+": ADD, "-": SUBTRACT}


@dataclass(frozen=True)
class Wording:
    """What a subject's questions are made of."""

    rules: Mapping[str, Rule]
    """`ARITHMETIC` and the subject's own knowledge."""
    frequencies: Mapping[str, int]
    """Weight of each word of knowledge: rare ones are known less well by a learner."""
    needs_two_digits: frozenset[str] = frozenset()
    """Words that would change nothing, or mean nothing, below ten."""


def write(rng: Random, steps: int, quantities: Mapping[str, int], wording: Wording, opening: str, asked: str) -> Chain:
    """A question over the quantities: `opening`, a start and that many moves in words, and what is `asked`.

    At least one move is a word of knowledge, and no word comes twice in a row.
    """
    words, weights = list(wording.frequencies), list(wording.frequencies.values())
    while True:
        start, *rest = _visited(list(quantities), rng, steps)
        moves = tuple(
            Move(rng.choices(words, weights=weights)[0]) if rng.random() < 0.5 else Move(rng.choice("+-"), name)
            for name in rest
        )
        if _is_fair(quantities, start, moves, wording):
            told = ", ".join([start, *(f"{move.rule} {move.quantity}".rstrip() for move in moves)])
            return Chain(quantities, start, moves, f"{opening}Take {told}. {asked}")


def _visited(names: list[str], rng: Random, steps: int) -> list[str]:
    """A start and `steps` more names: none again before all had their turn, and none twice in a row."""
    visited: list[str] = []
    while len(visited) <= steps:
        turn = rng.sample(names, k=len(names))
        if turn[:1] != visited[-1:]:
            visited += turn
    return visited[: steps + 1]


def _is_fair(quantities: Mapping[str, int], start: str, moves: tuple[Move, ...], wording: Wording) -> bool:
    sums = walk(wording.rules, quantities, start, moves)
    if sums is None or not any(wording.rules[move.rule].is_knowledge for move in moves):
        return False
    before = [quantities[start], *(one.value for one in sums)]
    small = any(move.rule in wording.needs_two_digits and value < 10 for move, value in zip(moves, before, strict=False))
    repeated = any(one.rule == two.rule and not one.quantity for one, two in pairwise(moves))
    return not small and not repeated
