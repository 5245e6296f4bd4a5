"""Motion: a film of a cart whose speed stands in every frame, one frame a second, and laws of motion that one has to know."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from random import Random
from typing import TYPE_CHECKING

from ttc.pocket import chains
from ttc.pocket.chains import Wording
from ttc.pocket.drawing import CELL, SIDE, Sketch
from ttc.pocket.problem import Chain, Expression, Rule, Subject

if TYPE_CHECKING:
    from PIL.Image import Image

SECONDS = ("s1", "s2", "s3", "s4")
"""Names of the frames."""

RULES = {
    **chains.ARITHMETIC,
    "round": Rule("there and back is twice the way", lambda value, _: Expression(value, "*", 2)),
    "relay": Rule("three runners in a relay go three times the way", lambda value, _: Expression(value, "*", 3)),
    "mean": Rule("the mean of two runs, one of them at rest, is half the way", lambda value, _: Expression(value, "/", 2)),
    "lead": Rule("a lead is five more", lambda value, _: Expression(value, "+", 5)),
}

WORDING = Wording(RULES, {"round": 4, "relay": 2, "mean": 4, "lead": 2})


def write(rng: Random, steps: int) -> Chain:
    """A chain over the seconds: in one second the cart goes as far as its speed says, forth (+) or back (-)."""
    quantities = {name: rng.randrange(1, 10) for name in SECONDS}
    return chains.write(rng, steps, quantities, WORDING, "", "How far does it go?")


def draw(quantities: Mapping[str, int], rng: Random) -> "tuple[Image, ...]":
    """One frame a second: its name, the speed, and the cart where it has got to."""
    frames = []
    for n, name in enumerate(SECONDS):
        sketch = Sketch(rng)
        sketch.label(name, 3, 4)
        sketch.digit(quantities[name], 1, 1)
        sketch.draw.rectangle([2 + n * CELL, SIDE - 10, 8 + n * CELL, SIDE - 5], fill=sketch.ink)
        frames.append(sketch.finish())
    return tuple(frames)


def film(frames: "Sequence[Image]") -> bytes:
    """The frames as an MP4 of one frame a second (H.264, without loss but for the change of colour space)."""
    import av
    from av.video.stream import VideoStream

    buffer = BytesIO()
    with av.open(buffer, mode="w", format="mp4") as container:
        stream = container.add_stream("libx264", rate=1, options={"qp": "0", "preset": "ultrafast", "threads": "1"})
        assert isinstance(stream, VideoStream)
        stream.width, stream.height, stream.pix_fmt = *frames[0].size, "yuv444p"
        for image in frames:
            container.mux(stream.encode(av.VideoFrame.from_image(image)))
        container.mux(stream.encode(None))
    return buffer.getvalue()


SUBJECT = Subject("Motion", "Videos", "Kinematics", RULES, write, draw, is_video=True)
