"""Decoding of models whose positions or caches are out of the ordinary, against the library's own `generate`."""

import pytest
import torch

from ttc.backends.chat import Encoded
from ttc.backends.decoding import Row, collate, decode
from ttc.records import Finish, Sampling

IMAGE, VISION_START = 7, 5


@pytest.fixture(scope="module")
def qwen():
    """A tiny Qwen2.5-VL: three kinds of position, patches of all images in one tensor."""
    from transformers import Qwen2_5_VLConfig, Qwen2_5_VLForConditionalGeneration

    text = {
        "vocab_size": 100,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "initializer_range": 0.3,
        "rope_parameters": {"rope_type": "default", "mrope_section": [2, 1, 1], "rope_theta": 10000.0},
    }
    vision = {
        "depth": 1,
        "hidden_size": 32,
        "intermediate_size": 64,
        "num_heads": 2,
        "patch_size": 4,
        "out_hidden_size": 32,
        "fullatt_block_indexes": [0],
        "window_size": 16,
        "initializer_range": 0.3,
    }
    config = Qwen2_5_VLConfig(
        text_config=text, vision_config=vision, image_token_id=IMAGE, video_token_id=8, vision_start_token_id=VISION_START
    )
    with torch.random.fork_rng():
        torch.manual_seed(1)
        return Qwen2_5_VLForConditionalGeneration(config).double().eval()


def qwen_prompt(grids: list[tuple[int, int]], words: list[int]) -> Encoded:
    """As Qwen's processor makes it: 4 patches are merged into one token."""
    ids, types, patches = [10], [0], 0
    for rows, columns in grids:
        merged = rows * columns // 4
        ids += [VISION_START, *[IMAGE] * merged]
        types += [0, *[1] * merged]
        patches += rows * columns
    generator = torch.Generator().manual_seed(patches)
    tensors = {"mm_token_type_ids": torch.tensor([[*types, *[0] * len(words)]])}
    if grids:
        tensors["pixel_values"] = torch.randn(patches, 3 * 2 * 4 * 4, generator=generator, dtype=torch.float64)
        tensors["image_grid_thw"] = torch.tensor([(1, *grid) for grid in grids])
    return Encoded((*ids, *words), 0, tensors)


def at_limit(row: Row) -> Finish:
    return "length" if len(row.ids) == row.limit else ""


def greedy(model, prompts: list[Encoded], copies: int, tokens: int) -> list[list[int]]:
    rows = [Row(prompt, index, index, tokens) for prompt in range(len(prompts)) for index in range(copies)]
    list(decode(model, prompts, [0] * len(prompts), rows, Sampling(temperature=0), at_limit))
    return [row.ids for row in rows]


def test_positions_of_a_model_with_three_kinds_are_kept_in_a_mixed_batch(qwen):
    prompts = [qwen_prompt([(4, 8)], [20, 21]), qwen_prompt([], [22, 23, 24]), qwen_prompt([(4, 4), (8, 4)], [25])]
    together = greedy(qwen, prompts, copies=2, tokens=12)
    for prompt, copies in zip(prompts, (together[0:2], together[2:4], together[4:6]), strict=True):
        ids = torch.tensor([prompt.ids])
        whole = qwen.generate(
            input_ids=ids,
            attention_mask=torch.ones_like(ids),
            max_new_tokens=12,
            do_sample=False,
            eos_token_id=None,
            **prompt.tensors,
        )
        assert copies == [whole[0, len(prompt.ids) :].tolist()] * 2


def test_collating_pads_token_tensors_on_the_left_and_pixels_at_their_ends():
    small = Encoded((1, 2), 0, {"token_type_ids": torch.tensor([[0, 1]]), "pixel_values": torch.ones(1, 1, 3, 4, 4)})
    large = Encoded((3, 4, 5, 6), 0, {"pixel_values": torch.ones(1, 2, 3, 4, 8)})
    batch = collate([small, large], torch.device("cpu"), torch.float64)
    assert batch["attention_mask"].tolist() == [[0, 0, 1, 1], [1, 1, 1, 1]]
    assert batch["input_ids"].tolist() == [[2, 2, 1, 2], [3, 4, 5, 6]]
    assert batch["token_type_ids"].tolist() == [[0, 0, 0, 1], [0, 0, 0, 0]]
    assert batch["pixel_values"].shape == (2, 2, 3, 4, 8)
    assert batch["pixel_values"].dtype == torch.float64
    assert batch["pixel_values"][0, 0, 0].sum() == 16
    assert batch["pixel_values"][0, 1].sum() == 0


def test_token_types_reach_over_a_prefix():
    prompt = Encoded((1, 2, 9, 9), 0, {"token_type_ids": torch.tensor([[0, 1]])})
    assert collate([prompt], torch.device("cpu"), torch.float32)["token_type_ids"].tolist() == [[0, 1, 0, 0]]
