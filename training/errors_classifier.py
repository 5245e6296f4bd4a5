"""Error kinds from labels: a logistic regression for a few of them or for thousands, judged on questions it has not seen.

    wrong replies -> table (`training.errors_features`) -> strength by grouped folds within the training part -> kinds

Groups are questions: replies to one question never stand on two sides. What form alone decides is left to the rules
(`training.errors.ruled`).
"""

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from training.agreement import confusion, macro_f1
from ttc import statistics
from ttc.errors import UserError
from ttc.statistics import Interval

if TYPE_CHECKING:
    from scipy.sparse import csr_array
    from sklearn.linear_model import LogisticRegression

STRENGTHS = (0.03, 0.3, 3.0, 30.0)
"""C of the logistic regression; the smallest trusts the labels least."""
FOLDS = 5
INNER_FOLDS = 3


def fit(table: "csr_array", kinds: Sequence[str], groups: Sequence[Hashable], *, seed: int = 0) -> "LogisticRegression":
    """The classifier that fits these labels, every kind with the same weight; C has the best macro-F1 over grouped folds.

    Raises:
        UserError: labels of one kind only.
    """
    from sklearn.linear_model import LogisticRegression
    from sklearn.model_selection import GridSearchCV

    if len(set(kinds)) < 2:
        raise UserError(
            f"error kinds: {len(kinds)} labels, all {next(iter(kinds), 'missing')}; label replies of two kinds at least"
        )
    model = LogisticRegression(class_weight="balanced", max_iter=5000, tol=1e-3, C=1.0)
    folds = list(_folds(kinds, groups, INNER_FOLDS, seed))
    if not folds:  # too few questions or labels to choose by
        return model.fit(table, kinds)
    search = GridSearchCV(model, {"C": STRENGTHS}, cv=folds, scoring="f1_macro")
    return search.fit(table, kinds).best_estimator_


def crossfitted(
    table: "csr_array", kinds: Sequence[str], groups: Sequence[Hashable], *, folds: int = FOLDS, seed: int = 0
) -> list[str]:
    """The kind of each reply as the other folds' questions teach it.

    Raises:
        UserError: fewer questions than folds, or labels of one kind.
    """
    found = np.empty(len(kinds), dtype=object)
    parts = list(_folds(kinds, groups, folds, seed))
    if not parts:
        raise UserError(
            f"error kinds: labels of {len(set(groups))} questions and {len(set(kinds))} kinds; {folds} folds take as many "
            f"questions and one kind with {folds} labels"
        )
    kinds_N, groups_N = np.array(kinds), list(groups)
    for kept, out in parts:
        model = fit(table[kept], kinds_N[kept].tolist(), [groups_N[place] for place in kept], seed=seed)
        found[out] = model.predict(table[out])
    return [str(one) for one in found]


def _folds(
    kinds: Sequence[str], groups: Sequence[Hashable], folds: int, seed: int
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.int64]]]:
    """Grouped folds with the kinds in proportion; none where they cannot be had, or a fold would teach one kind only."""
    from sklearn.model_selection import StratifiedGroupKFold

    counts = Counter(kinds)
    common = max(counts, key=counts.__getitem__)
    if counts[common] < folds or len(set(groups)) < folds:
        return
    # a kind with fewer labels than folds cannot be spread over them
    strata = [kind if counts[kind] >= folds else common for kind in kinds]
    number: dict[Hashable, int] = {}
    codes = [number.setdefault(group, len(number)) for group in groups]
    parts = list(StratifiedGroupKFold(folds, shuffle=True, random_state=seed).split(np.zeros(len(kinds)), strata, codes))
    if all(len({kinds[place] for place in kept}) > 1 and len(out) for kept, out in parts):
        yield from parts


@dataclass(frozen=True, slots=True)
class Quality:
    """Kinds that were found against kinds that are true."""

    labels: int
    """That the classifier learned from (the mean where it was fitted several times)."""
    judged: int
    f1: Interval
    """Macro-F1; intervals resample questions."""
    accuracy: Interval
    kinds: tuple[str, ...]
    confusion: tuple[tuple[int, ...], ...]
    """Replies by true kind, then by the kind found."""
    spread: float = 0.0
    """Standard deviation of macro-F1 over training sets of this size; 0 for a single one."""


def quality(
    true: Sequence[str],
    found: Sequence[str],
    clusters: Sequence[Hashable],
    *,
    labels: int,
    draws: int = statistics.DRAWS,
    seed: int = 0,
) -> Quality:
    """All of it. Raises UserError where there is nothing to judge."""
    names = tuple(sorted({*true, *found}))
    right = [float(one == other) for one, other in zip(true, found, strict=True)]
    return Quality(
        labels,
        len(true),
        macro_f1(true, found, clusters=clusters, draws=draws, seed=seed),
        statistics.interval(right, clusters, draws=draws, seed=seed),
        names,
        confusion(true, found, names),
    )


def with_labels(
    table: "csr_array", kinds: Sequence[str], groups: Sequence[Hashable], labels: int, *, repeats: int = 5, seed: int = 0
) -> Quality:
    """How good it gets from so many labels: fitted on questions drawn at random, judged on all replies to the others.

    The confusion and the interval are of the first of the repeats, the estimate is the mean over them.

    Raises:
        UserError: there are not enough replies to leave any to be judged.
    """
    if labels >= len(kinds):
        raise UserError(f"error kinds: {labels} labels asked for, and {len(kinds)} replies have one; ask for fewer")
    found = [_once(table, list(kinds), list(groups), labels, seed + repeat) for repeat in range(repeats)]
    scores = np.array([one.f1.mean for one in found])
    first, shift = found[0], float(scores.mean()) - found[0].f1.mean
    f1 = Interval(float(scores.mean()), first.f1.low + shift, first.f1.high + shift, first.f1.clusters, first.f1.method)
    spread = float(scores.std(ddof=1)) if repeats > 1 else 0.0
    return Quality(labels, first.judged, f1, first.accuracy, first.kinds, first.confusion, spread)


def _once(table: "csr_array", kinds: list[str], groups: list[Hashable], labels: int, seed: int) -> Quality:
    order = list(dict.fromkeys(groups))
    np.random.default_rng(seed).shuffle(order)
    rank = {group: place for place, group in enumerate(order)}
    rows = sorted(range(len(kinds)), key=lambda row: rank[groups[row]])
    kept, last = rows[:labels], groups[rows[labels - 1]]
    out = [row for row in rows[labels:] if groups[row] != last]
    if not out:
        raise UserError(f"error kinds: {labels} labels leave no question to judge by; ask for fewer")
    model = fit(table[kept], [kinds[row] for row in kept], [groups[row] for row in kept], seed=seed)
    predicted = [str(kind) for kind in model.predict(table[out])]
    true, clusters = [kinds[row] for row in out], [groups[row] for row in out]
    return quality(true, predicted, clusters, labels=labels, draws=2000, seed=seed)
