"""Real media files, written as the tests need them."""

from collections.abc import Callable
from pathlib import Path

import av
import numpy as np
import pytest

WriteVideo = Callable[..., Path]


@pytest.fixture
def write_video(tmp_path: Path) -> WriteVideo:
    """Writes an H.264 MP4 whose frame i is gray of brightness `10 + step * i`, index first, so that a cut file still opens."""

    def write(
        name: str = "clip.mp4",
        *,
        frames: int = 30,
        rate: int = 10,
        step: int = 7,
        size: tuple[int, int] = (64, 48),
        flags: str = "faststart",
    ) -> Path:
        path = tmp_path / name
        with av.open(path, "w", options={"movflags": flags}) as container:
            stream = container.add_stream("libx264", rate=rate, options={"crf": "10", "g": "5"})
            stream.width, stream.height, stream.pix_fmt = *size, "yuv420p"
            container.start_encoding()
            for index in range(frames):
                pixels = np.full((size[1], size[0], 3), 10 + step * index, np.uint8)
                container.mux(stream.encode(av.VideoFrame.from_ndarray(pixels, format="rgb24")))
            container.mux(stream.encode())
        return path

    return write
