"""Pictures of the report's sample browser: images and frames as data URLs, within what one page can carry."""

import base64
import io
from collections.abc import Mapping, Sequence
from typing import Any

from PIL import Image

from ttc import media
from ttc.errors import MediaError
from ttc.records import Clip, FrameRule, Media, Picture, Question

CHARACTERS = 16_000_000
"""Image data in one page, as base64."""
PIXELS = (224 * 224, 512 * 512)
"""Fewest and most pixels of an image; between them, what the page's share allows."""
PIXELS_PER_CHARACTER = 4
"""Of a photograph as WebP in base64."""
FRAMES = 4
TINY = 160
"""Images with both sides below this are enlarged by the page without smoothing."""


def media_key(one: Media) -> str:
    """Of a medium in the page: by content, or by what is wrong with it."""
    return f"{one.kind}-{one.sha256}" if one.sha256 else f"problem-{one.problem}"


def pictures(questions: Sequence[Question]) -> tuple[Mapping[str, Any], int]:
    """Each medium once, until the page's share for images is used up; and the number left out."""
    media_by_key = {media_key(one): one for question in questions for one in question.media}
    least, most = PIXELS
    pixels = max(least, min(most, PIXELS_PER_CHARACTER * CHARACTERS // max(1, len(media_by_key))))
    shown: dict[str, Any] = {}
    room = CHARACTERS
    for key, one in media_by_key.items():
        if room <= 0:
            break
        part = Picture(one, pixels) if one.kind == "image" else Clip(one, FrameRule(frames=FRAMES), pixels // FRAMES)
        try:
            images = media.load_images(part)
        except MediaError as error:
            shown[key] = {"frames": (), "problem": str(error), "tiny": False}
            continue
        frames = tuple(_data_url(image) for image in images)
        room -= sum(map(len, frames))
        shown[key] = {"frames": frames, "problem": "", "tiny": max(images[0].size) < TINY}
    return shown, len(media_by_key) - len(shown)


def _data_url(image: Image.Image) -> str:
    """WebP as for photographs; PNG for tiny images, whose every pixel counts."""
    buffer = io.BytesIO()
    name = "png" if max(image.size) < TINY else "webp"
    image.save(buffer, name, quality=75, method=2)
    return f"data:image/{name};base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
