"""What a verifier is worth on labelled replies: steps told apart, first errors found, length and answer biases.

Everything is over replies with known step labels or a known outcome; intervals resample clusters of questions. A figure that is
undefined (one class only, no such reply) is None, never 0.

Axes: N steps or replies, C clusters, D draws, K columns.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import compress

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttc import statistics
from ttc.statistics import Interval

FloatArray = NDArray[np.float64]

DRAWS = 1000
"""Resamples of rank statistics, each of which costs a pass over all steps."""


@dataclass(frozen=True, slots=True)
class ScoredChain:
    """One reply: what a verifier said of it, and what is true. Scores, labels and kinds: one per step, or none at all."""

    question: str
    steps: tuple[str, ...]
    """Texts."""
    scores: tuple[float, ...]
    """Probability that each step is right."""
    labels: tuple[bool | None, ...]
    """Right, wrong, or unknown."""
    kinds: tuple[str | None, ...] = ()
    """Kind of error of wrong steps, where known; empty where none is."""
    score: float | None = None
    """Of the whole reply; None where scoring failed."""
    is_right: bool | None = None
    """Its answer against the gold; None where it was not judged."""
    origin: str = "natural"
    source: str = ""
    cluster: str = ""
    """As `Question.cluster`: empty means that the question stands alone."""
    fields: Mapping[str, str | tuple[str, ...]] = field(default_factory=dict)
    reads_image: tuple[bool, ...] = ()
    """Whether each step says what is shown, so that nobody can judge it blind; empty where that is unknown."""

    def __post_init__(self) -> None:
        assert len(self.scores) == len(self.labels) in (0, len(self.steps))
        assert len(self.reads_image) in (0, len(self.labels))
        assert len(self.kinds) in (0, len(self.labels))

    @property
    def unit(self) -> str:
        """What is resampled as a whole."""
        return self.cluster or self.question

    @property
    def first_error(self) -> int | None:
        """Index of the first wrong step; -1 where all are right; None where labels leave it open."""
        for place, label in enumerate(self.labels):
            if label is not True:
                return place if label is False else None
        return -1 if self.labels else None

    @property
    def character(self) -> tuple[bool | None, bool | None]:
        """Whether the answer is right, and whether all steps are; None where unknown."""
        return self.is_right, None if self.first_error is None else self.first_error < 0

    def first_flagged(self, threshold: float) -> int:
        """Index of the first step scored below the threshold, or -1."""
        return next((place for place, score in enumerate(self.scores) if score < threshold), -1)


@dataclass(frozen=True, slots=True)
class Steps:
    """The labelled steps of many replies, as columns."""

    right: NDArray[np.bool_]
    scores: FloatArray
    kinds: tuple[str | None, ...]
    texts: tuple[str, ...]
    units: tuple[str, ...]
    """Cluster of each."""
    reads: tuple[bool | None, ...]
    """Whether each reads the image; None where that is unknown."""

    @staticmethod
    def of(chains: Sequence[ScoredChain]) -> "Steps":
        """All steps with a label."""
        rows = [
            (label, score, kind, text, chain.unit, reads)
            for chain in chains
            for unknown in [(None,) * len(chain.labels)]
            for label, score, kind, text, reads in zip(
                chain.labels, chain.scores, chain.kinds or unknown, chain.steps, chain.reads_image or unknown, strict=False
            )
            if label is not None
        ]
        right, scores, kinds, texts, units, reads = zip(*rows, strict=True) if rows else ((),) * 6
        return Steps(np.array(right, dtype=bool), np.array(scores, dtype=float), kinds, texts, units, reads)

    def against(self, is_kind: Callable[[str | None], bool], *, reads: bool | None = None) -> "Steps":
        """Right steps, and those wrong ones whose kind is asked for.

        Args:
            reads: keep those that are known to read the image, or known not to; None: all.
        """
        kept = [
            (bool(right) or is_kind(kind)) and reads in (None, read)
            for right, kind, read in zip(self.right, self.kinds, self.reads, strict=True)
        ]
        return Steps(
            self.right[kept],
            self.scores[kept],
            tuple(compress(self.kinds, kept)),
            tuple(compress(self.texts, kept)),
            tuple(compress(self.units, kept)),
            tuple(compress(self.reads, kept)),
        )


class Ranks:
    """Scores put in order once, so that the AUROC of each resample costs one pass."""

    def __init__(self, right: ArrayLike, scores: ArrayLike) -> None:
        self._right_N = np.asarray(right, dtype=bool)
        self._group_N = np.unique(np.asarray(scores, dtype=float), return_inverse=True)[1]

    def auroc(self, weights: FloatArray | None = None) -> float:
        """Chance that a right one scores above a wrong one, ties counting half; NaN where a class has no weight."""
        weight_N = np.ones(len(self._right_N)) if weights is None else weights
        if not len(weight_N):
            return float("nan")
        right_G, wrong_G = (
            np.bincount(self._group_N, weights=weight_N * is_it, minlength=self._group_N.max() + 1)
            for is_it in (self._right_N, ~self._right_N)
        )
        pairs = right_G.sum() * wrong_G.sum()
        return float(right_G @ (np.cumsum(wrong_G) - wrong_G / 2) / pairs) if pairs else float("nan")


def auroc(right: ArrayLike, scores: ArrayLike) -> float | None:
    """Chance that a right step (or reply) scores above a wrong one, ties counting half; None where a class is missing."""
    value = Ranks(right, scores).auroc()
    return None if np.isnan(value) else value


def auroc_interval(
    right: ArrayLike, scores: ArrayLike, units: Sequence[Hashable], *, draws: int = DRAWS, seed: int = 0
) -> Interval | None:
    """`auroc` with its cluster bootstrap."""
    ranks = Ranks(right, scores)
    if np.isnan(whole := ranks.auroc()):
        return None
    return resampled(whole, lambda weight_N: ranks.auroc(weight_N), units, draws=draws, seed=seed)


def resampled(
    whole: float,
    statistic: Callable[[FloatArray], float],
    units: Sequence[Hashable],
    *,
    draws: int = DRAWS,
    seed: int = 0,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval:
    """Cluster bootstrap of a statistic of weighted rows. Resamples in which it is undefined (NaN) are left out.

    Args:
        statistic: of weights_N, how often each row was drawn.
    """
    number: dict[Hashable, int] = {}
    code_N = np.array([number.setdefault(unit, len(number)) for unit in units])
    if len(number) == 1:
        return Interval(whole, *bounds, 1, "vacuous")
    blocks = statistics.resamples(len(number), draws=draws, seed=seed)
    drawn = np.array([statistic(times_C[code_N]) for times_DC in blocks for times_C in times_DC])
    low, high = np.percentile(drawn[~np.isnan(drawn)], [2.5, 97.5])
    return Interval(whole, float(low), float(high), len(number), "bootstrap")


def of_means(
    columns_NK: ArrayLike,
    units: Sequence[Hashable],
    statistic: Callable[[FloatArray], FloatArray],
    *,
    seed: int = 0,
    bounds: tuple[float, float] = (0.0, 1.0),
) -> Interval | None:
    """A function of means over rows (a ratio, an F1), with its cluster bootstrap; None where it is undefined.

    Args:
        statistic: means_DK -> values_D, NaN where undefined.
    """
    table_NK = np.asarray(columns_NK, dtype=float)
    if not len(table_NK):
        return None
    with np.errstate(invalid="ignore", divide="ignore"):
        whole = float(statistic(table_NK.mean(axis=0)[None])[0])
        if np.isnan(whole):
            return None
        count = len(set(units))
        if count == 1:
            return Interval(whole, *bounds, 1, "vacuous")
        drawn_D = statistic(statistics.bootstrap_means(table_NK, list(units), seed=seed))
    low, high = np.percentile(drawn_D[~np.isnan(drawn_D)], [2.5, 97.5])
    return Interval(whole, float(low), float(high), count, "bootstrap")


def auprc_errors(right: ArrayLike, scores: ArrayLike) -> float | None:
    """Average precision of finding wrong steps by low scores; a verifier that knows nothing reads their share."""
    from sklearn.metrics import average_precision_score

    right_N = np.asarray(right, dtype=bool)
    if right_N.all() or not right_N.any():
        return None
    return float(average_precision_score(~right_N, -np.asarray(scores, dtype=float)))


def share(rows: Sequence[tuple[bool, str]]) -> Interval | None:
    """Share of hits among (hit, unit) rows, with its interval; None where there is no row."""
    if not rows:
        return None
    hits, units = zip(*rows, strict=True)
    return statistics.interval([float(hit) for hit in hits], units)


def first_error_accuracy(chains: Sequence[ScoredChain], threshold: float, *, within: int = 0) -> Interval | None:
    """Of replies with an error, how often the first flagged step is the first wrong one, or at most `within` steps from it."""
    return share(
        [
            (flagged >= 0 and abs(flagged - first) <= within, chain.unit)
            for chain in chains
            if (first := chain.first_error) is not None and first >= 0
            for flagged in [chain.first_flagged(threshold)]
        ]
    )


def process_f1(chains: Sequence[ScoredChain], threshold: float) -> Interval | None:
    """Harmonic mean of exact location on replies with an error and of silence on those without.

    Never flagging scores 0; None where one kind of reply is missing. Source: ProcessBench, Zheng et al. 2024, arXiv:2412.06559.
    """
    known = [(chain, first) for chain in chains if (first := chain.first_error) is not None]
    columns = [
        (first >= 0, first < 0, hit and first >= 0, hit and first < 0)
        for chain, first in known
        for hit in [chain.first_flagged(threshold) == first]
    ]

    def harmonic(mean_DK: FloatArray) -> FloatArray:
        located_D, passed_D = mean_DK[:, 2] / mean_DK[:, 0], mean_DK[:, 3] / mean_DK[:, 1]
        both_D = located_D + passed_D
        return np.where(both_D == 0, 0.0, 2 * located_D * passed_D / np.where(both_D == 0, 1, both_D))

    return of_means(columns, [chain.unit for chain, _ in known], harmonic)


def macro_f1(steps: Steps, threshold: float) -> Interval | None:
    """Mean F1 of right and of wrong steps; None where a class is missing. Source: VisualProcessBench, arXiv:2503.10291."""
    return of_means(_confusion(steps, threshold), steps.units, lambda mean_DK: (_f1(mean_DK, 0) + _f1(mean_DK, 3)) / 2)


def negative_f1(steps: Steps, threshold: float) -> Interval | None:
    """F1 of finding wrong steps: what a verifier that calls everything right gets 0 in."""
    return of_means(_confusion(steps, threshold), steps.units, lambda mean_DK: _f1(mean_DK, 3))


def _confusion(steps: Steps, threshold: float) -> FloatArray:
    """Right and passed, right and flagged, wrong and passed, wrong and flagged."""
    passed_N = steps.scores >= threshold
    pairs = ((steps.right, passed_N), (steps.right, ~passed_N), (~steps.right, passed_N), (~steps.right, ~passed_N))
    return np.stack([(truth & said).astype(float) for truth, said in pairs], axis=1)


def _f1(mean_DK: FloatArray, hit: int) -> FloatArray:
    """NaN where the data lack right or wrong steps."""
    missing_D = (mean_DK[:, :2].sum(axis=1) == 0) | (mean_DK[:, 2:].sum(axis=1) == 0)
    return np.where(missing_D, np.nan, 2 * mean_DK[:, hit] / (2 * mean_DK[:, hit] + mean_DK[:, 1] + mean_DK[:, 2]))


def wrong_process_recall(chains: Sequence[ScoredChain], threshold: float) -> Interval | None:
    """Of right answers reached through a wrong step, how many have a flagged step."""
    return share(
        [(chain.first_flagged(threshold) >= 0, chain.unit) for chain in chains if chain.is_right and False in chain.labels]
    )


def last_step_lowest(chains: Sequence[ScoredChain]) -> Interval | None:
    """How often the lowest score is the last step's: 40 to 55 % where a verifier judges the answer alone (arXiv:2501.07301)."""
    return share([(chain.scores[-1] < min(chain.scores[:-1]), chain.unit) for chain in chains if len(chain.scores) > 1])
