"""The transformers backend against the library's own `generate`: the same weights, device, threads, requests and batches."""

import time
from collections.abc import Sequence
from typing import Any

import torch
from transformers import AutoProcessor

from experiments.bench.asking import answered, pocket_requests
from experiments.bench.pairs import Line, alternate
from ttc.backends.chat import Chat
from ttc.backends.engine import load_model
from ttc.backends.transformers import Transformers
from ttc.records import Request, Sampling

MAX_TOKENS = 96


def throughput(backend: Transformers, *, questions: int, n: int, per_call: Sequence[int], pairs: int) -> list[Line]:
    """Completion tokens per second of sampling, templates and image processing included.

    Args:
        per_call: questions that `generate` gets at once; a line for each.
    """
    requests = pocket_requests(backend, questions, n, Sampling(max_tokens=MAX_TOKENS))
    engine, plain = backend.open(), Plain(backend)

    def ours() -> float:
        start = time.perf_counter()
        samples = answered(engine, requests)
        return sum(sample.completion_tokens for sample in samples) / (time.perf_counter() - start)

    def theirs(size: int) -> float:
        start = time.perf_counter()
        tokens = sum(plain.generate(requests[at : at + size]) for at in range(0, len(requests), size))
        return tokens / (time.perf_counter() - start)

    what = f"transformers backend, {questions} questions x {n}"
    lines = [
        alternate(what, ours, "tokens/s", f"generate, {size} x {n} samples a call", lambda size=size: theirs(size), pairs=pairs)
        for size in per_call
    ]
    engine.close()
    return lines


class Plain:
    """The library as it is: one processor call, one `generate` with `num_return_sequences`, one decoding."""

    def __init__(self, backend: Transformers) -> None:
        self._model, takes_images = load_model(backend)
        self._chat = Chat.load(backend, takes_images=takes_images)
        self._processor: Any = AutoProcessor.from_pretrained(backend.location().name)
        self._processor.tokenizer.padding_side = "left"
        self._end_ids = sorted(self._chat.end_ids(self._model.generation_config.eos_token_id))

    @torch.inference_mode()
    def generate(self, requests: Sequence[Request]) -> int:
        """Draw the n samples of each request in one call; tell how many tokens they have, their ends included."""
        inputs = self._processor(
            text=[self._chat.render(request.prompt, request.images) for request in requests],
            images=[[image for shown in request.images for image in shown] for request in requests],
            padding=True,
            return_tensors="pt",
        ).to(self._model.device, self._model.dtype)
        whole = self._model.generate(
            **inputs,
            **self._how(requests[0].sampling),
            num_return_sequences=requests[0].n,
            max_new_tokens=requests[0].sampling.max_tokens,
            eos_token_id=self._end_ids,
        )
        drawn = whole[:, inputs["input_ids"].shape[1] :]
        self._processor.batch_decode(drawn, skip_special_tokens=True)
        ends = torch.isin(drawn, torch.tensor(self._end_ids, device=drawn.device))
        # a reply ends with its first end token; what follows is padding
        return int((ends.cumsum(-1) - ends.long() == 0).sum())

    @staticmethod
    def _how(sampling: Sampling) -> dict[str, object]:
        if sampling.temperature == 0:
            return {"do_sample": False}
        return {"do_sample": True, "temperature": sampling.temperature, "top_p": sampling.top_p, "top_k": sampling.top_k}
