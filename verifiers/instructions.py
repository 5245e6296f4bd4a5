"""What a language model is told when it verifies: words as data, pictures at their places, the reply in numbered steps."""

import hashlib
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from pydantic import BaseModel, Field

from ttc.prompts.markers import MediaParts, described
from ttc.prompts.templates import fill
from ttc.prompts.words import read_words
from ttc.records import FrameRule, Message, Part, Prompt, Question, Text

SHIPPED = Path(__file__).parent / "prompts"


class Shown(BaseModel, frozen=True, extra="forbid"):
    """What a verifier sees of a question's media."""

    media: bool = True
    """False for a model without eyes: images are then named by their numbers alone."""
    max_pixels: int | None = Field(default=None, gt=0)
    """Images and frames above this are shrunk to it."""
    frames: FrameRule = FrameRule()
    """Which frames of a video are shown."""

    def parts(self, question: Question, text: str) -> tuple[Part, ...]:
        """`text`, which holds the question, with its media at their places; those without a place come first."""
        if not self.media:
            return (Text(described(text, {})),)
        media = MediaParts(question, max_pixels=self.max_pixels, frames=self.frames)
        return media.unmarked() + media.interleaved(text)


class Instructions(BaseModel, frozen=True, extra="forbid"):
    """A file of instructions. `{question}` and `{options}` stand for the question's own text, `{steps}` for the reply's."""

    source: str
    """Who wrote the words."""
    system: str
    question: str
    """First half of the user's turn; the question's media are shown where its text refers to them."""
    reply: str
    """Second half; `{n}` is the number of steps. Whatever the reply says, it brings no media."""

    def prompt(self, question: Question, steps: Sequence[str], shown: Shown, *, file: str) -> Prompt:
        """The prompt about one reply. Raises UserError for a placeholder that is none of these."""
        options = "\n".join(f"({letter}) {text}" for letter, text in zip(question.letters, question.options, strict=True))
        asked = fill(self.question, {"question": question.text, "options": options}, where=file).rstrip()
        numbered = "\n".join(f"Step {number}: {text.strip()}" for number, text in enumerate(steps, start=1))
        told = fill(self.reply, {"steps": numbered, "n": str(len(steps))}, where=file)
        user = (*shown.parts(question, f"{asked}\n\n"), Text(told))
        return Prompt((Message("system", (Text(self.system),)), Message("user", user)), style=file)

    @property
    def sha256(self) -> str:
        """Hash of the words, their source left out."""
        return hashlib.sha256("\0".join((self.system, self.question, self.reply)).encode()).hexdigest()


@cache
def load(path: Path) -> Instructions:
    """A file of instructions.

    Raises:
        UserError: it is missing, is not YAML, or has other keys than `source`, `system`, `question` and `reply`.
    """
    return read_words(path, Instructions, what="instructions", example="verifiers/prompts/generative.yaml")
