"""Our own prompts: YAML data beside this file, one file per benchmark; placeholders are filled literally."""

import re
from functools import cache
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from ttc.errors import UserError
from ttc.prompts.words import read_words
from ttc.records import Question

Form = Literal["multiple-choice", "open", "vision"]
PLACEHOLDER = re.compile(r"\{(\w+)\}")


class Templates(BaseModel, frozen=True, extra="forbid"):
    """One file of prompts."""

    source: str
    """Who wrote the words."""
    styles: dict[str, dict[Form, str]] = Field(min_length=1)
    """By style, such as `direct`, and form of question. `{question}` and `{options}` stand for the question's own text."""
    option: str = "({letter}) {text}"
    """How one option is written; options stand on lines of their own."""

    def text(self, question: Question, *, style: str, form: Form, file: str) -> str:
        """The rendered words, image markers still in place.

        Raises:
            UserError: no such style, no template for this form, or a placeholder that the question cannot fill.
        """
        forms = self.styles.get(style)
        if forms is None:
            raise UserError(f"{file}: no style {style!r}; it has {', '.join(self.styles)}")
        if form not in forms:
            raise UserError(f"{file}, style {style}: no template for a {form} question such as {question.id}; add one")
        return fill(
            forms[form], {"question": question.text, "options": self._options(question)}, where=f"{file}, style {style}"
        )

    def _options(self, question: Question) -> str:
        lettered = zip(question.letters, question.options, strict=True)
        return "\n".join(fill(self.option, {"letter": letter, "text": text}, where="option") for letter, text in lettered)


def fill(template: str, values: dict[str, str], *, where: str) -> str:
    """`template` with each `{name}` replaced by its value, in one pass: braces inside a value are left alone."""

    def value(match: re.Match[str]) -> str:
        if match[1] not in values:
            known = ", ".join(f"{{{name}}}" for name in values)
            raise UserError(f"{where}: unknown placeholder {match[0]}; use {known}")
        return values[match[1]]

    return PLACEHOLDER.sub(value, template)


@cache
def own(benchmark: str) -> tuple[str, Templates]:
    """Name and content of the file for a benchmark; `generic` where it has none."""
    files = {path.stem: path for path in Path(__file__).parent.glob("*.yaml")}
    path = files.get(benchmark, files["generic"])
    return path.stem, load(path)


@cache
def load(path: Path) -> Templates:
    """A file of prompts in our form.

    Raises:
        UserError: it is missing, is not YAML, or has other keys than `source`, `styles` and `option`.
    """
    return read_words(path, Templates, what="prompts", example="ttc/prompts/generic.yaml")
