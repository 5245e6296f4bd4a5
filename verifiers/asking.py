"""Verifiers that ask a model in words: what they share.

replies -> prompts -> samples (bank first, so that no reply is asked about twice) -> readings of them -> scores
"""

import asyncio
import tempfile
import threading
from abc import ABC, abstractmethod
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future, as_completed
from contextlib import ExitStack
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Self, TypeVar

from pydantic import BaseModel, Field, model_validator

from ttc.backends import AnyBackend
from ttc.backends.pump import cancel_others
from ttc.bank import Bank, Writer
from ttc.dispatcher import Dispatcher
from ttc.protocols import Backend
from ttc.records import Prompt, Question, Reply, Sample, Sampling, StepScores
from verifiers.instructions import Shown, load
from verifiers.steps import steps_of

if TYPE_CHECKING:
    from ttc.compute import ModelShape

_T = TypeVar("_T")


class Asked(BaseModel, ABC, frozen=True, extra="forbid"):
    """A verifier that shows question and reply to a model of any backend and reads what it says.

    What the model says are samples like any others, kept in the bank that the run uses.
    """

    backend: AnyBackend
    """Who verifies."""
    sampling: Sampling
    votes: int = Field(gt=0)
    """Samples about each reply."""
    instructions: Path
    """File of instructions, in the form of those in `verifiers/prompts/`."""
    shown: Shown = Shown()
    """What is shown of the question's media."""
    uses_gold: ClassVar[bool] = False

    @model_validator(mode="after")
    def _votes_differ(self) -> Self:
        if self.sampling.temperature == 0 and self.votes > 1:
            raise ValueError(f"votes={self.votes} at temperature 0 would be one vote; set votes: 1 or a temperature")
        return self

    def identity(self) -> Mapping[str, object]:
        """Model, settings, and the instructions by their content."""
        settings = self.model_dump(mode="json", include={"sampling", "votes", "shown"})
        return {**settings, "backend": dict(self.backend.identity()), "instructions": load(self.instructions).sha256}

    def flops(self, scores: StepScores) -> float | None:
        """At most what was spent, as if all votes were one sequence with a word drawn at each token; None for an API."""
        if self._shape is None:
            return None
        return float(self._shape.scorer_flops(scores.tokens, scores.tokens, scores.image_tokens, scores.image_spans))

    @cached_property
    def _shape(self) -> "ModelShape | None":
        return self.backend.shape()

    def prompt(self, question: Question, steps: Sequence[str]) -> Prompt:
        """What the model is asked about a reply of these steps: in training and in use the same."""
        return load(self.instructions).prompt(question, steps, self.shown, file=self.instructions.name)

    def open(self) -> "AskedScorer":
        """Keeps nothing of what the model says. Raises UserError as the backend's `open`, when first asked."""
        return AskedScorer(self, None)

    def open_in(self, bank: Bank, writer: Writer) -> "AskedScorer":
        """Takes from the bank what was asked before, and keeps there what is new."""
        return AskedScorer(self, bank)

    @abstractmethod
    def read(self, reply: Reply, steps: int, samples: Sequence[Sample]) -> StepScores:
        """The scores that the model's samples about a reply of so many steps come to; what they cost is filled in."""


class AskedScorer:
    """See `ttc.protocols.Scorer`. The model is opened with the first reply that the bank has no answer for."""

    def __init__(self, config: Asked, bank: Bank | None) -> None:
        self._config = config
        self._closing = ExitStack()
        folder = bank.folder if bank else Path(self._closing.enter_context(tempfile.TemporaryDirectory()))
        self._model = Asking(config.backend, bank or Bank(folder))
        self._closing.callback(self._model.close)

    def score(self, replies: Sequence[Reply]) -> Iterator[StepScores]:
        """See `ttc.protocols.Scorer`."""
        config = self._config
        texts = [steps_of(reply) for reply in replies]
        asks = [(reply.question, config.prompt(reply.question, steps)) for reply, steps in zip(replies, texts, strict=True)]
        for place, samples in self._model.samples(asks, config.sampling, config.votes):
            longest = max(samples, key=lambda sample: sample.prompt_tokens)  # one that was refused has no prompt
            yield replace(
                config.read(replies[place], len(texts[place]), samples),
                tokens=longest.prompt_tokens + sum(sample.completion_tokens for sample in samples),
                image_tokens=longest.image_tokens,
                image_spans=longest.image_spans,
            )

    def close(self) -> None:
        """Give up what the model has not begun, and free the device."""
        self._closing.close()


class Asking:
    """Samples for a thread that has no event loop: a dispatcher on a loop of its own, open until it is closed."""

    def __init__(self, backend: Backend, bank: Bank) -> None:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="asking", daemon=True)
        self._thread.start()
        self._source = self._wait(_opened(backend, bank))

    def samples(
        self, asks: Sequence[tuple[Question, Prompt]], sampling: Sampling, n: int
    ) -> Iterator[tuple[int, list[Sample]]]:
        """n samples of each prompt with the prompt's place, in the order in which they are complete.

        Raises:
            BackendUnavailable: the engine gave up; what was finished is committed.
        """
        places: dict[Future[list[Sample]], int] = {Future(): place for place in range(len(asks))}

        async def ask(future: Future[list[Sample]], place: int) -> None:
            question, prompt = asks[place]
            try:
                future.set_result(await self._source.samples(question, prompt, sampling, n))
            except BaseException as error:
                future.set_exception(error)
                raise

        async def ask_all() -> None:  # in one turn of the loop, so that they share one look into the bank
            await asyncio.gather(*(ask(future, place) for future, place in places.items()), return_exceptions=True)

        asyncio.run_coroutine_threadsafe(ask_all(), self._loop)
        for future in as_completed(places):
            yield places[future], future.result()

    def close(self) -> None:
        """Commit what is in flight and end the engine."""
        self._wait(self._ended())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _ended(self) -> None:
        self._source.stop()
        await self._source.__aexit__(None, None, None)
        await cancel_others()

    def _wait(self, awaited: Coroutine[object, object, _T]) -> _T:
        return asyncio.run_coroutine_threadsafe(awaited, self._loop).result()


async def _opened(backend: Backend, bank: Bank) -> Dispatcher:
    return await Dispatcher(backend, bank, run="verifier").__aenter__()
