"""What a chat-completions server sent: samples, or trouble to wait out, or a refusal of one request, or of all."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any

from ttc.errors import BackendUnavailable, UserError
from ttc.records import Finish, Request, Sample, SampleStatus

if TYPE_CHECKING:
    from openai import APIStatusError
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion import Choice

TOO_LONG = ("context length", "context_length", "maximum context", "too long", "max_model_len", "too many tokens")
FILTERED = ("content_filter", "content policy", "content_policy", "content management policy", "responsible ai", "flagged")
ASKS_FOR_TOO_MUCH = ("max_tokens", "max_completion_tokens")
"""Such a message may mean that no prompt, however short, leaves room for the completion."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """A failed attempt that may be made again."""

    what: str
    """A status code, or what happened."""
    retry_after: float = 0.0
    """Seconds that the server asked to wait."""

    @property
    def busy(self) -> bool:
        """The server is asked too often."""
        return self.what == "429"

    @property
    def timed_out(self) -> bool:
        """Nothing came within the time limit."""
        return self.what == "time-out"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A response with an error status."""

    code: int
    kind: str
    """The provider's own name of the error; empty where it gave none."""
    message: str
    retry_after: float

    @classmethod
    def of(cls, error: "APIStatusError", key: str) -> "Refusal":
        """Read the client's error; the key, which a server may echo, is taken out."""
        message = " ".join(error.message.replace(key, "[key]").split())[:500]
        return cls(error.status_code, error.code or "", message, retry_after(error.response.headers))

    @property
    def filtered(self) -> bool:
        """A filter of the provider refused this prompt."""
        return any(sign in self.text for sign in FILTERED)

    @property
    def text(self) -> str:
        """Kind and message in lower case."""
        return f"{self.kind} {self.message}".lower()

    def trouble(self) -> Trouble | None:
        """What to wait out, or None where waiting does not help.

        Raises:
            BackendUnavailable: no call at all can succeed: a wrong key or model, an empty account.
        """
        if (self.code in (401, 402, 403, 404) and not self.filtered) or self.kind == "insufficient_quota":
            raise BackendUnavailable(
                f"the server answers {self.code}: {self.message}; mend key, account or model name: what was finished is kept, "
                "and the same command goes on"
            )
        if self.code in (408, 409, 425, 429) or self.code >= 500:
            return Trouble(str(self.code), self.retry_after)
        return None


@dataclass(frozen=True, slots=True)
class Call:
    """One HTTP request: n samples of a request, from index `first`."""

    request: Request
    first: int
    n: int

    @property
    def seed(self) -> int:
        """Seed of sample `first`."""
        return self.request.seed + self.first - self.request.first

    def after(self, got: int) -> "Call":
        """The call for what is missing after so many samples."""
        return replace(self, first=self.first + got, n=self.n - got)

    def rejected(self, refusal: Refusal, engine: str, *, others_pass: bool) -> list[Sample]:
        """Samples for a permanent refusal of this one request.

        Args:
            others_pass: other requests have been answered under the same settings.

        Raises:
            UserError: the refusal would, as far as one can tell, meet every request alike.
        """
        too_long = refusal.code == 413 or any(sign in refusal.text for sign in TOO_LONG)
        too_much = any(sign in refusal.text for sign in ASKS_FOR_TOO_MUCH)
        if not (others_pass or refusal.filtered or (too_long and not too_much)):
            raise UserError(
                f"backend openai: the server answers {refusal.code} to question {self.request.question_id}, before it answered "
                f"any: {refusal.message}; mend the settings of backend, sampling or prompt"
            )
        status: SampleStatus = "refused" if refusal.filtered else "rejected"
        reason = f"{refusal.code}: {refusal.message}"
        question_id = self.request.question_id
        return [
            Sample(self.request.key, index, question_id, "", status=status, reason=reason, engine=engine)
            for index in range(self.first, self.first + self.n)
        ]


def retry_after(headers: Any) -> float:
    """Seconds that a response asks to wait, from either header and either form; 0 where it does not or cannot be read."""
    with suppress(ValueError):
        return max(0.0, float(headers.get("retry-after-ms", "")) / 1000)
    asked = headers.get("retry-after", "")
    with suppress(ValueError):
        return max(0.0, float(asked))
    with suppress(ValueError):
        until = parsedate_to_datetime(asked)
        return max(0.0, (until.replace(tzinfo=until.tzinfo or UTC) - datetime.now(UTC)).total_seconds())
    return 0.0


def is_completion(completion: object, n: int) -> bool:
    """Whether the body is what a completion of n samples or fewer looks like; the client checks nothing."""
    from openai.types.chat import ChatCompletionMessage

    choices = getattr(completion, "choices", None)
    return (
        isinstance(choices, list)
        and 1 <= len(choices) <= n
        and all(isinstance(getattr(choice, "message", None), ChatCompletionMessage) for choice in choices)
        and all(isinstance(choice.message.content, str | None) for choice in choices)
        and all(getattr(choice, "finish_reason", None) != "error" for choice in choices)
    )


def samples_of(call: Call, completion: "ChatCompletion", engine: str, seconds: float) -> Iterator[Sample]:
    """One sample per choice, with the server's own counts; the first ones where it sent fewer than asked for.

    Raises:
        UserError: the server counts no tokens, or several choices came without token ids, so that theirs cannot be told apart.
    """
    choices = sorted(completion.choices, key=lambda choice: choice.index or 0)
    usage = completion.usage
    if usage is None or not all(isinstance(getattr(usage, f"{name}_tokens", None), int) for name in ("prompt", "completion")):
        raise UserError("backend openai: the server sends no usage, so compute cannot be counted; use a server that does")
    alone = len(choices) == 1
    prompt_details, details = usage.prompt_tokens_details, usage.completion_tokens_details
    for offset, choice in enumerate(choices):
        ids = tuple(getattr(choice, "token_ids", None) or ())
        if not ids and not alone:
            raise UserError("backend openai: the server returns no token ids per choice; set multiple: separate")
        status, finish, reason = _ending(choice)
        logprobs = choice.logprobs.content if choice.logprobs and choice.logprobs.content else []
        yield Sample(
            call.request.key,
            call.first + offset,
            call.request.question_id,
            _text(choice),
            status=status,
            reason=reason,
            finish=finish,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=len(ids) or usage.completion_tokens,
            reasoning_tokens=(details.reasoning_tokens or 0) if details and alone else 0,
            cached_tokens=(prompt_details.cached_tokens or 0) if prompt_details and offset == 0 else 0,
            token_ids=ids,
            logprobs=tuple(token.logprob for token in logprobs),
            engine=engine,
            seconds=seconds,
        )


def _ending(choice: "Choice") -> tuple[SampleStatus, Finish, str]:
    if choice.message.refusal:
        return "refused", "", choice.message.refusal
    if choice.finish_reason == "content_filter":
        return "refused", "", "stopped by the provider's filter"
    return "ok", "length" if choice.finish_reason == "length" else "stop", ""


def _text(choice: "Choice") -> str:
    """The reply; reasoning that the server sends apart comes first, in the tags that extraction knows."""
    reply = choice.message.content or ""
    thought = getattr(choice.message, "reasoning_content", None) or getattr(choice.message, "reasoning", None)
    return f"<think>{thought}</think>{reply}" if thought else reply
