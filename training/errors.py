"""Why a reply is wrong: one fine set of kinds, what two papers call them, and the kinds that need no reading to tell.

Source: the kinds are the union of the error analyses of MMMU (Yue et al. 2023, arXiv:2311.16502) and MMVU (Zhao et al. 2025,
arXiv:2501.12380); each of the two is a projection.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, get_args

from training.perturb import ErrorKind as PlantedKind
from ttc.records import Answer, Finish, Gold, Question, SampleStatus

if TYPE_CHECKING:
    from ttc.pocket.problem import Problem

ErrorKind = Literal[
    "perception",
    "domain_perception",
    "knowledge",
    "logic",
    "text_reliance",
    "text_misreading",
    "refusal",
    "annotation",
    "extraction",
    "truncation",
    "other",
]
KINDS: tuple[ErrorKind, ...] = get_args(ErrorKind)

MEANINGS: Mapping[ErrorKind, str] = MappingProxyType(
    {
        "perception": "it misreads what anybody could see in the image or video: a number, a colour, a place, a count",
        "domain_perception": "it sees the thing but takes it for another; telling them apart needs the field's knowledge",
        "knowledge": "it reasons with a wrong or missing law, fact or definition of the field",
        "logic": "it slips in a sum, or concludes what does not follow, from right premises",
        "text_reliance": "it answers from the words of question and options, or from habit, and does not use what is shown",
        "text_misreading": "it misunderstands what the question or an option says or asks for",
        "refusal": "it declines to answer",
        "annotation": "the reply is right, or as good as the key: key or question is at fault",
        "extraction": "the reply stands by the right answer, and the program that read it took another or none",
        "truncation": "it was cut before it came to an answer",
        "other": "none of these",
    }
)
"""For people and for models that judge."""

MMMU = Literal["perceptual", "lack of knowledge", "reasoning", "textual understanding", "refusal", "annotation", "extraction"]
MMVU = Literal[
    "visual perception",
    "domain knowledge in perception",
    "domain knowledge in reasoning",
    "reliance on text",
    "logical",
    "other",
]

TO_MMMU: Mapping[ErrorKind, MMMU | None] = MappingProxyType(
    {
        "perception": "perceptual",
        "domain_perception": "lack of knowledge",
        "knowledge": "lack of knowledge",
        "logic": "reasoning",
        "text_reliance": "perceptual",
        "text_misreading": "textual understanding",
        "refusal": "refusal",
        "annotation": "annotation",
        "extraction": "extraction",
        "truncation": None,
        "other": None,
    }
)
"""MMMU counts what only an expert can see as lack of knowledge, and has no place for replies that were cut."""

_NAMED_BY_MMVU: Mapping[ErrorKind, MMVU] = MappingProxyType(
    {
        "perception": "visual perception",
        "domain_perception": "domain knowledge in perception",
        "knowledge": "domain knowledge in reasoning",
        "logic": "logical",
        "text_reliance": "reliance on text",
    }
)
TO_MMVU: Mapping[ErrorKind, MMVU] = MappingProxyType({kind: _NAMED_BY_MMVU.get(kind, "other") for kind in KINDS})

OF_PLANTED: Mapping[PlantedKind, ErrorKind] = MappingProxyType(
    {
        "perceptual": "perception",
        "domain_perception": "domain_perception",
        "knowledge": "knowledge",
        "calculation": "logic",
        "logic": "logic",
        "text": "text_misreading",
    }
)
"""Errors that `training.perturb` puts in, in these terms."""

OF_POCKET: Mapping[str, ErrorKind] = MappingProxyType(
    {"perception": "perception", "knowledge": "knowledge", "reasoning": "logic"}
)
"""What the pocket exam's checker says, in these terms."""


@dataclass(frozen=True, slots=True)
class WrongReply:
    """A reply without full credit, with all that a person would be shown who is asked why."""

    question: Question
    gold: Gold
    text: str
    answer: Answer
    id: str = ""
    """`key/index` of the bank's sample; empty for what is no sample."""
    status: SampleStatus = "ok"
    finish: Finish = "stop"
    bad_step: int | None = None
    """Index of the verifier's first bad step among `verifiers.steps.split(text)`; None without a verifier."""


def ruled(reply: WrongReply) -> ErrorKind | None:
    """The kind where form alone decides it: refused, cut, or read wrongly; None where somebody has to read.

    A reply from which nothing was read is an extraction error where its last words name the gold answer, and a cut one is cut
    only if it gave no answer.
    """
    if reply.status == "refused" or reply.answer.status in ("refused", "abstained"):
        return "refusal"
    if reply.answer.value is not None:
        return None
    if reply.answer.status == "truncated" or reply.finish == "length":
        return "truncation"
    if reply.status != "ok" or reply.answer.status == "failed":
        return "other"
    return "extraction" if _ends_with_gold(reply) else None


@lru_cache(maxsize=1024)
def _problem(question_id: str) -> "Problem":
    from ttc.pocket.exam import find

    return find(question_id)


def _ends_with_gold(reply: WrongReply) -> bool:
    lines = [line for line in reply.text.splitlines() if line.strip()]
    last = " ".join(lines[-1].split()).casefold() if lines else ""
    options = dict(zip(reply.question.letters, reply.question.options, strict=True))
    said = [" ".join(options.get(answer, answer).split()).casefold() for answer in reply.gold.answers]
    ends = (rf"(?<![\w.,]){re.escape(one)}\W*$" for one in said if one and "<image" not in one)
    return any(re.search(end, last) for end in ends)


def pocket_kind(reply: WrongReply) -> ErrorKind:
    """The truth about a wrong reply to a pocket question: the kind of its first error.

    Of a reply whose lines are all right the answer must be at fault, as where a bare one names another option.
    """
    from ttc.pocket.checker import check

    if (kind := ruled(reply)) is not None:
        return kind
    checks = check(_problem(reply.question.id), reply.text)
    return OF_POCKET[next((one.kind for one in checks if one.kind != "right"), "reasoning")]
