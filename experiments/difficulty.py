"""What difficulty does to compute: gaps between levels, what stays unsolved, and which budget suits which level.

Levels are a field of the data, or bins made from the samples. Bins judged on the samples that made them are biased: chance
alone puts a lucky question among the easy ones. So one half of a question's samples makes its bin and the other half is judged
there, and the reverse; each question is then two rows of one cluster, and everything else works as with levels of the data.

"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pydantic import TypeAdapter

from experiments import folder
from experiments.curves import Curves, curves
from experiments.gaps import Estimate, LevelGap, level_gaps
from experiments.halves import Halves
from experiments.panel import Outcomes, Panel
from experiments.policy import Policies, policies
from experiments.tariffs import read_tariffs
from ttc import statistics
from ttc.errors import UserError
from ttc.records import Question

LEVEL = "topic_difficulty"
BIN = "difficulty_bin"
"""Field that holds a question's cross-fitted bin."""


@dataclass(frozen=True, slots=True)
class Unsolved:
    """Questions of a level without any right sample."""

    level: str
    questions: int
    share: Estimate
    n: int
    """Fewest samples that any of its questions had."""
    bound: float
    """Success rate that a question without a right one among n may still have, at 95 % confidence: 0.046 for 64."""


@dataclass(frozen=True, slots=True)
class Difficulty:
    """The whole analysis of one run."""

    levels: tuple[str, ...]
    """From the easiest to the hardest."""
    source: str
    """The field that the levels come from; `difficulty_bin` for cross-fitted bins."""
    curves: Curves
    """Accuracy and losses by level."""
    gaps: tuple[LevelGap, ...]
    unsolved: tuple[Unsolved, ...]
    policies: Policies | None
    """None where no strategy of known cost has two samples."""

    def to_json(self) -> str:
        """For other programs."""
        return TypeAdapter(Difficulty).dump_json(self, indent=1).decode()


def analyse(
    run: Path,
    *,
    by: str = "",
    bins: int = 0,
    axis: str = "total_tokens",
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> Difficulty:
    """Analyse a finished run; nothing is drawn.

    Args:
        by: the field with the levels; where empty and `bins` is 0, topic_difficulty, or the first of the run's own `by`.
        bins: number of cross-fitted bins; 5 where there are no levels.
        axis: what the budgets of policies count.

    Raises:
        UserError: no such field, both given, or too few samples for halves.
    """
    if by and bins:
        raise UserError(f"--by {by} --bins {bins}: levels come from a field or from bins; give one of them")
    asked, outcomes = folder.read_outcomes(run)
    halves, credits = folder.read_halves(run), folder.read_credits(run)
    manifest = folder.read_manifest(run)
    facts, tariffs = manifest["strategies"], read_tariffs(manifest)
    golds = frozenset(name for name, strategy in facts.items() if strategy["uses_gold"])
    oracles = {name: strategy["oracle"] for name, strategy in facts.items() if strategy["oracle"]}
    known = [LEVEL] * any(q.values(LEVEL) for q in asked) + list(manifest["config"].get("by") or ())
    questions, field = asked, by or ("" if bins or not known else known[0])
    if field:
        labels = {q.id: values[0] for q in asked if (values := q.values(field))}
        levels = labels, labels
    else:
        field, levels = BIN, crossfit(asked, credits, bins or 5)
        questions, outcomes, credits = doubled(asked, halves, credits, levels)
    found = curves(
        questions,
        outcomes,
        by=(field,),
        oracles=oracles,
        golds=golds - set(oracles.values()),
        tariffs=tariffs,
        draws=draws,
        seed=seed,
    )
    names = tuple(group.value for group in found.by(field))
    rows = {level: [row for row, q in enumerate(questions) if level in q.values(field)] for level in names}
    easy, hard = ("Easy", "Hard") if {"Easy", "Hard"} <= rows.keys() else (names[0], names[-1])
    panel = Panel.build(questions, outcomes, tariffs.strategies)
    gaps = level_gaps(panel, rows[easy], rows[hard], skip=golds, draws=draws, seed=seed) if easy != hard else ()
    stuck = tuple(unsolved([questions[row] for row in rows[level]], credits, level) for level in names)
    if field == BIN:  # each question is there twice, once under either half's bin
        stuck = tuple(replace(one, questions=one.questions // 2) for one in stuck)
        found = replace(found, groups=tuple(replace(group, questions=group.questions // 2) for group in found.groups))
    best = policies(asked, halves, levels, golds, axis=axis, tariffs=tariffs.strategies, draws=draws, seed=seed)
    return Difficulty(names, field, found, gaps, stuck, best)


Levels = tuple[Mapping[str, str], Mapping[str, str]]
"""For judging on the first and on the second half: question id -> level."""


def crossfit(questions: Sequence[Question], credits: Mapping[str, Sequence[float]], bins: int) -> Levels:
    """Bins of equal size for judging on one half of the samples, each made from the other half.

    Args:
        credits: of the samples of each question, in index order; a question without any counts as never solved.
    """
    halves = [{q.id: credits.get(q.id, ())[which::2] for q in questions} for which in (1, 0)]
    if min((len(column) for half in halves for i, column in half.items() if i in credits), default=0) < 1:
        raise UserError("bins need two samples of every question; add a strategy with a larger n, or give a field of the data")
    first, second = (binned({i: sum(c) / max(len(c), 1) for i, c in half.items()}, bins) for half in halves)
    return first, second


def binned(rates: Mapping[str, float], bins: int) -> dict[str, str]:
    """Question id -> bin, by falling rate of success; ties go by a hash of the id, hence not by the order of the data."""
    ranked = sorted(rates, key=lambda i: (-rates[i], hashlib.sha256(i.encode()).digest()))
    words = {0: " (easiest)", bins - 1: " (hardest)"}
    return {i: f"{(b := rank * bins // len(ranked)) + 1}{words.get(b, '')}" for rank, i in enumerate(ranked)}


def doubled(
    questions: Sequence[Question], halves: Halves, credits: Mapping[str, Sequence[float]], levels: Levels
) -> tuple[list[Question], Outcomes, dict[str, Sequence[float]]]:
    """Every question twice, as a cluster: under the bin that one half gave it, with the outcomes of the other."""
    twice, outcomes, tries = [], {name: {} for name in halves.outcomes[0]}, {}
    for half in (0, 1):
        for question in questions:
            name = f"{question.id} half {half}"
            cluster = question.cluster or f"alone {question.id}"
            twice.append(replace(question, id=name, cluster=cluster, fields={BIN: levels[half][question.id]}))
            tries[name] = credits.get(question.id, ())[half::2]
            for strategy, by_id in halves.outcomes[half].items():
                if question.id in by_id:
                    outcomes[strategy][name] = by_id[question.id]
    return twice, outcomes, tries


def unsolved(questions: Sequence[Question], credits: Mapping[str, Sequence[float]], level: str) -> Unsolved:
    """The share of a level's questions without any right sample; one without samples is among them."""
    tries = [credits.get(question.id, ()) for question in questions]
    stuck = [float(not any(one)) for one in tries]
    share = statistics.interval(stuck, [question.cluster for question in questions])
    n = min((len(one) for one in tries if one), default=0)
    return Unsolved(level, len(stuck), Estimate(share.mean, share.low, share.high), n, 1 - 0.05 ** (1 / n) if n else 1.0)
