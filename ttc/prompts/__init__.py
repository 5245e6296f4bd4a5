"""From a question to a prompt: templates as data, images at their places, few-shot turns, input ablations.

render(question, style="cot", config=PromptConfig(), examples=[...]) -> Prompt
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from ttc.errors import UserError
from ttc.prompts import official, templates
from ttc.prompts.markers import MARKER, MediaParts, described
from ttc.prompts.templates import Form
from ttc.records import FrameRule, Gold, Message, Part, Prompt, Question, Text


class PromptConfig(BaseModel, frozen=True, extra="forbid"):
    """How questions are put to a model. Everything here changes the prompt, and with it a sample's key."""

    official: Path | None = None
    """The benchmark's own prompt file (MMMU's and MMMU-Pro's YAML, MMVU's JSON), rendered to the byte."""
    templates: Path | None = None
    """A file of prompts in the form of `ttc/prompts/generic.yaml`, instead of the one shipped for the benchmark."""
    system: str | None = None
    """System message; none by default."""
    shots: int = Field(default=0, ge=0)
    """Worked examples before the question, as turns of the conversation."""
    vision: Literal["images", "none"] = "images"
    """`none`: no image and no video, only their numbers: what the text alone gives away."""
    captions: Path | None = None
    """JSON of {question id: text, or {image number: text}}, put in place of the images."""
    options: Literal["shown", "none"] = "shown"
    """`none`: a multiple-choice question asked as an open one."""
    max_pixels: int | None = Field(default=None, gt=0)
    """Images and frames above this are shrunk to it."""
    frames: FrameRule = FrameRule()
    """Which frames of a video are shown."""

    @model_validator(mode="after")
    def _one_source(self) -> "PromptConfig":
        if self.official and self.templates:
            raise ValueError("official and templates both name a prompt file; keep one")
        return self


@dataclass(frozen=True, slots=True)
class Example:
    """A question with its answer, for few-shot prompts; from the dev split, never from the split that is scored."""

    question: Question
    gold: Gold
    reply: str = ""
    """What the model should have said; made from the gold and its explanation where empty."""


def render(question: Question, *, style: str, config: PromptConfig | None = None, examples: Sequence[Example] = ()) -> Prompt:
    """The prompt of one question.

    Args:
        style: name of a template, `direct` or `cot` in the files shipped.
        config: where the words come from and what is shown; the defaults where None.
        examples: candidates for `config.shots`; the question's own subject first, the question itself and its cluster never.

    A question whose row lacks what it takes to ask it gets a prompt with a `problem` and no words.

    Raises:
        UserError: a missing file, style or caption; too few examples; a setting that hides all of a question.
    """
    config = config or PromptConfig()
    if problem := _problem(question, config):
        return Prompt((), style=f"{_file(question, config)}/{style}", problem=problem)
    turns: list[Message] = []
    if config.system is not None:
        turns.append(Message("system", (Text(config.system),)))
    for example in _shots(question, config, examples):
        turns.append(Message("user", _asked(example.question, style, config)))
        turns.append(Message("assistant", (Text(_answered(example, style, config)),)))
    turns.append(Message("user", _asked(question, style, config)))
    return Prompt(tuple(turns), style=f"{_file(question, config)}/{style}")


def _file(question: Question, config: PromptConfig) -> str:
    if config.official:
        return f"official {official.load(config.official).name}"
    return config.templates.stem if config.templates else templates.own(question.benchmark)[0]


def _asked(question: Question, style: str, config: PromptConfig) -> tuple[Part, ...]:
    """The user turn: media and text in the order in which the model meets them."""
    form = _form(question, config)
    if form == "open":
        question = replace(question, options=())
    seen = config.vision == "images" and not config.captions
    parts = MediaParts(question, max_pixels=config.max_pixels, frames=config.frames)
    text = _words(question, style, form, config)
    if not seen:
        return (Text(_described(question, text, config.captions)),)
    if not config.official:
        return parts.unmarked() + parts.interleaved(text)
    released = official.load(config.official)
    media = parts.unmarked() + parts.marked(text)
    words = (Text(released.finished(text)),)
    return words + media if released.images_last else media + words


