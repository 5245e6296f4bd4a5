"""How good is each of several verifiers, told without labels: from how they agree.

Votes of M verifiers on N replies -> the share of right replies, and how often each votes for right and for wrong ones.

Source: the model is Dawid and Skene's (1979), fitted by EM; its use on verifiers, with constant and redundant ones left out and
the samples' own vote among them, is Weaver's (Saad-Falcon et al. 2025, arXiv:2506.18203).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ttc.errors import UserError

FloatArray = NDArray[np.float64]

_ROUNDS = 500
_CLOSE = 1e-7
_PRIOR = 1.0
"""Replies of each kind that every verifier is taken to have met before, half of them judged rightly."""
LEAST_MINORITY = 0.02
"""A verifier whose rarer vote is rarer than this is called constant."""
MOST_ALIKE = 0.9
"""Two verifiers whose votes correlate more than this are called one."""


@dataclass(frozen=True, slots=True)
class Latent:
    """Verifiers that err independently of each other, given whether a reply is right."""

    prevalence: float
    """Share of right replies."""
    on_right: FloatArray
    """M: probability of a vote for a right reply."""
    on_wrong: FloatArray
    """M: probability of a vote for a wrong reply."""

    @property
    def accuracy(self) -> FloatArray:
        """M: share of replies judged rightly."""
        return self.prevalence * self.on_right + (1 - self.prevalence) * (1 - self.on_wrong)

    def posterior(self, votes_NM: ArrayLike) -> FloatArray:
        """Probability that each of N replies is right; a vote that is NaN says nothing."""
        votes_NM = np.asarray(votes_NM, dtype=float)
        odds_M1 = np.log(self.on_right / self.on_wrong)
        odds_M0 = np.log((1 - self.on_right) / (1 - self.on_wrong))
        said_NM = np.where(np.isnan(votes_NM), 0.0, np.where(votes_NM == 1, odds_M1, odds_M0))
        z_N = np.log(self.prevalence / (1 - self.prevalence)) + said_NM.sum(axis=1)
        return 1 / (1 + np.exp(-np.clip(z_N, -500, 500)))


def fit_latent(votes_NM: ArrayLike) -> Latent:
    """The model that makes these votes likeliest, begun at their majority: the verifiers are better than chance on the whole.

    Args:
        votes_NM: 1 for a reply, 0 against it, NaN for none.

    Raises:
        UserError: fewer than three verifiers, of whom agreement tells nothing.
    """
    votes_NM = np.asarray(votes_NM, dtype=float)
    if votes_NM.ndim != 2 or votes_NM.shape[1] < 3:
        raise UserError(f"label-free ensemble: votes of {votes_NM.shape[-1]} verifiers; it takes three that differ, add some")
    given_NM = ~np.isnan(votes_NM)
    ones_NM = np.where(given_NM, votes_NM, 0.0)
    right_N = (ones_NM.sum(axis=1) + 0.5) / (given_NM.sum(axis=1) + 1)
    for _ in range(_ROUNDS):
        rates = [(weight_N @ ones_NM + _PRIOR / 2) / (weight_N @ given_NM + _PRIOR) for weight_N in (right_N, 1 - right_N)]
        found = Latent(float(np.clip(right_N.mean(), 1e-6, 1 - 1e-6)), *rates)
        before_N, right_N = right_N, found.posterior(votes_NM)
        if np.abs(right_N - before_N).max() < _CLOSE:
            break
    return found


def cut(scores: ArrayLike) -> float:
    """Where a verifier's scores fall into low and high ones: the place with the largest variance between the two.

    No scale is assumed, since a verifier that finds nearly all replies good may still rank them well (Otsu 1979).
    """
    score_N = np.sort(np.asarray(scores, dtype=float))
    low_N = np.arange(1, len(score_N))
    sums_N = np.cumsum(score_N)[:-1]
    between_N = low_N * (len(score_N) - low_N) * (sums_N / low_N - (score_N.sum() - sums_N) / (len(score_N) - low_N)) ** 2
    place = int(np.where(np.diff(score_N) > 0, between_N, -1.0).argmax()) if len(score_N) > 1 else 0
    return float(score_N[place : place + 2].mean())


def unusable(votes: Mapping[str, FloatArray]) -> dict[str, str]:
    """Verifiers to leave out, with the reason: nearly constant ones, and of two that vote alike the lonelier one.

    Args:
        votes: by name, of N replies; NaN for none.
    """
    left_out: dict[str, str] = {}
    for name, votes_N in votes.items():
        share = float(np.nanmean(votes_N)) if not np.isnan(votes_N).all() else 0.0
        if min(share, 1 - share) < LEAST_MINORITY:
            left_out[name] = f"nearly constant: votes for {share:.1%} of the replies"
    kept = [name for name in votes if name not in left_out]
    alike = {
        name: float(np.mean([_correlation(votes[name], votes[other]) for other in kept if other != name])) for name in kept
    }
    for name in sorted(kept, key=lambda one: -alike[one]):
        for other in sorted(kept, key=lambda one: -alike[one]):
            apart = other == name or other in left_out or name in left_out
            if not apart and (found := _correlation(votes[name], votes[other])) > MOST_ALIKE:
                left_out[other] = f"redundant: its votes correlate {found:.2f} with those of {name}"
    return left_out


def vote_shares(classes: Sequence[int | None]) -> list[float]:
    """The samples' own vote: for each sample of one question, the share of the others with its answer. None is no answer."""
    others = max(1, len(classes) - 1)
    return [0.0 if one is None else (classes.count(one) - 1) / others for one in classes]


def _correlation(one_N: FloatArray, other_N: FloatArray) -> float:
    both_N = ~(np.isnan(one_N) | np.isnan(other_N))
    a, b = one_N[both_N], other_N[both_N]
    return 0.0 if len(a) < 2 or a.std() == 0 or b.std() == 0 else float(np.corrcoef(a, b)[0, 1])
