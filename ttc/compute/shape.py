"""A model's sizes, and the FLOPs that follow from them. All counts are exact integers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass


def attended_pairs(new: int, cached: int, window: int | None = None) -> int:
    """Pairs of a query and a key it attends to, when `new` tokens follow `cached` ones under a causal mask."""
    if window is None or cached + new <= window:
        return new * cached + new * (new + 1) // 2
    growing = max(0, window - cached)  # tokens whose view is not yet cut
    return growing * cached + growing * (growing + 1) // 2 + (new - growing) * window


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class VisionShape:
    """A vision encoder and the projector that turns its patches into the language model's tokens."""

    layers: int
    width: int
    layer_weights: int
    """Matmul weights of one layer: attention 4 d^2, and the MLP."""
    patch_weights: int
    """Weights of the patch convolution."""
    patches_per_token: int
    """Patches merged into one token of the language model."""
    projector_weights: int
    """Matmul weights applied to each of those tokens."""
    tokens_per_tile: int | None = None
    """Tokens of one tile where every tile has the same size; None where an image keeps its own resolution."""
    class_tokens: int = 0
    """Tokens beside the patches that pass the encoder."""
    windowed_layers: int = 0
    window_patches: int = 0
    """Patches per window in the layers that attend only within windows."""

    def flops(self, image_tokens: int, spans: Sequence[int] = ()) -> int:
        """FLOPs of encoding what became `image_tokens` tokens of the prompt.

        Args:
            spans: tokens of each image or of each of a video's time slices. Needed where an image keeps its resolution:
                attention does not cross images; without, all is one image. Tiles of one size are counted from the tokens.
        """
        if image_tokens == 0:
            return 0
        if self.tokens_per_tile:
            return -(-image_tokens // self.tokens_per_tile) * self._grid_flops(self.tokens_per_tile)
        return sum(map(self._grid_flops, spans or (image_tokens,)))

    def _grid_flops(self, tokens: int) -> int:
        """One image or tile, whose patches see each other."""
        patches = tokens * self.patches_per_token
        length = patches + self.class_tokens
        full_layers = self.layers - self.windowed_layers
        pairs = full_layers * length**2 + self.windowed_layers * length * min(length, self.window_patches)
        linear = self.patch_weights * patches + self.layers * self.layer_weights * length + self.projector_weights * tokens
        return 2 * linear + 4 * self.width * pairs


@dataclass(frozen=True, config=ConfigDict(extra="forbid"))
class ModelShape:
    """A decoder with grouped queries and gated MLPs, dense or a mixture of experts, with or without eyes.

    2 FLOPs per weight and token (Kaplan et al. 2020, arXiv:2001.08361), the output head where logits are read, and attention
    by the pairs attended.
    """

    layers: int
    width: int
    query_heads: int
    kv_heads: int
    head_dim: int
    mlp_weights: int
    """Active MLP weights of all layers: for a mixture the chosen and the shared experts, and the router."""
    vocabulary: int
    window: int | None = None
    """Tokens that a layer with sliding attention looks back, the current one included."""
    windowed_layers: int = 0
    vision: VisionShape | None = None

    @staticmethod
    def from_config(config: Mapping[str, Any]) -> ModelShape | None:
        """Read a Hugging Face config.json.

        Returns:
            None for an architecture whose FLOPs we do not know: they are then unknown, not guessed.

        Raises:
            UserError: a known architecture without a size it needs.
        """
        from ttc.compute.config import read_shape

        return read_shape(config)

    @property
    def weights(self) -> int:
        """P: active matmul weights without input embedding and output head."""
        attention = 2 * self.width * self.head_dim * (self.query_heads + self.kv_heads)
        return self.layers * attention + self.mlp_weights

    @property
    def head_weights(self) -> int:
        """U: weights of the output head, tied or not."""
        return self.vocabulary * self.width

    def extend_flops(self, new: int, cached: int, *, heads: int, full_square: bool = False) -> int:
        """`new` tokens in one pass after `cached` ones.

        Args:
            heads: positions with logits: 1 in generation, `new` in a plain forward, those a scorer reads, 0 for its own head.
            full_square: count masked pairs too, as a profiler does.
        """
        if full_square:
            pairs = self.layers * new * (cached + new)
        else:
            pairs = (self.layers - self.windowed_layers) * attended_pairs(new, cached)
            pairs += self.windowed_layers * attended_pairs(new, cached, self.window)
        attention = 4 * self.query_heads * self.head_dim * pairs
        return 2 * self.weights * new + 2 * self.head_weights * min(heads, new) + attention

    def prefill_flops(self, prompt_tokens: int, heads: int = 1, *, full_square: bool = False) -> int:
        """The prompt, image tokens included, without the vision encoder."""
        return self.extend_flops(prompt_tokens, 0, heads=heads, full_square=full_square)

    def decode_flops(self, completion_tokens: int, prompt_tokens: int) -> int:
        """A completion after its prompt; the first token comes with the prefill, the last is never fed back."""
        steps = max(0, completion_tokens - 1)
        return self.extend_flops(steps, prompt_tokens, heads=steps)

    def vision_flops(self, image_tokens: int, spans: Sequence[int] = ()) -> int:
        """Encoder and projector; 0 for a model without eyes. See `VisionShape.flops`."""
        return self.vision.flops(image_tokens, spans) if self.vision else 0

    def prompt_flops(self, prompt_tokens: int, image_tokens: int = 0, spans: Sequence[int] = ()) -> int:
        """What a question costs once, whatever the number of samples: its images and its prefill."""
        return self.vision_flops(image_tokens, spans) + self.prefill_flops(prompt_tokens)

    def scorer_flops(self, tokens: int, read_positions: int, image_tokens: int = 0, spans: Sequence[int] = ()) -> int:
        """A discriminative verifier's pass over question and reply, with logits at the positions it reads (0: its own head).

        A generative verifier costs `prompt_flops` and `decode_flops`; re-scoring a longer prefix on its cache, `extend_flops`.
        """
        return self.vision_flops(image_tokens, spans) + self.prefill_flops(tokens, read_positions)

    def kv_bytes_per_token(self, bytes_per_value: int = 2) -> int:
        """Keys and values of all layers."""
        return 2 * self.layers * self.kv_heads * self.head_dim * bytes_per_value
