"""The 21 released questions with images, through processor, model and engine of a tiny Qwen2.5-VL."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import torch

from ttc.backends.chat import Chat
from ttc.backends.transformers import Transformers
from ttc.benchmarks import MMMUPro
from ttc.media import load_images
from ttc.prompts import render
from ttc.records import LETTERS, Exam, Question, Request, Sample, Sampling

PAD = "<|image_pad|>"
SHOWN = re.compile(rf"<\|vision_start\|>((?:{re.escape(PAD)})+)<\|vision_end\|>")
MARKER = re.compile(r"<image (\d+)>")


@pytest.fixture(scope="module")
def folder(shared: Path) -> Path:
    return shared / "data/mmmu_pro"


@pytest.fixture(scope="module")
def rows(folder: Path) -> list[dict[str, Any]]:
    """As released, not as loaded."""
    return [json.loads(line) for line in (folder / "sample.jsonl").read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def exam(folder: Path) -> Exam:
    return MMMUPro(path=folder / "sample.jsonl").load()


@pytest.fixture(scope="module")
def chat(tiny_qwen: Path) -> Chat:
    return Chat.load(Transformers(model=str(tiny_qwen)), takes_images=True)


@pytest.fixture(scope="module")
def music(exam: Exam) -> Question:
    """One image in the question, four shuffled ones for options."""
    return next(question for question in exam.questions if len(question.media) == 5)


def request(question: Question) -> Request:
    prompt = render(question, style="cot")
    images = tuple(load_images(part) for part in prompt.media_parts)
    return Request("0" * 64, question.id, prompt, images, Sampling(max_tokens=12), 0, 2, seed=7)


def surroundings(row: dict[str, Any]) -> Iterator[tuple[str, str, str]]:
    """For each reference to an image, in order: the words before it, its number, the words after it, labels included."""
    options = [f"{letter}. {option}" for letter, option in zip(LETTERS, row["options"], strict=False)]
    for text in (row["question"], *options):
        pieces = MARKER.split(text)
        yield from zip(pieces[:-1:2], pieces[1::2], pieces[2::2], strict=True)


def test_each_image_stands_between_the_words_that_the_released_row_puts_around_it(exam: Exam, rows: Any, chat: Chat):
    for question, row in zip(exam.questions, rows, strict=True):
        asked = request(question)
        pieces = SHOWN.split(chat.tokenizer.decode(chat.encode(asked.prompt, asked.images).ids))[::2]
        places = list(surroundings(row))
        assert len(pieces) == len(places) + 1 >= 2
        for place, (before, _, after) in enumerate(places):
            assert pieces[place].endswith(before)
            assert pieces[place + 1].startswith(after)


def test_the_pixels_of_each_place_are_those_of_its_own_file_and_as_many_as_its_tokens(
    exam: Exam, rows: Any, chat: Chat, folder: Path, tiny_qwen: Path
):
    from PIL import Image
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    processor = Qwen2VLImageProcessorPil.from_pretrained(tiny_qwen)
    for question, row in zip(exam.questions, rows, strict=True):
        asked = request(question)
        encoded = chat.encode(asked.prompt, asked.images)
        alone = []
        for _, number, _ in surroundings(row):
            with Image.open(folder / row[f"image_{number}"]) as image:
                alone.append(processor(images=[image.convert("RGB")], return_tensors="pt")["pixel_values"])
        spans = [len(span) // len(PAD) for span in SHOWN.findall(chat.tokenizer.decode(encoded.ids))]
        assert spans == [len(pixels) // 4 for pixels in alone]  # four patches are merged into one token
        assert (encoded.image_tokens, encoded.image_spans) == (sum(spans), tuple(spans))
        assert encoded.tensors["pixel_values"].equal(torch.cat(alone))


class Inbox:
    stopped = False

    def __init__(self, *requests: Request) -> None:
        self._requests = list(requests)

    def take(self, *, wait: bool) -> Request | None:
        return self._requests.pop(0) if self._requests else None


def draw(model: Path, *requests: Request, dtype: str = "float64") -> dict[tuple[str, int], Sample]:
    engine = Transformers(model=str(model), dtype=dtype, batch_tokens=8192).open()  # type: ignore[arg-type]
    samples = {(sample.question_id, sample.index): sample for sample in engine.serve(Inbox(*requests))}
    engine.close()
    return samples


def test_all_21_are_answered_together_and_each_as_if_it_were_alone(exam: Exam, music: Question, tiny_qwen: Path):
    together = draw(tiny_qwen, *map(request, exam.questions))
    assert {sample.status for sample in together.values()} == {"ok"}
    assert len(together) == 2 * len(exam.questions)
    for key, sample in draw(tiny_qwen, request(music)).items():
        assert together[key].token_ids == sample.token_ids


def test_the_same_words_over_pictures_in_another_order_get_another_reply(music: Question, tiny_qwen: Path):
    seen = request(music)
    turned = Request(seen.key, seen.question_id, seen.prompt, seen.images[::-1], seen.sampling, 0, 2, seen.seed)
    first, second = draw(tiny_qwen, seen), draw(tiny_qwen, turned)
    assert any(first[key].token_ids != second[key].token_ids for key in first)
