"""The engine behind `Transformers`: loads the model, batches questions and samples under a token budget, and makes records."""

import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import torch
import transformers
from safetensors import SafetensorError

from ttc.backends.chat import Chat, Encoded, Rejected
from ttc.backends.decoding import Row, decode
from ttc.backends.transformers import Transformers
from ttc.errors import BackendUnavailable, UserError
from ttc.protocols import Inbox
from ttc.records import Finish, Request, Sample

_TINY_PARAMETERS = 20_000_000
_WINDOW = 4
"""Budgets of work taken from the inbox at a time: enough to sort by length, little enough to keep few images in memory."""
_LINGER_SECONDS = 0.005
"""Wait for requests that are on their way when the inbox looks empty: a batch of one costs as much as a full one."""


@dataclass(frozen=True, slots=True)
class Job:
    """A request that can be drawn."""

    request: Request
    encoded: Encoded
    """The prompt with the request's prefix at its end."""
    limit: int
    """Most new tokens: `max_tokens`, or what the context leaves."""
    taken: float

    @property
    def width(self) -> int:
        """Most tokens of one of its samples, prompt included."""
        return len(self.encoded.ids) + self.limit


class TransformersEngine:
    """See `ttc.protocols.Engine`."""

    def __init__(self, config: Transformers) -> None:
        self.name = f"transformers {transformers.__version__}"
        self._config = config
        self._model, takes_images = load_model(config)
        self._chat = Chat.load(config, takes_images=takes_images)
        self._context = config.max_context or getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self._end_ids = self._chat.end_ids(self._model.generation_config.eos_token_id)

    def close(self) -> None:
        """Free the device."""
        del self._model
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        """See `ttc.protocols.Engine`."""
        while (first := inbox.take(wait=True)) is not None:
            jobs: list[Job] = []
            for request in _waiting(first, inbox):
                try:
                    jobs.append(self._job(request))
                except Rejected as error:
                    yield from self._rejected(request, str(error))
                if sum(job.width * job.request.n for job in jobs) >= _WINDOW * self._config.batch_tokens:
                    break
            for batch in pack(jobs, self._config.batch_tokens):
                yield from self._draw(batch)

    def _job(self, request: Request) -> Job:
        taken = time.perf_counter()
        encoded = self._chat.encode(request.prompt, request.images)
        if self._chat.count_images(request.prefix):
            raise Rejected("the reply so far holds an image placeholder, which the model would take for an image")
        encoded = replace(encoded, ids=(*encoded.ids, *request.prefix))
        limit = request.sampling.max_tokens
        if self._context is not None:
            limit = min(limit, self._context - len(encoded.ids))
        if limit < 1:
            raise Rejected(
                f"the prompt has {len(encoded.ids)} tokens, which leaves none of the context of {self._context} for a reply"
            )
        return Job(request, encoded, limit, taken)

    def _rejected(self, request: Request, reason: str) -> Iterator[Sample]:
        for index in range(request.first, request.first + request.n):
            yield Sample(request.key, index, request.question_id, "", status="rejected", reason=reason, engine=self.name)

    def _draw(self, batch: Sequence[tuple[Job, range]]) -> Iterator[Sample]:
        jobs = [job for job, _ in batch]
        sampling = jobs[0].request.sampling
        rows = [
            Row(position, index, job.request.seed + index - job.request.first, job.limit)
            for position, (job, indices) in enumerate(batch)
            for index in indices
        ]
        prompts = [job.encoded for job in jobs]
        starts = [len(job.request.prefix) for job in jobs]
        try:
            for row in decode(self._model, prompts, starts, rows, sampling, lambda row: self._finish(row, jobs[row.prompt])):
                yield self._sample(row, jobs[row.prompt])
        except torch.OutOfMemoryError as error:
            tokens = len(rows) * max(job.width for job in jobs)
            raise BackendUnavailable(
                f"out of memory with {len(rows)} samples of {tokens} tokens in all; lower batch_tokens "
                f"from {self._config.batch_tokens}, or max_tokens, and run the same command again"
            ) from error

    def _finish(self, row: Row, job: Job) -> Finish:
        if row.ids[-1] in self._end_ids or self._stop_at(row, job) is not None:
            return "stop"
        return "length" if len(row.ids) >= row.limit else ""

    def _stop_at(self, row: Row, job: Job) -> int | None:
        """Where the first stop string begins in the text, if one is complete."""
        stops = job.request.sampling.stop
        if not stops:
            return None
        # a token adds at least one byte of text, so the tail holds any stop string that the last token completed
        reach = max(len(stop.encode()) for stop in stops) + 4
        tail = self._chat.decode(row.ids[-reach:], job.request.prefix if len(row.ids) < reach else ())
        if not any(stop in tail for stop in stops):
            return None
        text = self._chat.decode(row.ids, job.request.prefix)
        return min((place for stop in stops if (place := text.find(stop)) >= 0), default=None)

    def _sample(self, row: Row, job: Job) -> Sample:
        request = job.request
        ended = row.ids[-1] in self._end_ids
        text = self._chat.decode(row.ids[:-1] if ended else row.ids, request.prefix)
        length = len(text) if ended else self._stop_at(row, job)
        return Sample(
            key=request.key,
            index=row.index,
            question_id=request.question_id,
            text=text[:length],
            finish=row.finish,
            prompt_tokens=len(job.encoded.ids) - len(request.prefix),
            image_tokens=job.encoded.image_tokens,
            image_spans=job.encoded.image_spans,
            completion_tokens=len(row.ids),
            token_ids=tuple(row.ids),
            logprobs=tuple(row.logprobs),
            engine=self.name,
            seconds=time.perf_counter() - job.taken,
            tail="" if length is None else text[length:],
        )


