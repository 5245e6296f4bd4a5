"""The order in which a verifier meets its training chains: a pure function of the chains, for every training command."""

import re
from collections import defaultdict
from collections.abc import Callable, Sequence
from itertools import chain, zip_longest
from random import Random
from typing import Literal

from training.chains import LabelledChain
from ttc.errors import UserError

Order = Literal["random", "easy_first", "hard_first", "interleaved", "natural_first", "natural_last"]
"""`random`; by difficulty, up or down; the levels in turn; images of the world (photographs, paintings, scans) before or after
drawn ones (diagrams, charts, tables)."""

_LEVELS = ("Easy", "Medium", "Hard")
_NATURAL = re.compile(
    r"\b(?:photograph|painting|sculpture|portrait|landscape|(?:body )?scan|mri\b|ct\b|x-ray|microscop|patholog|video)"
)
"""Words in the names of image types of MMMU and MMVU that show the world."""


def ordered(chains: Sequence[LabelledChain], order: Order, seed: int) -> list[LabelledChain]:
    """The chains in order; where the order leaves it open, mixed by the seed.

    Raises:
        UserError: a question lacks the field that the order goes by.
    """
    mixed = Random(seed).sample(list(chains), k=len(chains))
    match order:
        case "random":
            return mixed
        case "easy_first":
            return sorted(mixed, key=_difficulty)
        case "hard_first":
            return sorted(mixed, key=_difficulty, reverse=True)
        case "interleaved":
            return _in_turn(mixed, lambda one: _level(one))
        case "natural_first":
            return sorted(mixed, key=lambda one: not _is_natural(one))
        case "natural_last":
            return sorted(mixed, key=_is_natural)


def _difficulty(one: LabelledChain) -> tuple[int, int]:
    """Level, then number of steps."""
    return _level(one), len(one.steps)


def _level(one: LabelledChain) -> int:
    level = one.question.fields.get("topic_difficulty")
    if level not in _LEVELS:
        raise UserError(
            f"question {one.question.id}: its difficulty is {level!r}, and this order goes by {', '.join(_LEVELS)}; "
            "choose order random"
        )
    return _LEVELS.index(level)


def _is_natural(one: LabelledChain) -> bool:
    """One of the question's images shows the world; a video does."""
    kinds = one.question.fields.get("img_type", ())
    named = [kinds] if isinstance(kinds, str) else list(kinds)
    if not named and not any(media.kind == "video" for media in one.question.media):
        raise UserError(f"question {one.question.id} has no img_type, which this order goes by; choose order random")
    return any(media.kind == "video" for media in one.question.media) or bool(_NATURAL.search(" ".join(named).lower()))


def _in_turn(chains: Sequence[LabelledChain], group: Callable[[LabelledChain], int]) -> list[LabelledChain]:
    """One of each group after the other, until all are used up."""
    groups: dict[int, list[LabelledChain]] = defaultdict(list)
    for one in chains:
        groups[group(one)].append(one)
    rounds = zip_longest(*(groups[number] for number in sorted(groups)))
    return [one for one in chain.from_iterable(rounds) if one is not None]
