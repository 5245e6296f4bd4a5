"""Start-up time and peak memory of whole commands."""

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import yaml

from experiments.bench.pairs import Line, alternate
from experiments.unchanged import STATE

_CHILD = Path(__file__).with_name("child.py")
_TTC = ("-m", "experiments")


@dataclass(frozen=True, slots=True)
class Ended:
    """A command that ran."""

    seconds: float
    peak_bytes: int
    """Largest resident memory of one of its processes."""


def ended(*arguments: str) -> Ended:
    """Run Python with these arguments. Raises CalledProcessError, with what it wrote, where it fails."""
    command = [sys.executable, "-I", str(_CHILD), sys.executable, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    told = json.loads(done.stdout)
    if told["code"] != 0:
        raise subprocess.CalledProcessError(told["code"], command, stderr=done.stderr)
    return Ended(told["seconds"], told["peak_bytes"])


def start_up_and_memory(folder: Path, *, questions: int, n: int, pairs: int) -> list[Line]:
    """`ttc --help`, a run that draws nothing, and a run that draws with the pocket model.

    Each in seconds against a Python that does nothing but import torch; the memory of the last against loading the libraries.
    """
    scripted = {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "so it is 14. Answer: 14"], "pick": "seeded"}
    drawn = ("run", str(_config(folder, "scripted", scripted, questions, n)), "--out", str(folder / "scripted"))
    ended(*_TTC, *drawn)
    pocket = ("run", str(_config(folder, "pocket", {"kind": "transformers", "model": "pocket"}, questions, n)))
    commands = {"ttc --help": ("--help",), f"a run of {questions} questions x {n} that draws nothing": drawn}
    lines, peaks = [], []
    for what, arguments in commands.items():
        seen: list[Ended] = []

        def seconds(arguments: tuple[str, ...] = arguments, seen: list[Ended] = seen) -> float:
            (folder / "scripted" / STATE).unlink(missing_ok=True)  # else the stored results are shown
            seen.append(ended(*_TTC, *arguments))
            return seen[-1].seconds

        lines.append(alternate(what, seconds, "s", "import torch", lambda: ended("-c", "import torch").seconds, pairs=pairs))
        peaks.append(_memory(what, seen))
    drawing = [ended(*_TTC, *pocket, "--out", str(folder / "pocket"))]
    libraries = ended("-c", "import torch, transformers").peak_bytes
    peaks.append(_memory(f"a run of {questions} questions x {n} with the pocket model", drawing, libraries))
    return lines + peaks


def _memory(what: str, seen: list[Ended], libraries: int | None = None) -> Line:
    peak = median(one.peak_bytes for one in seen)
    against = "" if libraries is None else "import torch, transformers"
    return Line(f"{what}: peak memory", peak, "bytes", against, libraries, None if libraries is None else peak / libraries)


def _config(folder: Path, name: str, backend: dict[str, object], questions: int, n: int) -> Path:
    path = folder / f"{name}.yaml"
    content = {
        "benchmark": {"kind": "pocket", "split": "validation"},
        "backend": backend,
        "sampling": {"max_tokens": 96},
        "strategies": [{"kind": "vote", "n": n}, {"kind": "oracle", "n": n}],
        "limit": questions,
        "bank": str(folder / f"{name}-bank"),
    }
    path.write_text(yaml.safe_dump(content), encoding="utf-8")
    return path
