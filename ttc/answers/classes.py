"""Which replies give the same answer, from the replies alone: what votes are counted over."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from fractions import Fraction
from itertools import combinations, pairwise
from typing import TYPE_CHECKING

from ttc.answers import mathematics
from ttc.answers.number import Quantity, parse_quantity
from ttc.answers.text import text_forms
from ttc.records import Answer, Question

if TYPE_CHECKING:
    from scipy.cluster.hierarchy import DisjointSet

_MOST_FORMULAS = 16
"""Distinct formulas per question that are compared with each other; the rest are compared by their text only."""


def classes(question: Question, answers: Sequence[Answer]) -> tuple[int | None, ...]:
    """Equivalence class of each answer, numbered in order of appearance; None where there is no answer.

    Letters are their own classes. Open answers are joined by equal quantities, by equal texts or declared synonyms, and by
    mathematical equality; closed under transitivity, so the classes do not depend on the order of the samples. No gold is seen.
    """
    if question.options:
        keys: list[object] = [answer.value for answer in answers]
    else:
        joined = _joined({value for answer in answers for value in answer.values}, [answer.values for answer in answers])
        keys = [joined[answer.values[0]] if answer.values else None for answer in answers]
    numbers: dict[object, int] = {}
    return tuple(None if key is None else numbers.setdefault(key, len(numbers)) for key in keys)


def _joined(values: Iterable[str], together: Iterable[Sequence[str]]) -> "DisjointSet":
    """The union-find of all values; those that stand in one reply are joined."""
    from scipy.cluster.hierarchy import DisjointSet

    ordered = sorted(values)
    sets = DisjointSet(ordered)
    for several in together:
        for other in several[1:]:
            sets.merge(several[0], other)
    quantities = {value: quantity for value in ordered if (quantity := parse_quantity(value))}
    _join_texts(sets, [value for value in ordered if value not in quantities])
    _join_quantities(sets, quantities)
    _join_formulas(sets, ordered, quantities)
    return sets


def _join_texts(sets: "DisjointSet", texts: Iterable[str]) -> None:
    first: dict[str, str] = {}
    for text in texts:
        for form in sorted(text_forms(text)):
            sets.merge(first.setdefault(form, text), text)


def _join_quantities(sets: "DisjointSet", quantities: dict[str, Quantity]) -> None:
    """Join equal quantities, then those where one is the other rounded as written.

    A number without a unit joins the one quantity that has it with a unit; it joins none where units differ, because that would
    join volts with millivolts.
    """
    by_dimensions: dict[object, list[tuple[Fraction, str]]] = defaultdict(list)
    bare: dict[Fraction, list[str]] = defaultdict(list)
    united: dict[Fraction, list[str]] = defaultdict(list)
    for value, quantity in quantities.items():
        by_dimensions[quantity.unit.dimensions].append((quantity.value, value))
        if not quantity.percent:
            (united if quantity.unit.dimensions else bare)[quantity.number].append(value)
    for number, values in bare.items():
        units = {quantities[other].unit for other in united[number]}
        if len(units) == 1:
            sets.merge(values[0], united[number][0])
    for group in by_dimensions.values():
        group.sort()
        for (_, low), (_, high) in pairwise(group):
            if _rounded_alike(quantities[low], quantities[high]):
                sets.merge(low, high)


def _rounded_alike(left: Quantity, right: Quantity) -> bool:
    """Whether two quantities are equal, or one is the other rounded to three significant digits or more."""
    if left.value == right.value:
        return True
    coarse, fine = sorted((left, right), key=lambda quantity: (quantity.step == 0, -quantity.step * quantity.unit.factor))
    if not coarse.step or coarse.digits < 3:
        return False
    scale = abs(coarse.value / coarse.number) if coarse.number else Fraction(1)
    return abs(coarse.value - fine.value) <= coarse.step * scale / 2


def _join_formulas(sets: "DisjointSet", values: Sequence[str], quantities: dict[str, Quantity]) -> None:
    """Compare what looks like a formula by math-verify, one representative of each class with each other's."""
    formulas: dict[str, str] = {}
    for value in values:
        if value not in quantities and mathematics.looks_like_formula(value):
            formulas.setdefault(sets[value], value)
    chosen = list(formulas.values())[:_MOST_FORMULAS]
    if not chosen:
        return
    for formula in chosen:
        number = mathematics.number(formula)
        if number is None:
            continue
        for value, quantity in quantities.items():
            if quantity.number == number or (
                quantity.step and quantity.digits >= 3 and abs(quantity.number - number) <= quantity.step / 2
            ):
                sets.merge(formula, value)
    for left, right in combinations(chosen, 2):
        if not sets.connected(left, right) and mathematics.equal(left, right):
            sets.merge(left, right)