def _waiting(first: Request, inbox: Inbox) -> Iterator[Request]:
    """The first request and all that follow it without a pause."""
    request: Request | None = first
    while request is not None:
        yield request
        request = inbox.take(wait=False)
        if request is None:
            time.sleep(_LINGER_SECONDS)
            request = inbox.take(wait=False)


def pack(jobs: Iterable[Job], budget_tokens: int) -> Iterator[list[tuple[Job, range]]]:
    """Batches of samples with one sampling and similar lengths, within the budget where a single sample is.

    Yields:
        jobs with the indices of their samples; a job with many samples is spread over several batches.
    """
    by_sampling = sorted(jobs, key=lambda job: (repr(job.request.sampling), len(job.encoded.ids), job.limit))
    for _, alike in groupby(by_sampling, key=lambda job: job.request.sampling):
        batch: list[tuple[Job, range]] = []
        rows = prompt = limit = 0
        for job in alike:
            left = range(job.request.first, job.request.first + job.request.n)
            prompt, limit = max(prompt, len(job.encoded.ids)), max(limit, job.limit)
            while left:
                room = max(budget_tokens // (prompt + limit) - rows, 0 if batch else 1)
                if room == 0:
                    yield batch
                    batch, rows, prompt, limit = [], 0, len(job.encoded.ids), job.limit
                    continue
                batch.append((job, left[:room]))
                rows += len(left[:room])
                left = left[room:]
        if batch:
            yield batch


def load_model(config: Transformers, *, headless: bool = False) -> tuple[Any, bool]:
    """The model on its device, and whether it takes images. Raises UserError where it cannot be loaded whole.

    Args:
        headless: the weights may lack the output layer: the caller puts another in its place.
    """
    device, location = _device(config.device), config.location()
    arguments: dict[str, Any] = {**location.arguments, "trust_remote_code": config.trust_remote_code}
    if config.gguf:
        arguments["gguf_file"] = config.gguf
    transformers.utils.logging.disable_progress_bar()
    try:
        model_config = transformers.AutoConfig.from_pretrained(location.name, **arguments)
        takes_images = type(model_config) in transformers.MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING
        loader = transformers.AutoModelForImageTextToText if takes_images else transformers.AutoModelForCausalLM
        loaded: Any = loader.from_pretrained(
            location.name,
            dtype=getattr(torch, config.number_type()),
            attn_implementation=config.attention,
            use_safetensors=None if config.gguf else True,
            output_loading_info=True,
            **arguments,
        )
        model, report = loaded
        if config.adapter:
            model.load_adapter(str(config.adapter))
    except (OSError, ValueError, ImportError, SafetensorError) as error:
        reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
        raise UserError(f"model {config.model} does not load: {reason}") from error
    if missing := sorted(set(report["missing_keys"]) - ({"lm_head.weight"} if headless else set())):
        raise UserError(
            f"model {config.model}: its weights lack {len(missing)} tensors, {missing[0]} the first; fetch or save it again"
        )
    if model.dtype == torch.float64 and model.config._attn_implementation == "eager":
        # the library's eager attention fills masked places with numbers that overflow its float32 softmax: padding gives NaN
        raise UserError(
            f"model {config.model}: float64 does not work with eager attention; set attention=sdpa or dtype=float32"
        )
    _tune(config, model, device)
    return model.to(device).eval(), takes_images


def _device(wanted: str) -> torch.device:
    """The device to use. Raises UserError where there is none such."""
    if wanted == "auto":
        wanted = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else "cpu"
    device = torch.device(wanted)
    gpus = torch.cuda.device_count()
    if (device.type == "cuda" and (device.index or 0) >= gpus) or (
        device.type == "mps" and not torch.backends.mps.is_available()
    ):
        raise UserError(f"device={wanted}: torch sees {gpus} CUDA devices here; set device=auto or device=cpu")
    return device


def _tune(config: Transformers, model: Any, device: torch.device) -> None:
    """Threads and attention where the config leaves them open: measured on models of 1 M parameters on a CPU."""
    tiny = sum(parameter.numel() for parameter in model.parameters()) <= _TINY_PARAMETERS
    threads = config.threads or (1 if tiny else None)
    if threads is not None:
        torch.set_num_threads(threads)
    # eager attention takes its softmax in float32, so it would spoil float64
    if config.attention is None and tiny and device.type == "cpu" and model.dtype == torch.float32:
        model.set_attn_implementation("eager")
