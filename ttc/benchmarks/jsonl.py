"""Your own questions: one JSON object a line, with images and videos as files beside it or as base64.

    {"id": "q1", "question": "What is <image 1>?", "options": ["a", "b"], "gold": "A", "images": ["q1.png"], "level": "Easy"}

`question_type` is multiple-choice or open (told by the options where left out); `gold` is a letter, a text or a list of texts;
images are `images`, one or a list in the order of their numbers, or `image_1`, `image_2` ...; `image` and `video` stand before
the text. Any other key is a field to group by.
"""

import base64
import binascii
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel

from ttc.benchmarks import plain
from ttc.benchmarks.exams import seal
from ttc.benchmarks.files import json_rows
from ttc.benchmarks.markers import bind, numbers
from ttc.media import header_checked, media_from_bytes, media_from_file
from ttc.records import Exam, Gold, Media, Question

_LONGEST_NAME = 512
"""A longer string is base64, not a file's name."""


class Jsonl(BaseModel, frozen=True, extra="forbid"):
    """A file of JSON lines; see the module for the keys of a row."""

    kind: Literal["jsonl"] = "jsonl"
    path: Path
    """The file. The media it names must lie in its folder or below."""
    name: str = "jsonl"
    """Name of the exam, which also chooses the prompt file: `mmmu` for questions like MMMU's."""
    split: str = "test"
    """Name of the split, for records."""

    def load(self) -> Exam:
        """Read and check the file.

        Raises:
            UserError: it is missing, or a line is no JSON object or an impossible row; names it.
        """
        questions: list[Question] = []
        golds: list[Gold] = []
        problems: list[str] = []
        for number, row in enumerate(json_rows(self.path.expanduser()), start=1):
            where = f"{self.path}, row {number}"
            asked = plain.question({"id": f"row {number}", **row}, benchmark=self.name, where=where)
            asked, wrong = _shown(asked, tuple(self._media(row)))
            problems += [f"{asked.id}: {problem}" for problem in wrong]
            questions.append(asked)
            golds.append(plain.gold(row, asked, where=where))
        return seal(self.name, self.split, questions, golds, problems=problems)

    def _media(self, row: Mapping[str, Any]) -> Iterator[Media]:
        if row.get("video"):
            yield media_from_file(str(row["video"]), root=self.path.expanduser().parent, kind="video")
        if row.get("image"):
            yield self._image(row["image"], 0)
        images = row.get("images") or []
        for marker, image in enumerate([images] if isinstance(images, str) else images, start=1):
            yield self._image(image, marker)
        for name, image in row.items():
            head, _, number = name.rpartition("_")
            if head == "image" and number.isdecimal() and image:
                yield self._image(image, int(number))

    def _image(self, image: object, marker: int) -> Media:
        text = str(image)
        if not text.startswith("data:") and len(text) <= _LONGEST_NAME:
            return header_checked(media_from_file(text, root=self.path.expanduser().parent, marker=marker))
        try:
            return header_checked(
                media_from_bytes(base64.b64decode(text.rpartition("base64,")[2], validate=True), marker=marker)
            )
        except (binascii.Error, ValueError) as error:
            return Media("image", marker, sha256="", problem=f"<image {marker}> is no base64 ({error})")


def _shown(question: Question, media: tuple[Media, ...]) -> tuple[Question, tuple[str, ...]]:
    """The question with the media that it shows, and what is wrong with them.

    A text without any `<image N>` shows all its images, before the text; otherwise exactly those referred to are shown.
    """
    texts = (question.text, *question.options)
    if not any(map(numbers, texts)):
        shown = tuple(replace(item, marker=0) for item in media)
        return replace(question, media=shown), tuple(item.problem for item in shown if item.problem)
    bound = bind(texts, {item.marker: item for item in media if item.marker})
    first = tuple(item for item in media if not item.marker)
    text, *options = bound.texts
    problems = (*(item.problem for item in first if item.problem), *bound.problems)
    return replace(question, text=text, options=tuple(options), media=(*first, *bound.media)), problems
