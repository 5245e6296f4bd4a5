"""Labels of natural steps: by what becomes of replies that go on from them, and by a judge; kept where both agree.

A step is wrong only if every continuation from it, and from any step behind it, ends in a wrong answer (threshold 0). Soft
labels and higher thresholds train worse verifiers (arXiv:2503.10291, arXiv:2501.07301).
"""

import re
from asyncio import gather, run
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal

from pydantic import BaseModel

from training.asking import ask, asked, numbered, prompt
from training.chains import LabelledChain
from ttc import prompts
from ttc.answers import extract
from ttc.backends import AnyBackend
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.judges.rules import Rules
from ttc.protocols import Backend, Judge
from ttc.records import Gold, Prompt, Question, Sample, Sampling
from ttc.session import Session


@dataclass(frozen=True, slots=True)
class Rollouts:
    """How continuations ended: one entry for the bare question, then one for each step."""

    right: tuple[int, ...]
    """Continuations with the right answer. Behind the last step there is one, the chain itself."""
    ended: tuple[int, ...]
    """Continuations that came to an end; those cut at the token limit say nothing."""

    @property
    def rates(self) -> tuple[float | None, ...]:
        """Share that ends right; None where none ended."""
        return tuple(right / ended if ended else None for right, ended in zip(self.right, self.ended, strict=True))


async def roll_out(session: Session, chain: LabelledChain, gold: Gold, judge: Judge, *, n: int = 8) -> Rollouts:
    """Draw `n` continuations of the question and of the chain up to each step but the last, and grade them.

    The session's bank is asked first, so the continuations of equal beginnings are shared. Prefixes are the steps' text in the
    engine's tokens.

    Raises:
        UserError: the engine does not take or tell token ids.
        BudgetSpent: the session's budget is used up.
    """
    begun = ["", *accumulate(chain.steps[:-1])]
    prefixes = [await session.token_ids(text) if text else () for text in begun]
    drawn = await session.extend(prefixes, n=n)
    right, ended = [], []
    for text, samples in zip(begun, drawn, strict=True):
        done = [sample for sample in samples if sample.status == "ok" and sample.finish != "length"]
        credits = [judge.judge(chain.question, gold, extract(chain.question, _whole(text, sample))).credit for sample in done]
        right.append(sum(credit == 1 for credit in credits))
        ended.append(len(done))
    return Rollouts((*right, int(bool(chain.is_right))), (*ended, int(chain.is_right is not None)))


def roll_out_all(
    chains: Sequence[LabelledChain],
    golds: Mapping[str, Gold],
    backend: Backend,
    bank: Bank,
    sampling: Sampling,
    *,
    judge: Judge | None = None,
    n: int = 8,
) -> list[Rollouts]:
    """`roll_out` for many chains of one model, in order, all at the same time; what the bank holds is not drawn again.

    Args:
        backend: of the model that is to go on, mostly the one that wrote the chains.
        judge: the careful rules where None.

    Raises:
        BackendUnavailable: the engine gave up or the run was stopped; the same call goes on.
    """
    grader = judge or Rules()

    async def rolled() -> list[Rollouts]:
        async with Dispatcher(backend, bank, run="rollouts") as source:
            with source.stopping_on_signals():
                sessions = [Session(chain.question, source, _asked, sampling) for chain in chains]
                pairs = zip(sessions, chains, strict=True)
                found = (roll_out(session, chain, golds[chain.question.id], grader, n=n) for session, chain in pairs)
                return list(await gather(*found))

    return run(rolled())


def _asked(question: Question, style: str) -> Prompt:
    return prompts.render(question, style=style)


def _whole(before: str, sample: Sample) -> Sample:
    return replace(sample, text=before + sample.text)


