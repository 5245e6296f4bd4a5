"""What can be said of a step without reading the question: bars for a verifier to clear, and for data to stay below.

Each is fitted on other questions than it speaks about, so it is given more than a verifier has: labels of the same data.
"""

from collections.abc import Hashable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Baseline = Literal["constant", "length", "style"]
BASELINES: tuple[Baseline, ...] = ("constant", "length", "style")

FOLDS = 5


def predictions(
    baseline: Baseline, texts: Sequence[str], right: ArrayLike, groups: Sequence[Hashable], *, folds: int = FOLDS
) -> NDArray[np.float64] | None:
    """Probability that each step is right, from the other folds; None where groups or classes are too few.

    Args:
        baseline: `constant` says what share is right, `length` reads the number of characters and words, `style` reads the
            words themselves (TF-IDF of one and two words, logistic regression).
        groups: the question of each step: its steps are in one fold.
    """
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict

    right_N = np.asarray(right, dtype=int)
    if baseline == "constant" and len(right_N):  # fitted fold by fold, it would lean against the labels left out
        return np.full(len(right_N), right_N.mean())
    group_N = np.unique(np.array([str(group) for group in groups]), return_inverse=True)[1] if len(right_N) else right_N
    if len(set(group_N.tolist())) < folds or min(np.bincount(right_N, minlength=2)) < folds:
        return None
    splits = list(StratifiedGroupKFold(folds).split(right_N, right_N, group_N))
    if any(len(set(right_N[kept].tolist())) < 2 for kept, _ in splits):
        return None
    # a list of texts, and the model's own vocabulary from the folds it is fitted on
    said_N2 = cross_val_predict(_model(baseline), np.array(texts, dtype=object), right_N, cv=splits, method="predict_proba")
    return np.asarray(said_N2)[:, 1]


def _model(baseline: Baseline):
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import FunctionTransformer, StandardScaler

    if baseline == "length":
        return make_pipeline(FunctionTransformer(_lengths), StandardScaler(), LogisticRegression())
    # signs and numbers are words here: an equation has hardly any others
    words = TfidfVectorizer(token_pattern=r"\w+|[^\w\s]", ngram_range=(1, 2), sublinear_tf=True)
    return make_pipeline(words, LogisticRegression(max_iter=1000))


def _lengths(texts: Sequence[str]) -> NDArray[np.float64]:
    return np.log1p([[len(text), len(text.split())] for text in texts])
