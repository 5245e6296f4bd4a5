# pyright: reportMissingImports=false
"""vLLM's asynchronous engine, kept full: all samples of a question are one request, each is handed out when it is finished."""

import asyncio
import gc
import json
import os
from collections.abc import Coroutine, Iterator, Mapping
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError, model_validator

from ttc.backends import folder
from ttc.backends.chat import Chat, Rejected
from ttc.backends.checkpoint import Checkpoint
from ttc.backends.pump import Emit, pump
from ttc.errors import BackendUnavailable, UserError
from ttc.protocols import Engine, Inbox
from ttc.records import Finish, Request, Sample

if TYPE_CHECKING:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.outputs import CompletionOutput, RequestOutput
    from vllm.sampling_params import SamplingParams

_ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "TRANSFORMERS_VERBOSITY": "error",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
}
"""Unless the user has set them: three processes of the engine write into the terminal that shows a run."""
_CLOSE_SECONDS = 60
"""Time for the engine's processes to free the device before they are killed."""
_WHOLE = 1 << 30
"""Tokens between two messages about an unfinished sample: none but the first is wanted."""
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
            raise ValueError(f"backend vllm cannot read {self.gguf}; use transformers, or convert it with `save_pretrained`")
        return self

    def identity(self) -> Mapping[str, object]:
        """That of the weights; the engine is not part of it, so that engines share samples of one model."""
        own = {"quantization": self.quantization} if self.quantization else {}
        return {**super().identity(), **own}

    def open(self) -> Engine:
        """Start the engine. Raises UserError where vLLM is missing or refuses the model."""
        return _Engine(self)

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


@dataclass(slots=True)
class _Drawn:
    """One sample as far as vLLM has told."""

    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)

    def add(self, completion: "CompletionOutput") -> None:
        self.ids += completion.token_ids
        for token, step in zip(completion.token_ids, completion.logprobs or (), strict=False):
            self.logprobs.append(step[token].logprob)


