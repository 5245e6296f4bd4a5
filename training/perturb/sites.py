"""Where a step can be made wrong by putting one value in another's place, and which values may go there.

Values come from what the explanations themselves say (`Stock`), so that none of them is new to the corpus.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Literal
from urllib.parse import unquote, urlsplit

from training.chains import LabelledChain
from training.perturb import numbers
from training.perturb.lexicon import Block, classes
from ttc.records import Gold, Question

Family = Literal["looks", "terms", "logic", "number", "result", "letter", "option", "term", "distant", "polarity"]

_DETERMINERS = {"a": "a", "an": "a"} | dict.fromkeys(("the", "this", "that", "these", "those", "its", "their", "each"), "the")
_PREPOSITIONS = frozenset(
    [
        "of",
        "in",
        "by",
        "with",
        "from",
        "for",
        "through",
        "into",
        "on",
        "as",
        "between",
        "via",
        "like",
        "under",
        "during",
        "using",
    ]
)
_WORD_BEFORE = re.compile(r"(\w+)\s+$")
_CONCLUSION = re.compile(
    r"\b(?:option|choice|answer(?: is)?:?)\s*\(?(?P<letter>[A-L])\b(?![-'’])(?! (?:is|are|was) (?:in|not))"
)
_VERB = re.compile(
    r"\b(?P<verb>is|are|was|were|can|will|should|must|could|would|may)(?P<not> not)? (?=[a-z])(?!only|just|to\b|merely|not)"
)
_CANNOT = re.compile(r"\bcannot (?=[a-z])")
_SHORTEST_TERM = 4
_FAR = 3.0
"""Ratio of numbers from which on one is no plausible slip for the other."""
_LONGEST_TERM_WORDS = 5
_COMMON = """
both all none first second third other others each some many most much more less only also just even very such same with from
that they them then there these those what when where which while will your after before under over into between about against
during work time process means value high control answer option question video matching region position consideration type form
result results change changes effect number case part character
"""
"""Words that options consist of now and then, and that are no terms."""


@dataclass(frozen=True, slots=True)
class Site:
    """A value in a step, and what may stand in its place."""

    family: Family
    start: int
    end: int
    """Characters of the step that the value takes up."""
    old: str
    """The value as the ledger knows it."""
    tiers: tuple[tuple[str, ...], ...]
    """Candidates, the more fitting ones first."""
    everywhere: bool = False
    """The value is replaced wherever the chain names it from here on."""


@dataclass
class Stock:
    """All values that a corpus of explanations holds, by what they can stand in for."""

    numbers: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By form, each as often as it occurs."""
    terms: dict[tuple[str, ...], list[str]] = field(default_factory=lambda: defaultdict(list))
    """By frame and head word, by frame and ending, and by frame and subject."""
    rivals: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    """By term, in small letters, what stood beside it among the options of a question."""
    words: frozenset[str] = frozenset()
    """Technical terms: what options, open answers and titles of knowledge pages name."""

    @classmethod
    def of(cls, chains: Sequence[LabelledChain], golds: Mapping[str, Gold]) -> "Stock":
        """The stock of a corpus of right chains."""
        words = {word for chain in chains for word in _named(chain.question, golds.get(chain.question.id))}
        stock = cls(words=frozenset(words))
        for chain in chains:
            options = [option.strip().rstrip(".") for option in chain.question.options]
            for option in options:
                if option.lower() in words:
                    stock.rivals[option.lower()] += [other for other in options if other != option and other.lower() in words]
        for chain in chains:
            for step in chain.steps:
                for match in numbers.numbers(step):
                    stock.numbers[numbers.form(match[0])].append(match[0])
                for start, end in stock.term_spans(step):
                    for pool in _pools(step, start, end, chain.question):
                        stock.terms[pool].append(_plain(step, start, end))
        for values in (*stock.numbers.values(), *stock.terms.values(), *stock.rivals.values()):
            values[:] = sorted(set(values))
        return stock

    def term_spans(self, step: str) -> Iterator[tuple[int, int]]:
        """Where technical terms stand, longest first where they overlap."""
        places = [match.span() for match in re.finditer(r"[^\W_]+(?:['’-][^\W_]+)*", step)]
        at = 0
        while at < len(places):
            for width in range(min(_LONGEST_TERM_WORDS, len(places) - at), 0, -1):
                start, end = places[at][0], places[at + width - 1][1]
                if self._is_term(step[start:end]):
                    yield start, end
                    at += width - 1
                    break
            at += 1

    def _is_term(self, text: str) -> bool:
        key = text.lower()
        return key in self.words or (key.endswith("s") and key[:-1] in self.words)


def sites(step: str, question: Question, gold: Gold | None, stock: Stock) -> list[Site]:
    """Every place at which a rule knows how to make the step wrong."""
    found = [*_letters(step, question, gold), *_options(step, question, gold), *_numbers(step, stock)]
    taken = [(site.start, site.end) for site in found]
    found += [*_words(step), *_polarities(step), *_terms(step, question, stock, taken)]
    return found


def word_at(text: str, words: str, start: int = 0) -> int | None:
    """Where words stand in a text as whole words, whatever their case; None where they do not."""
    folded, wanted = text.lower(), words.lower()
    while (at := folded.find(wanted, start)) >= 0:
        before, behind = folded[at - 1 : at], folded[at + len(wanted) : at + len(wanted) + 1]
        if not any(character.isalnum() or character in "-_" for character in before + behind):
            return at
        start = at + 1
    return None