def _words(question: Question, style: str, form: Form, config: PromptConfig) -> str:
    if config.official:
        return official.load(config.official).text(question, style=style, form=form)
    if config.templates:
        file, own = config.templates.name, templates.load(config.templates)
    else:
        name, own = templates.own(question.benchmark)
        file = f"ttc/prompts/{name}.yaml"
    return own.text(question, style=style, form=form, file=file)


def _problem(question: Question, config: PromptConfig) -> str:
    """Why the row of a question cannot be asked; empty for almost all."""
    if not question.text.strip():
        drawn_in = any(media.kind == "image" and not media.marker for media in question.media)
        return "" if drawn_in else f"question {question.id} has no text and no image that holds the question"
    if question.question_type == "multiple-choice" and not question.options and config.options == "shown":
        return f"question {question.id} is multiple choice without any option that can be read"
    return ""


def _form(question: Question, config: PromptConfig) -> Form:
    if not question.text.strip():
        if config.vision == "images" and not config.captions:
            return "vision"
        raise UserError(
            f"question {question.id}: its text is drawn in its image, which is not shown; "
            "MMMU-Pro's vision setting needs prompt.vision: images"
        )
    if question.question_type == "open" or config.options == "none":
        return "open"
    return "multiple-choice"


def _described(question: Question, text: str, captions: Path | None) -> str:
    """`text` with words in place of media; a caption for all of a question's media precedes it."""
    if captions is None or not question.media:
        return described(text, {})
    caption = _captions(captions).get(question.id)
    if caption is None:
        raise UserError(
            f"prompt.captions {captions}: no entry for question {question.id}, which has {len(question.media)} media"
        )
    if isinstance(caption, str):
        return f"[{caption}]\n\n{described(text, {})}"
    missing = {int(match[1]) for match in MARKER.finditer(text)} - caption.keys()
    if missing:
        raise UserError(f"prompt.captions {captions}: question {question.id} has no text for <image {min(missing)}>")
    return described(text, caption)


@cache
def _captions(path: Path) -> Mapping[str, str | dict[int, str]]:
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        return {
            id: {int(number): str(text) for number, text in entry.items()} if isinstance(entry, dict) else str(entry)
            for id, entry in content.items()
        }
    except OSError as error:
        raise UserError(f"prompt.captions {path}: {error.strerror}") from error
    except (ValueError, AttributeError) as error:
        raise UserError(f"prompt.captions {path}: not JSON of {{question id: text or {{number: text}}}}: {error}") from error


def _shots(question: Question, config: PromptConfig, examples: Sequence[Example]) -> Sequence[Example]:
    usable = [
        example
        for example in examples
        if example.question.id != question.id
        and not (question.cluster and example.question.cluster == question.cluster)
        and not _problem(example.question, config)
    ]
    if len(usable) < config.shots:
        raise UserError(f"prompt.shots: {config.shots} examples wanted for question {question.id}, {len(usable)} at hand")
    subject = question.fields.get("subject")
    return sorted(usable, key=lambda example: example.question.fields.get("subject") != subject)[: config.shots]


def _answered(example: Example, style: str, config: PromptConfig) -> str:
    """The assistant turn of an example."""
    if example.reply:
        return example.reply
    if not example.gold.answers:
        raise UserError(f"prompt.shots: example {example.question.id} has no gold answer; take examples from the dev split")
    answer = example.gold.answers[0]
    if config.options == "none" and example.question.question_type == "multiple-choice":
        answer = example.question.options[example.question.letters.index(answer)]
    closing = official.load(config.official).reply(answer, style=style) if config.official else f"Answer: {answer}"
    explanation = example.gold.explanation if style != "direct" else ""
    return f"{explanation}\n\n{closing}" if explanation else closing
