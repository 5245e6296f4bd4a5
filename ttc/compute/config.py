"""A model's sizes from its config.json. What the file leaves out is the default of the model's own class in transformers."""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any

from ttc.compute.shape import ModelShape, VisionShape
from ttc.errors import UserError


class Fields:
    """The entries of a config; transformers, which is slow to import, is asked only for one that the file leaves out."""

    def __init__(self, given: Mapping[str, Any], complete: Callable[[], Mapping[str, Any]] | None = None) -> None:
        self.model_type: str = given.get("model_type", "")
        self._given = given
        self._complete = complete or self._by_class

    def __getitem__(self, name: str) -> Any:
        if name in self._given:
            return self._given[name]
        if name in self._defaults:
            return self._defaults[name]
        raise UserError(f"config.json of a {self.model_type} model has no {name}, so its FLOPs are unknown; add it to the file")

    def get(self, name: str) -> Any:
        """The entry, or None."""
        return self._given[name] if name in self._given else self._defaults.get(name)

    def part(self, name: str) -> "Fields":
        """A nested config. Its defaults are those of its place: older files give it a wrong type or none."""
        return Fields(self._given.get(name) or self[name], lambda: self._defaults[name])

    @cached_property
    def _defaults(self) -> Mapping[str, Any]:
        return self._complete()

    def _by_class(self) -> Mapping[str, Any]:
        from transformers import CONFIG_MAPPING

        return CONFIG_MAPPING[self.model_type].from_dict(dict(self._given)).to_dict()


def _dense(text: Fields) -> int:
    return text["num_hidden_layers"] * 3 * text["hidden_size"] * text["intermediate_size"]


def _mixtral(text: Fields) -> int:
    expert = 3 * text["hidden_size"] * text["intermediate_size"]
    router = text["hidden_size"] * text["num_local_experts"]
    return text["num_hidden_layers"] * (text["num_experts_per_tok"] * expert + router)


def _qwen_experts(text: Fields) -> int:
    """Some layers are dense; Qwen2 adds a shared expert behind a gate of one output."""
    width, layers = text["hidden_size"], range(text["num_hidden_layers"])
    dense_only, every = set(text["mlp_only_layers"]), text["decoder_sparse_step"]
    sparse = [i for i in layers if i not in dense_only and (i + 1) % every == 0]
    router = width * (text.get("num_experts") or text["num_local_experts"])
    active = text["num_experts_per_tok"] * 3 * width * text["moe_intermediate_size"] + router
    if text.model_type == "qwen2_moe":
        active += 3 * width * text["shared_expert_intermediate_size"] + width
    return len(sparse) * active + (len(layers) - len(sparse)) * 3 * width * text["intermediate_size"]


_MLP: Mapping[str, Callable[[Fields], int]] = {
    **dict.fromkeys(("llama", "mistral", "smollm3", "qwen2", "qwen3"), _dense),
    **dict.fromkeys(("qwen2_vl", "qwen2_vl_text", "qwen2_5_vl", "qwen2_5_vl_text", "qwen3_vl_text"), _dense),
    "mixtral": _mixtral,
    **dict.fromkeys(("qwen2_moe", "qwen3_moe", "qwen3_vl_moe_text"), _qwen_experts),
}


def _windowed_layers(text: Fields) -> int:
    """Layers with sliding attention."""
    if text.model_type in ("llama", "qwen3_vl_text", "qwen3_vl_moe_text"):
        return 0
    if text.model_type in ("mistral", "mixtral"):
        return text["num_hidden_layers"] if text["sliding_window"] else 0
    if not text["use_sliding_window"]:
        return 0
    kinds = text.get("layer_types")
    return kinds.count("sliding_attention") if kinds else text["num_hidden_layers"]


def _patch_weights(vision: Fields, width: int, frames: int = 1) -> int:
    return 3 * frames * vision["patch_size"] ** 2 * width


