"""The bank against one file of JSON lines: the same samples written, committed, and read back."""

import json
import os
import time
from collections.abc import Callable, Sequence
from dataclasses import fields
from hashlib import sha256
from itertools import count
from pathlib import Path
from random import Random

from experiments.bench.pairs import Line, alternate
from ttc.bank import Bank
from ttc.records import Sample

_LOOKUPS = 20_000


def storage(folder: Path, *, keys: int, n: int, tokens: int, pairs: int) -> list[Line]:
    """Samples per second, bytes per sample, and gaps found per second.

    Args:
        keys: questions, each with `n` samples of `tokens` tokens.
    """
    samples = _samples(keys, n, tokens)
    names = [f"{key:064x}" for key in range(keys)]
    numbers = count()
    bank, lines = folder / "bank-0", folder / "lines-0.jsonl"

    def rate(act: Callable[[], object]) -> float:
        start = time.perf_counter()
        act()
        return len(samples) / (time.perf_counter() - start)

    def write() -> None:
        with Bank(folder / f"bank-{next(numbers)}").writer() as writer:
            for sample in samples:
                writer.add(sample)

    def read(*, tokens: bool) -> None:
        found = Bank(bank).samples(names, tokens=tokens)
        assert sum(map(len, found.values())) == len(samples)

    def lookups() -> float:
        opened = Bank(bank)
        opened.missing(names[0], n)
        start = time.perf_counter()
        for number in range(_LOOKUPS):
            opened.missing(names[number % keys], n)
        return _LOOKUPS / (time.perf_counter() - start)

    what, against = f"bank, {len(samples):,} samples of {tokens} tokens", "JSON lines"
    written = alternate(
        f"{what}: write", lambda: rate(write), "samples/s", against, lambda: rate(lambda: _dump(lines, samples)), pairs=pairs
    )
    both = [
        alternate(
            f"{what}: read{'' if wanted else ' without token ids'}",
            lambda wanted=wanted: rate(lambda: read(tokens=wanted)),
            "samples/s",
            against,
            lambda: rate(lambda: _load(lines)),
            pairs=pairs,
        )
        for wanted in (True, False)
    ]
    size, plain = _bytes(bank) / len(samples), lines.stat().st_size / len(samples)
    return [
        written,
        *both,
        Line(f"{what}: on disk", size, "bytes/sample", against, plain, size / plain),
        Line("bank: look for what a question lacks", lookups(), "lookups/s"),
    ]


def _samples(keys: int, n: int, tokens: int) -> list[Sample]:
    """Replies of random words: text that compresses no better than real one."""
    rng = Random(0)
    words = [sha256(str(number).encode()).hexdigest()[: rng.randint(2, 8)] for number in range(5_000)]
    samples = []
    for key in range(keys):
        for index in range(n):
            ids = tuple(rng.choices(range(5_000), k=tokens))
            text = " ".join(words[token] for token in ids)
            samples.append(
                Sample(f"{key:064x}", index, f"question-{key}", text, finish="stop", completion_tokens=tokens, token_ids=ids)
            )
    return samples


def _dump(path: Path, samples: Sequence[Sample]) -> None:
    names = [field.name for field in fields(Sample)]
    with path.open("w", encoding="utf-8") as file:
        for sample in samples:
            file.write(json.dumps({name: getattr(sample, name) for name in names}) + "\n")
        file.flush()
        os.fsync(file.fileno())


def _load(path: Path) -> list[Sample]:
    with path.open(encoding="utf-8") as file:
        return [Sample(**json.loads(line)) for line in file]


def _bytes(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
