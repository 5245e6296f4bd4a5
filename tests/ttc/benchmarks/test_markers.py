import pytest

from ttc.benchmarks.markers import bind, numbers
from ttc.media import media_from_bytes


def images(*markers: int):
    return {marker: media_from_bytes(b"image %d" % marker, marker=marker) for marker in markers}


@pytest.mark.parametrize(
    "spelling",
    [
        "<image 1>",
        "<image1>",
        "<Image 1>",
        "<IMAGE 1>",
        "< image 1 >",
        "<image  1>",
        "<image_1>",
        "<image-1>",
        "<image\u00a01>",
        "<image 01>",
        "<img 1>",
        "<|image_1|>",
        "＜image 1＞",
        "&lt;image 1&gt;",
        "<image 1/>",
        "<image>",
    ],
)
def test_a_marker_of_any_spelling_shows_its_image(spelling):
    bound = bind([f"Look at {spelling}."], images(1))
    assert bound.texts == ("Look at <image 1>.",)
    assert [media.marker for media in bound.media] == [1]
    assert bound.problems == ()


@pytest.mark.parametrize("text", ["a < b and c > d", "<b>bold</b>", "<imagery 1>", "image 1", "<image 1", "x<image>1"])
def test_other_text_is_left_alone(text):
    assert bind([text], {}).texts == (text,)


def test_media_come_in_textual_order_each_once_and_repeats_stay_in_the_text():
    bound = bind(["<image 2> or <image 1>, <image 2>?", "<image 4>", "<image 3>"], images(1, 2, 3, 4))
    assert [media.marker for media in bound.media] == [2, 1, 4, 3]
    assert numbers(bound.texts[0]) == [2, 1, 2]


def test_an_image_that_nothing_refers_to_is_left_out():
    assert [media.marker for media in bind(["<image 1>"], images(1, 2)).media] == [1]


def test_a_missing_image_is_unusable_media_and_a_problem():
    bound = bind(["<image 1>", "<image 7>, <image 10>"], images(1, 7))
    assert [(media.marker, bool(media.problem)) for media in bound.media] == [(1, False), (7, False), (10, True)]
    assert bound.problems == ("refers to <image 10>, which the row does not hold",)


def test_markers_without_numbers_are_numbered_in_order_where_they_match_the_images():
    assert bind(["<image> and <image>"], images(1, 2)).texts == ("<image 1> and <image 2>",)


def test_markers_without_numbers_that_match_no_images_are_a_problem():
    assert any("without a number" in problem for problem in bind(["<image> and <image>"], images(1)).problems)


def test_a_row_whose_images_nothing_refers_to_says_so():
    assert bind(["no marker"], images(1)).problems == ("refers to none of the 1 images of its row; none is shown",)
