"""Prompt -> chat template -> token ids: the template is applied exactly once, by every engine in the same way."""

import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any

from ttc.backends.checkpoint import Checkpoint
from ttc.errors import UserError
from ttc.records import Message, Prompt, Text

if TYPE_CHECKING:
    from PIL.Image import Image

Images = Sequence[Sequence["Image"]]
"""One sequence per picture or clip of a prompt, as in `Request.images`."""


class Rejected(ValueError):
    """A prompt that this model can never take. Becomes samples with status `rejected`."""


@dataclass(frozen=True, slots=True)
class Encoded:
    """A prompt as a model takes it."""

    ids: tuple[int, ...]
    """Token ids, every image expanded to its placeholders."""
    image_tokens: int
    """Those of `ids` that are image placeholders."""
    tensors: Mapping[str, Any]
    """What the processor made of the images, as torch tensors; also token types where the model has them."""
    image_spans: tuple[int, ...] = ()
    """Tokens of each image."""


class Chat:
    """A model's tokenizer or processor with its chat template."""

    def __init__(self, processor: Any, name: str, template: str | None = None, arguments: Mapping[str, object] | None = None):
        """Args:
            processor: a transformers processor, or a tokenizer for a model without images.
            name: the model, for messages.
            template: Jinja source in place of the model's own template.
            arguments: variables for the template.

        Raises:
            UserError: there is no chat template.
        """
        self.tokenizer = getattr(processor, "tokenizer", processor)
        self._processor = None if self.tokenizer is processor else processor
        self._name, self._arguments = name, dict(arguments or {})
        self._template = template or _own_template(processor) or _own_template(self.tokenizer)
        if self._template is None:
            raise UserError(
                f"model {name} has no chat template; give a file with one as `chat_template`, or take an instruct model"
            )

    @classmethod
    def load(cls, checkpoint: Checkpoint, *, takes_images: bool) -> "Chat":
        """Read tokenizer or processor of a checkpoint. Raises UserError where they are missing or do not know `min_pixels`."""
        from transformers import AutoProcessor, AutoTokenizer

        location = checkpoint.location()
        arguments: dict[str, Any] = {**location.arguments, "trust_remote_code": checkpoint.trust_remote_code}
        if checkpoint.gguf:
            arguments["gguf_file"] = checkpoint.gguf
        try:
            loader = AutoProcessor if takes_images else AutoTokenizer
            processor = loader.from_pretrained(location.name, **arguments)
        except (OSError, ValueError, ImportError) as error:
            raise UserError(
                f"model {checkpoint.model}: its tokenizer or processor does not load: {_first_line(error)}"
            ) from error
        _set_pixels(processor, checkpoint, arguments)
        return cls(processor, checkpoint.model, checkpoint.template(), checkpoint.chat_template_args)

    @property
    def takes_images(self) -> bool:
        """Whether pictures and clips can be shown to the model."""
        return self._processor is not None

    def render(self, prompt: Prompt, images: Images) -> str:
        """The text that is tokenised, one placeholder per image, ending where the reply begins.

        Raises:
            Rejected: images for a model without, or a text that holds the model's own image placeholder.
            UserError: the template refuses the conversation.
        """
        if images and not self.takes_images:
            raise Rejected(f"{sum(map(len, images))} images for model {self._name}, which takes none")
        placeholder = getattr(self._processor, "image_token", None)
        if placeholder and any(placeholder in part.text for part in _texts(prompt.messages)):
            raise Rejected(f"the text holds {placeholder}, which is the image placeholder of model {self._name}")
        frames = iter(images)
        return self._apply([self._turn(message, frames) for message in prompt.messages], add_generation_prompt=True)

    def encode(self, prompt: Prompt, images: Images) -> Encoded:
        """Render and tokenise. Raises as `render` does, and Rejected where the processor refuses an image."""
        rendered = self.render(prompt, images)
        if self._processor is None or not images:
            # the template has written every special token already, so none may be added
            return Encoded(tuple(self.tokenizer.encode(rendered, add_special_tokens=False)), 0, {})
        flat = [image for shown in images for image in shown]
        try:
            tensors = dict(self._processor(text=[rendered], images=[flat], add_special_tokens=False, return_tensors="pt"))
        except ValueError as error:
            raise Rejected(f"the processor of model {self._name} refuses the images: {_first_line(error)}") from error
        ids = tuple(tensors.pop("input_ids")[0].tolist())
        tensors.pop("attention_mask", None)
        spans = self.image_spans(ids)
        return Encoded(ids, sum(spans), tensors, spans)

    def count_images(self, ids: Sequence[int]) -> int:
        """How many of these ids are image placeholders."""
        return 0 if self._processor is None else list(ids).count(self._processor.image_token_id)

    def image_spans(self, ids: Sequence[int]) -> tuple[int, ...]:
        """Lengths of the unbroken runs of image placeholders: one per image, or per tile where the model marks tiles apart."""
        pad = None if self._processor is None else self._processor.image_token_id
        return tuple(len(list(run)) for token, run in groupby(ids) if token == pad)

    def decode(self, ids: Sequence[int], prefix: Sequence[int] = ()) -> str:
        """Text of drawn ids without special tokens; after a prefix, what they add to its text, joining blanks included."""
        whole, before = self._decode([*prefix, *ids]), self._decode(prefix)
        return whole[len(before) :] if whole.startswith(before) else self._decode(ids)

    def end_ids(self, declared: int | Sequence[int] | None) -> frozenset[int]:
        """Tokens that end a reply: those the generation config declares, the tokenizer's, and the template's end of turn."""
        ids = [declared] if isinstance(declared, int) else list(declared or ())
        return frozenset(token for token in (*ids, self.tokenizer.eos_token_id, self._end_of_turn()) if token is not None)

    def _end_of_turn(self) -> int | None:
        """The special token that the template writes right after an assistant's words, if it writes one."""
        marker = "answer"
        talk = (Message("user", (Text("question"),)), Message("assistant", (Text(marker),)))
        rendered = self._apply([self._turn(message, iter(())) for message in talk], add_generation_prompt=False)
        tail = rendered.rpartition(marker)[2].lstrip()
        ids = self.tokenizer.encode(tail, add_special_tokens=False)
        return ids[0] if ids and ids[0] in self.tokenizer.all_special_ids else None

    def _turn(self, message: Message, frames: Any) -> dict[str, Any]:
        """A message as chat templates expect it: a string for text models, a list of parts for the others."""
        if not self.takes_images:
            return {"role": message.role, "content": "".join(part.text for part in _texts([message]))}
        content: list[dict[str, str]] = []
        for part in message.parts:
            if isinstance(part, Text):
                content.append({"type": "text", "text": part.text})
            else:
                content.extend({"type": "image"} for _ in next(frames))
        return {"role": message.role, "content": content}

    def _apply(self, conversation: list[dict[str, Any]], *, add_generation_prompt: bool) -> str:
        from jinja2 import TemplateError

        try:
            return self.tokenizer.apply_chat_template(
                conversation,
                chat_template=self._template,
                tokenize=False,
                add_generation_prompt=add_generation_prompt,
                **self._arguments,
            )
        except TemplateError as error:
            roles = ", ".join(turn["role"] for turn in conversation)
            raise UserError(
                f"the chat template of model {self._name} refuses a conversation of {roles}: {error}; change the roles "
                "or give another chat_template"
            ) from error

    def _decode(self, ids: Sequence[int]) -> str:
        return self.tokenizer.decode(list(ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)


def _texts(messages: Sequence[Message]) -> list[Text]:
    return [part for message in messages for part in message.parts if isinstance(part, Text)]


def _own_template(processor: Any) -> str | None:
    template = getattr(processor, "chat_template", None)
    return template.get("default") if isinstance(template, dict) else template


def _set_pixels(processor: Any, checkpoint: Checkpoint, arguments: Mapping[str, Any]) -> None:
    wanted = {name: getattr(checkpoint, name) for name in ("min_pixels", "max_pixels")}
    wanted = {name: pixels for name, pixels in wanted.items() if pixels is not None}
    image_processor: Any = getattr(processor, "image_processor", None)
    known = inspect.get_annotations(getattr(image_processor, "valid_kwargs", object))
    for name in wanted:
        if name not in known:
            raise UserError(
                f"{name}={wanted[name]}: the processor of model {checkpoint.model} has no such setting; leave it out"
            )
    if wanted:
        location = checkpoint.location()
        processor.image_processor = type(image_processor).from_pretrained(location.name, **arguments, **wanted)


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
