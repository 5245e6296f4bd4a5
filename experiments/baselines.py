"""What is reached without looking: guesses and constant answers; and what people reach, from the papers."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ttc.records import Gold, Question

Pairs = Sequence[tuple[Question, Gold]]


@dataclass(frozen=True, slots=True)
class Constant:
    """The best constant answer."""

    letter: str
    correct: int
    n: int
    """All questions, open ones included: they count as wrong."""


def uniform_guess(pairs: Pairs) -> float:
    """Exact expected accuracy of a uniform guess among each question's own options; an open question counts 0."""
    hits = (
        sum(letter in gold.answers for letter in asked.letters) / len(asked.options) for asked, gold in pairs if asked.options
    )
    return sum(hits) / len(pairs)


def always(pairs: Pairs) -> Constant:
    """The letter that is right most often when given to every question; the earlier one on a tie."""
    right = _rights(pairs)
    letter = min(right, key=lambda name: (-right[name], name), default="A")
    return Constant(letter, right[letter], len(pairs))


def always_by(pairs: Pairs, field: str) -> int:
    """Questions right when every group by `field` gets its own best letter, counted on these very golds."""
    groups: dict[object, list[tuple[Question, Gold]]] = {}
    for asked, gold in pairs:
        groups.setdefault(asked.fields.get(field), []).append((asked, gold))
    return sum(always(group).correct for group in groups.values())


def _rights(pairs: Iterable[tuple[Question, Gold]]) -> Counter[str]:
    return Counter(letter for asked, gold in pairs if asked.options for letter in dict.fromkeys(gold.answers))


@dataclass(frozen=True, slots=True)
class People:
    """Accuracies of human experts in percent, as published."""

    scores: Mapping[str, float]
    source: str


PEOPLE: Mapping[tuple[str, str], People] = {
    ("mmmu", "validation"): People(
        {"worst expert": 76.2, "median expert": 82.6, "best expert": 88.6},
        "90 seniors, 30 questions each of their subject, textbooks but no internet; MMMU, Yue et al. 2023, arXiv:2311.16502",
    ),
    ("mmvu", "test"): People(
        {"closed book": 49.7, "open book": 86.8, "oracle": 95.3},
        "experts on 120 test questions; MMVU, Zhao et al. 2025, arXiv:2501.12380",
    ),
}
"""By benchmark and the split they were measured on."""
