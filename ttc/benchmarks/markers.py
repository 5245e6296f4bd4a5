"""`<image N>` in questions and options: one spelling, counted against the images of the row."""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import count

from ttc.records import Media

_MARKER = re.compile(r"(?:<|＜|&lt;)\s*\|?\s*(?:image|img)[\s_:#-]*(\d{1,4})\s*\|?\s*/?\s*(?:>|＞|&gt;)", re.IGNORECASE)
_UNNUMBERED = re.compile(r"<\s*image\s*>", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Bound:
    """Texts with their markers in one spelling, and the images that they refer to."""

    texts: tuple[str, ...]
    media: tuple[Media, ...]
    """Each once, in order of first reference; one with a `problem` stands for an image that the row does not hold."""
    problems: tuple[str, ...]


def numbers(text: str) -> list[int]:
    """The N of each marker in the text, in order, repeats included; any spelling."""
    return [int(match[1]) for match in _MARKER.finditer(text)]


def bind(texts: Iterable[str], images: Mapping[int, Media]) -> Bound:
    """Normalise the markers in a question and its options, and find their images.

    Images that nothing refers to are left out: in the released rows they belong to the explanation. Markers without a number
    are numbered in order where no other marker is there and they are as many as the images.
    """
    texts = _numbered(list(texts), images)
    texts = [_MARKER.sub(lambda match: f"<image {int(match[1])}>", text) for text in texts]
    wanted = list(dict.fromkeys(number for text in texts for number in numbers(text)))
    missing = [number for number in wanted if number not in images]
    problems = [f"refers to <image {number}>, which the row does not hold" for number in missing]
    problems += [images[number].problem for number in wanted if number in images and images[number].problem]
    if images and not wanted:
        problems.append(f"refers to none of the {len(images)} images of its row; none is shown")
    if any(_UNNUMBERED.search(text) for text in texts):
        problems.append(f"has an <image> without a number, and {len(images)} images to choose from")
    absent = {number: Media("image", number, "", problem=f"the row does not hold <image {number}>") for number in missing}
    return Bound(tuple(texts), tuple({**images, **absent}[number] for number in wanted), tuple(problems))


def _numbered(texts: list[str], images: Mapping[int, Media]) -> list[str]:
    bare = sum(len(_UNNUMBERED.findall(text)) for text in texts)
    if bare != len(images) or any(map(numbers, texts)):
        return texts
    order = count(1)
    return [_UNNUMBERED.sub(lambda _: f"<image {next(order)}>", text) for text in texts]


def as_words(text: str) -> str:
    """The text with its markers as plain words, for rows whose images are drawn inside one picture."""
    return _MARKER.sub(lambda match: f"image {int(match[1])}", text)
