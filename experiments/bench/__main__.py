"""`python -m experiments.bench`: one table of what this machine gives, each figure against a plain way to do the same."""

import dataclasses
import importlib.util
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from experiments.bench.pairs import Line, table


class Size(StrEnum):
    """Under a minute or two on two cores, or long enough for two digits."""

    small = "small"
    full = "full"


class Part(StrEnum):
    """What is measured."""

    processes = "processes"
    curve = "curve"
    storage = "storage"
    throughput = "throughput"
    prefill = "prefill"
    vllm = "vllm"


def main(
    size: Annotated[Size, typer.Option(help="How much is measured.")] = Size.small,
    parts: Annotated[list[Part] | None, typer.Argument(help="Only these parts.", show_default="all")] = None,
    out: Annotated[Path | None, typer.Option(help="JSON file for the figures.")] = None,
) -> None:
    """Start-up and memory, the cost of a curve, the bank, the engines' throughput, and shared prefill."""
    wanted = parts or list(Part)
    lines: list[Line] = []
    with tempfile.TemporaryDirectory() as folder:
        for part in wanted:
            print(f"measuring {part} ...", file=sys.stderr)
            lines += measure(part, size, Path(folder))
    print(table(lines))
    if out is not None:
        out.write_text(json.dumps([dataclasses.asdict(line) for line in lines], indent=1), encoding="utf-8")


def measure(part: Part, size: Size, folder: Path) -> Iterator[Line]:
    """The lines of one part; its files go into the folder."""
    full = size is Size.full
    pairs = 5 if full else 3
    match part:
        case Part.processes:
            from experiments.bench.processes import start_up_and_memory

            yield from start_up_and_memory(folder, questions=60 if full else 12, n=16 if full else 4, pairs=pairs)
        case Part.curve:
            from experiments.bench.curve import cost_of_a_curve

            yield from cost_of_a_curve(folder, questions=120 if full else 24, largest=64)
        case Part.storage:
            from experiments.bench.storage import storage

            yield from storage(folder, keys=1_000 if full else 100, n=64, tokens=300, pairs=pairs)
        case Part.throughput:
            from experiments.bench.throughput import throughput
            from ttc.backends.transformers import Transformers

            yield from throughput(
                Transformers(model="pocket"), questions=96 if full else 16, n=16, per_call=(16, 1), pairs=pairs
            )
        case Part.prefill:
            from experiments.bench.prefill import shared_prefill
            from ttc.backends.engine import load_model
            from ttc.backends.transformers import Transformers

            model, _ = load_model(Transformers(model="pocket"))
            for prompt_tokens in (64, 512):
                yield shared_prefill("pocket model", model, prompt_tokens=prompt_tokens, n=64, new_tokens=32, pairs=pairs)
        case Part.vllm:
            if importlib.util.find_spec("vllm") is None:
                print("no vLLM here: run this in the environment of `make install-vllm` for its line", file=sys.stderr)
                return
            from experiments.bench.engines import engines

            os.environ.setdefault("VLLM_CPU_OMP_THREADS_BIND", "nobind")
            yield engines(questions=200 if full else 40, n=16, pairs=pairs)


if __name__ == "__main__":
    typer.run(main)
