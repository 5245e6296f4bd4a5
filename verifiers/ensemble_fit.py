"""The weights of an ensemble: learned from labels of a dev split, or without any label.

Without labels, a latent-variable model first tells how good each member is (`verifiers.latent`), the samples' vote being one of
them; what it believes of each reply is then what the weights learn from. The vote itself has no weight, since it depends on how
many samples there are: a strategy that weighs answers by the ensemble's scores, `weighted_vote`, adds it.
"""

from collections.abc import Mapping, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ttc.errors import UserError
from ttc.select import clipped_logit
from verifiers.ensemble import VOTE, Member, Weights
from verifiers.latent import cut, fit_latent, unusable

FloatArray = NDArray[np.float64]
Scores = Mapping[str, Sequence[float | None]]
"""By member, its score of each of N replies; None where it has none."""


def fit_labelled(scores: Scores, right: Sequence[bool], *, data: str = "") -> Weights:
    """Logistic regression on the members' log-odds.

    Raises:
        UserError: all replies are right, or all are wrong, or no member varies.
    """
    if len(set(right)) < 2:
        raise UserError(f"ensemble: {len(right)} replies of one class only; give a dev split with right and wrong ones")
    return _fit(scores, np.asarray(right, dtype=float), {}, {}, "labels", data)


def fit_label_free(scores: Scores, vote: Sequence[float] | None = None, *, data: str = "") -> Weights:
    """Weights learned from what a latent-variable model believes of each reply.

    Args:
        vote: share of the other samples with the same answer (`verifiers.latent.vote_shares`).

    Raises:
        UserError: fewer than three members that differ, the vote among them.
    """
    judged: dict[str, Sequence[float | None]] = dict(scores) | ({VOTE: vote} if vote is not None else {})
    votes = {name: _votes(column) for name, column in judged.items()}
    left_out = unusable(votes)
    kept = [name for name in votes if name not in left_out]
    if len(kept) < 3:
        reasons = "; ".join(f"{name}: {why}" for name, why in left_out.items()) or "none left out"
        raise UserError(f"label-free ensemble: {len(kept)} members that differ, and it takes three ({reasons}); add some")
    votes_NM = np.column_stack([votes[name] for name in kept])
    latent = fit_latent(votes_NM)
    accuracies = dict(zip(kept, latent.accuracy.tolist(), strict=True))
    return _fit(scores, latent.posterior(votes_NM), left_out, accuracies, "label_free", data)


def _fit(
    scores: Scores,
    right_N: FloatArray,
    left_out: Mapping[str, str],
    accuracies: Mapping[str, float],
    fitted: Literal["labels", "label_free"],
    data: str,
) -> Weights:
    """Logistic regression on targets in [0, 1]: each reply stands there twice, as right and as wrong, with its weight."""
    from sklearn.linear_model import LogisticRegression

    logits = {name: _logits(column) for name, column in scores.items() if name not in left_out}
    varying = {name: found for name, found in logits.items() if np.isfinite(found).any() and np.nanstd(found) > 0}
    if not varying:
        raise UserError(f"ensemble: no member's score varies over {len(right_N)} replies; there is nothing to weigh")
    means = {name: float(np.nanmean(found)) for name, found in varying.items()}
    spreads = {name: float(np.nanstd(found)) for name, found in varying.items()}
    x_NM = np.column_stack([np.nan_to_num((found - means[name]) / spreads[name]) for name, found in varying.items()])
    targets, weights = np.repeat([1, 0], len(right_N)), np.concatenate([right_N, 1 - right_N])
    model = LogisticRegression().fit(np.vstack([x_NM, x_NM]), targets, sample_weight=weights)
    found = dict(zip(varying, model.coef_[0].tolist(), strict=True))
    members = {
        name: Member(
            weight=found.get(name, 0.0),
            mean=means.get(name, 0.0),
            spread=spreads.get(name, 1.0),
            accuracy=accuracies.get(name),
            left_out=left_out.get(name, "" if name in varying else "its score never varies, or it has none"),
        )
        for name in scores
    }
    if VOTE in accuracies or VOTE in left_out:
        members[VOTE] = Member(weight=0.0, accuracy=accuracies.get(VOTE), left_out=left_out.get(VOTE, ""))
    return Weights(
        fitted=fitted,
        data=data,
        replies=len(right_N),
        prevalence=float(right_N.mean()),
        intercept=float(model.intercept_[0]),
        members=members,
    )


def _logits(scores: Sequence[float | None]) -> FloatArray:
    return np.array([np.nan if score is None else clipped_logit(score) for score in scores])


def _votes(scores: Sequence[float | None]) -> FloatArray:
    """1 above the cut between low and high scores, 0 below; NaN where there is none."""
    score_N = np.array([np.nan if score is None else score for score in scores], dtype=float)
    known_N = score_N[~np.isnan(score_N)]
    if not len(known_N):
        return score_N
    return np.where(np.isnan(score_N), np.nan, score_N > cut(known_N))
