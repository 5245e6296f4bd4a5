# pyright: reportMissingImports=false
"""The vLLM backend against a bare loop over the same asynchronous engine: `python -m experiments.bench.engines`.

In vLLM's environment; five minutes on two cores.
"""

import asyncio
import os
from collections.abc import Sequence
from time import perf_counter
from typing import Any

import typer

from experiments.bench.asking import Waiting, pocket_requests
from experiments.bench.pairs import Line, alternate, table
from ttc.backends import VLLM
from ttc.backends.chat import Chat
from ttc.records import Request, Sampling


class BareLoop:
    """All requests at once, final outputs only, templates applied beforehand, tokens counted and nothing else."""

    def __init__(self, backend: VLLM, requests: Sequence[Request]) -> None:
        from vllm import SamplingParams
        from vllm.sampling_params import RequestOutputKind

        chat = Chat.load(backend, takes_images=True)
        self._calls: list[tuple[dict[str, Any], Any]] = []
        for request in requests:
            text = chat.render(request.prompt, request.images)
            prompt = {
                "prompt_token_ids": chat.tokenizer.encode(text, add_special_tokens=False),
                "multi_modal_data": {"image": [image for shown in request.images for image in shown]},
            }
            params = SamplingParams(
                n=request.n,
                seed=request.seed,
                max_tokens=request.sampling.max_tokens,
                output_kind=RequestOutputKind.FINAL_ONLY,
            )
            self._calls.append((prompt, params))

    async def tokens(self, engine: Any) -> int:
        """Tokens of all samples."""
        return sum(await asyncio.gather(*(_one(engine, str(i), *call) for i, call in enumerate(self._calls))))


async def _one(engine: Any, name: str, prompt: dict[str, Any], params: Any) -> int:
    (rendered,) = await engine.renderer.render_cmpl_async([prompt])
    tokens = 0
    async for output in engine.generate(rendered, params, name):
        tokens = sum(len(completion.token_ids) for completion in output.outputs)
    return tokens


def engines(questions: int, n: int, pairs: int) -> Line:
    """Completion tokens per second of the same samples, drawn both ways."""
    backend = VLLM(model="pocket", eager=True)
    requests = pocket_requests(backend, questions, n, Sampling(max_tokens=96))
    engine: Any = backend.open()
    loop = BareLoop(backend, requests)

    def ours() -> float:
        begun = perf_counter()
        tokens = sum(sample.completion_tokens for sample in engine.serve(Waiting(requests)))
        return tokens / (perf_counter() - begun)

    def theirs() -> float:
        begun = perf_counter()
        return engine._runner.run(loop.tokens(engine._engine)) / (perf_counter() - begun)

    for warm_up in (theirs, ours):  # fills the caches of images and prompts
        warm_up()
    line = alternate(
        f"vllm backend, {questions} questions x {n}", ours, "tokens/s", "bare loop over its engine", theirs, pairs=pairs
    )
    engine.close()
    return line


def main(questions: int = 200, n: int = 16, pairs: int = 5) -> None:
    """Print the medians, and the median ratio."""
    os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
    print(table([engines(questions, n, pairs)]))


if __name__ == "__main__":
    typer.run(main)
