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
    return [samples[0] for samples in draw(backend, bank, [(about, prompt) for prompt in prompts], sampling, 1, run=run)]


def draw(
    backend: Backend, bank: Bank, asked: Sequence[tuple[Question, Prompt]], sampling: Sampling, n: int, *, run: str
) -> list[list[Sample]]:
    """n replies to each question under its prompt, in order. Arguments and errors as of `ask`."""

    async def drawn() -> list[list[Sample]]:
        async with Dispatcher(backend, bank, run=run) as source:
            with source.stopping_on_signals():
                return await asyncio.gather(*(source.samples(*one, sampling, n) for one in asked))

    return asyncio.run(drawn()) if asked else []


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
