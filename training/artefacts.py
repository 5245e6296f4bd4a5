"""Can wrong steps be told from right ones without the question? Two classifiers that read text alone, and should fail.

Both are logistic regressions on TF-IDF of words and characters, cross-validated so that a question is never on both sides.
"""

from collections.abc import Sequence

from training.chains import LabelledChain
from training.perturb import Perturbed


def style_auroc(chains: Sequence[LabelledChain], *, folds: int = 5) -> float:
    """AUROC of wrong against right from the text of single steps; 0.5 where style tells nothing."""
    rows = [
        (step, label, chain.group)
        for chain in chains
        for step, label in zip(chain.steps, chain.labels, strict=True)
        if label is not None
    ]
    texts, labels, groups = zip(*rows, strict=True)
    return _auroc(texts, [not label for label in labels], groups, folds)


def edit_auroc(made: Sequence[Perturbed], *, folds: int = 5) -> float:
    """AUROC of edited steps against the same steps before the edit; 0.5 where the edit leaves no trace."""
    edited = [one.chain.steps[one.place] for one in made]
    before = [one.right.steps[one.place] for one in made]
    groups = [one.chain.group for one in made]
    return _auroc([*edited, *before], [True] * len(made) + [False] * len(made), groups * 2, folds)


def neighbour_auroc(made: Sequence[Perturbed], *, folds: int = 5) -> float:
    """AUROC of edited steps against an unedited neighbour in the same chain; chains of one step are left out."""
    pairs = [
        (one.chain.steps[one.place], one.right.steps[one.place - 1 if one.place else 1], one.chain.group)
        for one in made
        if len(one.chain.steps) > 1
    ]
    edited, neighbours, groups = zip(*pairs, strict=True)
    return _auroc([*edited, *neighbours], [True] * len(pairs) + [False] * len(pairs), groups * 2, folds)


def _auroc(texts: Sequence[str], labels: Sequence[bool], groups: Sequence[str], folds: int) -> float:
    import numpy as np
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.linear_model import LogisticRegression
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import StratifiedGroupKFold, cross_val_predict
    from sklearn.pipeline import make_union

    words = TfidfVectorizer(ngram_range=(1, 2), sublinear_tf=True, min_df=2)
    characters = TfidfVectorizer(analyzer="char_wb", ngram_range=(3, 4), sublinear_tf=True, min_df=2)
    features = make_union(words, characters).fit_transform(texts)
    classifier = LogisticRegression(C=1.0, class_weight="balanced", solver="liblinear")
    split = StratifiedGroupKFold(folds, shuffle=True, random_state=0)
    wrong = np.array(labels)
    scores = cross_val_predict(classifier, features, wrong, groups=groups, cv=split, method="decision_function")
    return float(roc_auc_score(wrong, scores))
