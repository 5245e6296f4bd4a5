"""What a client asks: the body of a chat-completions request, as a question with its prompt."""

import base64
import binascii
import hashlib
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, ValidationError

from ttc.answers.listed import listed_options
from ttc.errors import MediaError
from ttc.media import decode_image, media_from_bytes
from ttc.records import Message, Part, Picture, Prompt, Question, Sampling, Text


class Refused(Exception):
    """A request that is answered with an error, in the form that OpenAI's clients know."""

    def __init__(self, message: str, *, status: int = 400, code: str = "", param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        kind = "invalid_request_error" if status < 500 else "server_error"
        self.body = {"error": {"message": message, "type": kind, "param": param, "code": code or None}}


class _ImageUrl(BaseModel):
    url: str


class _TextPart(BaseModel):
    type: Literal["text"]
    text: str


class _ImagePart(BaseModel):
    type: Literal["image_url"]
    image_url: _ImageUrl


class _Turn(BaseModel):
    role: Literal["system", "developer", "user", "assistant"]
    content: str | tuple[Annotated[_TextPart | _ImagePart, Field(discriminator="type")], ...]


class Asked(BaseModel):
    """The fields that are heeded; others are passed over."""

    model: str
    messages: tuple[_Turn, ...] = Field(min_length=1)
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    stop: str | tuple[str, ...] | None = None
    seed: int | None = None
    n: Literal[1] | None = None
    stream: Literal[False] | None = None
    tools: tuple[()] | None = None

    @classmethod
    def read(cls, body: bytes) -> "Asked":
        """Raises Refused for what is no such request, or asks for what a vote cannot give."""
        try:
            return cls.model_validate_json(body)
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            why = {
                "n": "a strategy stands by one answer; ask with n=1",
                "stream": "an answer is known when the last sample is; ask without stream",
                "tools": "tools cannot be called by a strategy; ask without",
            }.get(place, first["msg"])
            raise Refused(f"{place or 'body'}: {why}", param=place or None) from None

    def sampling(self, default: Sampling) -> Sampling:
        """The run's sampling with what the client sets. Raises Refused for impossible values."""
        most = self.max_completion_tokens or self.max_tokens
        stop = (self.stop,) if isinstance(self.stop, str) else self.stop
        wanted = {"temperature": self.temperature, "top_p": self.top_p, "max_tokens": most, "stop": stop}
        changed: dict[str, Any] = {name: value for name, value in wanted.items() if value is not None}
        try:
            return Sampling.model_validate({**default.model_dump(), **changed})
        except ValidationError as error:
            first = error.errors()[0]
            place = ".".join(map(str, first["loc"]))
            raise Refused(f"{place}: {first['msg']}", param=place) from None

    def put(self, max_pixels: int | None) -> "Put":
        """The conversation as a question. Options that its last turn lists make it multiple choice.

        Raises:
            Refused: the last turn is not the user's, or an image cannot be used.
        """
        turns = tuple(_message(turn, max_pixels) for turn in self.messages)
        if turns[-1].role != "user":
            raise Refused("messages: the last turn must be the user's", param="messages")
        prompt = Prompt(turns, style="asked")
        text = "\n".join(part.text for part in turns[-1].parts if isinstance(part, Text))
        options = listed_options(text)
        media = tuple(part.media for part in prompt.media_parts)
        content = repr([(m.role, [p.text if isinstance(p, Text) else p.media.sha256 for p in m.parts]) for m in turns])
        name = hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()[:16]
        kind = "multiple-choice" if options else "open"
        return Put(Question(f"asked-{name}", "asked", kind, text, options, media), prompt)


@dataclass(frozen=True, slots=True)
class Put:
    """A question as it was put."""

    question: Question
    """Its id is the same for the same conversation."""
    prompt: Prompt


def _message(turn: _Turn, max_pixels: int | None) -> Message:
    content = (_TextPart(type="text", text=turn.content),) if isinstance(turn.content, str) else turn.content
    parts: list[Part] = [
        Text(part.text) if isinstance(part, _TextPart) else _picture(part.image_url.url, max_pixels) for part in content
    ]
    return Message("system" if turn.role == "developer" else turn.role, tuple(parts))


def _picture(url: str, max_pixels: int | None) -> Picture:
    head, _, encoded = url.partition(",")
    if not (head.startswith("data:image/") and head.endswith(";base64")):
        raise Refused("image_url: only data URLs are read, data:image/png;base64,...; nothing is fetched", param="messages")
    try:
        media = media_from_bytes(base64.b64decode(encoded, validate=True))
        decode_image(media.data or b"", max_pixels=max_pixels)
    except (binascii.Error, MediaError) as error:
        raise Refused(f"image_url: {error}", param="messages") from None
    return Picture(media, max_pixels)
