"""Any server that speaks the chat-completions API of OpenAI: hosted models, `vllm serve`, and others."""

import asyncio
import itertools
import os
import random
from collections.abc import Coroutine, Iterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from ttc.backends.limiter import Limiter
from ttc.backends.pump import Emit, pump
from ttc.backends.replies import Call, samples_of
from ttc.compute import ModelShape, Prices
from ttc.errors import BackendUnavailable, UserError
from ttc.media import data_url
from ttc.protocols import Engine, Inbox
from ttc.records import Message, Request, Sample, Text

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion


class OpenAI(BaseModel, frozen=True, extra="forbid"):
    """Chat completions over HTTP. The key comes from the environment and is never written anywhere."""

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
    servers that return token ids per choice (vLLM does when asked)."""
    seeded: bool = True
    """Send each sample's seed."""
    max_tokens_name: Literal["max_tokens", "max_completion_tokens"] = "max_completion_tokens"
    """What the server calls the limit."""
    extra: dict[str, Any] = {}
    """Further fields of the request body, such as thinking switches; part of every key."""
    concurrency: int = Field(default=8, gt=0)
    """Calls at once to begin with; follows the server from there."""
    most_concurrency: int = Field(default=256, gt=0)
    attempt_seconds: float = Field(default=300, gt=0)
    """Time limit of one attempt."""
    total_seconds: float = Field(default=3600, gt=0)
    """Time limit of one call with all its attempts; then the run stops, to be resumed."""
    prices: Prices | None = None
    """Needed for `spend_limit`, and for money on the x axis."""
    spend_limit: float | None = Field(default=None, gt=0)
    """In the currency of `prices`, for this engine's life; then the run stops, to be resumed."""

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
        local = self.base_url is not None and any(host in self.base_url for host in ("127.0.0.1", "localhost", "[::1]"))
        if not key and not local:
            raise UserError(f"backend openai: the environment has no {self.key_variable}; set it, or name another key_variable")
        return _Engine(self, key or "none")


class _Engine:
    def __init__(self, config: OpenAI, key: str) -> None:
        import httpx
        import openai

        self.name = f"openai-compatible {config.model}"
        self._config, self._key = config, key
        self._spent = 0.0
        self._runner = asyncio.Runner()
        self._limiter = Limiter(config.concurrency, config.most_concurrency)
        limits = httpx.Limits(max_connections=config.most_concurrency)
        self._client = openai.AsyncOpenAI(
            api_key=key,
            base_url=config.base_url,
            max_retries=0,  # its own retries would hide the 429s from the limiter
            timeout=config.attempt_seconds,
            http_client=httpx.AsyncClient(limits=limits, timeout=config.attempt_seconds),
        )

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        # Twice as many as run, so that a place that falls free is taken at once.
        return pump(self._runner, inbox, self._draw, lambda flying: flying < 2 * self._limiter.limit)

    def close(self) -> None:
        self._runner.run(self._client.close())
        self._runner.close()

    def _draw(self, request: Request, emit: Emit) -> list[Coroutine[Any, Any, None]]:
        calls = [Call(request, request.first, request.n)]
        if self._config.multiple == "separate":
            calls = [Call(request, request.first + offset, 1) for offset in range(request.n)]
        return [self._complete(call, emit) for call in calls]

    async def _complete(self, call: Call, emit: Emit) -> None:
        """One call with its retries. Emits its samples, or raises what ends the run."""
        begun = monotonic()
        body = self._body(call)
        jitter = random.Random(call.seed)
        for attempt in itertools.count():
            wait = await self._attempt(call, body, begun, emit, attempt, jitter)
            if wait is None:
                return
            if monotonic() + wait - begun > self._config.total_seconds:
                raise BackendUnavailable(
                    f"question {call.request.question_id}: no answer from model {self._config.model} in {attempt + 1} attempts "
                    f"over {monotonic() - begun:.0f} s; what was finished is kept, and the same command goes on"
                )
            await asyncio.sleep(wait)

    async def _attempt(
        self, call: Call, body: dict[str, Any], begun: float, emit: Emit, attempt: int, jitter: random.Random
    ) -> float | None:
        """None when the samples are out; else the seconds to wait before the next attempt."""
        import json

        import openai

        backoff = min(60.0, 0.5 * 2**attempt) * jitter.uniform(0.5, 1.0)
        started = await self._limiter.enter()
        try:
            self._check_spending()
            async with asyncio.timeout(self._config.attempt_seconds):
                completion: ChatCompletion = await self._client.chat.completions.create(**body)
        except openai.RateLimitError as error:
            retry_after = _retry_after(error.response.headers.get("retry-after"))
            self._limiter.refused(started, retry_after)
            return max(retry_after, backoff)
        except (openai.APIConnectionError, openai.InternalServerError, TimeoutError, json.JSONDecodeError):
            self._limiter.faltered()
            return backoff
        except openai.APIStatusError as error:
            for sample in call.rejected(error.status_code, self._redacted(error.message), self.name):
                emit(sample)
            return None
        finally:
            await self._limiter.leave()
        if not isinstance(getattr(completion, "choices", None), list) or not completion.choices:
            self._limiter.faltered()  # a body that is JSON but no completion: a proxy's page, a cut stream
            return backoff
        self._limiter.succeeded()
        self._spend(completion)
        for sample in samples_of(call, completion, self.name, monotonic() - begun):
            emit(sample)
        return None

    def _body(self, call: Call) -> dict[str, Any]:
        config, sampling = self._config, call.request.sampling
        if call.request.prefix:
            raise UserError("backend openai: chat completions cannot continue a reply from token ids; use vllm or transformers")
        body: dict[str, Any] = {
            "model": config.model,
            "messages": messages(call.request),
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

    def _redacted(self, message: str) -> str:
        return message.replace(self._key, "[key]") if self._key != "none" else message


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


def _retry_after(header: str | None) -> float:
    """Seconds in a Retry-After header; the date form and nonsense count as none."""
    try:
        return max(0.0, float(header or 0))
    except ValueError:
        return 0.0
