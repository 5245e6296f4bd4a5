"""Pictures of 4 x 4 cells of 12 pixels, with lettering of our own: the same bytes on every machine, whatever fonts it has."""

from functools import cache
from io import BytesIO
from random import Random

import numpy as np
from PIL import Image, ImageDraw

CELL = 12
SIDE = 4 * CELL

GRAIN = 48
"""Most that noise moves a channel of a pixel, of 255."""

FAINT = 0.3
"""Share of digits in faded print. Faded print under grain is the source of errors in reading."""

FAINTNESS = (0.03, 0.25)
"""How much of the ink is left of a faded digit, at least and at most."""

# rows of a 5 x 7 glyph, the leftmost pixel in the highest bit
DIGITS = {
    0: (14, 17, 19, 21, 25, 17, 14),
    1: (4, 12, 4, 4, 4, 4, 14),
    2: (14, 17, 1, 2, 4, 8, 31),
    3: (31, 2, 4, 2, 1, 17, 14),
    4: (2, 6, 10, 18, 31, 2, 2),
    5: (31, 16, 30, 1, 1, 17, 14),
    6: (6, 8, 16, 30, 17, 17, 14),
    7: (31, 1, 2, 4, 8, 8, 8),
    8: (14, 17, 17, 14, 17, 17, 14),
    9: (14, 17, 17, 15, 1, 2, 12),
}

# rows of a 3 x 5 glyph
LETTERING = {
    "1": (2, 6, 2, 2, 7),
    "2": (6, 1, 2, 4, 7),
    "3": (6, 1, 2, 1, 6),
    "4": (5, 5, 7, 1, 1),
    "5": (7, 4, 6, 1, 6),
    "I": (7, 2, 2, 2, 7),
    "R": (6, 5, 6, 5, 5),
    "a": (0, 3, 5, 5, 3),
    "b": (4, 4, 6, 5, 6),
    "c": (0, 3, 4, 4, 3),
    "d": (1, 1, 3, 5, 3),
    "e": (2, 5, 7, 4, 3),
    "f": (3, 4, 6, 4, 4),
    "g": (3, 5, 3, 1, 6),
    "h": (4, 4, 6, 5, 5),
    "p": (6, 5, 6, 4, 4),
    "q": (3, 5, 3, 1, 1),
    "r": (0, 5, 6, 4, 4),
    "s": (3, 4, 2, 1, 6),
    "w": (5, 5, 7, 7, 5),
    "x": (0, 5, 2, 2, 5),
    "y": (5, 5, 3, 1, 6),
    "z": (7, 1, 2, 4, 7),
}


@cache
def _pixels(rows: tuple[int, ...], width: int) -> tuple[tuple[int, int], ...]:
    return tuple((x, y) for y, row in enumerate(rows) for x in range(width) if row >> (width - 1 - x) & 1)


class Sketch:
    """A picture in the making: paper and ink of one tone each, and everything placed by cell."""

    def __init__(self, rng: Random) -> None:
        self.rng = rng
        self.paper = tuple(rng.randrange(215, 256) for _ in range(3))
        self.ink = tuple(rng.randrange(0, 60) for _ in range(3))
        self.image = Image.new("RGB", (SIDE, SIDE), self.paper)
        self.draw = ImageDraw.Draw(self.image)

    def print(self) -> tuple[int, ...]:
        """Ink for one value: full, or now and then so faint that grain may hide what is drawn in it."""
        strength = self.rng.uniform(*FAINTNESS) if self.rng.random() < FAINT else 1.0
        return tuple(round(paper + strength * (ink - paper)) for paper, ink in zip(self.paper, self.ink, strict=True))

    def digit(self, value: int, row: int, column: int) -> None:
        """A large digit in one cell, up to one pixel off its middle."""
        ink = self.print()
        x = column * CELL + 4 + self.rng.randrange(-1, 2)
        y = row * CELL + 3 + self.rng.randrange(-1, 2)
        self.draw.point([(x + dx, y + dy) for dx, dy in _pixels(DIGITS[value], 5)], fill=ink)

    def label(self, text: str, x: int, y: int) -> None:
        """Small lettering with its top left corner at pixel (x, y)."""
        for n, character in enumerate(text):
            self.draw.point([(x + 4 * n + dx, y + dy) for dx, dy in _pixels(LETTERING[character], 3)], fill=self.ink)

    def finish(self) -> Image.Image:
        """The picture under grain of a random strength, evenly distributed over every channel of every pixel."""
        grain = self.rng.randrange(GRAIN + 1)
        noise = np.frombuffer(self.rng.randbytes(SIDE * SIDE * 3), dtype=np.uint8).reshape(SIDE, SIDE, 3)
        shift = (noise.astype(np.int32) * (2 * grain + 1)) // 256 - grain
        return Image.fromarray(np.clip(np.asarray(self.image) + shift, 0, 255).astype(np.uint8))


def png(image: Image.Image) -> bytes:
    """The encoded file. Not compressed, since compressors differ in their bytes from one build of zlib to the next."""
    buffer = BytesIO()
    image.save(buffer, format="PNG", compress_level=0)
    return buffer.getvalue()
