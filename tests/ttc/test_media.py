import base64
import contextlib
import io
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from ttc.errors import MediaError
from ttc.media import data_url, decode_image, load_images, media_from_bytes, media_from_file
from ttc.records import Picture


def file_bytes(image: Image.Image, format: str = "PNG", **options) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, format, **options)
    return buffer.getvalue()


def png_header(width: int, height: int) -> bytes:
    """A PNG that promises so many pixels and holds none."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0))
    return b"\x89PNG\r\n\x1a\n" + header + chunk(b"IDAT", zlib.compress(b"")) + chunk(b"IEND", b"")


@pytest.mark.parametrize(
    ("image", "format", "expected"),
    [
        (Image.new("RGB", (4, 4), (10, 20, 30)), "PNG", (10, 20, 30)),
        (Image.new("L", (4, 4), 77), "PNG", (77, 77, 77)),
        (Image.new("1", (4, 4), 1), "PNG", (255, 255, 255)),
        (Image.new("LA", (4, 4), (0, 0)), "PNG", (255, 255, 255)),
        (Image.new("RGBA", (4, 4), (255, 0, 0, 0)), "PNG", (255, 255, 255)),
        (Image.new("RGBA", (4, 4), (0, 0, 0, 128)), "PNG", (127, 127, 127)),
        (Image.new("RGB", (4, 4), (9, 8, 7)).convert("P"), "GIF", (0, 0, 0)),
        (Image.new("CMYK", (4, 4), (255, 0, 0, 0)), "TIFF", (0, 255, 255)),
        (Image.fromarray(np.full((4, 4), 32896, np.uint16)), "PNG", (128, 128, 128)),
        (Image.fromarray(np.full((4, 4), 32896, np.int32)), "TIFF", (128, 128, 128)),
        (Image.fromarray(np.full((4, 4), 0.5, np.float32)), "TIFF", (128, 128, 128)),
    ],
    ids=["rgb", "gray", "bilevel", "gray-alpha", "clear", "half-clear", "palette", "cmyk", "16-bit", "32-bit", "float"],
)
def test_every_mode_becomes_rgb_with_transparency_on_white(image, format, expected):
    shown = decode_image(file_bytes(image, format))
    assert shown.mode == "RGB"
    assert (
        np.abs(np.asarray(shown).reshape(-1, 3).mean(0) - expected).max() < 12
        if image.mode == "P"
        else (shown.getpixel((2, 2)) == expected)
    )


def test_a_palette_s_transparent_colour_is_shown_white():
    image = Image.new("P", (4, 4), 0)
    image.putpalette([255, 0, 0, 0, 0, 255])
    assert decode_image(file_bytes(image, "PNG", transparency=0)).getpixel((1, 1)) == (255, 255, 255)


def test_a_photograph_is_turned_upright_by_its_exif_orientation():
    exif = Image.Exif()
    exif[0x0112] = 6
    assert decode_image(file_bytes(Image.new("RGB", (20, 10)), "JPEG", exif=exif)).size == (10, 20)


@pytest.mark.parametrize(("size", "limit"), [((400, 300), 1200), ((1, 5000), 100), ((5000, 1), 7), ((33, 77), 50)])
def test_shrinking_keeps_to_the_pixel_limit_and_the_shape(size, limit):
    width, height = decode_image(file_bytes(Image.new("RGB", size)), max_pixels=limit).size
    assert limit / 3 < width * height <= limit
    assert (width > height) == (size[0] > size[1])


def test_an_image_within_the_limit_is_left_as_it_is():
    noise = np.random.default_rng(0).integers(0, 255, (20, 30, 3), np.uint8)
    assert np.array_equal(np.asarray(decode_image(file_bytes(Image.fromarray(noise)), max_pixels=600)), noise)


@pytest.mark.parametrize(("width", "height"), [(30_000, 30_000), (10_000, 9_000)])
def test_a_decompression_bomb_is_refused_by_its_header(width, height):
    with pytest.raises(MediaError, match="pixels"):
        load_images(Picture(media_from_bytes(png_header(width, height))))


def test_a_truncated_jpeg_is_a_media_error():
    noise = np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)
    whole = file_bytes(Image.fromarray(noise), "JPEG")
    with pytest.raises(MediaError, match="truncated"):
        decode_image(whole[: len(whole) // 2])


@pytest.mark.filterwarnings("ignore::UserWarning:PIL")  # damaged metadata alone does not make an image unusable
@pytest.mark.parametrize("format", ["PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP"])
def test_damage_anywhere_in_a_file_is_a_media_error_or_an_image(format):
    rng = np.random.default_rng(7)
    whole = bytearray(file_bytes(Image.fromarray(rng.integers(0, 255, (24, 24, 3), np.uint8)), format))
    for _ in range(150):
        damaged = bytearray(whole)
        for place in rng.integers(0, len(whole), 6):
            damaged[place] = rng.integers(0, 256)
        with contextlib.suppress(MediaError):
            assert decode_image(bytes(damaged)).mode == "RGB"


def test_a_page_in_place_of_an_image_is_a_media_error():
    with pytest.raises(MediaError, match="cannot be decoded"):
        decode_image(b"<html>404</html>")


def test_media_without_bytes_say_so_before_any_call():
    media = media_from_bytes(None, marker=3)
    assert media.problem == "<image 3> has no bytes"
    with pytest.raises(MediaError, match="<image 3>"):
        load_images(Picture(media))


@pytest.mark.parametrize("name", ["../secret.png", "/etc/hostname", "link.png", "no\0name.png", "absent.png"])
def test_no_file_outside_the_data_s_folder_is_read(tmp_path, name):
    (tmp_path / "secret.png").write_bytes(file_bytes(Image.new("RGB", (2, 2))))
    folder = tmp_path / "data"
    folder.mkdir()
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    media = media_from_file(name, root=folder)
    assert media.problem
    assert (media.path, media.data, media.sha256) == (None, None, "")


def test_a_file_that_changed_after_loading_is_not_shown(tmp_path):
    path = tmp_path / "image.png"
    path.write_bytes(file_bytes(Image.new("RGB", (2, 2), "red")))
    media = media_from_file("image.png", root=tmp_path)
    path.write_bytes(file_bytes(Image.new("RGB", (2, 2), "blue")))
    with pytest.raises(MediaError, match="changed"):
        load_images(Picture(media))


def test_a_data_url_holds_the_same_pixels():
    noise = np.random.default_rng(0).integers(0, 255, (8, 8, 3), np.uint8)
    kind, _, body = data_url(Image.fromarray(noise)).partition(",")
    assert kind == "data:image/png;base64"
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(base64.b64decode(body)))), noise)
