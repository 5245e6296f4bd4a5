"""How a strategy picks one of the samples it drew: pure functions of classes, scores and weights that return an index.

Live strategies and the estimators share them. Ties go to what was seen first: the order of independent samples is random, so
this has the expectation of a uniform choice, and it is the same on every machine. Alphabetical order has not.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from math import copysign, fsum, inf, log

LOGIT_CLIP = 1e-6
SUM_TOLERANCE = 1e-12
"""Sums of weights closer than this are equal."""


def plurality(classes: Sequence[Hashable]) -> int | None:
    """First sample of the most common class; ties go to the class seen first. None does not vote; None if nobody does."""
    votes = Counter(answer for answer in classes if answer is not None)
    if not votes:
        return None
    most = max(votes.values())
    return next(i for i, answer in enumerate(classes) if answer is not None and votes[answer] == most)


def eligible(classes: Sequence[Hashable], scores: Sequence[float | None]) -> list[float | None]:
    """The scores that compete to be stood by: None without an answer, which loses to any; -inf where only the score is missing.

    A sample without an answer cannot be right, and it does not vote; a verifier of steps may still like how it begins.
    """
    pairs = zip(classes, scores, strict=True)
    return [None if answer is None else -inf if score is None else score for answer, score in pairs]


def ranked(scores: Sequence[float | None]) -> list[int]:
    """The places of the scores, the highest first; ties go to the earlier, and one without a score loses to any."""
    return sorted(range(len(scores)), key=lambda i: (scores[i] is not None, scores[i] or 0.0), reverse=True)


def best(scores: Sequence[float | None]) -> int | None:
    """First sample of the highest score. One without a score loses to any; where all lack one it is the first sample."""
    return next(iter(ranked(scores)), None)


def top(scores: Sequence[float | None], m: int) -> list[float | None]:
    """The scores, with None for all but the m highest; ties go to the earlier."""
    kept = set(ranked(scores)[:m])
    return [score if i in kept else None for i, score in enumerate(scores)]


def weighted(classes: Sequence[Hashable], weights: Sequence[float | None]) -> int | None:
    """First voter of the class with the largest sum of weights, which may be negative; None if nobody votes.

    Ties go to the larger single weight, then to the larger class, then to the class seen first. Samples without an answer or
    without a weight do not vote.
    """
    voters: dict[Hashable, list[tuple[int, float]]] = defaultdict(list)
    for i, (answer, weight) in enumerate(zip(classes, weights, strict=True)):
        if answer is not None and weight is not None:
            voters[answer].append((i, weight))
    if not voters:
        return None
    sums = {answer: fsum(weight for _, weight in votes) for answer, votes in voters.items()}
    most = max(sums.values())
    tied = [votes for answer, votes in voters.items() if sums[answer] >= most - SUM_TOLERANCE]
    return max(tied, key=lambda votes: (max(weight for _, weight in votes), len(votes), -votes[0][0]))[0][0]


def filtered(classes: Sequence[Hashable], scores: Sequence[float | None], threshold: float) -> int | None:
    """`plurality` among the samples scored at least `threshold`; None if there are none."""
    return plurality(voters(classes, scores, threshold))


def voters(classes: Sequence[Hashable], scores: Sequence[float | None], threshold: float) -> list[Hashable]:
    """The classes, with None for every sample that is not scored at least `threshold`."""
    return [answer if score is not None and score >= threshold else None for answer, score in zip(classes, scores, strict=True)]


def clipped_logit(probability: float) -> float:
    """Log-odds of a probability clipped to [1e-6, 1 - 1e-6]: the weight under which independent votes multiply."""
    if not LOGIT_CLIP < probability < 1 - LOGIT_CLIP:
        return copysign(log((1 - LOGIT_CLIP) / LOGIT_CLIP), probability - 0.5)  # exactly opposite, so that they can cancel
    return log(probability / (1 - probability))
