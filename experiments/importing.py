"""Foreign outputs into the bank: every reply a sample, under the keys of a run that replays them.

outputs -> questions, golds (benchmark `outputs`) -> replies (backend `replay`) -> bank
"""

import asyncio
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from experiments.config import RunConfig, validate
from ttc import outputs as foreign
from ttc import prompts
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.draw import Style
from ttc.records import Exam


@dataclass(frozen=True, slots=True)
class Imported:
    """What an import found and did."""

    settings: Mapping[str, Any]
    """Of the run whose samples these are, as its YAML file would have them."""
    exam: Exam
    replies: int
    """All replies of the outputs, those that their run failed to get included."""
    added: int
    """Those that the bank did not hold."""


def import_outputs(
    path: Path, bank: Path, *, benchmark: str | None = None, form: str | None = None, style: Style = "cot"
) -> Imported:
    """Put every reply into the bank.

    Args:
        benchmark: mmmu, mmmu_pro, mmvu or jsonl; told by the form of the outputs where None.
        form: of the outputs; told by their content where None.
        style: the prompt style that the replies were drawn under, for the record; part of their keys.

    Raises:
        UserError: the outputs cannot be read, or a name is unknown.
    """
    outputs = {"benchmark": benchmark or foreign.benchmark_of(path), **({"form": form} if form else {})}
    settings: dict[str, Any] = {
        "benchmark": {"kind": "outputs", "path": str(path), **outputs},
        "backend": {"kind": "replay", "outputs": str(path), **outputs},
        "strategies": [{"kind": style, "greedy": False}],
        "bank": str(bank),
    }
    config = validate(settings, f"import {path}")
    found = foreign.read(path, outputs["benchmark"], form=form)
    counts = Counter(reply.id for reply in found.replies)
    n = min(counts.values())
    if n > 1 and style == "cot":
        settings["strategies"] = [{"kind": "vote", "n": n}, {"kind": "oracle", "n": n}]
    if found.form == "samples":
        settings["judge"] = {"kind": "stored", "outputs": str(path), **outputs}
    exam = config.benchmark.load()
    return Imported(settings, exam, counts.total(), asyncio.run(_draw(config, exam, counts, style)))


async def _draw(config: RunConfig, exam: Exam, counts: Mapping[str, int], style: Style) -> int:
    async with Dispatcher(config.backend, Bank(config.bank), run_seed=config.seed, run="import") as dispatcher:
        draws = (
            dispatcher.samples(q, prompts.render(q, style=style, config=config.prompt), config.sampling, counts[q.id])
            for q in exam.questions
        )
        await asyncio.gather(*draws)
        return dispatcher.executed.samples
