"""What tokens cost beside FLOPs: KV memory, and the prices of a provider."""

from collections.abc import Sequence

from pydantic import BaseModel, Field

from ttc.compute.shape import ModelShape
from ttc.records import Sample

KV_BLOCK = 16


def sample_flops(shape: ModelShape | None, sample: Sample, *, prompt_is_new: bool, shared_tokens: int = 0) -> float | None:
    """FLOPs of one sample on the attributed axis: its decoding, and the prompt and its images with the first of a prompt.

    Args:
        shared_tokens: of the prompt, those that are paid already with all of its images: it goes on where another prompt ends.

    Returns:
        None where the model's shape is unknown.
    """
    if shape is None:
        return None
    flops = shape.decode_flops(sample.completion_tokens, sample.prompt_tokens)
    if prompt_is_new and shared_tokens:
        flops += shape.extend_flops(max(0, sample.prompt_tokens - shared_tokens), shared_tokens, heads=1)
    elif prompt_is_new:
        flops += question_flops(shape, sample)
    return float(flops)


def question_flops(shape: ModelShape, sample: Sample) -> int:
    """FLOPs of the prompt of a sample and of its images: paid once, whatever the number of samples."""
    return shape.prompt_flops(sample.prompt_tokens, sample.image_tokens, sample.image_spans)


def continuation_flops(
    shape: ModelShape | None, sample: Sample, prefix_tokens: int, *, prefix_is_new: bool, appended_tokens: int = 0
) -> float | None:
    """FLOPs of going on after `prefix_tokens` of a reply: a reply costs the same drawn whole or in pieces.

    The last token of the prefix was drawn but not fed back, which the first continuation of that prefix does for all.

    Args:
        appended_tokens: at the end of the prefix, those that nobody drew: they are fed with that last one.
    """
    if shape is None:
        return None
    cached = sample.prompt_tokens + prefix_tokens
    unread = min(1 + appended_tokens, prefix_tokens)
    first = shape.extend_flops(unread, cached - unread, heads=1) if prefix_is_new else 0
    return float(first + shape.decode_flops(sample.completion_tokens, cached))


def kv_slots(prompt_tokens: int, completion_tokens: Sequence[int], block: int = KV_BLOCK) -> int:
    """Token slots held when all samples of one prompt are at their end: full blocks of the prompt are shared, the rest is not.

    The last token of a completion is never fed back, so it needs no slot.
    """
    shared = prompt_tokens // block * block
    own = (-(-(prompt_tokens + max(g, 1) - 1) // block) * block - shared for g in completion_tokens)
    return shared + sum(own)


def kv_bytes(
    shape: ModelShape, prompt_tokens: int, completion_tokens: Sequence[int], *, block: int = KV_BLOCK, bytes_per_value: int = 2
) -> int:
    """Memory of those slots, as if every layer kept the whole context."""
    return kv_slots(prompt_tokens, completion_tokens, block) * shape.kv_bytes_per_token(bytes_per_value)


class Prices(BaseModel, frozen=True, extra="forbid"):
    """What a provider charges, per million tokens."""

    input: float = Field(ge=0)
    """Prompt tokens that were not cached."""
    output: float = Field(ge=0)
    """Completion tokens; reasoning tokens are among them."""
    cached_input: float | None = Field(default=None, ge=0)
    """Cached prompt tokens; None charges them like the others."""
    currency: str = "USD"

    def money(self, prompt_tokens: float, completion_tokens: float, *, cached_tokens: float = 0) -> float:
        """Price of so many tokens, of whose prompt tokens `cached_tokens` were cached."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        fresh = (prompt_tokens - cached_tokens) * self.input
        return (fresh + cached_tokens * cached_price + completion_tokens * self.output) / 1e6
