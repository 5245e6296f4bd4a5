"""Images that look the same: encoded, scaled or saved anew, one drawing has other bytes, and nearly the same hash of its look.

Source of the hash: the signs of an image's low frequencies, as ImageHash computes them (`phash`).
"""

from collections.abc import Iterable, Iterator

import numpy as np

from ttc.errors import MediaError
from ttc.media import decode_image, encoded
from ttc.records import Media

SIDE = 16
"""Frequencies in each direction, hence 256 bits. With 8, every fiftieth drawing of the pocket exam has the hash of another."""
MOST_BITS = 8
"""In which copies differ: 6 at half or a quarter of the size, or as JPEG of quality 50, where other figures differ in 96."""
_LEAST_RANGE = 16
"""Of 256 grays: an image with less is blank, and its look is noise."""


def near_copies(media: Iterable[Media]) -> Iterator[tuple[str, str]]:
    """Content hashes of images that are alike, two and two. Videos, blank images and what cannot be decoded are passed over."""
    looks: dict[str, np.ndarray] = {}
    for one in media:
        if one.kind == "image" and one.sha256 and one.sha256 not in looks and (look := _look(one)) is not None:
            looks[one.sha256] = look
    names = list(looks)
    words_IW = np.array(list(looks.values()), np.uint64).reshape(-1, SIDE * SIDE // 64)
    for place, words_W in enumerate(words_IW):
        bits_I = np.bitwise_count(words_IW[place + 1 :] ^ words_W).sum(axis=1)
        yield from ((names[place], names[place + 1 + other]) for other in np.flatnonzero(bits_I <= MOST_BITS))


def _look(image: Media) -> np.ndarray | None:
    """The bits of its hash in words of 64."""
    import imagehash

    try:
        gray = decode_image(encoded(image)).convert("L")
    except MediaError:
        return None
    darkest, brightest = gray.getextrema()
    if brightest - darkest < _LEAST_RANGE:  # pyright: ignore[reportOperatorIssue]  (one pair, of a gray image)
        return None
    return np.packbits(imagehash.phash(gray, SIDE).hash).view(np.uint64)
