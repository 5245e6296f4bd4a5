"""Right chains and planted errors by a language model: both in its own words, so that style does not tell one from the other.

    explanation -> the model's rewrite, checked -> one step edited by the same model, checked -> a chain with one error

What fails a check is left out, and counted by the check.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Literal

from pydantic import BaseModel

from training.asking import ask, asked, numbered, prompt
from training.chains import LabelledChain
from training.perturb import ErrorKind, Perturbed, planned, with_error
from training.perturb.checks import faults
from training.perturb.numbers import numbers
from ttc.answers import extract
from ttc.backends import AnyBackend
from ttc.bank import Bank
from ttc.judges.rules import Rules
from ttc.records import Gold, Sample, Sampling
from verifiers.steps import split

KINDS: Mapping[ErrorKind, str] = {
    "perceptual": "something that can be seen (a color, count, place, direction or value) is read wrongly",
    "domain_perception": "what is seen is taken for another structure, device, process or condition",
    "knowledge": "a law, definition or fact of the field is stated wrongly",
    "calculation": "a number is worked out wrongly",
    "logic": "a conclusion does not follow from what was said before",
    "text": "a word of the question is misread: a negation, a quantity, a unit or a condition",
}

LEAST_KEPT = 0.3
"""Share of an explanation's terms that its rewrite must hold: one that has fewer does not explain the same."""

_REWRITE_SYSTEM = (
    "You write solutions of exam questions. You are given a question, its answer and an explanation. Write the explanation "
    "again in your own words as a few short steps of reasoning, one step on each line, without numbering and without a "
    "heading. Keep every fact, number and conclusion, add none, and let the last step state the answer."
)
_EDIT_SYSTEM = (
    "You make test material for readers who look for mistakes. You are given a question and a right solution whose steps are "
    "numbered. Rewrite one step so that it holds exactly one mistake of the given kind. Change as few words as possible and "
    "keep style, length and form. The mistake must be definite and must not stand in earlier steps. Do not hint at it. Reply "
    "with the rewritten step alone, on one line, without its number."
)


