"""Frames of a video by a `FrameRule`, decoded without holding the others in memory."""

import io
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import TYPE_CHECKING

from PIL import Image

from ttc.errors import MediaError
from ttc.media import check_size, encoded, shrunk
from ttc.records import FrameRule, Media

if TYPE_CHECKING:
    from av import Packet, VideoFrame
    from av.container import InputContainer
    from av.video.stream import VideoStream

# playlists and scripts (hls, concat, dash) make FFmpeg open other files and addresses, so only plain containers are read
_CONTAINERS = "mov,mp4,matroska,webm,avi,mpegts,mpeg,flv,asf,ogg"

_SECONDS_TOLERANCE = 1e-3


@dataclass(frozen=True, slots=True)
class Frames:
    """Chosen frames of one video, all three of one length."""

    images: tuple[Image.Image, ...]
    """RGB."""
    indices: tuple[int, ...]
    """0-based, among the frames that can be decoded."""
    seconds: tuple[float, ...]
    """Time of each since the first frame."""


def read_frames(media: Media, rule: FrameRule, *, max_pixels: int | None = None) -> Frames:
    """The frames that `rule` chooses among those that can be decoded; fewer than asked for where there are fewer, none twice.

    A sound file is decoded once: its packets say which frames there will be. A damaged one is decoded again when the frames
    turn out otherwise.

    Raises:
        MediaError: missing, not a video, a frame above the pixel limit, or no frame can be decoded.
    """
    data = encoded(media)
    wanted = frame_indices(rule, _expected_seconds(data))
    chosen, seconds = _decode(data, wanted, max_pixels)
    if not seconds:
        raise MediaError("no frame of the video can be decoded")
    exact = frame_indices(rule, seconds)
    if exact != wanted:
        chosen, seconds = _decode(data, exact, max_pixels)
    if chosen.keys() != set(exact):
        raise MediaError(f"the video decodes to other frames each time ({len(seconds)} frames at last)")
    return Frames(tuple(chosen[index] for index in exact), tuple(exact), tuple(seconds[index] for index in exact))


def frame_indices(rule: FrameRule, seconds: Sequence[float]) -> list[int]:
    """Indices of the frames to show, increasing.

    `linspace` is MMVU's rule, `numpy.linspace(0, N - 1, K, dtype=int)` with K clamped to N. `fps` takes the first frame at or
    after every multiple of 1/fps seconds; where these are more than `rule.frames`, that many are spread over the whole video as
    under `linspace`, so that the end of a long video is seen.

    Args:
        seconds: time of each frame since the first, increasing.
    """
    import numpy as np

    if not seconds:
        return []
    if rule.kind == "fps":
        steps = int((seconds[-1] + _SECONDS_TOLERANCE / 2) * rule.fps) + 1
        if steps <= rule.frames:
            return np.unique(np.searchsorted(seconds, np.arange(steps) / rule.fps - _SECONDS_TOLERANCE)).tolist()
    # numpy itself, because floor(i * (N - 1) / (K - 1)) gives other indices for K = 64
    return np.linspace(0, len(seconds) - 1, min(rule.frames, len(seconds)), dtype=int).tolist()


def check_video(data: bytes) -> None:
    """Raises MediaError unless the bytes are a whole video: its first frame decodes, and no packet of its index is missing."""
    with _opened(data) as container:
        if next(_decoded(container), None) is None:
            raise MediaError("no frame of the video can be decoded")
    # an edit list hides packets that are there
    with _opened(data, ignore_editlist="1") as container:
        stream = _video_stream(container)
        found = sum(packet.size > 0 and not packet.is_corrupt for packet in _packets(container, stream))
        if found < stream.frames:
            raise MediaError(f"the video is cut off: {found} of {stream.frames} frames are there")


def _expected_seconds(data: bytes) -> list[float]:
    """Times of the frames since the first as the packets announce them, in order of presentation; nothing is decoded."""
    with _opened(data) as container:
        stream = _video_stream(container)
        check_size(stream.codec_context.width, stream.codec_context.height)
        shown = [packet for packet in _packets(container, stream) if packet.size and not packet.is_discard]
        times = sorted(float(p.pts * p.time_base) for p in shown if p.pts is not None and p.time_base is not None)
    return [time - times[0] for time in times]


def _decode(data: bytes, wanted: Collection[int], max_pixels: int | None) -> tuple[dict[int, Image.Image], list[float]]:
    """One pass over the whole video: the wanted frames by index, and the time of every frame since the first."""
    keep = set(wanted)
    chosen: dict[int, Image.Image] = {}
    times: list[float | None] = []
    with _opened(data) as container:
        rate = _video_stream(container).average_rate or Fraction(1)
        for index, frame in enumerate(_decoded(container)):
            times.append(frame.time)
            if index in keep:
                check_size(frame.width, frame.height)
                upright = frame.to_image().rotate(frame.rotation, expand=True)
                chosen[index] = shrunk(upright, max_pixels)
    return chosen, _since_first(times, rate)


def _decoded(container: "InputContainer") -> "Iterator[VideoFrame]":
    """Every frame that can be decoded; damaged packets are passed over."""
    from av.error import FFmpegError

    stream = _video_stream(container)
    stream.thread_type = "AUTO"
    for packet in _packets(container, stream):
        try:
            yield from packet.decode()
        except FFmpegError:
            continue


def _packets(container: "InputContainer", stream: "VideoStream") -> "Iterator[Packet]":
    """The packets up to where the file breaks off; the empty one at the end makes a decoder hand out its last frames."""
    from av.error import FFmpegError

    try:
        yield from container.demux(stream)
    except FFmpegError:
        return


def _since_first(times: Sequence[float | None], rate: Fraction) -> list[float]:
    """Times since the first frame; counted by the frame rate where a file has none, or has them out of order."""
    known = [time for time in times if time is not None]
    if len(known) < len(times) or any(later <= earlier for earlier, later in pairwise(known)):
        return [float(index / rate) for index in range(len(times))]
    return [time - known[0] for time in known]


def _opened(data: bytes, **options: str) -> "InputContainer":
    import av
    from av.error import FFmpegError

    try:
        return av.open(io.BytesIO(data), mode="r", options={"format_whitelist": _CONTAINERS, **options})
    except FFmpegError as error:
        raise MediaError(f"not a video that can be read ({error.strerror})") from error


def _video_stream(container: "InputContainer") -> "VideoStream":
    if not container.streams.video:
        raise MediaError("the file holds no video")
    return container.streams.video[0]
