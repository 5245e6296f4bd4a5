"""All figures of one verifier on labelled replies, as rows: in all, by group of questions, by kind of error, by origin."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from ttc.statistics import Interval
from verifiers import metrics
from verifiers.baselines import BASELINES, predictions
from verifiers.calibrate import Quality, quality, threshold
from verifiers.length import length_correlation, matched_auroc
from verifiers.metrics import ScoredChain, Steps

ALL = "all"


@dataclass(frozen=True, slots=True)
class StepRow:
    """Steps and chains of one group of replies. Undefined figures are None."""

    group: str
    questions: int
    replies: int
    """With labelled steps."""
    steps: int
    wrong: float
    """Share of wrong steps: what a verifier that knows nothing reads in `auprc`."""
    auroc: Interval | None
    auprc: float | None
    """Of finding wrong steps."""
    first_error: Interval | None
    near_error: Interval | None
    """At most one step away."""
    process_f1: Interval | None
    macro_f1: Interval | None
    negative_f1: Interval | None
    wrong_process: Interval | None
    """Recall on right answers with a wrong step."""


@dataclass(frozen=True, slots=True)
class KindRow:
    """Wrong steps of one kind against all right steps."""

    kind: str
    wrong: int
    auroc: Interval | None
    flagged: Interval | None
    """Share of these that fall below the threshold."""


@dataclass(frozen=True, slots=True)
class AnswerRow:
    """Replies against their answers: what selecting by the score rests on."""

    group: str
    replies: int
    right: float
    auroc: Interval | None
    matched_auroc: float | None
    """Among replies with as many steps."""
    length: Interval | None
    """Rank correlation of score and number of steps; right and wrong answers, and steps where known, held apart."""


@dataclass(frozen=True, slots=True)
class BaselineRow:
    """What reading no question gets; cross-fitted by question."""

    baseline: str
    auroc: float | None
    auprc: float | None
    process_f1: float | None
    """At the threshold that suits it best on the same steps."""
    macro_f1: float | None


def step_row(group: str, chains: Sequence[ScoredChain], cut: float) -> StepRow:
    """Figures of the replies that have labelled steps; `cut` is the score from which on a step counts as right."""
    kept = [chain for chain in chains if any(label is not None for label in chain.labels)]
    steps = Steps.of(kept)
    return StepRow(
        group=group,
        questions=len({chain.question for chain in kept}),
        replies=len(kept),
        steps=len(steps.right),
        wrong=float((~steps.right).mean()) if len(steps.right) else 0.0,
        auroc=metrics.auroc_interval(steps.right, steps.scores, steps.units),
        auprc=metrics.auprc_errors(steps.right, steps.scores),
        first_error=metrics.first_error_accuracy(kept, cut),
        near_error=metrics.first_error_accuracy(kept, cut, within=1),
        process_f1=metrics.process_f1(kept, cut),
        macro_f1=metrics.macro_f1(steps, cut),
        negative_f1=metrics.negative_f1(steps, cut),
        wrong_process=metrics.wrong_process_recall(kept, cut),
    )


def mean_of_sources(chains: Sequence[ScoredChain], cut: float) -> float | None:
    """Macro-F1 as the mean over sources; `macro_f1` pools them. Sources of one class are left out."""
    sources = {chain.source for chain in chains}
    found = [metrics.macro_f1(Steps.of([chain for chain in chains if chain.source == name]), cut) for name in sources]
    known = [one.mean for one in found if one is not None]
    return sum(known) / len(known) if known else None


def kind_rows(chains: Sequence[ScoredChain], cut: float) -> list[KindRow]:
    """One row per kind of error, the commonest first."""
    steps = Steps.of(chains)
    counts: dict[str, int] = {}
    for right, kind in zip(steps.right, steps.kinds, strict=True):
        if not right and kind is not None:
            counts[kind] = counts.get(kind, 0) + 1
    rows = []
    for kind, count in sorted(counts.items(), key=lambda item: -item[1]):
        some = steps.against(lambda name, kind=kind: name == kind)
        flagged = [
            (bool(score < cut), unit)
            for right, score, unit in zip(some.right, some.scores, some.units, strict=True)
            if not right
        ]
        rows.append(KindRow(kind, count, metrics.auroc_interval(some.right, some.scores, some.units), metrics.share(flagged)))
    return rows


def answer_row(group: str, chains: Sequence[ScoredChain]) -> AnswerRow:
    """Figures of the judged replies that have a score."""
    kept, right, scores = judged(chains)
    units, lengths = [chain.unit for chain in kept], [len(chain.steps) for chain in kept]
    return AnswerRow(
        group,
        len(kept),
        sum(right) / len(right) if right else 0.0,
        metrics.auroc_interval(right, scores, units),
        matched_auroc(right, scores, lengths),
        length_correlation(scores, lengths, [chain.character for chain in kept], units) if kept else None,
    )


def judged(chains: Iterable[ScoredChain]) -> tuple[list[ScoredChain], list[bool], list[float]]:
    """Replies with a score and a known outcome, their outcomes and their scores."""
    rows = [(chain, chain.is_right, chain.score) for chain in chains if chain.score is not None and chain.is_right is not None]
    return [row[0] for row in rows], [row[1] for row in rows], [row[2] for row in rows]


def qualities(chains: Sequence[ScoredChain]) -> dict[str, Quality]:
    """Calibration of step scores and of answer scores, where there are any."""
    steps, (_, right, scores) = Steps.of(chains), judged(chains)
    found = {"steps": (steps.scores, steps.right), "answers": (scores, right)}
    return {name: quality(*columns) for name, columns in found.items() if len(columns[0])}


def baseline_rows(chains: Sequence[ScoredChain], *, most: int = 20_000) -> list[BaselineRow]:
    """What each baseline gets on the labelled steps; those that so few cannot fit are left out, all where no step is wrong.

    Args:
        most: steps, above which replies are left out at even distances: a baseline does not get better by more.
    """
    kept = [chain for chain in chains if any(label is not None for label in chain.labels)]
    kept = kept[:: max(1, -(-sum(len(chain.labels) for chain in kept) // most))]
    steps, rows = Steps.of(kept), []
    if len(set(steps.right.tolist())) < 2:
        return []
    questions = [chain.unit for chain in kept for label in chain.labels if label is not None]
    for name in BASELINES:
        said = predictions(name, steps.texts, steps.right, questions)
        if said is None:
            continue
        cut, scores = threshold(said, steps.right), iter(said.tolist())
        # an unlabelled step is flagged by nobody
        told = [
            replace(chain, scores=tuple(1.0 if label is None else next(scores) for label in chain.labels)) for chain in kept
        ]
        f1, both = metrics.process_f1(told, cut), metrics.macro_f1(Steps.of(told), cut)
        rows.append(
            BaselineRow(
                name,
                metrics.auroc(steps.right, said),
                metrics.auprc_errors(steps.right, said),
                f1.mean if f1 else None,
                both.mean if both else None,
            )
        )
    return rows
