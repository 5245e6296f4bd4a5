"""One script for a machine with one GPU: what the pocket model and a larger one reach there, in under 8 minutes.

    python experiments/bench/gpu.py --out DIR      # from a checkout; nothing is installed, nothing is fetched

Needs torch, transformers, pydantic and Pillow; where the last two are missing, the chip alone is measured. Without a GPU all
sizes are small and the CPU is measured. Writes DIR/gpu.json after every section, and DIR/gpu.txt at the end.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from experiments.bench.chips import peaks
from experiments.bench.pairs import Line, table

if TYPE_CHECKING:
    import torch

    from ttc.backends.transformers import Transformers
    from ttc.records import Request, Sample


@dataclass(frozen=True, slots=True)
class Size:
    """How much is measured."""

    matmul: int
    """Rows of the square matrices."""
    questions: int
    n: int
    per_call: int
    """Questions in one call of the library's `generate`."""
    batch_tokens: int
    pairs: int
    layers: int
    width: int
    """Of the larger model, which has random weights."""
    vocabulary: int
    sequences: int
    """Prompts of `tokens` tokens in the prefill whose FLOP rate is measured."""
    tokens: int
    samples: int
    """Of one prompt, with shared prefill."""
    new_tokens: int
    seconds: float
    """Of each FLOP rate, at least."""


GPU = Size(8192, 256, 16, 64, 1 << 18, 3, 16, 2048, 32_000, 8, 2048, 64, 64, 2.0)
CPU = Size(1024, 12, 8, 12, 1 << 16, 1, 4, 256, 2_048, 2, 256, 16, 16, 1.0)


