"""FLOPs against torch's own counter on tiny models, and against a count by hand."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest

import ttc.pocket
from ttc.compute import ModelShape, attended_pairs
from ttc.errors import UserError

LLAMA = {
    "model_type": "llama",
    "hidden_size": 48,
    "intermediate_size": 80,
    "num_hidden_layers": 3,
    "num_attention_heads": 6,
    "num_key_value_heads": 2,
    "head_dim": 10,
    "vocab_size": 100,
    "tie_word_embeddings": True,
}
MISTRAL = {**LLAMA, "model_type": "mistral", "sliding_window": 4}
MIXTRAL = {**LLAMA, "model_type": "mixtral", "num_local_experts": 4, "num_experts_per_tok": 2, "sliding_window": None}
QWEN = {**{k: v for k, v in LLAMA.items() if k != "head_dim"}, "num_attention_heads": 6, "use_sliding_window": False}
QWEN2 = {**QWEN, "model_type": "qwen2"}
QWEN3 = {**QWEN, "model_type": "qwen3", "head_dim": 12}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 24, "decoder_sparse_step": 1, "mlp_only_layers": [1]}
QWEN2_MOE = {**QWEN, **EXPERTS, "model_type": "qwen2_moe", "num_experts": 6, "shared_expert_intermediate_size": 32}
QWEN3_MOE = {**QWEN, **EXPERTS, "model_type": "qwen3_moe", "num_experts": 6, "head_dim": 12}

EYES = {
    "hidden_size": 24,
    "intermediate_size": 40,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "image_size": 32,
    "patch_size": 4,
}
IDEFICS3 = {
    "model_type": "idefics3",
    "text_config": LLAMA,
    "vision_config": EYES,
    "scale_factor": 2,
    "image_token_id": 99,
}
SMOLVLM = {**IDEFICS3, "model_type": "smolvlm"}
LLAVA = {
    "model_type": "llava",
    "text_config": LLAMA,
    "vision_config": {**EYES, "model_type": "clip_vision_model"},
    "image_token_id": 99,
    "image_token_index": 99,
    "vision_feature_layer": -2,
    "vision_feature_select_strategy": "default",
}
QWEN_EYES = {"depth": 3, "num_heads": 2, "patch_size": 4, "spatial_merge_size": 2, "temporal_patch_size": 2}
ROPE = {"rope_type": "default", "rope_theta": 1e4, "mrope_section": [1, 1, 2]}
QWEN_TOKENS = {"image_token_id": 99, "video_token_id": 98, "vision_start_token_id": 97, "vision_end_token_id": 96}
QWEN2_VL = {
    **QWEN_TOKENS,
    "model_type": "qwen2_vl",
    "text_config": {**QWEN, "model_type": "qwen2_vl_text", "rope_parameters": ROPE},
    "vision_config": {**QWEN_EYES, "embed_dim": 24, "hidden_size": 48, "mlp_ratio": 2},
}
QWEN25_VL = {
    **QWEN_TOKENS,
    "model_type": "qwen2_5_vl",
    "text_config": {**QWEN, "model_type": "qwen2_5_vl_text", "rope_parameters": ROPE},
    "vision_config": {
        **QWEN_EYES,
        "hidden_size": 24,
        "out_hidden_size": 48,
        "intermediate_size": 40,
        "fullatt_block_indexes": [1],
        "window_size": 16,
    },
}
QWEN3_VL = {
    **QWEN_TOKENS,
    "model_type": "qwen3_vl",
    "text_config": {**QWEN3, "model_type": "qwen3_vl_text", "rope_parameters": {**ROPE, "mrope_section": [2, 2, 2]}},
    "vision_config": {
        **QWEN_EYES,
        "hidden_size": 24,
        "out_hidden_size": 48,
        "intermediate_size": 40,
        "num_position_embeddings": 64,
        "deepstack_visual_indexes": [0, 1],
    },
}


def shape_of(config) -> ModelShape:
    shape = ModelShape.from_config(config)
    assert shape is not None
    return shape


def model_of(config, kind="AutoModelForCausalLM"):
    import torch
    import transformers

    torch.manual_seed(0)
    known = transformers.CONFIG_MAPPING[config["model_type"]].from_dict(config)
    extra = {"experts_implementation": "eager"} if "num_experts_per_tok" in config else {}
    return getattr(transformers, kind).from_config(known, attn_implementation="eager", **extra).eval()


def counted(call) -> int:
    import torch
    from torch.utils.flop_counter import FlopCounterMode

    with FlopCounterMode(display=False) as counter, torch.no_grad():
        call()
    return counter.get_total_flops()


def generate(model, inputs, tokens: int):
    return model.generate(**inputs, max_new_tokens=tokens, min_new_tokens=tokens, do_sample=False, pad_token_id=0)


@pytest.mark.parametrize(
    "config", [LLAMA, MISTRAL, MIXTRAL, QWEN2, QWEN3, QWEN2_MOE, QWEN3_MOE], ids=lambda config: config["model_type"]
)
def test_language_models_equal_the_counter_in_prefill_and_decode(config):
    import torch

    shape, model, ids = shape_of(config), model_of(config), torch.arange(11)[None]
    assert counted(lambda: model(ids)) == shape.prefill_flops(11, heads=11, full_square=True)
    prefill = counted(lambda: model(ids, logits_to_keep=1))
    assert prefill == shape.prefill_flops(11, full_square=True)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    assert counted(lambda: generate(model, inputs, 6)) - prefill == shape.decode_flops(6, 11)


@pytest.mark.parametrize("config", [IDEFICS3, SMOLVLM, LLAVA], ids=lambda config: config["model_type"])
def test_tiles_and_projector_equal_the_counter(config):
    import torch

    shape, model = shape_of(config), model_of(config, "AutoModelForImageTextToText")
    image_tokens = 2 * shape.vision.tokens_per_tile
    ids = torch.tensor([[1, 2, 3] + [99] * image_tokens + [5] * 7])
    pixels = torch.randn(2, 3, 32, 32) if config is LLAVA else torch.randn(1, 2, 3, 32, 32)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "pixel_values": pixels}
    p = image_tokens + 10
    full = shape.vision_flops(image_tokens) + shape.prefill_flops(p, heads=p, full_square=True)
    assert counted(lambda: model(**inputs)) == full
    generation = shape.vision_flops(image_tokens) + shape.prefill_flops(p, full_square=True) + shape.decode_flops(5, p)
    assert counted(lambda: generate(model, inputs, 5)) == generation


@pytest.mark.parametrize("images", [1, 4])
def test_the_pocket_model_itself_equals_the_counter(images):
    import torch
    from transformers import AutoModelForImageTextToText

    folder = Path(ttc.pocket.__file__).parent / "model"
    shape = shape_of(json.loads((folder / "config.json").read_text()))
    model = AutoModelForImageTextToText.from_pretrained(folder, attn_implementation="eager")
    tile, side = shape.vision.tokens_per_tile, model.config.vision_config.image_size
    image_tokens = images * tile
    ids = torch.tensor([[5] * 20 + [model.config.image_token_id] * image_tokens + [6] * 30])
    pixels = torch.rand(1, images, 3, side, side)
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids), "pixel_values": pixels}
    p = image_tokens + 50
    full = shape.vision_flops(image_tokens) + shape.prefill_flops(p, full_square=True) + shape.decode_flops(9, p)
    assert counted(lambda: generate(model, inputs, 9)) == full
    masked = 2 * shape.layers * shape.query_heads * shape.head_dim * p * (p - 1)
    assert full - masked == shape.prompt_flops(p, image_tokens, (tile,) * images) + shape.decode_flops(9, p)


@pytest.mark.parametrize("config", [QWEN2_VL, QWEN25_VL, QWEN3_VL], ids=lambda config: config["model_type"])
def test_images_at_their_own_resolution_equal_the_counter(config):
    import torch

    shape, model = shape_of(config), model_of(config, "AutoModelForImageTextToText")
    grid = torch.tensor([[1, 8, 8], [1, 8, 4], [1, 8, 8]])
    pixels = torch.randn(64 + 32 + 64, 3 * 2 * 4 * 4)
    vision = counted(lambda: model.model.visual(pixels, grid_thw=grid))
    assert vision == shape.vision_flops(40, spans=(16, 8, 16))
    ids = torch.tensor([[1, 2] + [99] * 16 + [4] + [99] * 8 + [4] + [99] * 16 + [5] * 6])
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    kinds = (ids == 99).int()
    seen = {**inputs, "pixel_values": pixels, "image_grid_thw": grid, "mm_token_type_ids": kinds}
    assert counted(lambda: model(**seen)) == vision + shape.prefill_flops(50, heads=50, full_square=True)


def test_images_at_their_own_resolution_equal_a_count_by_hand():
    eyes = shape_of(QWEN3_VL).vision
    layer = 4 * 24**2 + 2 * 24 * 40
    patch, mergers = 3 * 2 * 4 * 4 * 24, 3 * (24 * 4) * (24 * 4 + 48)

    def alone(tokens: int) -> int:
        patches = 4 * tokens
        return 2 * (patch * patches + 3 * layer * patches + mergers * tokens) + 3 * 4 * 24 * patches**2

    assert eyes.flops(40, (16, 8, 16)) == 2 * alone(16) + alone(8)
    assert eyes.flops(40) == alone(40) > eyes.flops(40, (16, 8, 16))


def test_the_causal_figure_equals_a_count_by_hand():
    shape = shape_of(LLAMA)
    attention = 48 * 60 + 48 * 20 + 48 * 20 + 60 * 48  # q, k, v and output maps: 6 and 2 heads of 10
    weights = 3 * (attention + 3 * 48 * 80)
    pairs = 1 + 2 + 3 + 4 + 5
    assert shape.weights == weights
    assert shape.prefill_flops(5) == 2 * weights * 5 + 2 * 100 * 48 + 4 * 60 * 3 * pairs
    assert shape.decode_flops(3, 5) == 2 * (weights + 100 * 48) * 2 + 4 * 60 * 3 * (6 + 7)
    assert shape.decode_flops(1, 5) == shape.decode_flops(0, 5) == 0


def test_the_causal_figure_is_the_counters_minus_the_masked_half():
    shape = shape_of(LLAMA)
    masked = 2 * 3 * 60 * 33 * 32  # 2 L D p (p - 1)
    assert shape.prefill_flops(33, full_square=True) - shape.prefill_flops(33) == masked


@pytest.mark.parametrize("window", [None, 1, 3, 7, 8, 20])
def test_attended_pairs_equal_a_sum_over_the_tokens(window):
    for cached in range(10):
        for new in range(10):
            views = [cached + i if window is None else min(cached + i, window) for i in range(1, new + 1)]
            assert attended_pairs(new, cached, window) == sum(views)


def test_a_sliding_window_bounds_attention_only_in_its_layers():
    layers = ["full_attention", "sliding_attention", "sliding_attention"]
    shape = shape_of({**QWEN2, "use_sliding_window": True, "sliding_window": 4, "max_window_layers": 1, "layer_types": layers})
    assert (shape.windowed_layers, shape.window) == (2, 4)
    pairs = attended_pairs(9, 0) + 2 * attended_pairs(9, 0, 4)
    assert shape.prefill_flops(9, heads=0) == 2 * shape.weights * 9 + 4 * 48 * pairs


def test_prefill_and_decode_add_up_to_one_pass_with_its_cache():
    shape = shape_of(MISTRAL)
    whole = shape.extend_flops(20, 0, heads=0)
    assert whole == shape.extend_flops(12, 0, heads=0) + shape.extend_flops(8, 12, heads=0)


def test_a_scorer_pays_for_the_positions_it_reads_and_for_the_images():
    shape = shape_of(IDEFICS3)
    own_head = shape.scorer_flops(50, 0, image_tokens=16)
    assert own_head == shape.vision_flops(16) + shape.prefill_flops(50, heads=0)
    assert shape.scorer_flops(50, 4, image_tokens=16) - own_head == 2 * 4 * 100 * 48


def test_every_begun_tile_counts_whole_and_no_image_costs_nothing():
    shape = shape_of(IDEFICS3)
    assert shape.vision_flops(17) == shape.vision_flops(32) == 2 * shape.vision_flops(16)
    assert shape.vision_flops(0) == shape_of(LLAMA).vision_flops(16) == 0


def test_what_the_file_leaves_out_is_the_default_of_the_models_class():
    from transformers import CONFIG_MAPPING

    for config in (LLAMA, QWEN2_MOE, IDEFICS3, QWEN2_VL, QWEN3_VL, LLAVA):
        whole = CONFIG_MAPPING[config["model_type"]].from_dict(config)
        assert shape_of(whole.to_dict()) == shape_of(whole.to_diff_dict()) == shape_of(config)


def test_the_published_7b_llava_has_the_sizes_its_short_file_only_implies():
    text = {"model_type": "llama", "vocab_size": 32064}
    eyes = {"model_type": "clip_vision_model", "hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24}
    eyes |= {"num_attention_heads": 16, "image_size": 336, "patch_size": 14}
    shape = shape_of({"model_type": "llava", "text_config": text, "vision_config": eyes})
    assert shape.weights == 32 * (4 * 4096**2 + 3 * 4096 * 11008)
    assert shape.vision.tokens_per_tile == 576


def test_an_unknown_architecture_has_no_shape():
    assert ModelShape.from_config({"model_type": "mamba", "hidden_size": 4}) is None
    assert ModelShape.from_config({**IDEFICS3, "model_type": "some_vlm"}) is None
    assert ModelShape.from_config({}) is None


def test_a_known_architecture_without_a_size_is_an_error_that_names_it():
    from ttc.compute.config import Fields

    with pytest.raises(UserError, match="llama model has no number_of_moons"):
        Fields(LLAMA)["number_of_moons"]


def test_a_shape_survives_json():
    shape = shape_of(QWEN25_VL)
    assert ModelShape(**json.loads(json.dumps(asdict(shape)))) == shape
