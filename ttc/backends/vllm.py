"""vLLM's asynchronous engine, kept full: every request of a question goes in at once, and goes to the bank when it is done."""

import asyncio
import os
from collections.abc import Coroutine, Iterator, Mapping
from time import monotonic
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ttc.backends.chat import Chat, Rejected
from ttc.backends.checkpoint import Checkpoint
from ttc.backends.pump import Emit, pump
from ttc.errors import BackendUnavailable, UserError
from ttc.protocols import Engine, Inbox
from ttc.records import Finish, Request, Sample

if TYPE_CHECKING:
    from vllm import SamplingParams
    from vllm.outputs import CompletionOutput, RequestOutput


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
    max_images: int = Field(default=8, ge=0)
    """Most images, or frames of a video, in one prompt."""
    max_sequences: int = Field(default=256, gt=0)
    """Sequences decoded at once."""
    batched_tokens: int | None = Field(default=None, gt=0)
    """Tokens of one step."""
    chunked_prefill: bool | None = None
    """Whether a long prompt may be prefilled in pieces. Off on the CPU, where it cannot be combined with seeds."""
    eager: bool = False
    """Do not compile or capture graphs: starts faster, runs slower."""

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
        arguments: dict[str, Any] = {
            "model": str(location.folder or location.name),
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
        }
        pixels = {"min_pixels": self.min_pixels, "max_pixels": self.max_pixels}
        arguments["mm_processor_kwargs"] = {name: value for name, value in pixels.items() if value is not None} or None
        if self.adapter is not None:
            arguments["enable_lora"] = True
        return {name: value for name, value in arguments.items() if value is not None}


class _Engine:
    def __init__(self, config: VLLM) -> None:
        try:
            import vllm
            from vllm.engine.arg_utils import AsyncEngineArgs
            from vllm.v1.engine.async_llm import AsyncLLM
        except ImportError as error:
            raise UserError(
                f"backend vllm: {error}; install vLLM, best in an environment of its own (README, Engines)"
            ) from error

        self.name = f"vllm {vllm.__version__}"
        self._config = config
        self._params = vllm.SamplingParams
        arguments = config.engine_arguments()
        takes_images = "vision_config" in _config_of(config)
        if takes_images:
            arguments["limit_mm_per_prompt"] = {"image": config.max_images}
        if not _has_gpu():
            # Seeded sampling on the CPU cannot resume in the middle of a prompt, so a prompt must fit into one step.
            arguments["enable_chunked_prefill"] = False
            arguments.setdefault("max_num_batched_tokens", max(4096, config.max_context or _context_of(config)))
            os.environ.setdefault("VLLM_CPU_KVCACHE_SPACE", "1")
        self._chat = Chat.load(config, takes_images=takes_images)
        self._runner = asyncio.Runner()
        self._runner.get_loop()
        try:
            self._engine = self._runner.run(_start(AsyncLLM, AsyncEngineArgs(**arguments)))
        except (ValueError, RuntimeError, OSError) as error:
            raise UserError(f"backend vllm: model {config.model} does not start: {str(error).splitlines()[0]}") from error
        self._lora = _lora(config)

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        most = 2 * self._config.max_sequences * self._config.data_parallel
        return pump(self._runner, inbox, self._draw, lambda flying: flying < most)

    def close(self) -> None:
        self._engine.shutdown()
        self._runner.close()

    def _draw(self, request: Request, emit: Emit) -> list[Coroutine[Any, Any, None]]:
        return [self._generate(request, emit)]

    async def _generate(self, request: Request, emit: Emit) -> None:
        from vllm.v1.engine.exceptions import EngineDeadError

        begun = monotonic()
        try:
            prompt = self._prompt(request)
        except Rejected as error:
            _reject(request, str(error), self.name, emit)
            return
        final: RequestOutput | None = None
        try:
            async for output in self._engine.generate(
                prompt, self._sampling(request), f"{request.key}-{request.first}", lora_request=self._lora
            ):
                final = output
        except ValueError as error:  # vLLM's word for a prompt that it can never take, such as one over the context length
            _reject(request, str(error).splitlines()[0], self.name, emit)
            return
        except EngineDeadError as error:
            raise BackendUnavailable(
                f"vLLM's engine died at question {request.question_id}; what was finished is kept, and the same command goes on"
            ) from error
        assert final is not None
        for offset, completion in enumerate(sorted(final.outputs, key=lambda one: one.index)):
            emit(self._sample(request, request.first + offset, final, completion, monotonic() - begun))

    def _prompt(self, request: Request) -> dict[str, Any]:
        """Token ids with one placeholder per image, which vLLM expands. The template has written every special token."""
        rendered = self._chat.render(request.prompt, request.images)
        ids = self._chat.tokenizer.encode(rendered, add_special_tokens=False)
        prompt: dict[str, Any] = {"prompt_token_ids": [*ids, *request.prefix]}
        images = [image for shown in request.images for image in shown]
        if len(images) > self._config.max_images:
            raise Rejected(f"{len(images)} images, and max_images is {self._config.max_images}")
        if images:
            prompt["multi_modal_data"] = {"image": images}
        return prompt

    def _sampling(self, request: Request) -> "SamplingParams":
        from vllm.sampling_params import RequestOutputKind

        sampling = request.sampling
        return self._params(
            n=request.n,
            temperature=sampling.temperature,
            top_p=sampling.top_p,
            top_k=sampling.top_k or -1,
            # vLLM gives the n samples of a request this seed plus 0, 1, 2 ..., which is our numbering.
            seed=request.seed if sampling.temperature > 0 else None,
            max_tokens=sampling.max_tokens,
            stop=list(sampling.stop) or None,
            logprobs=0 if sampling.logprobs else None,
            output_kind=RequestOutputKind.FINAL_ONLY,
        )

    def _sample(
        self, request: Request, index: int, output: "RequestOutput", completion: "CompletionOutput", seconds: float
    ) -> Sample:
        prompt_ids = output.prompt_token_ids or []
        ids = tuple(completion.token_ids)
        finish: Finish = "length" if completion.finish_reason == "length" else "stop"
        logprobs = tuple(step[token].logprob for step, token in zip(completion.logprobs or (), ids, strict=False))
        return Sample(
            request.key,
            index,
            request.question_id,
            completion.text,
            finish=finish,
            prompt_tokens=len(prompt_ids) - len(request.prefix),
            image_tokens=self._chat.count_images(prompt_ids),
            completion_tokens=len(ids),
            token_ids=ids,
            logprobs=logprobs,
            engine=self.name,
            seconds=seconds,
        )


async def _start(engine: Any, arguments: Any) -> Any:
    """AsyncLLM ties itself to the event loop that runs when it is made."""
    return engine.from_engine_args(arguments)


def _reject(request: Request, reason: str, engine: str, emit: Emit) -> None:
    for index in range(request.first, request.first + request.n):
        emit(Sample(request.key, index, request.question_id, "", status="rejected", reason=reason, engine=engine))


def _config_of(config: VLLM) -> Mapping[str, Any]:
    from ttc.backends import folder

    return folder.config_of(config.location())


def _context_of(config: VLLM) -> int:
    found: Mapping[str, Any] = _config_of(config)
    text: Mapping[str, Any] = found.get("text_config", found)
    return int(text.get("max_position_embeddings", 4096))


def _has_gpu() -> bool:
    from vllm.platforms import current_platform

    return not current_platform.is_cpu()


def _lora(config: VLLM) -> Any:
    if config.adapter is None:
        return None
    from vllm.lora.request import LoRARequest

    return LoRARequest("adapter", 1, str(config.adapter))
