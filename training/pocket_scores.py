"""What the embedded model can do: accuracy at every budget, and which kinds of error it makes, for the card.

python -m training.pocket_scores ttc/pocket/model --split validation --questions 60 --samples 16
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer
from PIL import Image

from training import pocket_model
from ttc.estimators import pass_at_k, vote_at_k
from ttc.pocket import exam
from ttc.pocket.checker import ANSWER, check
from ttc.pocket.problem import Problem
from ttc.prompts import render

SEQUENCES = 240
"""Drawn at a time."""

MAX_TOKENS = 80


@dataclass(frozen=True, slots=True)
class Drawn:
    """One question and n replies to it."""

    source: Problem
    replies: tuple[str, ...]
    tokens: int
    """Completion tokens of all replies, end tokens included."""

    @property
    def answers(self) -> list[str | None]:
        """The number each reply ends in; None where it ends in no answer, or in a number that is no option."""
        closing = (ANSWER.fullmatch(reply.strip().split("\n")[-1]) for reply in self.replies)
        said = (match["answer"] if match else None for match in closing)
        options = [str(option) for option in self.source.options]
        return [answer if not options or answer in options else None for answer in said]

    @property
    def credits(self) -> list[float]:
        """1 for each right answer."""
        return [float(answer == str(self.source.answer)) for answer in self.answers]

    @property
    def first_errors(self) -> list[str]:
        """The kind of the first wrong step of each reply that has one."""
        checks = (check(self.source, reply) for reply in self.replies)
        return [next(step.kind for step in steps if not step.on_track) for steps in checks if steps and not steps[-1].on_track]


def draw(
    model: Any,
    processor: Any,
    sources: Sequence[Problem],
    *,
    n: int,
    style: str = "cot",
    seed: int = 0,
) -> Iterator[Drawn]:
    """n replies to each question at temperature 1; greedy where n is 1. Shortest prompts first."""
    import torch

    torch.manual_seed(seed)
    sampling = {"do_sample": True, "temperature": 1.0, "top_k": 0} if n > 1 else {"do_sample": False}
    asked = sorted(sources, key=lambda source: (bool(source.options), len(source.chain.text)))
    tokenizer = processor.tokenizer
    for start in range(0, len(asked), max(1, SEQUENCES // n)):
        part = asked[start : start + max(1, SEQUENCES // n)]
        inputs = _inputs(processor, part, style)
        with torch.inference_mode():
            ids = model.generate(**inputs, **sampling, num_return_sequences=n, max_new_tokens=MAX_TOKENS)
        new = ids[:, inputs["input_ids"].shape[1] :]
        texts = tokenizer.batch_decode(new, skip_special_tokens=True)
        lengths = (new != tokenizer.pad_token_id).sum(dim=1)
        for place, source in enumerate(part):
            rows = slice(place * n, (place + 1) * n)
            yield Drawn(source, tuple(texts[rows]), int(lengths[rows].sum()))


def _inputs(processor: Any, sources: Sequence[Problem], style: str):
    questions = [exam.question(source) for source in sources]
    texts = [pocket_model.spoken(render(question, style=style)) for question in questions]
    images = [[_opened(source)] for source in sources]
    return processor(images=images, text=texts, padding=True, return_tensors="pt")


def _opened(source: Problem) -> Image.Image:
    from io import BytesIO

    return Image.open(BytesIO(exam.picture(source)))


def table(drawn: Sequence[Drawn], budgets: Sequence[int]) -> str:
    """Lines of pass@k and vote@k by level, and of first errors by level and subject, in Markdown."""
    lines = ["| level | " + " | ".join(f"pass@{k} | vote@{k}" for k in budgets) + " |", "|---" * (2 * len(budgets) + 1) + "|"]
    for level in exam.STEPS:
        cells = []
        rows = [one for one in drawn if one.source.level == level]
        for k in budgets:
            cells.append(np.mean([pass_at_k(one.credits, k) for one in rows]))
            cells.append(np.mean([vote_at_k(one.answers, one.credits, k) for one in rows]))
        lines.append(f"| {level} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |")
    lines += ["", "| level | subject | replies | perception | knowledge | reasoning |", "|---" * 6 + "|"]
    for level in exam.STEPS:
        for subject in exam.SUBJECTS:
            rows = [one for one in drawn if (one.source.level, one.source.subject.name) == (level, subject)]
            kinds = Counter(kind for one in rows for kind in one.first_errors)
            replies = sum(len(one.replies) for one in rows)
            shares = " | ".join(f"{kinds[kind] / replies:.3f}" for kind in ("perception", "knowledge", "reasoning"))
            lines.append(f"| {level} | {subject} | {replies} | {shares} |")
    return "\n".join(lines)


def main(
    folder: Annotated[Path, typer.Argument(help="A saved model.")],
    split: Annotated[str, typer.Option(help="validation, or test at the very end.")] = "validation",
    questions: Annotated[int, typer.Option(help="The first so many of the split.")] = 60,
    samples: Annotated[int, typer.Option(help="Replies to each.")] = 16,
    style: Annotated[str, typer.Option(help="cot or direct.")] = "cot",
) -> None:
    """Sample the model at temperature 1 and print its table."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    torch.set_num_threads(1)
    model = AutoModelForImageTextToText.from_pretrained(folder)
    drawn = list(
        draw(
            model, AutoProcessor.from_pretrained(folder), list(islice(exam.problems(split), questions)), n=samples, style=style
        )
    )
    print(table(drawn, sorted({1, samples})))
    print(f"\n{sum(one.tokens for one in drawn) / sum(len(one.replies) for one in drawn):.1f} tokens a reply")


if __name__ == "__main__":
    typer.run(main)
