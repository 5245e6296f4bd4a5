"""A language model as weak labeller of error kinds: it reads question, key, explanation and reply, and names one kind.

It sees no image, so what it says is a label to be measured, not the truth: hold it against people with `training.agreement`.

    wrong replies -> prompts -> samples (bank first) -> one kind by majority, or none
"""

import json
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field

from training import asking
from training.errors import KINDS, MEANINGS, ErrorKind, WrongReply
from ttc.answers.thinking import final_part
from ttc.backends import AnyBackend
from ttc.bank import Bank
from ttc.records import Prompt, Sample, Sampling

_ASKED: tuple[ErrorKind, ...] = tuple(kind for kind in KINDS if kind not in ("refusal", "truncation"))
"""The others are told by form."""
_SYSTEM = "\n".join(
    [
        "You study why replies to exam questions are wrong. You are given a question, its answer key, an explanation",
        "where there is one, and a reply that got no credit. Go through the reply, find its first error, and name the kind of",
        "that error:",
        *(f"- {kind}: {MEANINGS[kind]}" for kind in _ASKED),
        "You do not see the images: what the explanation says of them is so.",
        'Write one JSON object and nothing else: {"step": "the first wrong step, quoted", "kind": "one of the words above"}',
    ]
)
_KIND = re.compile(r'"kind"\s*:\s*"([^"]*)"')


class ErrorJudge(BaseModel, frozen=True, extra="forbid"):
    """Votes of one model. A label that cannot be read is none, and so is a tie: a labeller must not guess."""

    kind: Literal["model"] = "model"
    backend: AnyBackend
    """Who judges."""
    sampling: Sampling = Sampling(temperature=0.7, max_tokens=512)
    votes: int = Field(default=3, gt=0)
    """Samples per reply."""

    def labels(self, replies: Sequence[WrongReply], bank: Bank) -> list[ErrorKind | None]:
        """One kind per reply, in order; None where there is no single leading one.

        Raises:
            BackendUnavailable: the model behind it cannot be asked; what was said stays in the bank.
        """
        # without media, which a judge that reads text must not depend on
        bare = [replace(reply.question, media=(), fields={}, cluster="", source="") for reply in replies]
        asked = list(zip(bare, map(prompt, replies), strict=True))
        drawn = asking.draw(self.backend, bank, asked, self.sampling, self.votes, run="errors")
        return [leading([named(sample) for sample in votes]) for votes in drawn]


def prompt(reply: WrongReply) -> Prompt:
    """What the judge reads."""
    gold = reply.gold
    lines = ["Question: " + asking.asked(reply.question), "Answer key: " + " or ".join(gold.answers)]
    if gold.explanation.strip():
        lines.append("Explanation: " + gold.explanation)
    user = "\n".join([*lines, "", "Reply: " + final_part(reply.text).text.strip()])
    return asking.prompt(_SYSTEM, user, style="errors")


def named(sample: Sample) -> ErrorKind | None:
    """The kind that a judge's reply names last; None where it names none of those asked for."""
    text = final_part(sample.text).text
    try:
        said = json.loads(text)["kind"]
    except (ValueError, KeyError, TypeError):  # with prose around it, or cut
        found = _KIND.findall(text)
        said = found[-1] if found else None
    return next((kind for kind in _ASKED if kind == said), None)


def leading(votes: Sequence[ErrorKind | None]) -> ErrorKind | None:
    """The kind with most votes; None for a tie."""
    counts: Counter[ErrorKind] = Counter(vote for vote in votes if vote is not None)
    ranked = counts.most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return None
    return ranked[0][0]