def _idefics3(config: Fields, text_width: int) -> VisionShape:
    """SigLIP over tiles of one size; pixel shuffle, then one linear map."""
    vision = config.part("vision_config")
    width, merged = vision["hidden_size"], config["scale_factor"] ** 2
    return VisionShape(
        layers=vision["num_hidden_layers"],
        width=width,
        layer_weights=4 * width**2 + 2 * width * vision["intermediate_size"],
        patch_weights=_patch_weights(vision, width),
        patches_per_token=merged,
        projector_weights=width * merged * text_width,
        tokens_per_tile=(vision["image_size"] // vision["patch_size"]) ** 2 // merged,
    )


def _llava(config: Fields, text_width: int) -> VisionShape | None:
    """CLIP over one tile per image; a projector of two maps. A vision model that we have not counted gives None."""
    vision = config.part("vision_config")
    if vision.model_type != "clip_vision_model":
        return None
    width, chosen = vision["hidden_size"], config["vision_feature_layer"]
    keeps_class = config["vision_feature_select_strategy"] != "default"
    return VisionShape(
        layers=vision["num_hidden_layers"],
        width=width,
        layer_weights=4 * width**2 + 2 * width * vision["intermediate_size"],
        patch_weights=_patch_weights(vision, width),
        patches_per_token=1,
        projector_weights=width * (1 if isinstance(chosen, int) else len(chosen)) * text_width + text_width**2,
        tokens_per_tile=(vision["image_size"] // vision["patch_size"]) ** 2 + keeps_class,
        class_tokens=0 if keeps_class else 1,
    )


def _qwen_vision(config: Fields, text_width: int) -> VisionShape:
    """Images at their own resolution, two frames per patch; four patches merge into a token through two maps.

    Qwen2.5 attends within windows except in some layers; Qwen3 has as many further mergers as layers it taps.
    """
    vision = config.part("vision_config")
    second = config.model_type == "qwen2_vl"
    width, merged = vision["embed_dim" if second else "hidden_size"], vision["spatial_merge_size"] ** 2
    hidden = int(width * vision["mlp_ratio"]) if second else vision["intermediate_size"]
    windowed, side = 0, 0
    if config.model_type == "qwen2_5_vl":
        windowed = vision["depth"] - len(vision["fullatt_block_indexes"])
        side = vision["window_size"] // vision["patch_size"]
    mergers = 1 + len(vision.get("deepstack_visual_indexes") or ())
    return VisionShape(
        layers=vision["depth"],
        width=width,
        layer_weights=4 * width**2 + (3 if config.model_type == "qwen2_5_vl" else 2) * width * hidden,
        patch_weights=_patch_weights(vision, width, vision["temporal_patch_size"]),
        patches_per_token=merged,
        projector_weights=mergers * width * merged * (width * merged + text_width),
        windowed_layers=windowed,
        window_patches=side**2,
    )


_VISION: Mapping[str, Callable[[Fields, int], VisionShape | None]] = {
    **dict.fromkeys(("idefics3", "smolvlm"), _idefics3),
    "llava": _llava,
    **dict.fromkeys(("qwen2_vl", "qwen2_5_vl", "qwen3_vl", "qwen3_vl_moe"), _qwen_vision),
}


def read_shape(config: Mapping[str, Any]) -> ModelShape | None:
    """See `ModelShape.from_config`."""
    whole = Fields(config)
    if whole.model_type in _VISION:
        # older Qwen2-VL files hold the language model's sizes beside the vision config
        text = whole if whole.model_type.startswith("qwen2") and "text_config" not in config else whole.part("text_config")
    else:
        text = whole
    if text.model_type not in _MLP or ("vision_config" in config and whole.model_type not in _VISION):
        return None
    vision = None
    if whole.model_type in _VISION:
        vision = _VISION[whole.model_type](whole, text["hidden_size"])
        if vision is None:
            return None
    windowed = _windowed_layers(text)
    return ModelShape(
        layers=text["num_hidden_layers"],
        width=text["hidden_size"],
        query_heads=text["num_attention_heads"],
        kv_heads=text["num_key_value_heads"],
        head_dim=text.get("head_dim") or text["hidden_size"] // text["num_attention_heads"],
        mlp_weights=_MLP[text.model_type](text),
        vocabulary=text["vocab_size"],
        window=text["sliding_window"] if windowed else None,
        windowed_layers=windowed,
        vision=vision,
    )
