"""The benchmarks' released prompts, read from the benchmarks' own files and rendered to the byte as their scripts do.

The files themselves are no part of this project: name one with `prompt.official`. The form is told by its keys.

MMMU's and MMMU-Pro's scripts send fewer or other images than the text refers to. Here every referenced image is sent, in
textual order, repeats included; the words stay the released ones.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import Template
from typing import ClassVar, Protocol

import yaml

from ttc.errors import UserError
from ttc.prompts.markers import replaced
from ttc.prompts.templates import Form
from ttc.records import Question


class Official(Protocol):
    """The released prompts of one benchmark."""

    name: ClassVar[str]
    images_last: ClassVar[bool]
    """Images follow the text; otherwise they precede it."""

    def text(self, question: Question, *, style: str, form: Form) -> str:
        """The words as the script builds them, `<image N>` as in the data."""
        ...

    def finished(self, text: str) -> str:
        """`text` as the model gets it, once the images are sent beside it."""
        ...

    def reply(self, answer: str, *, style: str) -> str:
        """The closing that the prompt asks for, for few-shot examples."""
        ...


@dataclass(frozen=True, slots=True)
class Mmmu:
    """MMMU's `configs/llava1.5.yaml`: one style, markers left in the text as they are, images first."""

    templates: Mapping[str, str]
    name: ClassVar[str] = "mmmu"
    images_last: ClassVar[bool] = False

    def text(self, question: Question, *, style: str, form: Form) -> str:
        """Question, "(A) text" lines each ending in a newline, instruction."""
        if style != "direct" or form == "vision":
            raise UserError(f"MMMU's released prompts have no {style} style for a {form} question; use style direct")
        if form == "multiple-choice":
            lines = [f"({letter}) {text}\n" for letter, text in zip(question.letters, question.options, strict=True)]
            body = self._filled("multi_choice_example_format", question.text, "".join(lines))
        else:
            body = self._filled("short_ans_example_format", question.text)
        task = self.templates["task_instructions"]
        return f"{task.strip()}\n\n{body}" if task else body

    def _filled(self, key: str, *values: str) -> str:
        pieces = self.templates[key].split("{}")
        if len(pieces) != len(values) + 1:
            raise UserError(f"MMMU's released prompts: {key} has {len(pieces) - 1} places {{}}, not {len(values)}")
        return pieces[0] + "".join(value + piece for value, piece in zip(values, pieces[1:], strict=True))

    def finished(self, text: str) -> str:
        """Unchanged."""
        return text

    def reply(self, answer: str, *, style: str) -> str:
        """The bare letter or phrase."""
        return answer


@dataclass(frozen=True, slots=True)
class MmmuPro:
    """MMMU-Pro's `prompts.yaml`: markers become `<image>`, images last; the vision setting sends the instruction alone.

    Models whose own image placeholder is spelled `<image>` cannot take these words: their backends reject such prompts.
    """

    templates: Mapping[str, Mapping[str, str]]
    name: ClassVar[str] = "mmmu_pro"
    images_last: ClassVar[bool] = True

    def text(self, question: Question, *, style: str, form: Form) -> str:
        """Question, "A. text" lines, instruction, one newline between them."""
        if style not in self.templates:
            raise UserError(f"MMMU-Pro's released prompts have no style {style!r}; they have {', '.join(self.templates)}")
        if form == "open":
            raise UserError(f"MMMU-Pro's released prompts have no form for an open question such as {question.id}")
        if form == "vision":
            return self.templates[style]["vision"]
        lines = [f"{letter}. {text}" for letter, text in zip(question.letters, question.options, strict=True)]
        return "\n".join([question.text, "\n".join(lines), self.templates[style]["standard"]])

    def finished(self, text: str) -> str:
        """Markers without their number."""
        return replaced(text, lambda number: "<image>")

    def reply(self, answer: str, *, style: str) -> str:
        """The letter, after "Answer: " where the prompt asks for that line."""
        return answer if style == "direct" else f"Answer: {answer}"


@dataclass(frozen=True, slots=True)
class Mmvu:
    """MMVU's templates as JSON in `string.Template` form: frames first; "direct" is what MMVU calls direct output."""

    templates: Mapping[str, str]
    name: ClassVar[str] = "mmvu"
    images_last: ClassVar[bool] = False

    def text(self, question: Question, *, style: str, form: Form) -> str:
        """Question, "A: text" lines, instruction."""
        key = f"{'multi_choice' if form == 'multiple-choice' else 'open_ended'}_{'do' if style == 'direct' else style}_prompt"
        if key not in self.templates or form == "vision":
            raise UserError(f"MMVU's released prompts have no {style} style for a {form} question; they have cot and direct")
        options = "\n".join(f"{letter}: {text}" for letter, text in zip(question.letters, question.options, strict=True))
        try:
            return Template(self.templates[key]).substitute(question=question.text, optionized_str=options)
        except (KeyError, ValueError) as error:
            raise UserError(
                f"MMVU's released prompts: {key} does not fill from $question and $optionized_str: {error}"
            ) from error

    def finished(self, text: str) -> str:
        """Unchanged."""
        return text

    def reply(self, answer: str, *, style: str) -> str:
        """The sentence the chain-of-thought prompt asks for, or the bare answer."""
        return answer if style == "direct" else f"Therefore, the final answer is: {answer}"


@cache
def load(path: Path) -> Official:
    """A benchmark's own prompt file.

    Raises:
        UserError: it cannot be read, or is none of the three forms.
    """
    try:
        text = path.read_text(encoding="utf-8")
        content = json.loads(text) if path.suffix == ".json" else yaml.safe_load(text)
    except OSError as error:
        raise UserError(f"prompt.official {path}: {error.strerror}") from error
    except (ValueError, yaml.YAMLError) as error:
        raise UserError(f"prompt.official {path}: neither YAML nor JSON: {' '.join(str(error).split())}") from error
    keys = content.keys() if isinstance(content, dict) else set()
    if {"multi_choice_example_format", "short_ans_example_format"} <= keys:
        wanted = ("task_instructions", "multi_choice_example_format", "short_ans_example_format")
        return Mmmu({key: _first(content.get(key)) for key in wanted})
    if {"multi_choice_cot_prompt", "open_ended_cot_prompt"} <= keys:
        return Mmvu({key: str(value) for key, value in content.items()})
    if keys and all(isinstance(value, dict) and {"standard", "vision"} <= value.keys() for value in content.values()):
        return MmmuPro(content)
    raise UserError(
        f"prompt.official {path}: none of MMMU's llava1.5.yaml, MMMU-Pro's prompts.yaml and MMVU's templates as JSON; "
        f"its keys are {', '.join(map(str, keys)) or 'none'}"
    )


def _first(value: object) -> str:
    """MMMU's file wraps each string in a list of one."""
    return str((value[0] if isinstance(value, list) and value else value) or "")
