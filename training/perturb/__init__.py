"""Right chains of steps -> chains with one known error of a known kind, which neither style nor traces of editing betray.

    right chains -> places (wrong equally often at each) -> one value for another -> checks -> chains with one error

Values trade places: what is put in somewhere is taken out somewhere else about as often (`Ledger`), so that wrong steps hold
the same words and numbers as right ones, and only somebody who knows the question can tell them apart. The steps before the
error stay as they are to the letter; behind it, numbers and names follow the error and the steps are unlabelled.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Literal

from training.chains import LabelledChain
from training.perturb.checks import faults
from training.perturb.numbers import with_changes
from training.perturb.sites import Site, Stock, sites, word_at
from ttc.records import Gold

__all__ = ["ErrorKind", "Perturbed", "kinds", "perturb", "planned", "with_error"]

ErrorKind = Literal["perceptual", "domain_perception", "knowledge", "calculation", "logic", "text"]
"""What is wrong: what is seen; what it is in the terms of the field; a law or a fact; a sum; what follows from what; what the
question says."""

_SHOWN = re.compile(
    r"\b(?:videos?|images?|figures?|pictures?|show[ns]?|showing|seen|see|observ\w+|depict\w*|clips?|animations?|scenes?|visible|display\w*|"
    r"footage|screen|diagrams?|graphs?|charts?|illustrat\w+|demonstrat\w+|appears?|camera|experiment)\b",
    re.IGNORECASE,
)
_TRIES = 4
"""Values tried at a site before the next one."""
_SENTENCE_START = re.compile(r"(?:^|[.!?]\s)[\s\"'“(*]*$")


@dataclass(frozen=True, slots=True)
class Perturbed:
    """A chain with an error, and how it came about."""

    chain: LabelledChain
    right: LabelledChain
    """The chain it was made from."""
    place: int
    """Index of the wrong step."""
    old: str
    new: str
    """What stands where `old` stood."""


class Ledger:
    """How much more often each value was put in than taken out."""

    def __init__(self, most: int = 1) -> None:
        self._net: Counter[tuple[str, str]] = Counter()
        self._most = most

    def offers(self, site: Site, rng: Random) -> Iterator[str]:
        """What may be put in, by tiers, the most missed first; nothing that was put in too often already."""
        for tier in site.tiers:
            open_ = [new for new in tier if self._net[self._key(site, new)] < self._most]
            rng.shuffle(open_)
            yield from sorted(open_, key=lambda new: self._net[self._key(site, new)])[:_TRIES]

    def book(self, site: Site, new: str) -> None:
        """Count a trade."""
        self._net[self._key(site, new)] += 1
        self._net[self._key(site, site.old)] -= 1

    @staticmethod
    def _key(site: Site, value: str) -> tuple[str, str]:
        if site.family == "polarity":
            return "polarity", str("not" in value)
        return "letter" if site.family == "letter" else "value", value.lower()


def perturb(
    chains: Sequence[LabelledChain], golds: Mapping[str, Gold], *, seed: int = 0, share: float = 0.3, most: int = 6
) -> list[Perturbed]:
    """Chains with one error each, made from right chains; at least one from each that offers a place for it.

    Args:
        golds: by question id; without one, rules that need the gold answer have no place.
        share: of wrong steps among the labelled ones, the same at every place of chains of every length.
        most: chains made of one; a long chain has then a smaller share.
    """
    planter, found = _Planter(Stock.of(chains, golds), golds), {}
    for number, (chain, place) in enumerate(planned(chains, share, most, seed)):
        rng = Random(f"{seed} {chain.question.id} {number}")
        if made := planter.plant(chain, place, rng):
            found[id(chain), made.chain.steps] = made
    order = {id(chain): number for number, chain in enumerate(chains)}
    return sorted(found.values(), key=lambda made: (order[id(made.right)], made.place))


def planned(chains: Sequence[LabelledChain], share: float, most: int, seed: int) -> list[tuple[LabelledChain, int]]:
    """Which step of which chain is to be made wrong, in random order; at least one of each chain."""
    orders = [
        (chain, place) for chain in chains for place in _places(chain, share, most, Random(f"{seed} {chain.question.id}"))
    ]
    Random(seed).shuffle(orders)
    return orders


def _places(chain: LabelledChain, share: float, most: int, rng: Random) -> list[int]:
    """Steps to make wrong, so that every step is wrong equally often for the times it is right.

    A step is right in its chain and wherever a later step is wrong, so the expected errors grow towards the front: with odds c
    of wrong to right, step j of S has c(1 + c)^(S - j), and all together (1 + c)^S - 1.
    """
    length = len(chain.steps)
    odds = min(share / (1 - share), (1 + most) ** (1 / length) - 1)
    expected = [odds * (1 + odds) ** (length - 1 - place) for place in range(length)]
    drawn = [place for place in range(length) for _ in range(int(expected[place]) + (rng.random() < expected[place] % 1))]
    return drawn or rng.choices(range(length), expected)


class _Planter:
    """Makes steps wrong, one after the other, from one stock of values and with one ledger."""

    def __init__(self, stock: Stock, golds: Mapping[str, Gold]) -> None:
        self._stock, self._golds, self._ledger = stock, golds, Ledger()
        self._sites: dict[tuple[int, int], list[Site]] = {}

    def plant(self, chain: LabelledChain, place: int, rng: Random) -> Perturbed | None:
        """The chain with an error at the place, or at another where no rule has one for it; None where none has.

        Terms that share no more than a subject make the crudest errors, and are the last resort.
        """
        others = [other for other in range(len(chain.steps)) if other != place]
        rng.shuffle(others)
        tries = (self._planted(chain, at, is_crude, rng) for is_crude in (False, True) for at in (place, *others))
        return next((made for made in tries if made), None)

    def _planted(self, chain: LabelledChain, place: int, is_crude: bool, rng: Random) -> Perturbed | None:
        gold = self._golds.get(chain.question.id)
        for site in self._in_turn(chain, place, is_crude, rng):
            for new in self._ledger.offers(site, rng):
                if not _is_new(chain, place, gold, site, new):
                    continue
                steps = _edited(chain.steps, place, site, new)
                if not faults(chain.steps, steps, place, old=site.old, new=new):
                    self._ledger.book(site, new)
                    wrong = with_error(chain, steps, place, kind_of(site, chain, place))
                    return Perturbed(wrong, chain, place, site.old, new)
        return None

    def _in_turn(self, chain: LabelledChain, place: int, is_crude: bool, rng: Random) -> list[Site]:
        """The sites of a step that is known to be right, families in random order but for sums, which are rare."""
        if chain.labels[place] is not True:
            return []
        key = id(chain), place
        if key not in self._sites:
            gold = self._golds.get(chain.question.id)
            self._sites[key] = sites(chain.steps[place], chain.question, gold, self._stock)
        found = [site for site in self._sites[key] if (site.family == "distant") == is_crude]
        turn = {family: rng.random() for family in sorted({site.family for site in found})} | {"result": -1.0}
        rng.shuffle(found)
        return sorted(found, key=lambda site: turn[site.family])


def _is_new(chain: LabelledChain, place: int, gold: Gold | None, site: Site, new: str) -> bool:
    """The value is said neither so far nor by the gold answer: an error may not stand in its own prefix, nor turn out right."""
    if site.family in ("logic", "polarity", "letter"):
        return True
    if site.family in ("number", "result"):
        said = re.findall(r"[\d.,]*\d", "".join(chain.steps[: place + 1]))
        return new not in said and (gold is None or new not in gold.answers)
    old_words, new_words = site.old.lower(), new.lower()
    said = "".join(chain.steps[: place + 1]).lower()
    golds = {answer.lower() for answer in gold.answers} if gold else set()
    if old_words in new_words or new_words in old_words or old_words.rstrip("s") == new_words.rstrip("s") or new_words in golds:
        return False
    return word_at(said if site.everywhere else chain.steps[place], new) is None


def _edited(steps: Sequence[str], place: int, site: Site, new: str) -> tuple[str, ...]:
    """The chain with the value replaced in its step, and with what follows from it behind."""
    step = steps[place]
    if site.family == "number":
        changes = {site.old: new}
        return (*steps[:place], *(with_changes(later, changes) for later in steps[place:]))
    edited = _put(step, site.start, site.end, new)
    if not site.everywhere:
        return (*steps[:place], edited, *steps[place + 1 :])
    if site.family == "result":
        changes = {site.old: new}
        return (*steps[:place], edited, *(with_changes(later, changes) for later in steps[place + 1 :]))
    return (*steps[:place], *(_put_everywhere(later, site.old, new) for later in steps[place:]))


def _put_everywhere(step: str, old: str, new: str) -> str:
    at = 0
    while (start := word_at(step, old, at)) is not None:
        before = len(step)
        step = _put(step, start, start + len(old), new)
        at = start + len(old) + len(step) - before
    return step


def _put(step: str, start: int, end: int, new: str) -> str:
    """With capitals and the article before it as the sentence wants them."""
    before, old = step[:start], step[start:end]
    if old[:1].isupper() and (_SENTENCE_START.search(before) or old.istitle()):
        new = new[:1].upper() + new[1:]
    elif old[:1].islower() and re.match(r"[A-Z][a-z]", new) and not re.search(r"[ -][A-Z]", new):
        new = new[:1].lower() + new[1:]
    if article := re.search(r"\b([Aa])n?(\s+)$", before):
        before = before[: article.start()] + article[1] + ("n" if new[:1].lower() in "aeiou" else "") + article[2]
    return before + new + step[end:]


def with_error(chain: LabelledChain, steps: tuple[str, ...], place: int, kind: ErrorKind) -> LabelledChain:
    """The chain with other steps: labelled as it was before the error, wrong there, unlabelled behind."""
    behind: tuple[None, ...] = (None,) * (len(steps) - place - 1)
    kinds_ = (*(None,) * place, kind, *behind)
    labels = (*chain.labels[:place], False, *behind)
    return replace(chain, steps=steps, labels=labels, kinds=kinds_, origin="perturbed", is_right=None)


def kind_of(site: Site, chain: LabelledChain, place: int) -> ErrorKind:
    """The kind of the error, from what was replaced and what its step speaks of."""
    if site.family in ("logic", "polarity", "letter"):
        return "logic"
    if site.family == "result":
        return "calculation"
    if word_at(chain.question.text, site.old) is not None:
        return "text"
    if _SHOWN.search(chain.steps[place]):
        return "perceptual" if site.family in ("looks", "number") else "domain_perception"
    return "knowledge"


def kinds(made: Sequence[Perturbed]) -> dict[ErrorKind, int]:
    """How many errors there are of each kind."""
    return dict(Counter(one.chain.kinds[one.place] for one in made))  # pyright: ignore[reportReturnType]
