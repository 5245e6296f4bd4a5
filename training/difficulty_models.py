"""From a table of numbers to a level: rungs of a ladder, each no more than a score and the cuts that make levels of it.

Cuts are laid where the training questions' levels have their shares, on scores of questions that the model was not fitted to:
the level nearest to the expectation would nearly always be the middle one, which no measure of agreement rewards.

Q questions, F features, L levels.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

INNER_FOLDS = 3
COMPONENTS = 48
"""Of an embedding: with hundreds of questions, hundreds of columns that mean little each are mostly noise."""


class Scorer(Protocol):
    """A fitted model."""

    def score(self, features_QF: FloatArray) -> FloatArray:
        """Expected level of each question, from 0."""
        ...


@dataclass(frozen=True)
class OrdinalLogit:
    """Proportional odds (McCullagh 1980): P(level <= l) = sigmoid(cut_l - x w), with a ridge on w."""

    mean_F: FloatArray
    scale_F: FloatArray
    weights_F: FloatArray
    cuts: FloatArray

    @classmethod
    def fit(cls, features_QF: FloatArray, level_Q: IntArray, levels: int, *, ridge: float = 3e-2) -> "OrdinalLogit":
        """Maximum penalised likelihood; columns are standardised first, and `ridge` is per question."""
        from scipy.optimize import minimize

        mean_F, scale_F = features_QF.mean(axis=0), features_QF.std(axis=0)
        scale_F = np.where(scale_F < 1e-9, np.inf, scale_F)
        x_QF = (features_QF - mean_F) / scale_F
        shares = np.cumsum(np.bincount(level_Q, minlength=levels) + 0.5)[:-1] / (len(level_Q) + levels / 2)
        gaps = np.diff(np.log(shares / (1 - shares)), prepend=0.0)
        start = np.concatenate([np.zeros(x_QF.shape[1]), [np.log(shares[0] / (1 - shares[0]))], np.log(gaps[1:])])
        found = minimize(_loss, start, (x_QF, level_Q, levels, ridge), jac=True, method="L-BFGS-B", options={"maxiter": 500})
        weights_F, tail = found.x[: x_QF.shape[1]], found.x[x_QF.shape[1] :]
        return cls(mean_F, scale_F, weights_F, _cuts(tail))

    def score(self, features_QF: FloatArray) -> FloatArray:
        """See `Scorer`: the sum over cuts of P(level above it)."""
        from scipy.special import expit

        lean_Q = (features_QF - self.mean_F) / self.scale_F @ self.weights_F
        return expit(lean_Q[:, None] - self.cuts).sum(axis=1)


def _cuts(tail: FloatArray) -> FloatArray:
    """Rising cuts from the first and the logarithms of the gaps."""
    return tail[0] + np.concatenate([[0.0], np.cumsum(np.exp(tail[1:]))])


def _loss(parameters: FloatArray, x_QF: FloatArray, level_Q: IntArray, levels: int, ridge: float) -> tuple[float, FloatArray]:
    """Mean negative log-likelihood with the ridge, and its gradient."""
    from scipy.special import expit

    width = x_QF.shape[1]
    weights_F, tail = parameters[:width], parameters[width:]
    bounds = np.concatenate([[-np.inf], _cuts(tail), [np.inf]])
    lean_Q = x_QF @ weights_F
    upper_Q, lower_Q = (expit(bounds[level_Q + side] - lean_Q) for side in (1, 0))
    likelihood_Q = np.maximum(upper_Q - lower_Q, 1e-12)
    slope_upper_Q, slope_lower_Q = (part * (1 - part) / likelihood_Q for part in (upper_Q, lower_Q))
    count = len(level_Q)
    by_bound = np.bincount(level_Q, slope_lower_Q, levels + 1) - np.bincount(level_Q + 1, slope_upper_Q, levels + 1)
    by_cut = by_bound[1:levels] / count
    # a gap moves every cut from its own on
    by_tail = np.concatenate([[by_cut.sum()], np.exp(tail[1:]) * np.cumsum(by_cut[::-1])[::-1][1:]])
    by_weight_F = (slope_upper_Q - slope_lower_Q) @ x_QF / count + 2 * ridge * weights_F
    value = -np.log(likelihood_Q).mean() + ridge * (weights_F**2).sum()
    return float(value), np.concatenate([by_weight_F, by_tail])


@dataclass(frozen=True)
class Boosting:
    """Gradient boosted trees on the level as a number (scikit-learn's histogram form)."""

    trees: Any

    @classmethod
    def fit(cls, features_QF: FloatArray, level_Q: IntArray, *, seed: int) -> "Boosting":
        """Shallow trees, since there are hundreds of questions and not thousands."""
        from sklearn.ensemble import HistGradientBoostingRegressor

        trees = HistGradientBoostingRegressor(
            max_iter=120, learning_rate=0.06, max_leaf_nodes=8, min_samples_leaf=10, l2_regularization=1.0, random_state=seed
        )
        return cls(trees.fit(features_QF, level_Q))

    def score(self, features_QF: FloatArray) -> FloatArray:
        """See `Scorer`."""
        return self.trees.predict(features_QF)


@dataclass(frozen=True)
class Projected:
    """A model behind the main components of the first columns, an embedding; found on the same questions as the model."""

    components: Any
    wide: int
    inner: Scorer

    def score(self, features_QF: FloatArray) -> FloatArray:
        """See `Scorer`."""
        return self.inner.score(_seen(self.components, features_QF, self.wide))


def _seen(components: Any, features_QF: FloatArray, wide: int) -> FloatArray:
    return np.hstack([components.transform(features_QF[:, :wide]), features_QF[:, wide:]])


@dataclass(frozen=True, slots=True)
class Predicted:
    """What a rung says of the questions it was not fitted to."""

    scores_Q: FloatArray
    """Expected level, from 0."""
    levels_Q: IntArray


def majority(train_groups: Sequence[str], level_Q: IntArray, test_groups: Sequence[str]) -> Predicted:
    """The most common training level of a question's group, the lower on a tie; of all for a group never seen."""
    everywhere = Counter(level_Q.tolist())
    by_group: dict[str, Counter[int]] = {}
    for group, level in zip(train_groups, level_Q.tolist(), strict=True):
        by_group.setdefault(group, Counter())[level] += 1
    counts = [by_group.get(group, everywhere) for group in test_groups]
    levels_Q = np.array([max(sorted(count), key=lambda level: count[level]) for count in counts])
    means = [sum(level * times for level, times in count.items()) / count.total() for count in counts]
    return Predicted(np.array(means), levels_Q)


def predict(
    kind: Literal["ordinal", "boosting"],
    train_QF: FloatArray,
    level_Q: IntArray,
    clusters: Sequence[str],
    test_QF: FloatArray,
    *,
    levels: int,
    wide: int = 0,
    seed: int = 0,
) -> Predicted:
    """Fit on the training questions and predict the others.

    Args:
        clusters: of the training questions; none is on both sides when the cuts are laid.
        wide: columns from the left that are an embedding.
    """
    from sklearn.decomposition import PCA
    from sklearn.model_selection import GroupKFold

    def fitted(rows: FloatArray, targets: IntArray) -> Scorer:
        if wide <= COMPONENTS or len(targets) <= COMPONENTS:
            return plain(rows, targets)
        components = PCA(COMPONENTS, random_state=seed).fit(rows[:, :wide])
        return Projected(components, wide, plain(_seen(components, rows, wide), targets))

    def plain(rows: FloatArray, targets: IntArray) -> Scorer:
        if kind == "ordinal":
            return OrdinalLogit.fit(rows, targets, levels)
        return Boosting.fit(rows, targets, seed=seed)

    held_out_Q = np.zeros(len(level_Q))
    folds = GroupKFold(INNER_FOLDS, shuffle=True, random_state=seed).split(train_QF, groups=np.array(clusters))
    for fit_on, judge_on in folds:
        held_out_Q[judge_on] = fitted(train_QF[fit_on], level_Q[fit_on]).score(train_QF[judge_on])
    scores_Q = fitted(train_QF, level_Q).score(test_QF)
    return Predicted(scores_Q, cut(scores_Q, held_out_Q, level_Q, levels))


def cut(scores_Q: FloatArray, held_out: FloatArray, level_Q: IntArray, levels: int) -> IntArray:
    """Levels of scores, cut so that the held-out scores fall into levels with the shares of `level_Q`."""
    shares = np.cumsum(np.bincount(level_Q, minlength=levels))[:-1] / len(level_Q)
    ranked = np.sort(held_out)
    places = np.rint(shares * len(ranked)).astype(int)
    # between the two scores that the cut separates, so that equal scores fall on one side
    bounded = np.concatenate([[-np.inf], ranked, [np.inf]])
    return np.searchsorted((bounded[places] + bounded[places + 1]) / 2, scores_Q, side="right")
