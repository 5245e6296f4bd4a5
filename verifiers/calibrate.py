"""Scores that mean what they say: calibration and thresholds fitted on a dev split, and how far off scores are.

Axes: N scores, B bins, D draws. `right` says of each score whether what it judges was right.
"""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, Field

from ttc.errors import UserError
from ttc.select import LOGIT_CLIP

FloatArray = NDArray[np.float64]
Method = Literal["temperature", "isotonic"]

BINS = 10
"""Of equal mass, for the expected calibration error."""


class Temperature(BaseModel, frozen=True, extra="forbid"):
    """Log-odds divided by a temperature (Guo et al. 2017, arXiv:1706.04599). The order of scores stays as it is."""

    kind: Literal["temperature"] = "temperature"
    temperature: float = Field(gt=0)
    """Above 1 for a verifier that is too sure of itself."""

    def apply(self, scores: ArrayLike) -> FloatArray:
        """Calibrated probabilities."""
        from scipy.special import expit

        return expit(_logits(scores) / self.temperature)


class Isotonic(BaseModel, frozen=True, extra="forbid"):
    """A rising line through knots (Zadrozny and Elkan 2002). Scores on a flat part become ties: it may cost a ranking."""

    kind: Literal["isotonic"] = "isotonic"
    scores: tuple[float, ...]
    """Rising."""
    probabilities: tuple[float, ...]
    """At each of `scores`; beyond the ends it goes on level."""

    def apply(self, scores: ArrayLike) -> FloatArray:
        """Calibrated probabilities."""
        return np.interp(np.asarray(scores, dtype=float), self.scores, self.probabilities)


Calibrator = Annotated[Temperature | Isotonic, Field(discriminator="kind")]
"""A fitted calibration, told apart by `kind`."""


def fit(method: Method, scores: ArrayLike, right: ArrayLike) -> Temperature | Isotonic:
    """The calibration that explains these labels best.

    Raises:
        UserError: all right or all wrong, so that there is nothing to learn.
    """
    score_N, right_N = np.asarray(scores, dtype=float), np.asarray(right, dtype=float)
    if len(set(right_N.tolist())) < 2:
        raise UserError(f"calibration: {len(right_N)} scores of one class only; give a dev split with right and wrong ones")
    if method == "temperature":
        from scipy.optimize import minimize_scalar

        found = minimize_scalar(lambda t: nll(Temperature(temperature=np.exp(t)).apply(score_N), right_N), bounds=(-5, 5))
        return Temperature(temperature=float(np.exp(found.x)))
    from sklearn.isotonic import IsotonicRegression

    # A part that is all right must not be given odds without bound.
    edge = 1 / (2 * len(right_N))
    model = IsotonicRegression(y_min=edge, y_max=1 - edge, out_of_bounds="clip").fit(score_N, right_N)
    return Isotonic(scores=tuple(model.X_thresholds_.tolist()), probabilities=tuple(model.y_thresholds_.tolist()))


def crossfitted(
    method: Method, scores: ArrayLike, right: ArrayLike, groups: Sequence[Hashable], *, folds: int = 5
) -> FloatArray:
    """Each score as calibrated by the other folds; the scores of one group (a question) are in one fold.

    Raises:
        UserError: a fold leaves labels of one class, or there are fewer groups than folds.
    """
    from sklearn.model_selection import GroupKFold

    score_N, right_N = np.asarray(scores, dtype=float), np.asarray(right, dtype=float)
    if len(set(groups)) < folds:
        raise UserError(f"calibration: {len(set(groups))} questions are too few for {folds} folds; give a larger dev split")
    out_N = np.empty_like(score_N)
    for kept, left_out in GroupKFold(folds).split(
        score_N, groups=np.unique(np.array(groups, dtype=str), return_inverse=True)[1]
    ):
        out_N[left_out] = fit(method, score_N[kept], right_N[kept]).apply(score_N[left_out])
    return out_N


def threshold(scores: ArrayLike, right: ArrayLike) -> float:
    """The score from which on to say "right", for the largest macro-F1; between two scores, and never at one of them.

    Raises:
        UserError: all right or all wrong.
    """
    score_N, right_N = np.asarray(scores, dtype=float), np.asarray(right, dtype=bool)
    if right_N.all() or not right_N.any():
        raise UserError(f"threshold: {len(right_N)} scores of one class only; give a dev split with right and wrong ones")
    order = np.argsort(score_N, kind="stable")
    sorted_N, right_N = score_N[order], right_N[order]
    ends = np.flatnonzero(np.diff(sorted_N) > 0)
    if not len(ends):
        return float(sorted_N[0])
    wrong_below, right_below = np.cumsum(~right_N)[ends], np.cumsum(right_N)[ends]
    wrong, rights, below = (~right_N).sum(), right_N.sum(), ends + 1
    negative = 2 * wrong_below / (wrong + below)
    positive = 2 * (rights - right_below) / (rights + len(score_N) - below)
    best = ends[np.argmax(negative + positive)]
    return float((sorted_N[best] + sorted_N[best + 1]) / 2)


def brier(scores: ArrayLike, right: ArrayLike) -> float:
    """Mean squared difference between probability and outcome."""
    return float(np.mean((np.asarray(scores, dtype=float) - np.asarray(right, dtype=float)) ** 2))


def nll(scores: ArrayLike, right: ArrayLike) -> float:
    """Mean negative log-likelihood in nats; probabilities are clipped to [1e-6, 1 - 1e-6]."""
    logit_N, right_N = _logits(scores), np.asarray(right, dtype=float)
    return float(np.mean(np.logaddexp(0, logit_N) - right_N * logit_N))


def ece(scores: ArrayLike, right: ArrayLike, *, bins: int = BINS) -> float:
    """Expected calibration error over bins of equal mass. It is above 0 for perfect scores too: see `ece_floor`."""
    score_N, right_N = np.asarray(scores, dtype=float), np.asarray(right, dtype=float)
    gap_N = (score_N - right_N)[np.argsort(score_N, kind="stable")]
    return float(sum(abs(part.sum()) for part in np.array_split(gap_N, bins)) / len(gap_N))


def ece_floor(scores: ArrayLike, *, bins: int = BINS, draws: int = 200, seed: int = 0) -> float:
    """What `ece` reads on average where these probabilities are exactly true, outcomes being independent."""
    sorted_N = np.sort(np.asarray(scores, dtype=float))
    rng = np.random.default_rng(seed)
    return float(np.mean([ece(sorted_N, rng.random(len(sorted_N)) < sorted_N, bins=bins) for _ in range(draws)]))


@dataclass(frozen=True, slots=True)
class Quality:
    """How well probabilities fit what happened."""

    n: int
    share_right: float
    brier: float
    nll: float
    ece: float
    ece_floor: float
    """What a perfectly calibrated verifier with these scores would read."""


def quality(scores: ArrayLike, right: ArrayLike) -> Quality:
    """All of them. Raises ValueError where there is no score."""
    score_N, right_N = np.asarray(scores, dtype=float), np.asarray(right, dtype=float)
    if not len(score_N):
        raise ValueError("the quality of no scores is undefined")
    fits = brier(score_N, right_N), nll(score_N, right_N), ece(score_N, right_N), ece_floor(score_N)
    return Quality(len(score_N), float(right_N.mean()), *fits)


def _logits(scores: ArrayLike) -> FloatArray:
    """Log-odds of probabilities clipped as `ttc.select.clipped_logit` does."""
    from scipy.special import logit

    return logit(np.clip(np.asarray(scores, dtype=float), LOGIT_CLIP, 1 - LOGIT_CLIP))
