"""What a classifier of error kinds looks at: how the reply departs from the released explanation, and the words of both.

    reply, explanation -> steps of each -> the first step of the reply that is not the explanation's, beside its counterpart
                       -> numbers, signs, sums and words in which the two differ | texts, each embedded by itself

Explanations of another form than the reply's leave most comparisons at zero; what is left then are cues, places and embeddings.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isclose, log1p
from pathlib import Path
from typing import TYPE_CHECKING

from training.errors import WrongReply
from verifiers.steps import split

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_ALL = 10_000
"""Steps are not merged here: a comparison wants the smallest."""
_NUMBER = re.compile(r"(?<![\w.])\d+(?:[.,]\d+)*(?!\w)")
_TOKEN = re.compile(r"[\w.]*\w|[^\w\s]")
_SUM = re.compile(r"(\d+(?:\.\d+)?)\s*(\+|-|−|\*|×|·|/|÷|mod)\s*(\d+(?:\.\d+)?)\s*=\s*(-?\d+(?:\.\d+)?)")
_SIGNS = frozenset("+-−*×·/÷^√") | {"mod"}
_CUES: Mapping[str, re.Pattern[str]] = {
    "seen": re.compile(
        r"\b(?:image|figure|video|picture|frame|graph|chart|diagram|see[ns]?|show[ns]?|depict\w*|visible|look\w*)\b", re.I
    ),
    "known": re.compile(r"\b(?:law|formula|theorem|rule|principle|defin\w+|known|typical\w*|theory|equation|called)\b", re.I),
    "asked": re.compile(r"\b(?:question|options?|choices?|asks?|asked|given|states?|stated|according)\b", re.I),
    "concluded": re.compile(r"\b(?:therefore|thus|hence|so|because|since|implies|must)\b", re.I),
    "declined": re.compile(r"\b(?:sorry|cannot|can't|unable|insufficient|not possible|impossible)\b", re.I),
}

FIELDS: Mapping[str, int] = {"question": 128, "gold": 128, "step": 512, "reply": 128}
"""Texts that are embedded, and the width of each without an encoder."""


@dataclass(frozen=True, slots=True)
class Departure:
    """Where a reply leaves the explanation."""

    place: int
    """Index among the reply's smallest steps; 0 for an empty reply."""
    steps: tuple[str, ...]
    """All of the reply's smallest steps."""
    counterpart: str
    """The explanation's step that it stands for; empty without an explanation."""

    @property
    def step(self) -> str:
        """The step itself."""
        return self.steps[self.place] if self.steps else ""


def departure(reply: WrongReply) -> Departure:
    """Where some of the reply's steps are the explanation's own, the first that is not; else the one with least in common."""
    steps = tuple(step.text.strip() for step in split(reply.text, at_most=_ALL))
    own = [step.text.strip() for step in split(reply.gold.explanation, at_most=_ALL)]
    if not steps or not own:
        return Departure(0, steps, "")
    shares, partners, start = [], [], 0
    for step in steps:
        found = [_shared(step, one) - 0.1 * away for away, one in enumerate(own[start:])] or [0.0]
        at = max(range(len(found)), key=found.__getitem__)
        is_same = start + at < len(own) and own[start + at] == step
        shares.append(2.0 if is_same else found[at])
        partners.append(own[start + at] if start + at < len(own) else own[-1])
        if is_same or found[at] > 0.5:
            start += at + 1
    strange = [place for place, share in enumerate(shares) if share < 2]
    if not strange:
        return Departure(len(steps) - 1, steps, partners[-1])
    place = strange[0] if len(strange) < len(steps) or _shares_most(shares) else min(strange, key=shares.__getitem__)
    return Departure(place, steps, partners[place])


def _shares_most(shares: Sequence[float]) -> bool:
    """The first step is nearly the explanation's: both have the same form, and the reply went wrong at once."""
    return shares[0] > 0.5


def _shared(step: str, other: str) -> float:
    """Tokens that both have over tokens that either has."""
    one, two = set(_TOKEN.findall(step)), set(_TOKEN.findall(other))
    return len(one & two) / len(one | two) if one | two else 0.0


