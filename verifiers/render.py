"""A question and the steps of a reply -> token ids and the places where a step verifier reads: one renderer for training and
serving, so that both see the same ids.

    verdicts   user: images, question, step 1 / assistant: "+" / user: step 2 / assistant: "+" ...; each verdict is predicted
    marker     user: images, question / assistant: step 1 <marker> step 2 <marker> ...; a head reads each marker
    likelihood user: images, question / assistant: the reply, a step a line; a step is as right as it was to be expected

What an earlier slot holds is always the same token, never a label: a step's score does not depend on the verdicts before it.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from ttc import media, prompts
from ttc.backends.chat import Chat, Encoded, Images, Rejected
from ttc.errors import UserError
from ttc.prompts import PromptConfig
from ttc.records import Message, Prompt, Question, Text
from verifiers.steps import MOST_STEPS

FILE = "step_verifier.json"
"""In the folder of a trained verifier: its `Rendering`, and what it was trained from."""

_SLOT = "\ue0b5"
"""Stands for a slot while the chat template is applied; a character for private use, that no text has a reason to hold."""
QUESTIONS_KEPT = 8
"""Replies come question by question, and the encoded images of one can take many megabytes."""


class Rendering(BaseModel, frozen=True, extra="forbid"):
    """How a verifier is shown a reply. Part of what its scores depend on, and stored beside its weights."""

    form: Literal["verdicts", "marker", "likelihood"] = "verdicts"
    """`likelihood` is for replies whose form leaves no choice of words, such as the pocket exam's: only there does the
    probability of a step's tokens say how likely it is right. It asks nothing of a model but what it was made for."""
    style: str = "cot"
    """Prompt style of the question, as in `ttc.prompts.render`."""
    prompt: PromptConfig = PromptConfig()
    """How the question is put: system message, image size, frames of a video."""
    heading: str = "### Question:\n"
    """Before the question."""
    between: str = "\n\n### Solution Process:\n"
    """Between the question and the first step."""
    good: str = "+"
    """The verdict on a right step, one token; also what stands in every earlier slot."""
    bad: str = "-"
    """The verdict on a wrong step, one token."""
    marker: str = ""
    """In the marker form: the token after each step, one that no text holds; a line break where each step is a line."""
    at_most: int = Field(default=MOST_STEPS, gt=0)
    """Steps of a reply; more are merged."""

    @property
    def word(self) -> str:
        """What stands in a slot."""
        return {"verdicts": self.good, "marker": self.marker, "likelihood": ""}[self.form]


@dataclass(frozen=True, slots=True)
class Rendered:
    """A reply of S steps as a verifier takes it."""

    encoded: Encoded
    """Token ids, images expanded."""
    slots: tuple[int, ...]
    """S indices into the ids: the outputs there are the steps' scores. Under `likelihood`, each step's last token."""
    plain_ids: tuple[int, ...]
    """The ids before images are expanded, for engines that expand them; slots lie equally far from the end of both."""
    first: int | None = None
    """Under `likelihood`, the index of the reply's first token."""

    @property
    def length(self) -> int:
        """Tokens."""
        return len(self.encoded.ids)


@dataclass(frozen=True, slots=True)
class _Asked:
    """A question whose images are encoded."""

    question: Question
    prompt: Prompt
    images: Images
    encoded: Encoded
    plain: tuple[int, ...]
    """The prompt's ids with one placeholder for each image."""
    first: int
    """How many of these at the beginning the processor leaves alone."""
    behind: int
    """How many at the end; all where it changes none."""


