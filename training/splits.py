"""Which questions may stand on two sides of a split: none that share an id, an image, a video, a source or their wording.

An image is shared by those with near copies of it, too (`training.alike`).

    questions -> groups (union-find over all that is shared) -> folds -> chains without what shares a knowledge page -> manifest

Knowledge pages do not join groups, since they would join most of an exam; training rows that share one with the test fold are
dropped instead, and counted.
"""

import hashlib
import json
import re
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random
from urllib.parse import parse_qs, unquote, urlsplit

from training.alike import near_copies
from training.chains import LabelledChain
from ttc.errors import UserError
from ttc.records import Gold, Question

Side = str
"""`train`, `dev` or `test`."""

_RUN = 13
"""Words in a row that two questions share only if one was made of the other."""
_ONE_FAMILY = {"mmmu_pro": "mmmu"}
"""Benchmarks whose questions keep the ids of another."""
_TELLING_WORDS = 8
"""A question without options must be this long before the same words are taken for the same question."""

Key = tuple[str, str]
"""Benchmark and id of a question: ids alone are not unique across exams."""


def key_of(question: Question) -> Key:
    """What names a question across exams."""
    return question.benchmark, question.id


def groups(questions: Iterable[Question]) -> dict[Key, str]:
    """Name of each question's group: questions of two groups share no id, image, video, source and wording."""
    from scipy.cluster.hierarchy import DisjointSet

    asked = list(questions)
    sets: DisjointSet = DisjointSet(key_of(question) for question in asked)
    first: dict[Hashable, Key] = {}
    for question in asked:
        for shared in _traces(question):
            sets.merge(first.setdefault(shared, key_of(question)), key_of(question))
    for one, other in near_copies(media for question in asked for media in question.media):
        sets.merge(first["media", one], first["media", other])
    return {key: "/".join(min(subset)) for subset in sets.subsets() for key in subset}


def _traces(question: Question) -> Iterator[Hashable]:
    """All by which another question could be known to be the same, or about the same."""
    yield "id", _ONE_FAMILY.get(question.benchmark, question.benchmark), question.id
    yield from (("media", media.sha256) for media in question.media if media.sha256)
    if question.cluster:
        yield "cluster", question.benchmark, question.cluster
    if question.source:
        yield "source", page_of(question.source)
    words = re.findall(r"\w+", re.sub(r"<image \d+>", " ", question.text).lower())
    if question.options or len(words) >= _TELLING_WORDS:
        options = sorted(" ".join(re.findall(r"\w+", option.lower())) for option in question.options)
        yield "wording", tuple(words), tuple(options), tuple(sorted(media.sha256 for media in question.media))


def page_of(address: str) -> str:
    """An address without what does not matter: scheme, `www`, fragment, time; a video's by its id, however it is linked."""
    parts = urlsplit(address.strip())
    host, query = parts.netloc.lower().removeprefix("www.").removeprefix("m."), parse_qs(parts.query)
    if host == "youtu.be":
        return f"youtube/{parts.path.strip('/')}"
    if host == "youtube.com":
        shorts = re.match(r"/(?:shorts|embed|live)/([^/]+)", parts.path)
        if name := shorts[1] if shorts else (query.get("v") or [""])[0]:
            return f"youtube/{name}"
    return f"{host}{unquote(parts.path).rstrip('/')}"


@dataclass(frozen=True, slots=True)
class Fold:
    """Who stands where. Questions in none of the three were dropped, for the reasons counted."""

    name: str
    sides: Mapping[Key, Side]
    dropped: Mapping[str, int] = field(default_factory=dict)
    """Questions by reason: `shares a group with test`, `shares a page with test`."""

    def of(self, side: Side) -> list[Key]:
        """Its questions, sorted."""
        return sorted(key for key, where in self.sides.items() if where == side)

    def chains(self, side: Side, chains: Iterable[LabelledChain]) -> list[LabelledChain]:
        """Those of the side's questions."""
        return [chain for chain in chains if self.sides.get(key_of(chain.question)) == side]


def random_fold(
    questions: Sequence[Question],
    golds: Mapping[str, Gold],
    *,
    seed: int = 0,
    dev: float = 0.1,
    test: float = 0.2,
) -> Fold:
    """Whole groups drawn at random until dev and test have their shares of the questions.

    Raises:
        UserError: nothing is left to train on.
    """
    if dev < 0 or test <= 0 or dev + test >= 1:
        raise UserError(f"dev={dev}, test={test}: shares of a split are positive and leave something to train on")
    names = groups(questions)
    order = sorted(set(names.values()))
    Random(seed).shuffle(order)
    members: dict[str, list[Key]] = {}
    for key, name in names.items():
        members.setdefault(name, []).append(key)
    sides: dict[Key, Side] = {}
    left = {"test": round(test * len(names)), "dev": round(dev * len(names))}
    for name in order:
        side = next((side for side, room in left.items() if room >= len(members[name])), "train")
        left[side] = left.get(side, len(names)) - len(members[name])
        sides |= dict.fromkeys(members[name], side)
    return _without_shared_pages(Fold(f"random, seed {seed}", sides), questions, golds)


