"""Any server that speaks the chat-completions API of OpenAI: hosted models, `vllm serve`, and others."""

import asyncio
import json
import logging
import os
import random
from collections import Counter
from collections.abc import Coroutine, Iterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, ClassVar, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, Field

from ttc.backends.limiter import Limiter, Shut
from ttc.backends.pump import Emit, cancel_others, pump
from ttc.backends.replies import Call, Refusal, Trouble, is_completion, samples_of
from ttc.compute import ModelShape, Prices
from ttc.errors import BackendUnavailable, UserError
from ttc.media import data_url
from ttc.protocols import Engine, Inbox
from ttc.records import Message, Request, Sample, Text

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion

_log = logging.getLogger(__name__)


class OpenAI(BaseModel, frozen=True, extra="forbid"):
    """Chat completions over HTTP. The key comes from the environment and is never written anywhere."""

    continues: ClassVar[bool] = False
    kind: Literal["openai"] = "openai"
    model: str
    """Name of the model at the server."""
    base_url: str | None = None
    """Root of the API, such as http://127.0.0.1:8000/v1; the library's default where not given."""
    revision: str = ""
    """What distinguishes two models of one name over time; part of every key."""
    key_variable: str = "OPENAI_API_KEY"
    """Environment variable that holds the key; a server on this machine needs none."""
    multiple: Literal["separate", "n"] = "separate"
    """`separate`: one call per sample, each with its own count of tokens. `n`: one call for all samples of a question, for
    servers that return token ids per choice (vLLM does when asked); one that sends fewer is asked again for the rest."""
    seeded: bool = True
    """Send each sample's seed."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_completion_tokens"
    """What the server calls the limit."""
    extra: dict[str, Any] = {}
    """Further fields of the request body, such as thinking switches; part of every key."""
    concurrency: int = Field(default=8, gt=0)
    """Calls at once to begin with; follows the server from there."""
    most_concurrency: int = Field(default=256, gt=0, le=1000)
    attempt_seconds: float = Field(default=600, gt=0)
    """Time limit of one attempt. Calls over a quarter of it, and over twice the quickest, do not raise the concurrency."""
    total_seconds: float = Field(default=3600, gt=0)
    """Time limit of one call with all its attempts; then the run stops, to be resumed."""
    prices: Prices | None = None
    """Needed for `spend_limit`, and for money on the x axis."""
    spend_limit: float | None = Field(default=None, gt=0)
    """In the currency of `prices`, for this engine's life; then the run stops, to be resumed. Calls in flight are finished and
    may pass it. What a timed-out attempt cost is known to the server alone."""

    def identity(self) -> Mapping[str, object]:
        """Model name, revision and extra fields: all that is known of what answers."""
        return {"model": self.model, "revision": self.revision, "extra": self.extra, "api": "openai"}

    def shape(self) -> ModelShape | None:
        """None: FLOPs of a model behind an API are not guessed."""
        return None

    def open(self) -> Engine:
        """A client. Raises UserError without a key for a server that is not on this machine, or a limit without prices."""
        if self.spend_limit is not None and self.prices is None:
            raise UserError(f"backend openai: spend_limit={self.spend_limit} needs prices; give the model's")
        key = os.environ.get(self.key_variable, "")
        local = urlsplit(self.base_url or "").hostname in ("127.0.0.1", "localhost", "::1")
        if not key and not local:
            raise UserError(f"backend openai: the environment has no {self.key_variable}; set it, or name another key_variable")
        return _Engine(self, key or "no-key-needed")


class _Engine:
    def __init__(self, config: OpenAI, key: str) -> None:
        import openai

        self.name = f"openai-compatible {config.model}"
        self.failures: Counter[str] = Counter()
        """Attempts that brought no sample and were made again, by what happened: a status code, `time-out` ..."""
        self._config, self._key = config, key
        self._spent, self._answered = 0.0, 0
        self._runner = asyncio.Runner()
        self._limiter = Limiter(config.concurrency, config.most_concurrency, slow_seconds=config.attempt_seconds / 4)
        self._client = openai.AsyncOpenAI(
            api_key=key,
            base_url=config.base_url,
            max_retries=0,  # its own retries would hide the 429s from the limiter
            timeout=config.attempt_seconds,
        )

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        # Twice as many as run, so that a place that falls free is taken at once, also while others wait for another attempt.
        return pump(
            self._runner, inbox, self._draw, lambda flying: flying < 2 * self._limiter.limit, on_stop=self._limiter.shut
        )

    def close(self) -> None:
        self._runner.run(self._leave())
        self._runner.close()
        if self.failures:
            counted = ", ".join(f"{what}: {times}" for what, times in self.failures.most_common())
            _log.warning("%s: %d calls answered; attempts made again: %s", self.name, self._answered, counted)

    async def _leave(self) -> None:
        await cancel_others()
        await self._client.close()

    def _draw(self, request: Request, emit: Emit) -> Iterator[Coroutine[Any, Any, None]]:
        if request.prefix:
            raise UserError("backend openai: chat completions cannot continue a reply from token ids; use vllm or transformers")
        shown = messages(request)  # once for all calls: images are large
        step = request.n if self._config.multiple == "n" else 1
        for offset in range(0, request.n, step):
            yield self._complete(Call(request, request.first + offset, step), shown, emit)

    async def _complete(self, call: Call, shown: list[dict[str, Any]], emit: Emit) -> None:
        """Emit the samples of a call, or raise what ends the run. A server that sends fewer than asked for is asked again."""
        try:
            while call.n:
                samples = await self._persist(call, self._body(call, shown))
                for sample in samples:
                    emit(sample)
                call = call.after(len(samples))
        except Shut:
            return
        except UserError:
            self._limiter.shut()
            raise

    async def _persist(self, call: Call, body: dict[str, Any]) -> list[Sample]:
        """Attempts until one brings samples, or the time for all of them is over."""
        jitter = random.Random(call.seed)
        begun, attempts = 0.0, 0
        while True:
            started = await self._limiter.enter()
            begun, attempts = begun or started, attempts + 1
            try:
                self._check_spending()
                found = await self._attempt(call, body, begun)
                if not isinstance(found, Trouble):
                    self._limiter.succeeded(started)
                    return found
                if found.busy:
                    self._limiter.refused(started, found.retry_after)
                else:
                    self._limiter.faltered(started, found.retry_after, timed_out=found.timed_out)
            finally:
                self._limiter.leave()
            self.failures[found.what] += 1
            wait = max(found.retry_after, min(60.0, 0.25 * 2**attempts) * jitter.uniform(0.5, 1.0))
            if monotonic() + wait - begun > self._config.total_seconds:
                raise BackendUnavailable(
                    f"question {call.request.question_id}: no answer from model {self._config.model} in {attempts} attempts "
                    f"over {monotonic() - begun:.0f} s (the last: {found.what}); what was finished is kept, and the same "
                    "command goes on"
                )
            await self._limiter.pause(wait)

    async def _attempt(self, call: Call, body: dict[str, Any], begun: float) -> "list[Sample] | Trouble":
        import openai

        try:
            async with asyncio.timeout(self._config.attempt_seconds):
                completion = await self._client.chat.completions.create(**body)
        except (TimeoutError, openai.APITimeoutError):
            return Trouble("time-out")
        except openai.APIConnectionError:
            return Trouble("connection")
        except (json.JSONDecodeError, UnicodeDecodeError, openai.APIResponseValidationError):
            return Trouble("malformed body")
        except openai.APIStatusError as error:
            refusal = Refusal.of(error, self._key)
        else:
            if not is_completion(completion, call.n):
                return Trouble("malformed body")  # a proxy's page, an error under status 200
            self._answered += 1
            samples = list(samples_of(call, completion, self._served_by(completion), monotonic() - begun))
            self._spend(completion)
            return samples
        # Outside of `except`: what is raised here must not drag the client's error, and the key in its request, along.
        return refusal.trouble() or call.rejected(refusal, self.name, others_pass=self._answered > 0)

    def _served_by(self, completion: "ChatCompletion") -> str:
        """The model as the server names it: a dated one behind a name that moves."""
        return f"openai-compatible {completion.model or self._config.model}"

    def _body(self, call: Call, shown: list[dict[str, Any]]) -> dict[str, Any]:
        config, sampling = self._config, call.request.sampling
        body: dict[str, Any] = {
            "model": config.model,
            "messages": shown,
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
            config.max_tokens_name: sampling.max_tokens,
        }
        extra = dict(config.extra)
        if sampling.top_k:
            extra["top_k"] = sampling.top_k
        if call.n > 1:
            body["n"] = call.n
            extra["return_token_ids"] = True
        if config.seeded and sampling.temperature > 0:
            body["seed"] = call.seed
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if sampling.logprobs:
            body["logprobs"] = True
        return {**body, "extra_body": extra} if extra else body

    def _check_spending(self) -> None:
        limit = self._config.spend_limit
        if limit is not None and self._spent >= limit:
            raise BackendUnavailable(
                f"spent {self._spent:.2f} of spend_limit {limit:.2f}; what was finished is kept: raise the limit to go on"
            )

    def _spend(self, completion: "ChatCompletion") -> None:
        usage, prices = completion.usage, self._config.prices
        if usage is None or prices is None:
            return
        details = usage.prompt_tokens_details
        cached = (details.cached_tokens or 0) if details else 0
        self._spent += prices.money(usage.prompt_tokens, usage.completion_tokens, cached_tokens=cached)


def messages(request: Request) -> list[dict[str, Any]]:
    """The prompt as chat messages, images as data URLs at their places."""
    images = iter(request.images)
    return [{"role": message.role, "content": _content(message, images)} for message in request.prompt.messages]


def _content(message: Message, images: Iterator[tuple[Any, ...]]) -> str | list[dict[str, Any]]:
    if all(isinstance(part, Text) for part in message.parts):
        return "".join(part.text for part in message.parts if isinstance(part, Text))
    content: list[dict[str, Any]] = []
    for part in message.parts:
        if isinstance(part, Text):
            content.append({"type": "text", "text": part.text})
        else:
            content += [{"type": "image_url", "image_url": {"url": data_url(image)}} for image in next(images)]
    return content