class Renderer:
    """The rendering of one model's chat template and tokenizer."""

    def __init__(self, chat: Chat, rendering: Rendering, name: str, *, questions_kept: int = QUESTIONS_KEPT) -> None:
        """Args:
            name: the model, for messages.
            questions_kept: questions whose images stay encoded.

        Raises:
            UserError: a verdict or the marker is not one token of its own, or both verdicts are the same.
        """
        self.rendering, self._chat, self._name = rendering, chat, name
        if not getattr(chat.tokenizer, "is_fast", False):
            raise UserError(f"model {name}: its tokenizer does not say where its tokens lie in the text; take a fast tokenizer")
        if rendering.form == "marker" and not rendering.marker:
            raise UserError(f"verifier {name}: form marker needs a marker; set rendering.marker to a token that no text holds")
        self._ask = lru_cache(maxsize=questions_kept)(self._asked)
        # the ids are read where they are used: some tokenizers know two of a word, with and without a blank before it
        self.word_id = self._id_in_place(rendering.word) if rendering.word else -1
        self.bad_id = self._id_in_place(rendering.bad) if rendering.form == "verdicts" else self.word_id
        if rendering.form == "verdicts" and self.bad_id == self.word_id:
            raise UserError(
                f"model {name}: its tokenizer has one id, {self.bad_id}, for both verdicts {rendering.good!r} and "
                f"{rendering.bad!r}; choose others"
            )

    def render(self, question: Question, steps: Sequence[str]) -> Rendered:
        """The ids of a reply in steps, nothing cut off.

        Raises:
            Rejected: this model cannot take the question, or a text holds the marker or the image placeholder.
            MediaError: an image or a video cannot be used.
            UserError: the tokenizer joins a verdict with what stands around it.
        """
        rendering = self.rendering
        if not steps or not all(step.strip() for step in steps):
            raise Rejected("a step without text")
        if rendering.form == "marker" and any(
            rendering.marker in text for text in (*(step.strip() for step in steps), *_words(question))
        ):
            raise Rejected(f"the text holds {rendering.marker}, which is the marker of verifier {self._name}")
        asked = self._ask(Key(question))
        ids, slots = self._tokens(asked, steps, rendering.word)
        shared = len(asked.plain) - asked.behind
        if ids[:shared] != asked.plain[:shared]:
            raise Rejected(f"the tokenizer of model {self._name} joins an image with what follows the question")
        expanded = asked.encoded.ids[asked.first : len(asked.encoded.ids) - asked.behind]
        grown = len(asked.encoded.ids) - len(asked.plain)
        encoded = replace(asked.encoded, ids=(*ids[: asked.first], *expanded, *ids[shared:]))
        if self._chat.count_images(encoded.ids) != asked.encoded.image_tokens:
            raise Rejected("the reply holds an image placeholder, which the model would take for an image")
        first = len(asked.encoded.ids) if rendering.form == "likelihood" else None
        return Rendered(encoded, tuple(slot + grown for slot in slots), ids, first)

    def images(self, question: Question) -> Images:
        """The question's pictures and frames as the renderer shows them, for engines that encode them themselves."""
        return self._ask(Key(question)).images

    def _tokens(self, asked: _Asked, steps: Sequence[str], word: str) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Ids before images are expanded, and where outputs are read."""
        if self.rendering.form == "likelihood":
            return self._lines(asked, steps)
        pieces = self._pieces(asked, steps)
        is_marker = self.rendering.form == "marker"
        text = word.join(pieces) + (word if is_marker else "")
        coded = self._chat.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        ids, starts = tuple(coded["input_ids"]), {start: place for place, (start, _) in enumerate(coded["offset_mapping"])}
        slots, end = [], 0
        for piece in pieces[: len(pieces) if is_marker else -1]:
            end += len(piece)
            place = starts.get(end)
            if place is None or coded["offset_mapping"][place][1] != end + len(word):
                raise UserError(f"model {self._name}: {word!r} is not one token after {text[max(0, end - 20) : end]!r}")
            slots.append(place if is_marker else place - 1)
            end += len(word)
        return ids, tuple(slots if is_marker else [*slots, len(ids) - 1])

    def _lines(self, asked: _Asked, steps: Sequence[str]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The same for a reply that is read as it stands, its steps a line each."""
        text, ends = self._chat.render(asked.prompt, asked.images), []
        for step in steps:
            text += step.strip() + "\n"
            ends.append(len(text))
        ends[-1] -= 1
        coded = self._chat.tokenizer(text[:-1], add_special_tokens=False, return_offsets_mapping=True)
        places = {end: place for place, (_, end) in enumerate(coded["offset_mapping"])}
        if missing := [end for end in ends if end not in places]:
            raise Rejected(f"a token reaches over the end of the step {text[max(0, missing[0] - 20) : missing[0]]!r}")
        return tuple(coded["input_ids"]), tuple(places[end] for end in ends)

    def _pieces(self, asked: _Asked, steps: Sequence[str]) -> list[str]:
        """The text up to each slot: joined by what the slots hold, they are what is tokenised."""
        rendering, said = self.rendering, [step.strip() for step in steps]
        if rendering.form == "marker":
            return [self._chat.render(asked.prompt, asked.images) + said[0], *said[1:]]
        *before, user = asked.prompt.messages
        turns = [*before, Message("user", (*user.parts, Text(rendering.between + said[0])))]
        for step in said[1:]:
            turns += [Message("assistant", (Text(_SLOT),)), Message("user", (Text(step),))]
        rendered = self._chat.render(Prompt((*turns, Message("assistant", (Text(_SLOT),)))), asked.images)
        pieces = rendered.split(_SLOT)[:-1]
        if len(pieces) != len(steps):
            raise Rejected(f"{len(steps)} steps have {len(pieces)} slots in the chat template of model {self._name}")
        return pieces

    def _asked(self, key: "Key") -> _Asked:
        question, rendering = key.question, self.rendering
        prompt = prompts.render(question, style=rendering.style, config=rendering.prompt)
        if prompt.problem:
            raise Rejected(prompt.problem)
        *before, user = prompt.messages
        prompt = Prompt((*before, Message("user", (Text(rendering.heading), *user.parts) if rendering.heading else user.parts)))
        images = tuple(media.load_images(part) for part in prompt.media_parts)
        encoded = self._chat.encode(prompt, images)
        plain = tuple(self._chat.tokenizer.encode(self._chat.render(prompt, images), add_special_tokens=False))
        if plain == encoded.ids:
            return _Asked(question, prompt, images, encoded, plain, 0, len(plain))
        first = _common(plain, encoded.ids)
        behind = _common(plain[first:][::-1], encoded.ids[first:][::-1])
        return _Asked(question, prompt, images, encoded, plain, first, behind)

    def _id_in_place(self, word: str) -> int:
        """The id of a word in a slot between two steps."""
        asked = _Asked(Question("", "", "open", ""), Prompt((Message("user", (Text("1"),)),)), (), Encoded((), 0, {}), (), 0, 0)
        ids, slots = self._tokens(asked, ("1", "1"), word)
        return ids[slots[0] + (self.rendering.form == "verdicts")]


class Key:
    """A question as a key: by its identity, since its fields need not be hashable."""

    def __init__(self, question: Question) -> None:
        self.question = question

    def __hash__(self) -> int:
        return id(self.question)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Key) and other.question is self.question


def described(folder: Path) -> tuple[Rendering, dict[str, Any]] | None:
    """The rendering in a trained verifier's folder, and what else is said there: `base`, the fingerprint of an adapter's base.

    Raises:
        UserError: the file is there and is not what a training run wrote.
    """
    path = folder / FILE
    if not path.is_file():
        return None
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return Rendering.model_validate(content.pop("rendering")), content
    except (ValueError, KeyError, AttributeError, ValidationError) as error:
        raise UserError(f"{path}: not the description of a step verifier ({type(error).__name__}); train it again") from error


def _words(question: Question) -> tuple[str, ...]:
    return (question.text, *question.options)


def _common(one: Sequence[int], other: Sequence[int]) -> int:
    """How many of the first items are the same."""
    return next((place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