class Bench:
    """The sections, in the order in which they are run."""

    def __init__(self, device: "torch.device", size: Size) -> None:
        self.device, self.size = device, size
        self.machine = machine(device)
        self.peaks = peaks(str(self.machine["device"]))
        self.reached: dict[str, float] = {}
        """Measured matmul FLOP/s by dtype."""

    def matmul(self) -> Iterator[Line]:
        """What a plain product of two square matrices reaches."""
        import torch
        from torch.utils.benchmark import Timer

        side = self.size.matmul
        # random numbers: a chip multiplies ones with less power, and so faster
        numbers = torch.randn(2, side, side, device=self.device, generator=self._generator())
        for dtype in ("bfloat16", "float32"):
            a, b = numbers.to(getattr(torch, dtype))
            timer = Timer("a @ b", globals={"a": a, "b": b}, num_threads=torch.get_num_threads())
            self.reached[dtype] = 2 * side**3 / timer.blocked_autorange(min_run_time=self.size.seconds).median
            peak = self.peaks.get(dtype)
            ratio = self.reached[dtype] / peak if peak else None
            yield Line(f"matmul {side}, {dtype}", self.reached[dtype], "FLOP/s", "data sheet" if peak else "", peak, ratio)

    def pocket_throughput(self) -> Iterator[Line]:
        """Sampling with the pocket model: FLOP rate, and tokens per second against the library's own loop."""
        from dataclasses import replace

        from experiments.bench.asking import pocket_requests
        from experiments.bench.throughput import MAX_TOKENS, throughput
        from ttc.records import Sampling

        for dtype in ("float32", "bfloat16"):
            backend = self._pocket(dtype)
            requests = pocket_requests(backend, self.size.questions, self.size.n, Sampling(max_tokens=MAX_TOKENS))
            drawn(backend, requests[:2])  # kernels are built with the first ones
            samples, seconds = drawn(backend, requests)
            yield self._rate(f"pocket model, {dtype}: sampling", flops_of(backend, samples) / seconds, dtype)
            size = self.size
            for line in throughput(backend, questions=size.questions, n=size.n, per_call=(size.per_call,), pairs=size.pairs):
                yield replace(line, what=f"{line.what}, {dtype}")

    def pocket_greedy(self) -> Iterator[Line]:
        """How many greedy replies are the same in both dtypes, and on the CPU."""
        from experiments.bench.asking import pocket_requests
        from experiments.bench.throughput import MAX_TOKENS
        from ttc.records import Sampling

        greedy = Sampling(max_tokens=MAX_TOKENS, temperature=0)
        backends = {f"float32 on {self.device.type}": self._pocket("float32")}
        backends[f"bfloat16 on {self.device.type}"] = self._pocket("bfloat16")
        backends["float32 on cpu"] = self._pocket("float32", "cpu")
        replies = {}
        for name, backend in backends.items():
            samples, _ = drawn(backend, pocket_requests(backend, self.size.questions, 1, greedy))
            replies[name] = [sample.token_ids for sample in samples]
        reference = replies.pop("float32 on cpu")
        for name, ids in replies.items():
            same = sum(a == b for a, b in zip(ids, reference, strict=True))
            count = len(reference)
            yield Line(f"greedy replies, {name}, same as float32 on cpu", same, "replies", "asked", count, same / count)

    def pocket_prefill(self) -> Iterator[Line]:
        """One prefill for all samples of a prompt against one for each."""
        from ttc.backends.engine import load_model

        for dtype in ("float32", "bfloat16"):
            model, _ = load_model(self._pocket(dtype))
            yield from self._prefill(f"pocket model, {dtype}", model)

    def larger_model(self) -> Iterator[Line]:
        """A Llama of random weights, large enough to keep the chip busy: prefill rate, and what a shared prefill saves."""
        import torch
        from torch.utils.benchmark import Timer

        from ttc.compute import ModelShape

        dtype = "bfloat16" if self.device.type == "cuda" else "float32"
        model = self._llama(dtype)
        weights = sum(parameter.numel() for parameter in model.parameters())
        name = f"Llama of {weights / 1e6:,.0f} M weights, {dtype}"
        ids = torch.randint(16, 128, (self.size.sequences, self.size.tokens), device=self.device, generator=self._generator())
        shape = ModelShape.from_config(model.config.to_dict())
        assert shape is not None
        with torch.inference_mode():
            run = {"model": model, "ids": ids}
            timer = Timer("model(ids, logits_to_keep=1)", globals=run, num_threads=torch.get_num_threads())
            seconds = timer.blocked_autorange(min_run_time=self.size.seconds).median
        flops = self.size.sequences * shape.prefill_flops(self.size.tokens)
        yield self._rate(f"{name}: prefill of {self.size.sequences} x {self.size.tokens}", flops / seconds, dtype)
        yield from self._prefill(name, model)

    def _pocket(self, dtype: Any, device: str | None = None) -> "Transformers":
        from ttc.backends.transformers import Transformers

        device = device or str(self.device)
        return Transformers(model="pocket", dtype=dtype, device=device, batch_tokens=self.size.batch_tokens)

    def _generator(self) -> "torch.Generator":
        import torch

        return torch.Generator(self.device).manual_seed(0)

    def _llama(self, dtype: str) -> Any:
        import torch
        from transformers import AutoModelForCausalLM, LlamaConfig

        size = self.size
        config = LlamaConfig(
            vocab_size=size.vocabulary,
            hidden_size=size.width,
            intermediate_size=4 * size.width,
            num_hidden_layers=size.layers,
            num_attention_heads=size.width // 64,
            num_key_value_heads=size.width // 256,
            max_position_embeddings=size.tokens + size.new_tokens,
        )
        with torch.random.fork_rng(), self.device:
            torch.manual_seed(0)
            return AutoModelForCausalLM.from_config(config, dtype=getattr(torch, dtype)).eval()

    def _prefill(self, name: str, model: Any) -> Iterator[Line]:
        from experiments.bench.prefill import shared_prefill

        size = self.size
        for tokens in (64, 512):
            yield shared_prefill(
                name, model, prompt_tokens=tokens, n=size.samples, new_tokens=size.new_tokens, pairs=size.pairs
            )

    def _rate(self, what: str, flops: float, dtype: str) -> Line:
        """A FLOP rate against the chip's peak, or against the matmul where the chip is not known."""
        against, peak = ("data sheet", self.peaks[dtype]) if self.peaks else ("matmul", self.reached[dtype])
        return Line(what, flops, "FLOP/s", against, peak, flops / peak)


