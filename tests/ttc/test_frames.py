from pathlib import Path

import numpy as np
import pytest

from ttc.errors import MediaError
from ttc.frames import check_video, frame_indices, read_frames
from ttc.media import load_images, media_from_bytes, media_from_file
from ttc.records import Clip, FrameRule


def brightness(image) -> float:
    return float(np.asarray(image).mean())


def test_linspace_frames_are_the_right_pictures_at_their_times(write_video):
    media = media_from_file(write_video(frames=30, rate=10, step=7), kind="video")
    frames = read_frames(media, FrameRule(frames=4))
    assert frames.indices == (0, 9, 19, 29)
    assert frames.seconds == pytest.approx((0, 0.9, 1.9, 2.9))
    assert [brightness(image) for image in frames.images] == pytest.approx([10, 73, 143, 213], abs=3)


def test_fewer_frames_than_asked_for_are_shown_once_each(write_video):
    media = media_from_file(write_video(frames=5), kind="video")
    assert read_frames(media, FrameRule(frames=32)).indices == (0, 1, 2, 3, 4)


def test_one_frame_is_the_first():
    assert frame_indices(FrameRule(frames=1), [0.0, 0.1, 0.2]) == [0]


def test_linspace_is_numpy_s_where_whole_number_arithmetic_differs():
    seconds = [index / 30 for index in range(154)]
    indices = frame_indices(FrameRule(frames=64), seconds)
    assert indices == np.linspace(0, 153, 64, dtype=int).tolist()
    assert indices != [index * 153 // 63 for index in range(64)]


def test_fps_takes_one_frame_a_second_and_says_which():
    seconds = [index / 30 for index in range(30 * 60)]
    indices = frame_indices(FrameRule(kind="fps", fps=1, frames=64), seconds)
    assert indices == [30 * second for second in range(60)]


def test_fps_above_two_keeps_a_time_step(write_video):
    media = media_from_file(write_video(frames=30, rate=10), kind="video")
    assert read_frames(media, FrameRule(kind="fps", fps=5, frames=64)).seconds == pytest.approx([0.2 * i for i in range(15)])


def test_fps_above_the_cap_is_spread_over_the_whole_video():
    seconds = [float(index) for index in range(600)]
    indices = frame_indices(FrameRule(kind="fps", fps=1, frames=64), seconds)
    assert len(indices) == 64
    assert indices[-1] == 599


def test_fps_faster_than_the_video_repeats_no_frame():
    assert frame_indices(FrameRule(kind="fps", fps=30, frames=64), [0.0, 0.5, 1.0]) == [0, 1, 2]


def test_a_clip_of_600_frames_keeps_all_64(write_video):
    media = media_from_file(write_video(frames=600, rate=30, step=0, size=(16, 16)), kind="video")
    assert len(load_images(Clip(media, FrameRule(frames=64)))) == 64


def test_a_cut_video_shows_the_frames_that_are_left(write_video):
    whole = write_video(frames=30, step=7, size=(256, 256)).read_bytes()
    cut = media_from_bytes(whole[: len(whole) * 9 // 10], kind="video")
    frames = read_frames(cut, FrameRule(frames=1000))
    assert frames.indices == tuple(range(len(frames.images)))
    assert 9 < len(frames.images) < 30


def test_a_cut_video_does_not_pass_the_check(write_video):
    whole = write_video(frames=30, size=(256, 256)).read_bytes()
    check_video(whole)
    with pytest.raises(MediaError, match="cut off"):
        check_video(whole[: len(whole) * 9 // 10])


def test_frames_are_shrunk_to_the_pixel_limit(write_video):
    media = media_from_file(write_video(size=(64, 48)), kind="video")
    (first, *_) = load_images(Clip(media, FrameRule(frames=2), max_pixels=32 * 24))
    assert first.size == (32, 24)


def test_a_phone_s_rotated_video_is_shown_upright(write_video):
    upright = (1 << 16).to_bytes(4) + bytes(12) + (1 << 16).to_bytes(4) + bytes(12) + (1 << 30).to_bytes(4)
    turned = (
        bytes(4) + (1 << 16).to_bytes(4) + bytes(4) + (-(1 << 16)).to_bytes(4, signed=True) + bytes(16) + (1 << 30).to_bytes(4)
    )
    header, matrix, rest = write_video(size=(64, 48)).read_bytes().rpartition(upright)  # the track's matrix comes last
    assert matrix
    media = media_from_bytes(header + turned + rest, kind="video")
    assert read_frames(media, FrameRule(frames=1)).images[0].size == (48, 64)


@pytest.mark.parametrize(("flags", "why"), [("faststart", "holds no video"), ("empty_moov+frag_keyframe", "no frame")])
def test_a_video_without_frames_is_a_media_error(write_video, flags, why):
    media = media_from_file(write_video(frames=0, flags=flags), kind="video")
    with pytest.raises(MediaError, match=why):
        load_images(Clip(media, FrameRule()))


@pytest.mark.parametrize(
    "data",
    [
        b"<html>404 not found</html>",
        b"#EXTM3U\n#EXTINF:1,\nfile:///etc/hostname\n",
        b"ffconcat version 1.0\nfile /etc/hostname\n",
    ],
)
def test_pages_and_playlists_are_not_videos(data):
    with pytest.raises(MediaError, match="not a video"):
        load_images(Clip(media_from_bytes(data, kind="video"), FrameRule()))


def test_a_sound_file_is_not_a_video(tmp_path: Path):
    import av

    path = tmp_path / "tone.mp4"
    with av.open(path, "w") as container:
        stream = container.add_stream("aac", rate=8000, layout="mono")
        frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), format="fltp", layout="mono")
        frame.sample_rate = 8000
        container.mux(stream.encode(frame))
        container.mux(stream.encode())
    with pytest.raises(MediaError, match="holds no video"):
        check_video(path.read_bytes())
