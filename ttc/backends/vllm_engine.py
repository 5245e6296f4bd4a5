# pyright: reportMissingImports=false
"""vLLM's asynchronous engine, kept full: all samples of a question are one request, each is handed out when it is finished."""

import asyncio
import gc
import os
import signal
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing import resource_tracker
from time import monotonic
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from ttc.backends import folder
from ttc.backends.chat import Chat, Rejected
from ttc.backends.pump import Call, Emit, cancel_others, pump
from ttc.backends.vllm import VLLM
from ttc.errors import BackendUnavailable, UserError
from ttc.protocols import Inbox
from ttc.records import Finish, Request, Sample

if TYPE_CHECKING:
    from vllm.engine.arg_utils import AsyncEngineArgs
    from vllm.outputs import CompletionOutput
    from vllm.sampling_params import SamplingParams

_ENVIRONMENT = {
    "VLLM_LOGGING_LEVEL": "ERROR",
    "VLLM_NO_USAGE_STATS": "1",
    "VLLM_WORKER_MULTIPROC_METHOD": "spawn",
    "TRANSFORMERS_VERBOSITY": "error",
    "TORCH_CPP_LOG_LEVEL": "ERROR",
    "PYTHONWARNINGS": "ignore::FutureWarning:vllm.triton_utils.dispatcher",
}
"""Unless the user has set them. Several processes of the engine write into the terminal that shows a run; and a fork of a run,
which has threads, can hang.
"""
_CLOSE_SECONDS = 60
"""Time for the engine's processes to free the device before they are killed."""
_ATTEMPTS = 3
"""At one request, before the run ends to be resumed."""
_WHOLE = 1 << 30
"""Tokens between two messages about an unfinished sample: none but the first is wanted."""


@dataclass(slots=True)
class _Drawn:
    """One sample as far as vLLM has told."""

    offset: int
    """Its number within the request."""
    ids: list[int] = field(default_factory=list)
    logprobs: list[float] = field(default_factory=list)
    finish: Finish = ""
    prompt_ids: Sequence[int] = ()
    """Images expanded."""

    def add(self, completion: "CompletionOutput") -> None:
        self.ids += completion.token_ids
        for token, step in zip(completion.token_ids, completion.logprobs or (), strict=False):
            self.logprobs.append(step[token].logprob)


class VLLMEngine:
    """See `ttc.protocols.Engine`."""

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
            self._context = settings.model_config.max_model_len
            self._chat = Chat.load(config, takes_images=settings.model_config.is_multimodal_model)
            declared = settings.model_config.try_get_generation_config().get("eos_token_id")
            self._end_ids = self._chat.end_ids(declared)
            with _deaf_children():
                self._engine = self._runner.run(_start(AsyncLLM, settings))
        except UserError:
            self._runner.close()
            raise
        except (ValueError, RuntimeError, OSError) as error:
            self._runner.close()
            raise UserError(f"backend vllm: model {config.model} does not start: {_reason(error)}") from error

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        """See `ttc.protocols.Engine`."""
        return pump(self._runner, inbox, self._draw, lambda _: self._drawing < self._most)

    def close(self) -> None:
        """Give up what is in flight, end the engine's processes, free the devices."""
        self._runner.run(cancel_others())
        self._engine.shutdown(timeout=_CLOSE_SECONDS)
        self._runner.close()
        # It lies in a reference cycle, and its destructor fails when it runs as late as Python's own end.
        del self._engine
        gc.collect()

    def _draw(self, request: Request, emit: Emit) -> Iterator[Call]:
        # vLLM refuses n greedy samples in one request: they are n times the same
        n = 1 if request.sampling.temperature == 0 else request.n
        for offset in range(0, request.n, n):
            self._drawing += n
            yield self._generate(replace(request, first=request.first + offset, n=n, seed=request.seed + offset), emit)

    async def _generate(self, request: Request, emit: Emit) -> None:
        from vllm.exceptions import VLLMClientError
        from vllm.v1.engine.exceptions import EngineDeadError

        begun = monotonic()
        left = set(range(request.n))
        try:
            for _ in range(_ATTEMPTS):
                async for drawn in self._finished(request):
                    if drawn.offset in left:
                        left.remove(drawn.offset)
                        self._drawing -= 1
                        emit(self._sample(request, drawn, monotonic() - begun))
                if not left:
                    return
        except Rejected as error:
            self._drawing -= len(left)
            reason = next(iter(str(error).strip().splitlines()), "refused without a reason")
            for index in sorted(request.first + offset for offset in left):
                emit(Sample(request.key, index, request.question_id, "", status="rejected", reason=reason, engine=self.name))
            return
        except VLLMClientError as error:  # not of the prompt, which was rendered, but of a setting that all requests share
            raise UserError(
                f"backend vllm: refuses question {request.question_id}: {error}; mend the run's sampling"
            ) from error
        except EngineDeadError as error:
            raise BackendUnavailable(
                f"vLLM's engine died at question {request.question_id}; what was finished is kept, and the same command goes on"
            ) from error
        raise BackendUnavailable(
            f"vLLM gave up {len(left)} samples of question {request.question_id} in each of {_ATTEMPTS} attempts; what was "
            "finished is kept, and the same command goes on"
        )

    async def _finished(self, request: Request) -> AsyncIterator[_Drawn]:
        """The samples of one attempt, each as soon as it is finished.

        Left out are those that vLLM gives up: it does where its engine is told to stop, and where an image is not in the
        engine's cache though the front end had counted on it, which a second attempt mends.
        """
        prompt = await self._prompt(request)
        drawn = [_Drawn(offset) for offset in range(request.n)]
        name = f"{request.key}-{request.first}"
        async for output in self._engine.generate(prompt, self._sampling(request), name, lora_request=self._lora):
            for completion in output.outputs:
                one = drawn[completion.index]
                one.add(completion)
                if completion.finish_reason in ("stop", "length"):
                    one.finish, one.prompt_ids = completion.finish_reason, output.prompt_token_ids
                    yield one

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
        if (length := len(rendered["prompt_token_ids"])) >= self._context:
            raise Rejected(f"the prompt has {length} tokens, which leaves none of the context of {self._context} for a reply")
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

    def _sample(self, request: Request, drawn: _Drawn, seconds: float) -> Sample:
        ended = drawn.ids[-1] in self._end_ids
        whole = self._chat.decode(drawn.ids[:-1] if ended else drawn.ids, request.prefix)
        text = whole if ended else _until(whole, request.sampling.stop)
        spans = self._chat.image_spans(drawn.prompt_ids)
        return Sample(
            request.key,
            request.first + drawn.offset,
            request.question_id,
            text,
            finish=drawn.finish,
            prompt_tokens=len(drawn.prompt_ids) - len(request.prefix),
            image_tokens=sum(spans),
            image_spans=spans,
            completion_tokens=len(drawn.ids),
            token_ids=tuple(drawn.ids),
            logprobs=tuple(drawn.logprobs),
            engine=self.name,
            seconds=seconds,
            tail=whole[len(text) :],
        )


@contextmanager
def _deaf_children() -> Iterator[None]:
    """Processes started inside never get a Ctrl-C, which a terminal sends to all of a run: what is in flight is to be finished.

    A blocked signal stays blocked in what a thread starts, whatever handlers vLLM sets there. It ends its processes otherwise.
    """
    resource_tracker.ensure_running()  # its start would unblock the signal
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


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
