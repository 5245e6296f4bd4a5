"""Exact expectations at every budget k from the n samples of one question, and replays where no closed form exists.

Each is a U-statistic: the mean over all subsets of k of the n samples, hence unbiased for a fresh run of k samples. Resampling
the samples with replacement is biased instead, and an extrapolation beyond n is a guess: k > n is a ValueError.

    counting   pass@k, pass^k, best-of-k, the longest of k
    voting     vote@k, and the probability that anybody votes
    rejection  take the first accepted sample, at most k; risk against coverage
    replay     permutations shared by all methods and budgets
    ranked     the m best scored of k
    weighted   the weighted vote: enumerated where small, else over shared permutations
    stopping   adaptive stopping rules, live and replayed
"""

from ttc.estimators.counting import best_of_k, longest_of_k, pass_at_k, pass_hat_k
from ttc.estimators.ranked import best_of_orders, best_sets, sets_of_best
from ttc.estimators.rejection import Rejection, RiskCoverage, rejection_at_k, risk_coverage
from ttc.estimators.replay import permutations
from ttc.estimators.stopping import BetaStop, Course, EarlyStop, LosslessStop, Replay, StoppingRule, beta_confidence
from ttc.estimators.voting import vote_at_k, vote_coverage_at_k, vote_curve
from ttc.estimators.weighted import WeightedPool, first_of_orders, subsets

__all__ = [
    "BetaStop",
    "Course",
    "EarlyStop",
    "LosslessStop",
    "Rejection",
    "Replay",
    "RiskCoverage",
    "StoppingRule",
    "WeightedPool",
    "best_of_k",
    "best_of_orders",
    "best_sets",
    "beta_confidence",
    "first_of_orders",
    "longest_of_k",
    "pass_at_k",
    "pass_hat_k",
    "permutations",
    "rejection_at_k",
    "risk_coverage",
    "sets_of_best",
    "subsets",
    "vote_at_k",
    "vote_coverage_at_k",
    "vote_curve",
]
