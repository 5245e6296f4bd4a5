"""Tiny models with random weights, made from their configs, and requests to ask them."""

import hashlib
import io
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

import pytest
from PIL import Image

from ttc.protocols import Backend, Inbox
from ttc.records import Clip, FrameRule, Media, Message, Picture, Prompt, Request, Sample, Sampling, Text

WORDS = "the a of is answer step carry add and so then digit bar chart what sum result equals plus minus : . , ?"
SPECIAL = ["<unk>", "<pad>", "<s>", "<end>", "<user>", "<assistant>"]
IMAGE_SPECIAL = ["<image>", "<fake_token_around_image>", "<global-img>", "<end_of_utterance>"]

TEMPLATE = """{{ bos_token }}{% for message in messages %}<{{ message.role }}>
{%- if message.content is string %}{{ ' ' + message.content }}
{%- else %}{% for part in message.content %}{{ '<image>' if part.type == 'image' else ' ' + part.text }}{% endfor %}
{%- endif %}{{ ' <end>' if message.role == 'assistant' }}{% endfor %}{{ '<assistant>' if add_generation_prompt }}"""


def save_tokenizer(folder: Path, *, special: Iterable[str] = SPECIAL, adds_bos: bool = False):
    """A word-level tokenizer whose words are `WORDS` and the numbers to 99."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    words = [*special, *WORDS.split(), *map(str, range(100)), *"ABCDEFGH", "\\n"]
    inner = Tokenizer(models.WordLevel({word: index for index, word in enumerate(words)}, unk_token="<unk>"))
    inner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    if adds_bos:
        inner.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", words.index("<s>"))])
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=inner,
        unk_token="<unk>",
        pad_token="<pad>",
        bos_token="<s>",
        eos_token="<end>",
        extra_special_tokens=[word for word in special if word not in SPECIAL[:4]],
    )
    tokenizer.chat_template = TEMPLATE
    tokenizer.save_pretrained(folder)
    return tokenizer


def save_text_model(folder: Path, *, adds_bos: bool = False, context: int = 256) -> Path:
    """A Llama of two layers with grouped queries."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    tokenizer = save_tokenizer(folder, adds_bos=adds_bos)
    config = LlamaConfig(
        vocab_size=len(tokenizer),
        hidden_size=48,
        intermediate_size=96,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=context,
        initializer_range=0.2,
        eos_token_id=tokenizer.eos_token_id,
        bos_token_id=tokenizer.bos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        LlamaForCausalLM(config).save_pretrained(folder)
    return folder


def save_vision_model(folder: Path) -> Path:
    """An Idefics3 with 4 tokens per image."""
    import torch
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3Processor
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    tokenizer = save_tokenizer(folder, special=[*SPECIAL, *IMAGE_SPECIAL])
    images = Idefics3ImageProcessorPil(
        do_image_splitting=False, size={"longest_edge": 32}, max_image_size={"longest_edge": 32}, do_resize=True
    )
    processor = Idefics3Processor(images, tokenizer, image_seq_len=4, chat_template=TEMPLATE)
    processor.save_pretrained(folder)
    text = {
        "model_type": "llama",
        "vocab_size": len(tokenizer),
        "hidden_size": 48,
        "intermediate_size": 96,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 4,
        "max_position_embeddings": 256,
        "initializer_range": 0.2,
        "pad_token_id": tokenizer.pad_token_id,
    }
    vision = {
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 1,
        "num_attention_heads": 2,
        "image_size": 32,
        "patch_size": 8,
        "initializer_range": 0.2,
    }
    config = Idefics3Config(
        text_config=text,
        vision_config=vision,
        scale_factor=2,
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        pad_token_id=tokenizer.pad_token_id,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        Idefics3ForConditionalGeneration(config).save_pretrained(folder)
    return folder


class _ListInbox:
    stopped = False

    def __init__(self, requests: Iterable[Request]) -> None:
        self._requests = list(requests)

    def take(self, *, wait: bool) -> Request | None:
        return self._requests.pop(0) if self._requests else None


@pytest.fixture(scope="session")
def text_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_text_model(tmp_path_factory.mktemp("text"))


@pytest.fixture(scope="session")
def vision_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return save_vision_model(tmp_path_factory.mktemp("vision"))


@pytest.fixture(scope="session")
def tokenizer_into() -> Callable[..., object]:
    """Saves the word-level tokenizer with its chat template into a folder."""
    return save_tokenizer


def _media(color: str) -> tuple[Media, Image.Image]:
    image = Image.new("RGB", (32, 32), color)
    image.paste("white", (4, 8, 20, 14))
    encoded = io.BytesIO()
    image.save(encoded, "PNG")
    return Media("image", 1, hashlib.sha256(encoded.getvalue()).hexdigest(), encoded.getvalue()), image


@pytest.fixture(scope="session")
def ask() -> Callable[..., Request]:
    """Makes a request: `colors` become pictures before the text, `clip` colours the frames of one video."""

    def request(
        text: str,
        n: int = 1,
        *,
        first: int = 0,
        colors: Sequence[str] = (),
        clip: Sequence[str] = (),
        prefix: Sequence[int] = (),
        sampling: Sampling | None = None,
    ) -> Request:
        shown = [_media(color) for color in colors]
        parts = [Picture(media) for media, _ in shown]
        images = [(image,) for _, image in shown]
        if clip:
            parts.append(Clip(Media("video", 1, "", path=Path("clip.mp4")), FrameRule(frames=len(clip))))
            images.append(tuple(_media(color)[1] for color in clip))
        prompt = Prompt((Message("user", (*parts, Text(text))),))
        key = hashlib.sha256(repr((text, colors, clip)).encode()).hexdigest()
        seed = int(key[:15], 16) + first
        sampling = sampling or Sampling(max_tokens=24, logprobs=True)
        return Request(key, text, prompt, tuple(images), sampling, first, n, seed, tuple(prefix))

    return request


@pytest.fixture(scope="session")
def inbox() -> Callable[..., Inbox]:
    """An inbox that hands out the given requests, then is over."""
    return lambda *requests: _ListInbox(requests)


@pytest.fixture(scope="session")
def draw() -> Callable[..., list[Sample]]:
    """Opens a backend, serves requests, and returns the samples in order of question and index."""

    def samples(backend: Backend, *requests: Request) -> list[Sample]:
        engine = backend.open()
        drawn = list(engine.serve(_ListInbox(requests)))
        engine.close()
        return sorted(drawn, key=lambda sample: (sample.question_id, sample.index))

    return samples
