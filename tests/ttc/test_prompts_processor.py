"""Released questions with their images, through the processor of a real multi-image family (Idefics3) built from its config."""

from pathlib import Path
from typing import Any

import pytest

from ttc.backends.chat import Chat
from ttc.benchmarks.jsonl import Jsonl
from ttc.media import load_images
from ttc.prompts import PromptConfig, render
from ttc.records import Exam, Prompt, Question, Text

TEMPLATE = (
    "{% for message in messages %}{{ message.role }}: {% for part in message.content %}"
    "{{ '<image>' if part.type == 'image' else part.text }}{% endfor %}<end>{% endfor %}"
)


@pytest.fixture(scope="module")
def exam(shared: Path) -> Exam:
    return Jsonl(path=shared / "data/mmmu_pro/sample.jsonl", name="mmmu_pro").load()


@pytest.fixture(scope="module")
def processor() -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import Idefics3Processor, PreTrainedTokenizerFast
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    special = ["<unk>", "<end>", "<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"]
    inner = Tokenizer(models.WordLevel({word: number for number, word in enumerate(special)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner, unk_token="<unk>", pad_token="<unk>", eos_token="<end>", extra_special_tokens=special[2:]
    )
    size = {"longest_edge": 32}
    images = Idefics3ImageProcessorPil(do_image_splitting=False, size=size, max_image_size=size, do_resize=True)
    return Idefics3Processor(images, tokenizer, image_seq_len=4, chat_template=TEMPLATE)


def shown(prompt: Prompt) -> list[tuple[Any, ...]]:
    return [load_images(part) for part in prompt.media_parts]


def test_every_released_image_reaches_the_model_at_its_place(exam: Exam, processor: Any):
    chat = Chat(processor, "tiny Idefics3", TEMPLATE)
    for question in exam.questions:
        prompt = render(question, style="cot")
        rendered = chat.render(prompt, shown(prompt))
        spelled = "".join(part.text if isinstance(part, Text) else "<image>" for part in prompt.messages[0].parts)
        assert rendered == f"user: {spelled}<end>"
        assert rendered.count("<image>") == len(prompt.media_parts) >= 1


def test_pixels_arrive_in_textual_order_with_as_many_places_as_images(exam: Exam, processor: Any):
    chat = Chat(processor, "tiny Idefics3", TEMPLATE)
    for question in exam.questions:
        prompt = render(question, style="direct")
        images = shown(prompt)
        encoded = chat.encode(prompt, images)
        assert encoded.image_tokens == 4 * len(images)
        for pixels, (image,) in zip(encoded.tensors["pixel_values"][0], images, strict=True):
            alone = processor.image_processor([[image]], return_tensors="pt")["pixel_values"][0, 0]
            assert pixels[:, : alone.shape[1], : alone.shape[2]].equal(alone)


def test_shuffled_image_options_bind_to_their_own_pictures(exam: Exam):
    [music] = [question for question in exam.questions if len(question.media) == 5]
    names = [part.media.path.name for part in render(music, style="direct").media_parts if part.media.path]
    assert names == [f"test_Music_251_{number}.png" for number in (1, 4, 2, 5, 3)]


def test_max_pixels_shrinks_every_image_before_the_processor(exam: Exam):
    prompt = render(exam.questions[0], style="direct", config=PromptConfig(max_pixels=10_000))
    assert all(image.width * image.height <= 10_000 for images in shown(prompt) for image in images)


def test_the_released_prompt_names_every_reference_without_its_number(exam: Exam, shared: Path):
    config = PromptConfig(official=shared / "data/prompts/mmmu_pro.yaml")
    question: Question = exam.questions[5]
    text = render(question, style="direct", config=config).messages[0].parts[0]
    assert isinstance(text, Text)
    assert text.text.count("<image>") == 5
