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
from ttc.records import LETTERS

SEQUENCES = 240
"""Drawn at a time."""

MAX_TOKENS = 96


@dataclass(frozen=True, slots=True)
class Drawn:
    """One question and n replies to it."""

    source: Problem
    replies: tuple[str, ...]
    tokens: int
    """Completion tokens of all replies, end tokens included."""

    @property
    def answers(self) -> list[str | None]:
        """What each reply ends in; None where it ends in no answer, or in one that is no option."""
        closing = (ANSWER.fullmatch(reply.strip().split("\n")[-1]) for reply in self.replies)
        said = (match["answer"] if match else None for match in closing)
        options = [str(option) for option in self.source.options]
        if self.source.is_pictured:
            options = list(LETTERS[: len(options)])
        return [answer if not options or answer in options else None for answer in said]

    @property
    def credits(self) -> list[float]:
        """1 for each right answer."""
        right = exam.answer_text(self.source) if self.source.is_pictured else str(self.source.answer)
        return [float(answer == right) for answer in self.answers]

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
    is_blank: bool = False,
) -> Iterator[Drawn]:
    """n replies to each question at temperature 1; greedy where n is 1. Shortest prompts first.

    Args:
        is_blank: every picture is empty paper, as a control: what the words alone give away.
    """
    import torch

    torch.manual_seed(seed)
    sampling = {"do_sample": True, "temperature": 1.0, "top_k": 0} if n > 1 else {"do_sample": False}
    asked = sorted(sources, key=lambda source: (len(exam.pictures(source)), bool(source.options), len(source.chain.text)))
    tokenizer = processor.tokenizer
    for start in range(0, len(asked), max(1, SEQUENCES // n)):
        part = asked[start : start + max(1, SEQUENCES // n)]
        inputs = _inputs(processor, part, style, is_blank)
        with torch.inference_mode():
            ids = model.generate(**inputs, **sampling, num_return_sequences=n, max_new_tokens=MAX_TOKENS)
        new = ids[:, inputs["input_ids"].shape[1] :]
        texts = tokenizer.batch_decode(new, skip_special_tokens=True)
        lengths = (new != tokenizer.pad_token_id).sum(dim=1)
        for place, source in enumerate(part):
            rows = slice(place * n, (place + 1) * n)
            yield Drawn(source, tuple(texts[rows]), int(lengths[rows].sum()))


def _inputs(processor: Any, sources: Sequence[Problem], style: str, is_blank: bool):
    texts = [pocket_model.asked(source, style) for source in sources]
    images = [list(exam.pictures(source)) for source in sources]
    if is_blank:
        images = [[Image.new("RGB", image.size, (235, 235, 235)) for image in seen] for seen in images]
    return processor(images=images, text=texts, padding=True, return_tensors="pt")


def table(drawn: Sequence[Drawn], budgets: Sequence[int]) -> str:
    """In Markdown: pass@k and vote@k by level and by subject, then how often each kind of error is a reply's first."""
    by_level = {level: [one for one in drawn if one.source.level == level] for level in exam.STEPS}
    by_subject = {name: [one for one in drawn if one.source.subject.name == name] for name in exam.SUBJECTS}
    lines = ["| | " + " | ".join(f"pass@{k} | vote@{k}" for k in budgets) + " |", "|---" * (2 * len(budgets) + 1) + "|"]
    lines += [_accuracies(name, rows, budgets) for name, rows in (by_level | by_subject).items() if rows]
    lines += ["", "| level | subject | replies | perception | knowledge | reasoning |", "|---" * 6 + "|"]
    for level, at_level in by_level.items():
        for name in exam.SUBJECTS:
            if rows := [one for one in at_level if one.source.subject.name == name]:
                lines.append(f"| {level} | {name} | {_errors(rows)} |")
    return "\n".join(lines)


def _accuracies(name: str, rows: Sequence[Drawn], budgets: Sequence[int]) -> str:
    cells = []
    for k in budgets:
        cells.append(np.mean([pass_at_k(one.credits, k) for one in rows]))
        cells.append(np.mean([vote_at_k(one.answers, one.credits, k) for one in rows]))
    return f"| {name} | " + " | ".join(f"{cell:.3f}" for cell in cells) + " |"


def _errors(rows: Sequence[Drawn]) -> str:
    kinds = Counter(kind for one in rows for kind in one.first_errors)
    replies = sum(len(one.replies) for one in rows)
    return f"{replies} | " + " | ".join(f"{kinds[kind] / replies:.3f}" for kind in ("perception", "knowledge", "reasoning"))


def main(
    folder: Annotated[Path, typer.Argument(help="A saved model.")],
    split: Annotated[str, typer.Option(help="validation, or test at the very end.")] = "validation",
    questions: Annotated[int, typer.Option(help="The first so many of the split.")] = 60,
    samples: Annotated[int, typer.Option(help="Replies to each.")] = 16,
    style: Annotated[str, typer.Option(help="cot or direct.")] = "cot",
    blank: Annotated[bool, typer.Option(help="Show empty paper: what do the words alone give away?")] = False,
) -> None:
    """Sample the model at temperature 1 and print its table."""
    import torch
    from transformers import AutoModelForImageTextToText, AutoProcessor

    torch.set_num_threads(1)
    model = AutoModelForImageTextToText.from_pretrained(folder)
    sources = list(islice(exam.problems(split), questions))
    drawn = list(draw(model, AutoProcessor.from_pretrained(folder), sources, n=samples, style=style, is_blank=blank))
    print(table(drawn, sorted({1, samples})))
    print(f"\n{sum(one.tokens for one in drawn) / sum(len(one.replies) for one in drawn):.1f} tokens a reply")


if __name__ == "__main__":
    typer.run(main)