class _Engine:
    def __init__(self, config: VLLM) -> None:
        for variable, value in _ENVIRONMENT.items():
            os.environ.setdefault(variable, value)
        try:
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM
            from vllm.version import __version__
        except ImportError as error:
            raise UserError(
                f"backend vllm: {error}; install vLLM, best in an environment of its own (README, Engines)"
            ) from error

        self.name = f"vllm {__version__}"
        self._drawing = 0
        # A quarter more than run, so that a place that falls free is taken at once.
        self._most = config.max_sequences * config.data_parallel * 5 // 4
        self._lora = _lora(config)
        self._runner = asyncio.Runner()
        try:
            arguments = AsyncEngineArgs(**config.engine_arguments(), disable_log_stats=True, use_tqdm_on_load=False)
            _suit_cpu(arguments, config)
            settings = arguments.create_engine_config()
            self._chat = Chat.load(config, takes_images=settings.model_config.is_multimodal_model)
            declared = settings.model_config.try_get_generation_config().get("eos_token_id")
            self._end_ids = self._chat.end_ids(declared)
            self._engine = self._runner.run(_start(AsyncLLM, settings))
        except UserError:
            self._runner.close()
            raise
        except (ValueError, RuntimeError, OSError) as error:
            self._runner.close()
            raise UserError(f"backend vllm: model {config.model} does not start: {_reason(error)}") from error

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        return pump(self._runner, inbox, self._draw, lambda _: self._drawing < self._most)

    def close(self) -> None:
        self._engine.shutdown(timeout=_CLOSE_SECONDS)
        self._runner.close()
        # It lies in a reference cycle, and its destructor fails when it runs as late as Python's own end.
        del self._engine
        gc.collect()

    def _draw(self, request: Request, emit: Emit) -> list[Coroutine[Any, Any, None]]:
        self._drawing += request.n
        if request.sampling.temperature == 0:  # vLLM refuses n greedy samples, which are n times the same
            return [self._generate(replace(request, first=request.first + j, n=1), emit) for j in range(request.n)]
        return [self._generate(request, emit)]

    async def _generate(self, request: Request, emit: Emit) -> None:
        from vllm.exceptions import VLLMClientError
        from vllm.v1.engine.exceptions import EngineDeadError

        begun = monotonic()
        drawn = [_Drawn() for _ in range(request.n)]
        name = f"{request.key}-{request.first}"
        try:
            prompt = await self._prompt(request)
            async for output in self._engine.generate(prompt, self._sampling(request), name, lora_request=self._lora):
                for completion in output.outputs:
                    drawn[completion.index].add(completion)
                    if completion.finish_reason is not None:
                        self._drawing -= 1
                        emit(self._sample(request, drawn[completion.index], output, completion, monotonic() - begun))
        except (Rejected, VLLMClientError) as error:  # such as a prompt over the context length
            self._reject(request, str(error), emit)
        except EngineDeadError as error:
            raise BackendUnavailable(
                f"vLLM's engine died at question {request.question_id}; what was finished is kept, and the same command goes on"
            ) from error

    def _reject(self, request: Request, reason: str, emit: Emit) -> None:
        self._drawing -= request.n
        line = next(iter(reason.strip().splitlines()), "refused without a reason")
        for index in range(request.first, request.first + request.n):
            emit(Sample(request.key, index, request.question_id, "", status="rejected", reason=line, engine=self.name))

    async def _prompt(self, request: Request) -> Any:
        """What vLLM makes of our token ids, in which it expands one placeholder per image.

        Raises:
            Rejected: the prompt is too long, or the model's processor refuses an image.
        """
        from vllm.exceptions import VLLMClientError

        text = self._chat.render(request.prompt, request.images)
        # the template has written every special token already, so none may be added
        ids = self._chat.tokenizer.encode(text, add_special_tokens=False)
        prompt: dict[str, Any] = {"prompt_token_ids": [*ids, *request.prefix]}
        if request.images:
            prompt["multi_modal_data"] = {"image": [image for shown in request.images for image in shown]}
        try:
            (rendered,) = await self._engine.renderer.render_cmpl_async([prompt])
        except (ValueError, VLLMClientError) as error:
            raise Rejected(str(error)) from error
        return rendered

    def _sampling(self, request: Request) -> "SamplingParams":
        from vllm.sampling_params import RequestOutputKind, SamplingParams

        sampling = request.sampling
        return SamplingParams(
            n=request.n,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k or -1,
            # vLLM gives the n samples of a request this seed plus 0, 1, 2 ..., which is our numbering.
            seed=request.seed if sampling.temperature > 0 else None,
            max_tokens=sampling.max_tokens,
            stop=list(sampling.stop) or None,
            stop_token_ids=sorted(self._end_ids),
            logprobs=0 if sampling.logprobs else None,
            detokenize=bool(sampling.stop),  # stop strings are sought in its text; ours is decoded at once at the end
            # Only as differences does vLLM hand out a finished sample while its siblings are still being drawn.
            output_kind=RequestOutputKind.DELTA,
            stream_interval=_WHOLE,
        )

    def _sample(
        self, request: Request, drawn: _Drawn, output: "RequestOutput", completion: "CompletionOutput", seconds: float
    ) -> Sample:
        if completion.finish_reason not in ("stop", "length"):
            raise BackendUnavailable(
                f"vLLM gave up question {request.question_id} ({completion.finish_reason}); what was finished is kept, and the "
                "same command goes on"
            )
        finish: Finish = "length" if completion.finish_reason == "length" else "stop"
        prompt_ids = output.prompt_token_ids or []
        ids = drawn.ids
        ended = bool(ids) and ids[-1] in self._end_ids
        text = self._chat.decode(ids[:-1] if ended else ids, request.prefix)
        return Sample(
            request.key,
            request.first + completion.index,
            request.question_id,
            text if ended else _until(text, request.sampling.stop),
            finish=finish,
            prompt_tokens=len(prompt_ids) - len(request.prefix),
            image_tokens=self._chat.count_images(prompt_ids),
            completion_tokens=len(ids),
            token_ids=tuple(ids),
            logprobs=tuple(drawn.logprobs),
            engine=self.name,
            seconds=seconds,
        )


async def _start(engine: Any, settings: Any) -> Any:
    """AsyncLLM ties itself to the event loop that runs when it is made."""
    return engine.from_vllm_config(settings, disable_log_stats=True)


def _suit_cpu(arguments: "AsyncEngineArgs", config: VLLM) -> None:
    """Seeded sampling on the CPU cannot resume in the middle of a prompt, so a prompt must fit into one step."""
    from vllm.platforms import current_platform

    if not current_platform.is_cpu():
        return
    os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
    arguments.enable_chunked_prefill = False
    if config.batched_tokens is None:
        arguments.max_num_batched_tokens = max(4096, config.max_context or _context_of(config))


def _context_of(config: VLLM) -> int:
    found: Any = folder.config_of(config.location())
    text: Any = found.get("text_config", found)
    return int(text.get("max_position_embeddings", 4096))


def _until(text: str, stops: tuple[str, ...]) -> str:
    """The text before the first stop string."""
    return text[: min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)]


def _reason(error: Exception) -> str:
    """One line: pydantic's errors, which vLLM raises for its settings, begin with a count."""
    text = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
    return next(iter(text.strip().splitlines()), type(error).__name__)


def _lora(config: VLLM) -> Any:
    if config.adapter is None:
        return None
    from vllm.lora.request import LoRARequest

    return LoRARequest("adapter", 1, str(config.adapter))
