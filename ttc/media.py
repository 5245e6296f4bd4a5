"""Images and videos: known by the hash of their bytes, checked before they are decoded, decoded to RGB."""

import base64
import hashlib
import io
import struct
import zlib
from dataclasses import replace
from pathlib import Path
from typing import Literal

from PIL import Image, ImageOps

from ttc.errors import MediaError
from ttc.records import Clip, Media, Picture

MAX_PIXELS = 89_478_485
"""Larger images and frames are taken for decompression bombs and never decoded. Pillow warns above the same number."""

# what Pillow's decoders raise on damaged files; its own bomb check is an error, and a warning that may be made one
_DAMAGED = (
    OSError,
    ValueError,
    SyntaxError,
    EOFError,
    KeyError,
    IndexError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
    Image.DecompressionBombWarning,
)


def media_from_bytes(data: bytes | None, *, kind: Literal["image", "video"] = "image", marker: int = 0) -> Media:
    """Media held in memory; with a `problem` where there are no bytes. Nothing is decoded."""
    if not data:
        return Media(kind, marker, sha256="", problem=f"{named(kind, marker)} has no bytes")
    return Media(kind, marker, hashlib.sha256(data).hexdigest(), data=data)


def media_from_file(
    name: str | Path, *, root: Path | None = None, kind: Literal["image", "video"] = "image", marker: int = 0
) -> Media:
    """Media on disk; with a `problem` where the file cannot be read. Nothing is decoded.

    Args:
        name: the file. A name that came from a data set must be given together with `root`.
        root: the folder that `name` is relative to and may not leave, not even by a link.
    """

    def unusable(why: str) -> Media:
        return Media(kind, marker, sha256="", problem=f"{named(kind, marker)}: {why}")

    try:
        path = Path(name) if root is None else (root / name).resolve()
        if root is not None and not path.is_relative_to(root.resolve()):
            return unusable(f"{str(name)!r} lies outside the data's folder; move it inside")
        with path.open("rb") as file:
            return Media(kind, marker, hashlib.file_digest(file, "sha256").hexdigest(), path=path)
    except (OSError, ValueError) as error:  # ValueError: a null byte in the name
        why = getattr(error, "strerror", None) or error
        return unusable(f"{str(name)!r} cannot be read ({why}); put it there, or mend the name")


def header_checked(media: Media) -> Media:
    """The image itself, with a `problem` where its header shows that it cannot be decoded. No pixel is read."""
    if media.problem or media.kind == "video":
        return media
    try:
        with Image.open(media.path or io.BytesIO(media.data or b"")) as image:
            check_size(*image.size)
    except (MediaError, Image.DecompressionBombError, Image.DecompressionBombWarning):
        why = f"more than the {MAX_PIXELS:,} pixels that are decoded; make it smaller"
    except _DAMAGED:
        why = "no image of a kind that is read; replace it by a PNG or JPEG"
    else:
        return media
    shown = f"{media.path.name!r}: " if media.path else ""
    return replace(media, problem=f"{named(media.kind, media.marker)}: {shown}{why}")


def named(kind: str, marker: int) -> str:
    """What a message calls it: `<image 3>`, or only `image` or `video`."""
    return f"<image {marker}>" if marker else kind


def load_images(part: Picture | Clip) -> tuple[Image.Image, ...]:
    """The RGB images that a model sees in place of a picture or a clip: one, or one per frame.

    Raises:
        MediaError: missing, changed on disk, too large, damaged or without frames.
    """
    if isinstance(part, Picture):
        return (decode_image(encoded(part.media), max_pixels=part.max_pixels),)
    from ttc.frames import read_frames

    return read_frames(part.media, part.rule, max_pixels=part.max_pixels).images


def encoded(media: Media) -> bytes:
    """The file's bytes.

    Raises:
        MediaError: there are none, or the file on disk is no longer the one that was hashed at loading time.
    """
    if media.problem:
        raise MediaError(media.problem)
    if media.data is not None:
        return media.data
    if media.path is None:
        raise MediaError(f"{named(media.kind, media.marker)} has neither bytes nor a file")
    try:
        data = media.path.read_bytes()
    except OSError as error:
        raise MediaError(f"{media.path}: cannot be read ({error.strerror})") from error
    if hashlib.sha256(data).hexdigest() != media.sha256:
        raise MediaError(f"{media.path}: changed since it was loaded; load the benchmark again")
    return data


def decode_image(data: bytes, *, max_pixels: int | None = None) -> Image.Image:
    """An encoded image of any mode as upright 8-bit RGB, transparency on white; the first frame of an animation.

    Args:
        max_pixels: a larger image is shrunk to at most this many pixels, its shape kept.

    Raises:
        MediaError: more than `MAX_PIXELS` (seen in the header, nothing is decoded), damaged, cut off, or no image.
    """
    try:
        with Image.open(io.BytesIO(data)) as image:
            check_size(*image.size)
            image.load()
            return shrunk(_rgb(ImageOps.exif_transpose(image)), max_pixels)
    except MediaError:
        raise
    except _DAMAGED as error:
        raise MediaError(f"the image cannot be decoded ({type(error).__name__}: {error})".replace("\n", " ")) from error


def check_size(width: int, height: int) -> None:
    """Raises MediaError above `MAX_PIXELS`."""
    if width * height > MAX_PIXELS:
        raise MediaError(f"{width} x {height} pixels are more than the {MAX_PIXELS} that are decoded")


def _rgb(image: Image.Image) -> Image.Image:
    if image.mode == "F" or image.mode.startswith("I"):
        return _from_deep_gray(image)
    if image.has_transparency_data:
        image = image.convert("RGBA")
        white = Image.new("RGBA", image.size, "white")
        image = Image.alpha_composite(white, image)
    return image.convert("RGB")


def _from_deep_gray(image: Image.Image) -> Image.Image:
    """16-bit, 32-bit and float gray, scaled by the range of its type where it has one; Pillow would clip it at 255."""
    import numpy as np

    values = np.nan_to_num(np.asarray(image, dtype=np.float64))
    if image.mode.startswith("I;16"):
        top = 65535.0
    elif image.mode == "I":
        top = 255.0 if values.max() <= 255 else 65535.0
    else:
        top = 1.0 if values.max() <= 1 else 255.0
    gray = np.clip(np.rint(values * (255.0 / top)), 0, 255).astype(np.uint8)
    return Image.fromarray(gray).convert("RGB")


def shrunk(image: Image.Image, max_pixels: int | None) -> Image.Image:
    """The image at no more than `max_pixels`, its shape kept as far as whole pixels allow."""
    width, height = image.size
    if max_pixels is None or width * height <= max_pixels:
        return image
    scale = (max_pixels / (width * height)) ** 0.5
    # a side may not fall below one pixel; the other then takes what the limit leaves
    small_width = min(max(int(width * scale), 1), max_pixels)
    small_height = min(max(int(height * scale), 1), max_pixels // small_width)
    small_width = min(small_width, max_pixels // small_height)
    return image.resize((small_width, small_height), Image.Resampling.BICUBIC)


def data_url(image: Image.Image) -> str:
    """The image as a `data:` URL of a PNG, so that a server sees the pixels that were hashed."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG")
    return f"data:image/png;base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