def leave_one_out(
    questions: Sequence[Question],
    golds: Mapping[str, Gold],
    *,
    by: str = "discipline",
    seed: int = 0,
    dev: float = 0.1,
) -> list[Fold]:
    """One fold for each value of a field: the questions that have it are the test, what shares a group with them is dropped.

    Raises:
        UserError: no question has the field.
    """
    values = sorted({value for question in questions for value in question.values(by)})
    if not values:
        raise UserError(f"by={by!r}: no question has this field; fields are {sorted({*questions[0].fields})}")
    names = groups(questions)
    return [_left_out(value, by, names, questions, golds, seed, dev) for value in values]


def _left_out(
    value: str,
    by: str,
    names: Mapping[Key, str],
    questions: Sequence[Question],
    golds: Mapping[str, Gold],
    seed: int,
    dev: float,
) -> Fold:
    test = {key_of(question) for question in questions if value in question.values(by)}
    tested = {names[key] for key in test}
    rest = sorted({name for name in names.values() if name not in tested})
    for_dev = set(Random(f"{seed} {value}").sample(rest, round(dev * len(rest))))
    sides: dict[Key, Side] = dict.fromkeys(test, "test")
    sides |= {key: "dev" if name in for_dev else "train" for key, name in names.items() if name not in tested}
    straddling = len(names) - len(sides)
    return _without_shared_pages(Fold(f"{by} {value}", sides, {"shares a group with test": straddling}), questions, golds)


def _without_shared_pages(fold: Fold, questions: Sequence[Question], golds: Mapping[str, Gold]) -> Fold:
    """The fold without the training questions that rest on a page which a test question rests on, too.

    Knowledge without an address is a rule by its name, such as the pocket exam's: every side must know it, and it gives no
    answer away.
    """
    pages = {
        key_of(question): {page_of(page) for page in golds[question.id].knowledge if "://" in page}
        for question in questions
        if question.id in golds
    }
    tested = {page for key, side in fold.sides.items() if side == "test" for page in pages.get(key, ())}
    sides = {key: side for key, side in fold.sides.items() if side != "train" or not pages.get(key, set()) & tested}
    return replace(fold, sides=sides, dropped={**fold.dropped, "shares a page with test": len(fold.sides) - len(sides)})


def regrouped(chains: Iterable[LabelledChain], names: Mapping[Key, str]) -> list[LabelledChain]:
    """The chains under the names of their groups, so that cross-validation keeps those together."""
    return [replace(chain, group=names.get(key_of(chain.question), chain.group)) for chain in chains]


def apart_from(chains: Sequence[LabelledChain], trained: Sequence[Question]) -> list[LabelledChain]:
    """The chains of a bench whose questions share nothing with those trained on, nor so many words in a row.

    A bench may hold another's questions in other clothes: VisualProcessBench has 267 chains about MMMU's, the options within
    the text and the images written anew. Questions of few words in such clothes are not found: leave their subset out.
    """
    names = groups([*trained, *(chain.question for chain in chains)])
    taken = {names[key_of(question)] for question in trained}
    known = {run for question in trained for run in _runs(question)}
    return [chain for chain in chains if names[key_of(chain.question)] not in taken and known.isdisjoint(_runs(chain.question))]


def _runs(question: Question) -> Iterator[tuple[str, ...]]:
    """All runs of words of that length."""
    words = re.findall(r"\w+", " ".join([re.sub(r"<image \d+>", " ", question.text), *question.options]).lower())
    return (tuple(words[start : start + _RUN]) for start in range(len(words) - _RUN + 1))


def manifest(fold: Fold, chains: Mapping[Side, Sequence[LabelledChain]]) -> dict[str, object]:
    """What a fold holds, for a file beside the trained model: counts, and a hash of each side's content."""
    sides = {
        side: {"questions": len(fold.of(side)), "chains": len(mine), "sha256": content_hash(mine)}
        for side, mine in chains.items()
    }
    return {"fold": fold.name, "sides": sides, "dropped_questions": dict(fold.dropped)}


def write_manifest(path: Path, folds: Sequence[Mapping[str, object]]) -> None:
    """All folds' manifests as one JSON file."""
    path.write_text(json.dumps(folds, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")


def content_hash(chains: Iterable[LabelledChain]) -> str:
    """SHA-256 in hex over questions, media, steps and labels, whatever their order."""
    digests = sorted(hashlib.sha256(json.dumps(_content(chain), sort_keys=True).encode()).digest() for chain in chains)
    return hashlib.sha256(b"".join(digests)).hexdigest()


def _content(chain: LabelledChain) -> dict[str, object]:
    asked = chain.question
    return {
        "asked": [asked.benchmark, asked.id, asked.text, asked.options, [media.sha256 for media in asked.media]],
        "steps": chain.steps,
        "labels": chain.labels,
        "kinds": chain.kinds,
        "from": [chain.origin, chain.source, chain.is_right, chain.sample_id],
    }
