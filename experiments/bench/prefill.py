"""What it saves to prefill a prompt once for all its samples."""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch

from experiments.bench.pairs import Line, alternate
from ttc.backends.chat import Encoded
from ttc.backends.decoding import Row, decode
from ttc.records import Finish, Sampling


def shared_prefill(name: str, model: Any, *, prompt_tokens: int, n: int, new_tokens: int, pairs: int) -> Line:
    """Seconds for n samples of one prompt, prefilled once or for each sample; noted how many are the same both ways.

    Args:
        model: any with a language head; the prompt is text of random tokens.
    """
    sampling = Sampling(max_tokens=new_tokens)
    # the first ids of a vocabulary are its special tokens
    ids = torch.randint(16, 128, (prompt_tokens,), generator=torch.Generator().manual_seed(prompt_tokens)).tolist()
    prompt = Encoded(tuple(ids), 0, {})
    drawn: dict[str, list[list[int]]] = {}

    def seconds(way: str, prompts: Sequence[Encoded], prompt_of: Sequence[int]) -> float:
        rows = [Row(place, index, seed=1_000 + index, limit=new_tokens) for index, place in enumerate(prompt_of)]
        start = time.perf_counter()
        for _ in decode(model, prompts, [0] * len(prompts), rows, sampling, _at_limit):
            pass
        drawn[way] = [row.ids for row in rows]
        return time.perf_counter() - start

    line = alternate(
        f"{name}: {n} samples of {new_tokens} tokens after {prompt_tokens}, one prefill",
        lambda: seconds("shared", [prompt], [0] * n),
        "s",
        "a prefill per sample",
        lambda: seconds("each", [prompt] * n, range(n)),
        pairs=pairs,
    )
    same = sum(a == b for a, b in zip(drawn["shared"], drawn["each"], strict=True))
    return replace(line, note=f"{same} of {n} samples the same")


def _at_limit(row: Row) -> Finish:
    """Every sample has the same length, so that both ways do the same work."""
    return "length" if len(row.ids) == row.limit else ""
