"""Where images stand: `<image N>` in question and options, and what takes its place."""

import re
from collections.abc import Callable, Iterator, Mapping

from ttc.records import Clip, FrameRule, Media, Part, Picture, Question, Text

MARKER = re.compile(r"<\s*image[\s_]*(\d+)\s*>", re.IGNORECASE)
"""`<image 3>` in any spelling; group 1 is the number."""


class MediaParts:
    """The media of one question as message parts.

    A marker without an image gets a picture with a problem: the session records the sample as unusable, and neither a literal
    marker nor a gap reaches the model.
    """

    def __init__(self, question: Question, *, max_pixels: int | None, frames: FrameRule) -> None:
        self._question, self._max_pixels, self._frames = question, max_pixels, frames
        self._by_marker = {media.marker: media for media in question.media if media.marker}

    def unmarked(self) -> tuple[Part, ...]:
        """Videos and images that no marker refers to."""
        return tuple(self._part(media) for media in self._question.media if not media.marker)

    def marked(self, text: str) -> tuple[Part, ...]:
        """The images that `text` refers to, in textual order, repeats included."""
        return tuple(self._at(int(match[1])) for match in MARKER.finditer(text))

    def interleaved(self, text: str) -> tuple[Part, ...]:
        """`text` with each image at the place of its marker."""
        return tuple(part for part in self._pieces(text) if not isinstance(part, Text) or part.text)

    def _pieces(self, text: str) -> Iterator[Part]:
        start = 0
        for match in MARKER.finditer(text):
            yield Text(text[start : match.start()])
            yield self._at(int(match[1]))
            start = match.end()
        yield Text(text[start:])

    def _at(self, number: int) -> Part:
        media = self._by_marker.get(number)
        if media is None:
            problem = f"question {self._question.id} refers to <image {number}>, which its row does not hold"
            media = Media("image", number, sha256="", problem=problem)
        return self._part(media)

    def _part(self, media: Media) -> Part:
        if media.kind == "video":
            return Clip(media, self._frames, self._max_pixels)
        return Picture(media, self._max_pixels)


def described(text: str, description: Mapping[int, str]) -> str:
    """`text` with words where its images were: their caption, or only their number where `description` has none."""

    def words(number: int) -> str:
        return f"[image {number}: {description[number]}]" if number in description else f"[image {number}]"

    return replaced(text, words)


def replaced(text: str, replacement: Callable[[int], str]) -> str:
    """`text` with every marker replaced by what `replacement` makes of its number."""
    return MARKER.sub(lambda match: replacement(int(match[1])), text)
