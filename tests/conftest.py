"""Fixtures for all tests: released data where it is present, media good and bad, a tiny model of a real family."""

import io
import os
import struct
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

SHARED = Path(os.environ.get("TTC_SHARED", Path(__file__).parents[2] / "shared"))


@pytest.fixture(scope="session")
def shared() -> Path:
    """Folder of released data; tests that read it skip where it is absent, or fail where it is required."""
    if not (SHARED / "data").is_dir():
        if os.environ.get("TTC_REQUIRE_SHARED"):
            pytest.fail(f"TTC_REQUIRE_SHARED is set, but there is no released data at {SHARED}")
        pytest.skip(f"no released data at {SHARED}; set TTC_SHARED to a folder that has it")
    return SHARED


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
        import av
        import numpy as np

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


@pytest.fixture(scope="session")
def bomb() -> bytes:
    """A whole PNG of 30,000 x 30,000 pixels in 110 kB."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    side = 30_000
    packer = zlib.compressobj(1)
    row = bytes(1 + side // 8)
    pixels = b"".join(packer.compress(row) for _ in range(side)) + packer.flush()
    header = struct.pack(">IIBBBBB", side, side, 1, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")


@pytest.fixture(scope="session")
def cut_jpeg() -> bytes:
    """The first 1000 bytes of a photograph."""
    import numpy as np
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(np.random.default_rng(0).integers(0, 255, (64, 64, 3), np.uint8)).save(buffer, "JPEG")
    return buffer.getvalue()[:1000]


QWEN_SPECIAL = ["endoftext", "im_start", "im_end", "vision_start", "vision_end", "image_pad", "video_pad"]
QWEN_TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{% for part in message.content %}"
    "{{ '<|vision_start|><|image_pad|><|vision_end|>' if part.type == 'image' else part.text }}"
    "{% endfor %}<|im_end|>\n{% endfor %}{{ '<|im_start|>assistant\n' if add_generation_prompt }}"
)


@pytest.fixture(scope="session")
def tiny_qwen(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved Qwen2.5-VL of 0.1 M random weights: 1 to 16 tokens per image, every byte of text a token."""
    import torch
    from transformers import AutoProcessor, Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration, Qwen2_5_VLProcessor
    from transformers.models.qwen2_vl.image_processing_pil_qwen2_vl import Qwen2VLImageProcessorPil

    class ImagesOnly(Qwen2_5_VLProcessor):
        """Without the part for videos, which needs torchvision: frames are shown as images."""

        def __init__(self, image_processor=None, tokenizer=None, chat_template=None, **more):
            super().__init__(image_processor, tokenizer, None, chat_template=chat_template, **more)

        @classmethod
        def get_attributes(cls) -> list[str]:
            return ["image_processor", "tokenizer"]

    AutoProcessor.register(Qwen2_5_VLConfig, ImagesOnly, exist_ok=True)
    folder = tmp_path_factory.mktemp("tiny_qwen")
    tokenizer = _byte_tokenizer([f"<|{name}|>" for name in QWEN_SPECIAL])
    pixels = Qwen2VLImageProcessorPil(size={"shortest_edge": 28 * 28, "longest_edge": 16 * 28 * 28})
    ImagesOnly(pixels, tokenizer, chat_template=QWEN_TEMPLATE).save_pretrained(folder)
    text = {
        "vocab_size": len(tokenizer),
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "num_key_value_heads": 1,
        "max_position_embeddings": 8192,
        "rope_parameters": {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [2, 3, 3]},
        "initializer_range": 0.2,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
        "bos_token_id": None,
    }
    vision = {"depth": 1, "hidden_size": 32, "intermediate_size": 64, "num_heads": 2, "out_hidden_size": 32}
    named = ("vision_start", "vision_end", "image_pad", "video_pad")
    start, end, image, video = (tokenizer.convert_tokens_to_ids(f"<|{name}|>") for name in named)
    config = Qwen2_5_VLConfig(
        text_config=text,
        vision_config={**vision, "fullatt_block_indexes": [0], "initializer_range": 0.2},
        image_token_id=image,
        video_token_id=video,
        vision_start_token_id=start,
        vision_end_token_id=end,
        tie_word_embeddings=False,
        eos_token_id=tokenizer.eos_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        Qwen2_5_VLForConditionalGeneration(config).save_pretrained(folder)
    return folder


def _byte_tokenizer(special: list[str]) -> Any:
    """One token per byte, so that any text comes back as it was."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    inner = Tokenizer(models.BPE(vocab={word: number for number, word in enumerate([*special, *alphabet])}, merges=[]))
    inner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    inner.decoder = decoders.ByteLevel()
    return PreTrainedTokenizerFast(
        tokenizer_object=inner, pad_token=special[0], eos_token=special[2], extra_special_tokens=[special[1], *special[3:]]
    )
