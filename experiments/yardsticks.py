"""What stands beside an accuracy: policies that read no question, human experts, and the samples that gave no answer."""

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from experiments.exhibits import GradedDraws, status_table
from ttc.benchmarks.baselines import HUMANS, HumanBand, baselines
from ttc.records import Exam


def yardsticks(exam: Exam) -> Mapping[str, Any]:
    """Baselines over exactly these questions, and what people reach on the benchmark, for `run.json`."""
    return {
        "baselines": [asdict(baseline) for baseline in baselines(exam)],
        "people": [asdict(band) for band in HUMANS if band.benchmark == exam.name],
    }


def reference_lines(exam: Exam) -> list[str]:
    """The same as lines for readers; that nothing can be graded, where the golds are hidden."""
    shown = [f"{baseline.name} {100 * baseline.accuracy:.2f} %" for baseline in baselines(exam)]
    hidden = "the golds are hidden: nothing is graded and every accuracy reads 0; `ttc submission` writes the answers"
    lines = [f"without looking: {', '.join(shown)}" if shown else hidden]
    unknown = sum(q.id not in exam.golds or not exam.golds[q.id].answers for q in exam.questions)
    if 0 < unknown < len(exam.questions):
        lines.append(f"{unknown:,} of {len(exam.questions):,} questions have no gold: nothing is right there, and they count")
    bands = [band for band in HUMANS if band.benchmark == exam.name]
    return lines + [_people([band for band in bands if band.who == who]) for who in dict.fromkeys(band.who for band in bands)]


def _people(bands: list[HumanBand]) -> str:
    """One group of people: all of the benchmark, then by discipline."""
    whole = next(band for band in bands if not band.discipline)
    median = f", median {100 * whole.median:.1f}" if whole.median is not None else ""
    parts = [f"{band.discipline} {_reach(band)}" for band in bands if band.discipline]
    by_discipline = f": {', '.join(parts)}" if parts else ""
    return f"people: {_reach(whole)}{median} %{by_discipline} ({whole.who}; {whole.source})"


def _reach(band: HumanBand) -> str:
    return f"{100 * band.low:.1f}" + (f" to {100 * band.high:.1f}" if band.high > band.low else "")


def unanswered_lines(graded: GradedDraws) -> list[str]:
    """Per draw, how many samples gave no answer, and why."""
    table = status_table(graded)
    return [f"{row['name']}: {_unanswered(dict(zip(table['columns'], row['counts'], strict=True)))}" for row in table["rows"]]


def _unanswered(counts: Mapping[str, int]) -> str:
    def named(*names: str) -> str:
        return ", ".join(f"{name} {counts[name]:,}" for name in names if counts.get(name))

    failed = named("media", "rejected")
    reasons = [f"{name} {counts[name]:,}" for name in ("truncated", "refused", "failed")]
    reasons[-1] += f" ({failed})" if failed else ""
    others = named("empty", "unclear", "abstained")
    beside = named("by the judge", "ungraded", "cut at the limit")
    silent = counts["samples"] - counts["answered"]
    return f"{silent:,} of {counts['samples']:,} samples unanswered: {', '.join(filter(None, [*reasons, others]))}" + (
        f"; {beside}" if beside else ""
    )
