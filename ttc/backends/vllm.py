"""Any model that vLLM runs, in this process and the processes that vLLM starts."""

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, model_validator

from ttc.backends.checkpoint import Checkpoint

if TYPE_CHECKING:
    from ttc.protocols import Engine

_LORA_RANKS = (8, 16, 32, 64, 128, 256, 320, 512)
"""What vLLM can reserve room for."""


class VLLM(Checkpoint, frozen=True, extra="forbid"):
    """vLLM in this process. Prompt and images are encoded once for all samples of a question."""

    kind: Literal["vllm"] = "vllm"
    quantization: str | None = None
    """Quantisation of the weights; part of every key."""
    tensor_parallel: int = Field(default=1, gt=0)
    """Devices that share one copy of the model."""
    data_parallel: int = Field(default=1, gt=0)
    """Copies of the model."""
    memory: float = Field(default=0.9, gt=0, le=1)
    """Share of each device's memory that the engine takes."""
    max_context: int | None = Field(default=None, gt=0)
    """Longest prompt plus reply in tokens; the model's own limit where not given."""
    max_images: int | None = Field(default=None, ge=0)
    """Most images, or frames of a video, in one prompt: prompts with more are rejected. vLLM's own limit where not given."""
    max_sequences: int = Field(default=256, gt=0)
    """Sequences decoded at once by each copy of the model."""
    batched_tokens: int | None = Field(default=None, gt=0)
    """Tokens of one step."""
    chunked_prefill: bool | None = None
    """Whether a long prompt may be prefilled in pieces. Off on the CPU, where it cannot be combined with seeds."""
    eager: bool = False
    """Do not compile or capture graphs: starts faster, runs slower."""

    @model_validator(mode="after")
    def _reads_safetensors(self) -> "VLLM":
        if self.gguf:
            raise ValueError(f"vLLM does not read {self.gguf}; use the transformers backend, or the model's safetensors")
        return self

    @property
    def devices(self) -> int:
        """As many as hold a part of the model."""
        return self.tensor_parallel * self.data_parallel

    def identity(self) -> Mapping[str, object]:
        """That of the weights; the engine is not part of it, so that engines share samples of one model."""
        own = {"quantization": self.quantization} if self.quantization else {}
        return {**super().identity(), **own}

    def open(self) -> "Engine":
        """Start the engine. Raises UserError where vLLM is missing or refuses the model."""
        from ttc.backends.vllm_engine import VLLMEngine

        return VLLMEngine(self)

    def engine_arguments(self) -> dict[str, Any]:
        """What vLLM calls these settings."""
        location = self.location()
        pixels = {"min_pixels": self.min_pixels, "max_pixels": self.max_pixels}
        arguments: dict[str, Any] = {
            "model": location.name,
            "revision": location.commit or None,
            "tokenizer_revision": location.commit or None,
            "dtype": self.number_type(),
            "tensor_parallel_size": self.tensor_parallel,
            "data_parallel_size": self.data_parallel,
            "max_num_seqs": self.max_sequences,
            "enforce_eager": self.eager,
            "trust_remote_code": self.trust_remote_code,
            "max_model_len": self.max_context,
            "max_num_batched_tokens": self.batched_tokens,
            "enable_chunked_prefill": self.chunked_prefill,
            "quantization": self.quantization,
            "gpu_memory_utilization": self.memory,
            "limit_mm_per_prompt": None if self.max_images is None else {"image": self.max_images},
            "mm_processor_kwargs": {name: value for name, value in pixels.items() if value is not None} or None,
            **self._lora_arguments(),
        }
        return {name: value for name, value in arguments.items() if value is not None}

    def _lora_arguments(self) -> dict[str, Any]:
        if self.adapter is None:
            return {}
        rank = json.loads((self.adapter / "adapter_config.json").read_text(encoding="utf-8")).get("r", 16)
        return {"enable_lora": True, "max_lora_rank": next((most for most in _LORA_RANKS if most >= rank), rank)}
