"""Strategies at work on questions that come one by one: bank, engine and verifiers of a run, opened once."""

import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import Any, Self

from experiments.binding import bind
from experiments.config import RunConfig, strategy_name
from experiments.endpoint.asked import Asked, Put, Refused
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.draw import Draw
from ttc.errors import BudgetSpent, UserError
from ttc.records import Answer, Prompt, Question, Sample, Sampling, Selection
from ttc.scoring import Scoring
from ttc.session import Session


class Seeded:
    """A source whose samples hang on the client's seed, where it sends one."""

    def __init__(self, dispatcher: Dispatcher, seed: int | None) -> None:
        self._dispatcher, self._seed = dispatcher, seed
        self.drawn: list[Sample] = []
        """All that strategies asked for, whole replies and parts."""

    async def samples(
        self, question: Question, prompt: Prompt, sampling: Sampling, n: int, prefix: tuple[int, ...] = ()
    ) -> list[Sample]:
        """See `ttc.session.Source`."""
        samples = await self._dispatcher.samples(question, prompt, sampling, n, prefix, run_seed=self._seed)
        self.drawn += samples
        return samples

    async def token_ids(self, text: str) -> tuple[int, ...]:
        """See `ttc.session.Source`."""
        return await self._dispatcher.token_ids(text)


class Watched(Session):
    """A session that remembers what it drew, to tell the votes."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)
        self.seen: list[Sample] = []

    async def draw(self, draw: Draw, ended: Callable[[Sample], Sample] = lambda sample: sample) -> list[Sample]:
        """See `Session.draw`."""
        samples = await super().draw(draw, ended)
        self.seen += samples
        return samples

    def votes(self) -> dict[str, int]:
        """How many of the whole replies gave each answer, the most common first; an answer is named as it was first given."""
        answers = self.answers(self.seen)
        classes = self.classes(answers)
        names = {one: words(answer) for one, answer in zip(reversed(classes), reversed(answers), strict=True)}
        return {names[one]: count for one, count in Counter(one for one in classes if one is not None).most_common()}


class Service:
    """The strategies of a config by name. Use as an async context manager."""

    keep_seconds = 60.0
    """How long samples stay in memory after an answer; longer than a bank takes to seal them."""

    def __init__(self, config: RunConfig) -> None:
        """Raises UserError where no strategy can work on what a client sends, or for a model that is not there."""
        bound = bind(config, ())
        self.config, self._calibrated = bound.config, bound.calibrated
        strategies = {strategy_name(strategy): strategy for strategy in self.config.strategies}
        unfit = {name: why for name, strategy in strategies.items() if (why := self._unfit(strategy))}
        self.strategies = {name: strategy for name, strategy in strategies.items() if name not in unfit}
        if not self.strategies:
            name, why = next(iter(unfit.items()))
            raise UserError(f"no strategy is left to serve: {name} {why}; add vote")
        self.notes = (*bound.notes, *(f"not served: {name} {why}" for name, why in unfit.items()))
        """What the config lists and clients do not get, and why."""
        self._bank = Bank(config.bank)
        self._shape = config.backend.shape()
        self._stack = AsyncExitStack()
        self._open: Counter[str] = Counter()
        self._answered: dict[str, float] = {}

    def _unfit(self, strategy: Any) -> str:
        """Why it cannot work on what a client sends; empty where it can."""
        if self.config.uses_gold(strategy):
            return "needs the gold, which no client sends"
        if strategy.kind == "shuffled_vote":
            return "asks in words of its own, but the prompt is the client's"
        if strategy.kind == "allocated_vote":
            return "knows the questions of its plan, and clients ask others; use adaptive_vote"
        if isinstance(goal := getattr(strategy, "threshold", None), str):
            return f"chooses its threshold ({goal}) on the other questions of a run; give a number"
        return ""

    async def __aenter__(self) -> Self:
        dispatcher = Dispatcher(self.config.backend, self._bank, run_seed=self.config.seed, run="serve")
        self._dispatcher = await self._stack.enter_async_context(dispatcher)
        scoring = Scoring(self.config.verifiers, self._bank, self._dispatcher.writer, calibrated=self._calibrated)
        self._scoring = self._stack.enter_context(scoring)
        return self

    async def __aexit__(self, *exception: object) -> None:
        await self._stack.aclose()

    @property
    def failure(self) -> BaseException | None:
        """Why the engine cannot go on; None while it can."""
        return self._dispatcher.failure

    async def complete(self, body: bytes) -> dict[str, Any]:
        """The completion for a request.

        Raises:
            Refused: the request cannot be answered.
            UserError: the engine or a verifier cannot go on, or the bank's disk is full.
        """
        asked = Asked.read(body)
        if asked.model not in self.strategies:
            known = ", ".join(self.strategies)
            raise Refused(f"model {asked.model!r} is not served; there are {known}", status=404, code="model_not_found")
        put, sampling = asked.put(self.config.prompt.max_pixels), asked.sampling(self.config.sampling)
        id = put.question.id
        self._open[id] += 1
        try:
            source = Seeded(self._dispatcher, asked.seed)
            session = self._session(put, sampling, source, self.strategies[asked.model])
            try:
                selection = await self.strategies[asked.model].solve(session)
            except BudgetSpent as spent:
                selection = Selection(None, reason=str(spent))
            _check_usable(source.drawn)
            return completion(asked.model, session, selection)
        finally:
            self._open[id] -= 1
            self._answered[id] = time.monotonic()
            self._let_go()

    def _let_go(self) -> None:
        """Forget what was answered long enough ago for the bank to hold it, and is not asked again now: memory is finite."""
        now = time.monotonic()
        for id in [id for id, when in self._answered.items() if now - when >= self.keep_seconds and not self._open[id]]:
            del self._answered[id], self._open[id]
            self._dispatcher.forget(id)

    def _session(self, put: Put, sampling: Sampling, source: Seeded, strategy: Any) -> Watched:
        return Watched(
            put.question,
            source,
            lambda question, style: put.prompt,
            sampling,
            shape=self._shape,
            budget_tokens=getattr(strategy, "budget_tokens", None),
            verification=self._scoring,
        )


def _check_usable(samples: Sequence[Sample]) -> None:
    """Raises Refused where the model can never take this prompt."""
    if samples and all(sample.status in ("rejected", "media") for sample in samples):
        raise Refused(f"the model cannot take these messages: {samples[0].reason}", param="messages")


def words(answer: Answer) -> str:
    """What an answer says."""
    return ", ".join(answer.values)


def completion(model: str, session: Watched, selection: Selection) -> dict[str, Any]:
    """The answer in OpenAI's form: `Answer: ...`, or a refusal where the strategy abstains; `ttc` says how it came about."""
    usage, answer = session.usage, selection.answer
    message: dict[str, Any] = {"role": "assistant", "content": "" if answer is None else f"Answer: {words(answer)}"}
    message["refusal"] = f"no answer: {selection.reason}" if answer is None else None
    # of a fallback and a sample with one index, the fallback came last
    reply = next((one.text for one in reversed(session.seen) if one.index == selection.sample), None)
    return {
        "id": f"chatcmpl-{session.question.id}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "finish_reason": "stop", "logprobs": None, "message": message}],
        "usage": {
            "prompt_tokens": usage.prompt_tokens,
            "completion_tokens": usage.completion_tokens,
            "total_tokens": usage.prompt_tokens + usage.completion_tokens,
        },
        "ttc": {
            "answer": None if answer is None else words(answer),
            "reason": selection.reason,
            "votes": session.votes(),
            "reply": reply,
            "options": list(session.question.options),
            **asdict(usage),
        },
    }
