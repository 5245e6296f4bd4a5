"""Any image-text-to-text or causal model through the transformers library, on one device."""

from typing import TYPE_CHECKING, Literal

from pydantic import Field

from ttc.backends.checkpoint import Checkpoint

if TYPE_CHECKING:
    from ttc.protocols import Engine


class Transformers(Checkpoint, frozen=True, extra="forbid"):
    """Samples with seeds of their own, so that a sample is the same whatever the batch: exactly so in float64 on a CPU, but for
    near ties in float32; lower precision rounds differently by batch. A token's noise hangs on the sample's seed, the token's
    position in the whole reply and its id, so a continuation with the same seed goes on as the uncut reply would have.

    What is not a field of `Checkpoint` changes speed and memory, not the samples, and is no part of their keys.
    """

    kind: Literal["transformers"] = "transformers"
    device: str = Field(default="auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$")
    """`auto`: the first GPU where there is one."""
    attention: Literal["eager", "sdpa", "flash_attention_2"] | None = None
    """Attention implementation; none: eager for float32 models of up to 20 M parameters on a CPU, where it is twice as fast,
    otherwise the library's choice for the model."""
    batch_tokens: int = Field(default=65_536, gt=0)
    """Tokens of a batch, counted as samples x (longest prompt + most new tokens): bounds the memory of the KV cache."""
    max_context: int | None = Field(default=None, gt=0)
    """Tokens of prompt and reply together; none: what the model's config says."""
    threads: int | None = Field(default=None, gt=0)
    """CPU threads; none: one for models of up to 20 M parameters, whose steps are ten times slower on two, else all cores."""

    def open(self) -> "Engine":
        """Load the model. Raises UserError with the way out where it cannot."""
        from ttc.backends.engine import TransformersEngine

        return TransformersEngine(self)
