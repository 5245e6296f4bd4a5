"""A deterministic engine that says what it is told: for tests of everything above an engine, and for dry runs."""

import hashlib
import json
import random
import re
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, model_validator

from ttc.errors import BackendUnavailable, UserError
from ttc.protocols import Inbox
from ttc.records import Finish, Request, Sample, SampleStatus, Text

if TYPE_CHECKING:
    from ttc.compute import ModelShape

Replies = tuple[str, ...]

_TOKEN = re.compile(r"\n+|[^\S\n]*[^\s]+|[^\S\n]+$")
"""A word with the blanks before it, or a run of newlines."""


class Scripted(BaseModel, frozen=True, extra="forbid"):
    """Replies by question. Sample i of a request depends on the script, the request's base seed and i, and on nothing else.

    A token is a word with the blanks before it or a run of newlines; its id is the same wherever it stands. `max_tokens`, stop
    strings and prefixes work as in a real engine: a continuation goes on after as many tokens of the reply as its prefix has.
    """

    kind: Literal["scripted"] = "scripted"
    replies: Mapping[str, Replies] | Replies
    """By question id, `*` standing for all others; or one list for every question."""
    when: Mapping[str, Replies] = Field(default_factory=dict)
    """Replies to prompts that hold this text, such as those of a later turn; the first that fits goes before `replies`."""
    pick: Literal["in_turn", "seeded"] = "in_turn"
    """`in_turn`: sample i takes reply i, starting over at the end; `seeded`: any, with equal chance, by its seed."""
    statuses: Mapping[str, SampleStatus] = Field(default_factory=dict)
    """Question ids whose samples all have this status and no text."""
    tokens_per_image: int = Field(default=0, ge=0)
    """Prompt tokens that each image counts for."""
    priced_as: Mapping[str, object] | None = None
    """Content of a model's config.json, for the FLOPs of the tokens; none: they have none."""
    delay_seconds: float = Field(default=0.0, ge=0)
    """Pause before the samples of a request."""
    unavailable_after: int | None = Field(default=None, ge=0)
    """Samples after which the engine breaks down."""

    @model_validator(mode="after")
    def _says_something(self) -> "Scripted":
        lists = self.replies.values() if isinstance(self.replies, Mapping) else [self.replies]
        if not all([*lists, *self.when.values()]):
            raise ValueError("replies: an empty list says nothing; an empty reply is ''")
        return self

    def identity(self) -> Mapping[str, object]:
        """Hash of what is said; delays and breakdowns change no sample."""
        script = self.model_dump(mode="json", include={"replies", "when", "pick", "statuses", "tokens_per_image"})
        return {"script": hashlib.sha256(json.dumps(script, sort_keys=True).encode()).hexdigest()}

    def shape(self) -> "ModelShape | None":
        """Shape of the model whose config was given, else None."""
        if self.priced_as is None:
            return None
        from ttc.compute import ModelShape

        return ModelShape.from_config(self.priced_as)

    def encoder(self) -> Callable[[str], tuple[int, ...]]:
        """Words to ids."""
        return lambda text: tuple(map(token_id, _TOKEN.findall(text)))

    def open(self) -> "ScriptedEngine":
        """Never fails."""
        return ScriptedEngine(self)


class ScriptedEngine:
    """See `ttc.protocols.Engine`."""

    name = "scripted 1"

    def __init__(self, config: Scripted) -> None:
        self._config = config
        self._served = 0

    def close(self) -> None:
        """Nothing to free."""

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        """See `ttc.protocols.Engine`."""
        while (request := inbox.take(wait=True)) is not None:
            time.sleep(self._config.delay_seconds)
            for index in range(request.first, request.first + request.n):
                if self._served == self._config.unavailable_after:
                    raise BackendUnavailable(
                        f"the scripted engine breaks down after {self._served} samples, as unavailable_after says"
                    )
                self._served += 1
                yield self._sample(request, index)

    def _sample(self, request: Request, index: int) -> Sample:
        status = self._config.statuses.get(request.question_id, "ok")
        if status != "ok":
            reason = f"the script says {status}"
            return Sample(request.key, index, request.question_id, "", status=status, reason=reason, engine=self.name)
        tokens = _TOKEN.findall(self._reply(request, index))[len(request.prefix) :]
        tokens, length, finish = _cut(tokens, request.sampling.stop, request.sampling.max_tokens)
        whole = "".join(tokens)
        spans = (self._config.tokens_per_image,) * sum(map(len, request.images)) if self._config.tokens_per_image else ()
        return Sample(
            key=request.key,
            index=index,
            question_id=request.question_id,
            text=whole[:length],
            finish=finish,
            prompt_tokens=_prompt_words(request) + sum(spans),
            image_tokens=sum(spans),
            image_spans=spans,
            completion_tokens=len(tokens),
            token_ids=tuple(map(token_id, tokens)),
            engine=self.name,
            tail=whole[length:],
        )

    def _reply(self, request: Request, index: int) -> str:
        prompt = "".join(_texts(request)) if self._config.when else ""
        told = next((told for text, told in self._config.when.items() if text in prompt), None)
        replies = told or self._config.replies
        if isinstance(replies, Mapping):
            if not (mine := replies.get(request.question_id) or replies.get("*")):
                raise UserError(f"scripted backend: no reply for question {request.question_id}; add it or `*` to replies")
            replies = mine
        if self._config.pick == "in_turn":
            return replies[index % len(replies)]
        return random.Random(request.seed + index - request.first).choice(replies)


def token_id(token: str) -> int:
    """Id of a word with its blanks; stable over runs and machines."""
    return zlib.crc32(token.encode()) >> 1  # ids are 32-bit and signed in the bank


def _prompt_words(request: Request) -> int:
    return sum(len(text.split()) for text in _texts(request))


def _texts(request: Request) -> Iterator[str]:
    parts = (part for message in request.prompt.messages for part in message.parts)
    return (part.text for part in parts if isinstance(part, Text))


def _cut(tokens: list[str], stops: tuple[str, ...], max_tokens: int) -> tuple[list[str], int, Finish]:
    """Tokens up to the one that completes a stop string, the length of the text before it, and why it ends there."""
    text = ""
    for count, token in enumerate(tokens[:max_tokens], start=1):
        text += token
        places = [place for stop in stops if (place := text.find(stop)) >= 0]
        if places:
            return tokens[:count], min(places), "stop"
    return tokens[:max_tokens], len(text), "stop" if len(tokens) <= max_tokens else "length"