def labelled(chain: LabelledChain, rollouts: Rollouts) -> LabelledChain:
    """The chain with what its rollouts say: right up to the first step behind which nothing ends right, which is wrong.

    What follows the first error is unlabelled, and so is all of a chain whose question the model never answers: there, failure
    says nothing about a step.
    """
    alive = [any(rollouts.right[place:]) for place in range(len(rollouts.right))]
    nothing: tuple[None, ...] = (None,) * len(chain.steps)
    if not alive[0]:
        return replace(chain, labels=nothing, kinds=nothing)
    first = next((place for place in range(len(chain.steps)) if not alive[place + 1]), None)
    if first is None:
        return replace(chain, labels=(True,) * len(chain.steps), kinds=nothing)
    is_known = rollouts.ended[first + 1] > 0
    labels = (*(True,) * first, False if is_known else None, *nothing[first + 1 :])
    return replace(chain, labels=labels, kinds=nothing)


def agreed(one: Sequence[LabelledChain], other: Sequence[LabelledChain]) -> list[LabelledChain]:
    """The chains on whose first error, or having none, two labellings agree; of the first labelling.

    Consensus of rollouts and a judge keeps about 40 % of chains and is worth a full judging (arXiv:2501.07301).
    """
    pairs = zip(one, other, strict=True)
    return [a for a, b in pairs if _is_settled(a) and _is_settled(b) and a.first_error == b.first_error]


def _is_settled(chain: LabelledChain) -> bool:
    """An error is known, or every step is."""
    return chain.first_error is not None or None not in chain.labels


_SYSTEM = (
    "You check solutions of exam questions step by step. You are given a question, its right answer, an explanation where "
    "there is one, and a solution whose steps are numbered. Find the first step that states something false, or that does not "
    "follow from the question and the steps before it. A step that only builds on an earlier mistake is not the first."
)
_USER = (
    "Question:\n{question}\n\nRight answer: {answer}\n{explanation}\nSolution:\n{steps}\n\n"
    "Say briefly what you checked, and end with one line: `First error: k`, where k is the number of the step, or 0 where "
    "every step is right."
)
_FOUND = re.compile(r"first error\W+(?:step\W+)?\[?(\d+)", re.IGNORECASE)


class StepJudge(BaseModel, frozen=True, extra="forbid"):
    """A language model that knows the gold answer and names the first wrong step."""

    kind: Literal["step_judge"] = "step_judge"
    backend: AnyBackend
    sampling: Sampling = Sampling(temperature=0.0, max_tokens=1024)

    def label(self, chains: Sequence[LabelledChain], golds: Mapping[str, Gold], bank: Bank) -> list[LabelledChain]:
        """The chains with the judge's labels, in order; one whose reply names no step is unlabelled.

        Raises:
            BackendUnavailable: the judge cannot be asked.
        """
        asks = [prompt(_SYSTEM, _user(chain, golds[chain.question.id]), style="step_judge") for chain in chains]
        replies = ask(self.backend, bank, asks, self.sampling, run="step judge")
        return [_judged(chain, reply) for chain, reply in zip(chains, replies, strict=True)]


def _user(chain: LabelledChain, gold: Gold) -> str:
    explanation = f"Explanation: {gold.explanation}\n" if gold.explanation else ""
    fields = {
        "question": asked(chain.question),
        "answer": " or ".join(gold.answers),
        "explanation": explanation,
        "steps": numbered(chain.steps),
    }
    # a plain replacement in one pass, since questions hold braces
    return re.sub(r"\{(question|answer|explanation|steps)\}", lambda match: fields[match[1]], _USER)


def _judged(chain: LabelledChain, reply: Sample) -> LabelledChain:
    found = _FOUND.findall(reply.text) if reply.status == "ok" else []
    steps, place = len(chain.steps), int(found[-1]) if found else -1
    nothing: tuple[None, ...] = (None,) * steps
    if not 0 <= place <= steps:
        return replace(chain, labels=nothing, kinds=nothing)
    labels = (True,) * steps if place == 0 else (*(True,) * (place - 1), False, *(None,) * (steps - place))
    return replace(chain, labels=labels, kinds=nothing)