def numbers(reply: WrongReply, left: Departure) -> dict[str, float]:
    """The comparison as named numbers of about the same size."""
    named = dict(_compared(left))
    named |= {f"cue {name}": min(2.0, len(cue.findall(left.step))) / 2 for name, cue in _CUES.items()}
    named |= {f"cue anywhere {name}": min(4.0, len(cue.findall(reply.text))) / 4 for name, cue in _CUES.items()}
    count, due = len(left.steps), len(split(reply.gold.explanation, at_most=_ALL))
    named |= {
        "place": left.place / count if count else 0.0,
        "is first": float(left.place == 0),
        "is last": float(left.place == count - 1),
        "steps": log1p(count) / 3,
        "too few": float(count < due),
        "length": log1p(len(reply.text)) / 8,
        "answered": float(reply.answer.value is not None),
        "cut": float(reply.finish == "length"),
        "of the question": _shared(left.step, reply.question.text),
    }
    if reply.bad_step is not None:
        merged = split(reply.text)
        bad = merged[reply.bad_step].text if reply.bad_step < len(merged) else ""
        named |= {
            "verifier": 1.0,
            "verifier place": reply.bad_step / len(merged) if merged else 0.0,
            "verifier agrees": float(bool(left.step) and left.step in bad),
            "verifier sum": float(any(not right for right in _sums(bad))),
        }
    return named


def _compared(left: Departure) -> Iterator[tuple[str, float]]:
    step, other = left.step, left.counterpart
    said, due = _NUMBER.findall(step), _NUMBER.findall(other)
    sums = _sums(step)
    yield "sum", float(bool(sums))
    yield "wrong sum", float(not all(sums))
    yield "no sum due", float(not _sums(other))
    signs = set(_TOKEN.findall(step)) & _SIGNS, set(_TOKEN.findall(other)) & _SIGNS
    other_sign = bool(other) and signs[0] != signs[1]
    yield "other sign", float(other_sign)
    yield "other sign, right sum", float(other_sign and all(sums))
    for name, at in (("first", 0), ("second", 1), ("last", -1)):
        given = [row[at] if len(row) > max(at, 0) else None for row in (said, due)]
        differs = bool(other) and given[0] != given[1]
        yield f"other {name} number", float(differs)
        yield f"other {name} number, same sign", float(differs and not other_sign)
    yield "only the result", float(bool(other) and said[:-1] == due[:-1] and said[-1:] != due[-1:] and not other_sign)
    words = [[token for token in _TOKEN.findall(text) if not _NUMBER.fullmatch(token)] for text in (step, other)]
    yield "same words", float(words[0] == words[1])
    yield "same first word", float(words[0][:1] == words[1][:1])
    yield "shared", _shared(step, other)
    before = _NUMBER.findall(left.steps[left.place - 1]) if left.place else []
    yield "carried", float(bool(before) and said[:1] == before[-1:])
    yield "as many numbers", float(len(said) == len(due))
    yield "no number", float(not said)


def _sums(text: str) -> list[bool]:
    """Whether each sum that is written out holds."""
    return [isclose(_worked(float(a), sign, float(b)), float(c), abs_tol=0.011) for a, sign, b, c in _SUM.findall(text)]


def _worked(left: float, sign: str, right: float) -> float:
    if sign == "+":
        return left + right
    if sign in "-−":
        return left - right
    if sign in "*×·":
        return left * right
    if right == 0:
        return float("nan")
    return left / right if sign in "/÷" else left % right


def table(replies: Sequence[WrongReply], *, encoder: Path | None = None) -> "csr_array":
    """One row per reply: numbers of the comparison, then each text's embedding. Nothing is fitted, so nothing can leak.

    Args:
        encoder: folder of a sentence encoder; words are hashed without one.

    Raises:
        UserError: the folder holds no encoder.
    """
    from scipy.sparse import csr_array, hstack
    from sklearn.feature_extraction import DictVectorizer

    left = [departure(reply) for reply in replies]
    named = [numbers(reply, one) for reply, one in zip(replies, left, strict=True)]
    columns = {
        "question": ["\n".join((reply.question.text, *reply.question.options)) for reply in replies],
        "gold": ["\n".join((*reply.gold.answers, reply.gold.explanation)) for reply in replies],
        "step": [one.step for one in left],
        "reply": [reply.text for reply in replies],
    }
    # the order of columns must not depend on which replies there are
    names = sorted({name for row in named for name in row} | {"verifier", "verifier place", "verifier agrees", "verifier sum"})
    counted = DictVectorizer().fit([dict.fromkeys(names, 0.0)]).transform(named)
    embedded = [_embedded(columns[field], width, encoder) for field, width in FIELDS.items()]
    return csr_array(hstack([counted, *embedded]))


def _embedded(texts: Sequence[str], width: int, encoder: Path | None) -> "csr_array":
    """Unit vectors."""
    from scipy.sparse import csr_array

    if encoder is not None:
        from training.difficulty_embeddings import embed

        place = {text: row for row, text in enumerate(dict.fromkeys(texts))}
        return csr_array(embed(list(place), encoder)[[place[text] for text in texts]])
    from sklearn.feature_extraction.text import HashingVectorizer

    words = HashingVectorizer(n_features=width, token_pattern=_TOKEN.pattern, lowercase=False)
    return csr_array(words.transform(texts))