def drawn(backend: "Transformers", requests: "list[Request]") -> "tuple[list[Sample], float]":
    """All samples, and the seconds that they took without loading the model."""
    from experiments.bench.asking import answered

    engine = backend.open()
    start = time.perf_counter()
    samples = answered(engine, requests)
    seconds = time.perf_counter() - start
    engine.close()
    return samples, seconds


def flops_of(backend: "Transformers", samples: "list[Sample]") -> float:
    """FLOPs of these samples by the accounting of a run: the prompt once per question."""
    from ttc.compute import sample_flops

    shape = backend.shape()
    return sum(sample_flops(shape, sample, prompt_is_new=sample.index == 0) or 0.0 for sample in samples)


def machine(device: "torch.device") -> dict[str, object]:
    """What was measured."""
    import torch
    import transformers

    on_gpu = device.type == "cuda"
    return {
        "device": torch.cuda.get_device_name(device) if on_gpu else "CPU",
        "memory_bytes": torch.cuda.get_device_properties(device).total_memory if on_gpu else None,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "transformers": transformers.__version__,
        "python": sys.version.split()[0],
    }


def main() -> int:
    """Exit code 1 where a section could not be measured; gpu.json says why."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True, help="folder for gpu.json and gpu.txt")
    parser.add_argument("--device", choices=("cuda", "cpu"), help="the GPU where there is one")
    parser.add_argument("--seconds", type=float, default=400, help="no section is begun after this many")
    asked = parser.parse_args()
    import torch

    device = torch.device(asked.device or ("cuda" if torch.cuda.is_available() else "cpu"))
    bench = Bench(device, GPU if device.type == "cuda" else CPU)
    asked.out.mkdir(parents=True, exist_ok=True)
    lines, missing = run(bench, asked.out / "gpu.json", asked.seconds)
    text = "\n".join([str(bench.machine), table(lines), *(f"not measured: {name}: {why}" for name, why in missing.items())])
    (asked.out / "gpu.txt").write_text(text + "\n", encoding="utf-8")
    print(text)
    return 1 if missing else 0


def run(bench: Bench, path: Path, limit_seconds: float) -> tuple[list[Line], dict[str, str]]:
    """Measure every section; what one lacks or breaks does not cost the others, since GPUs are lent by the minute."""
    start = time.perf_counter()
    lines: list[Line] = []
    missing: dict[str, str] = {}
    seconds: dict[str, float] = {}
    sections: list[Callable[[], Iterator[Line]]] = [
        bench.matmul,
        bench.larger_model,  # before the pocket model, which takes to one thread
        bench.pocket_greedy,
        bench.pocket_throughput,
        bench.pocket_prefill,
    ]
    for section in sections:
        name, begun = section.__name__, time.perf_counter()
        too_late = begun - start > limit_seconds
        if why := f"not begun after {limit_seconds:.0f} seconds" if too_late else trouble(section, lines):
            missing[name] = why
        seconds[name] = time.perf_counter() - begun
        content = {"machine": bench.machine, "seconds": seconds, "missing": missing, "lines": list(map(asdict, lines))}
        path.write_text(json.dumps(content, indent=1), encoding="utf-8")
    return lines, missing


def trouble(section: Callable[[], Iterator[Line]], lines: list[Line]) -> str:
    """Add a section's lines one by one; what stopped it, or nothing."""
    try:
        lines.extend(section())
    except ModuleNotFoundError as error:
        return f"the package {error.name} is not here"
    except (RuntimeError, ValueError) as error:  # the chip's own errors, memory among them; refused settings
        return f"{type(error).__name__}: {error}"
    return ""


if __name__ == "__main__":
    sys.exit(main())
