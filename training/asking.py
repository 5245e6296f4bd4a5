"""Questions to a language model about many things at once: bank first, so that nothing is asked and paid for twice."""

import asyncio
from collections.abc import Sequence

from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.protocols import Backend
from ttc.records import Message, Prompt, Question, Sample, Sampling, Text


def ask(backend: Backend, bank: Bank, prompts: Sequence[Prompt], sampling: Sampling, *, run: str) -> list[Sample]:
    """One reply to each prompt, in order.

    Args:
        run: name under which the bank keeps who asked.

    Raises:
        BackendUnavailable: the engine gave up or the run was stopped; the same call goes on from the bank.
    """
    # the prompt says it all: the key must not depend on what it is about
    about = Question(run, "training", "open", "")

    async def replies() -> list[Sample]:
        async with Dispatcher(backend, bank, run=run) as source:
            with source.stopping_on_signals():
                found = await asyncio.gather(*(source.samples(about, prompt, sampling, 1) for prompt in prompts))
                return [samples[0] for samples in found]

    return asyncio.run(replies()) if prompts else []


def prompt(system: str, user: str, *, style: str) -> Prompt:
    """Two messages of text alone."""
    return Prompt((Message("system", (Text(system),)), Message("user", (Text(user),))), style=style)


def asked(question: Question) -> str:
    """A question and its options as text."""
    options = [f"{letter}. {option}" for letter, option in zip(question.letters, question.options, strict=True)]
    return "\n".join([question.text, *options])


def numbered(steps: Sequence[str]) -> str:
    """One step a paragraph, numbered from 1."""
    return "\n".join(f"[{number}] {step.strip()}" for number, step in enumerate(steps, start=1))
