"""What a chat-completions server sent, as samples."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ttc.errors import UserError
from ttc.records import Finish, Request, Sample, SampleStatus

if TYPE_CHECKING:
    from openai.types.chat import ChatCompletion
    from openai.types.chat.chat_completion import Choice

TOO_LONG = ("context length", "context_length", "maximum context", "too long", "max_model_len", "too many tokens")
FILTERED = ("content_filter", "content policy", "content management policy", "safety", "responsible ai")
BAD_IMAGE = ("image",)


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

    def rejected(self, code: int, message: str, engine: str) -> Iterator[Sample]:
        """Samples for a permanent refusal of this one request.

        Raises:
            UserError: the refusal would meet every request alike: a wrong key, model or field.
        """
        text = message.lower()
        status: SampleStatus = "refused" if any(sign in text for sign in FILTERED) else "rejected"
        own = any(sign in text for sign in (*TOO_LONG, *FILTERED, *BAD_IMAGE))
        if code in (401, 403, 404) or not (own or code == 413):
            raise UserError(
                f"backend openai: the server answers {code} to question {self.request.question_id}: {message}; "
                "mend the backend's settings, what was finished is kept"
            )
        for index in range(self.first, self.first + self.n):
            reason = f"{code}: {message}"
            yield Sample(self.request.key, index, self.request.question_id, "", status=status, reason=reason, engine=engine)


def samples_of(call: Call, completion: "ChatCompletion", engine: str, seconds: float) -> Iterator[Sample]:
    """One sample per choice, with the server's own counts.

    Raises:
        UserError: several choices came without token ids, so that their tokens cannot be told apart.
    """
    choices = sorted(completion.choices, key=lambda choice: choice.index)
    if len(choices) != call.n:
        raise UserError(f"backend openai: asked for n={call.n}, the server sent {len(choices)}; set multiple: separate")
    usage = completion.usage
    prompt_tokens = usage.prompt_tokens if usage else 0
    prompt_details = usage.prompt_tokens_details if usage else None
    details = usage.completion_tokens_details if usage else None
    for offset, choice in enumerate(choices):
        ids = tuple(getattr(choice, "token_ids", None) or ())
        if not ids and call.n > 1:
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
            prompt_tokens=prompt_tokens,
            completion_tokens=len(ids) or (usage.completion_tokens if usage else 0),
            reasoning_tokens=(details.reasoning_tokens or 0) if details and call.n == 1 else 0,
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