class ModelEdits(BaseModel, frozen=True, extra="forbid"):
    """A language model, through any backend, rewrites explanations and plants errors in its own rewrites."""

    kind: Literal["model"] = "model"
    backend: AnyBackend
    sampling: Sampling = Sampling(temperature=0.7, max_tokens=1024)

    def rewrite(
        self, chains: Sequence[LabelledChain], golds: Mapping[str, Gold], bank: Bank
    ) -> tuple[list[LabelledChain], Counter[str]]:
        """Right chains in the model's words, and how often each check failed.

        Raises:
            BackendUnavailable: the model cannot be asked; the same call goes on from the bank.
        """
        prompts = [prompt(_REWRITE_SYSTEM, _explained(chain, golds[chain.question.id]), style="rewrite") for chain in chains]
        replies = ask(self.backend, bank, prompts, self.sampling, run="rewrite")
        kept, failed = [], Counter[str]()
        for chain, reply in zip(chains, replies, strict=True):
            wrong = rewrite_faults(chain, reply, golds[chain.question.id])
            failed.update(wrong)
            if not wrong:
                steps = tuple(step.text for step in split(reply.text.strip()))
                nothing: tuple[None, ...] = (None,) * len(steps)
                kept.append(replace(chain, steps=steps, labels=(True,) * len(steps), kinds=nothing))
        return kept, failed

    def perturb(
        self, chains: Sequence[LabelledChain], bank: Bank, *, seed: int = 0, share: float = 0.3, most: int = 6
    ) -> tuple[list[Perturbed], Counter[str]]:
        """Chains with one error each, and how often each check failed; `share` and `most` as in `training.perturb.perturb`.

        Give it the model's own rewrites, so that right and wrong steps have one author. Kinds take turns.

        Raises:
            BackendUnavailable: the model cannot be asked; the same call goes on from the bank.
        """
        orders = planned(chains, share, most, seed)
        turns: list[ErrorKind] = [kind for _ in range(len(orders) // len(KINDS) + 1) for kind in KINDS]
        Random(seed).shuffle(turns)
        asks: list[tuple[LabelledChain, int, ErrorKind]] = [
            (chain, place, kind) for (chain, place), kind in zip(orders, turns, strict=False)
        ]
        prompts = [prompt(_EDIT_SYSTEM, _order(chain, place, kind), style="edit") for chain, place, kind in asks]
        replies = ask(self.backend, bank, prompts, self.sampling, run="edit")
        made, failed = [], Counter[str]()
        for (chain, place, kind), reply in zip(asks, replies, strict=True):
            steps, wrong = _edited(chain, place, reply)
            failed.update(wrong)
            if not wrong:
                old, new = difference(chain.steps[place], steps[place])
                made.append(Perturbed(with_error(chain, steps, place, kind), chain, place, old, new))
        return made, failed


def rewrite_faults(chain: LabelledChain, reply: Sample, gold: Gold) -> list[str]:
    """Names of the checks that a rewrite fails: it must keep numbers and terms, and the gold answer if it names one."""
    if reply.status != "ok" or reply.finish == "length":
        return ["no reply"]
    explained = "".join(chain.steps)
    before, after = _numbers(explained), _numbers(reply.text)
    terms = _terms(explained)
    answer = extract(chain.question, reply)
    credit = Rules().judge(chain.question, gold, answer).credit if chain.question.options and answer.values else 1
    steps = [step.text for step in split(reply.text.strip())]
    checks = {
        "no steps": not steps,
        "lost number": bool(before - after),
        "new number": bool(after - before - _numbers(asked(chain.question)) - _numbers(" ".join(gold.answers))),
        "lost terms": len(terms & _terms(reply.text)) < LEAST_KEPT * len(terms),
        "another answer": credit < 1,
        "heading or list": any(re.match(r"\s*(?:#|[-*]\s|\d+[.)]\s|\**step\b)", step, re.IGNORECASE) for step in steps),
    }
    return [name for name, fails in checks.items() if fails]


def _terms(text: str) -> set[str]:
    """Beginnings of the long words: another form of a word is the same term."""
    return {word[:6] for word in re.findall(r"[a-z]{6,}", text.lower())}


def _numbers(text: str) -> set[str]:
    return {match[0] for match in numbers(text)}


def _edited(chain: LabelledChain, place: int, reply: Sample) -> tuple[tuple[str, ...], list[str]]:
    """The chain with the model's step, its blanks as they were, and the names of the checks it fails."""
    original = chain.steps[place]
    if reply.status != "ok" or reply.finish == "length" or not reply.text.strip():
        return chain.steps, ["no reply"]
    lead, trail = original[: len(original) - len(original.lstrip())], original[len(original.rstrip()) :]
    own = re.search(rf"^\s*\[{place + 1}\](.+)$", reply.text, re.MULTILINE)  # some say the whole solution again
    text = (own[1] if own else reply.text).strip()
    steps = (*chain.steps[:place], f"{lead}{text}{trail}", *chain.steps[place + 1 :])
    old, new = difference(original, steps[place])
    return steps, faults(chain.steps, steps, place, old=old, new=new)


def difference(before: str, after: str) -> tuple[str, str]:
    """What stands in two texts between their common beginning and end, in whole words."""
    old, new = before.split(), after.split()
    lead = next((n for n, (a, b) in enumerate(zip(old, new, strict=False)) if a != b), min(len(old), len(new)))
    tail = 0
    while tail < min(len(old), len(new)) - lead and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    return " ".join(old[lead : len(old) - tail]), " ".join(new[lead : len(new) - tail])


def _explained(chain: LabelledChain, gold: Gold) -> str:
    return f"Question:\n{asked(chain.question)}\n\nAnswer: {' or '.join(gold.answers)}\n\nExplanation:\n{''.join(chain.steps)}"


def _order(chain: LabelledChain, place: int, kind: ErrorKind) -> str:
    return (
        f"Question:\n{asked(chain.question)}\n\nSolution:\n{numbered(chain.steps)}\n\n"
        f"Rewrite step [{place + 1}]. Kind of mistake: {KINDS[kind]}."
    )