def _letters(step: str, question: Question, gold: Gold | None) -> Iterator[Site]:
    """The letter that a conclusion names, where it is the gold one: released letters can be stale."""
    for match in _CONCLUSION.finditer(step):
        if gold and match["letter"] in gold.answers and len(question.options) > 1:
            others = tuple(letter for letter in question.letters if letter not in gold.answers)
            yield Site("letter", *match.span("letter"), match["letter"], (others,))


def _options(step: str, question: Question, gold: Gold | None) -> Iterator[Site]:
    """The text of the gold option, against the others'."""
    texts = [option.strip().rstrip(".") for option in question.options]
    for letter in gold.answers if gold and question.options else ():
        if letter not in question.letters:
            continue
        text = texts[question.letters.index(letter)]
        others = tuple(other for other in texts if other != text and other and "image" not in other)
        if len(text) < 2 or not re.search(r"[A-Za-z]", text):
            continue
        if (start := word_at(step, text)) is not None:
            yield Site("option", start, start + len(text), text, (others,), everywhere=True)


def _numbers(step: str, stock: Stock) -> Iterator[Site]:
    right = {match.span("right") for match in numbers.results(step)}
    for match in numbers.numbers(step):
        others = tuple(value for value in stock.numbers[numbers.form(match[0])] if value != match[0])
        near = tuple(value for value in others if 1 / _FAR < numbers.ratio(value, match[0]) < _FAR)
        yield Site("result" if match.span() in right else "number", *match.span(), match[0], (near, others), everywhere=True)


def _words(step: str) -> Iterator[Site]:
    for match in _lexicon_pattern().finditer(step):
        by_family: dict[Family, list[str]] = defaultdict(list)
        for family, other in _classes().get(match[0], _classes().get(match[0].lower(), [])):
            by_family[family].append(other)
        for family, others in by_family.items():
            yield Site(family, *match.span(), match[0].lower(), (tuple(others),))


def _polarities(step: str) -> Iterator[Site]:
    """Where `not` can be put in or taken out. `does not move` is left: `does move` would tell."""
    for match in _VERB.finditer(step):
        verb = match["verb"]
        negated = "cannot" if verb == "can" else f"{verb} not"
        old, new = (f"{verb} not", verb) if match["not"] else (verb, negated)
        yield Site("polarity", match.start(), match.end() - 1, old, ((new,),))
    for match in _CANNOT.finditer(step):
        yield Site("polarity", match.start(), match.end() - 1, "cannot", (("can",),))


def _terms(step: str, question: Question, stock: Stock, taken: list[tuple[int, int]]) -> Iterator[Site]:
    for start, end in stock.term_spans(step):
        if any(start < other_end and other_start < end for other_start, other_end in taken):
            continue
        old = _plain(step, start, end)
        *near, subject = (
            tuple(value for value in stock.terms[pool] if value != old) for pool in _pools(step, start, end, question) or [()]
        )
        tiers = (tuple(stock.rivals.get(old.lower(), ())), *near)
        if any(tiers):
            yield Site("term", start, end, old, tiers, everywhere=True)
        if subject:
            yield Site("distant", start, end, old, (subject,), everywhere=True)


def _pools(step: str, start: int, end: int, question: Question) -> list[tuple[str, ...]]:
    """Pools of terms that can stand here, by what they share with the one that does: head word, ending, subject.

    All are of the same frame (what comes before), number and capitals, so that the sentence stays one.
    """
    text, before = step[start:end], _WORD_BEFORE.search(step, 0, start)
    word = before[1].lower() if before else ""
    frame = _DETERMINERS.get(word, "preposition" if word in _PREPOSITIONS else "")
    if not frame and " " not in text:
        return []  # may be a verb here
    plural = "plural" if re.search(r"[^sui]s$", text) else "singular"
    capital = "capital" if re.search(r"[A-Z]", text[1:]) else "small"
    subject, discipline = (str(question.fields.get(name, "")) for name in ("subject", "discipline"))
    common = (frame, plural, capital, "several" if " " in text else "one")
    head = text.rpartition(" ")[2].lower()
    return [(*common, "head", head), (*common, "ending", discipline, head[-4:]), (*common, "subject", subject)]


def _plain(step: str, start: int, end: int) -> str:
    """The term as it is written inside a sentence."""
    text = step[start:end]
    return text if re.search(r"[A-Z]", text[1:]) or start else text[:1].lower() + text[1:]


def _named(question: Question, gold: Gold | None) -> Iterator[str]:
    """Technical terms a question brings with it, in small letters."""
    texts: list[str] = list(question.options)
    if gold:
        texts += [] if question.options else gold.answers
        texts += [
            re.sub(r"\s*\(.*\)$", "", unquote(urlsplit(page).path).rpartition("/")[2].replace("_", " "))
            for page in gold.knowledge
        ]
    for text in texts:
        term = text.strip().rstrip(".").lower()
        if _is_nameable(term):
            yield term


def _is_nameable(term: str) -> bool:
    words = term.split()
    return (
        0 < len(words) <= _LONGEST_TERM_WORDS
        and len(term) >= _SHORTEST_TERM
        and re.fullmatch(r"[a-z][a-z'’ -]*[a-z]", term) is not None
        and not (len(words) == 1 and (term in _COMMON.split() or term in _classes() or term.endswith(("ing", "ed"))))
        and not set(words) & {"is", "are", "it", "this", "was"}
    )


@cache
def _classes() -> dict[str, list[tuple[Block, str]]]:
    return classes()


@cache
def _lexicon_pattern() -> re.Pattern[str]:
    words: Iterable[str] = sorted(map(re.escape, _classes()), key=len, reverse=True)
    return re.compile(rf"(?<![\w-])(?:{'|'.join(words)})(?![\w-])", re.IGNORECASE)
