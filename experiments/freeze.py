"""What is chosen on a dev run and then left alone: aggregation, calibration, thresholds, and whether there is a gain at all."""

from collections.abc import Sequence

import numpy as np

from experiments.evidence import Evidence
from ttc.errors import UserError
from verifiers.aggregate import AGGREGATIONS, Aggregation, aggregate
from verifiers.calibrate import Isotonic, Method, Temperature, fit, threshold
from verifiers.card import judged
from verifiers.frozen import DevGain, Frozen
from verifiers.gains import Credits, budgets, credits_of, gains, rescored
from verifiers.metrics import Steps, auroc

PREFERRED: tuple[Aggregation, ...] = ("mean", "geometric_mean", "last", "min", "product")
"""Of aggregations that are equally good the first: one that neither rewards nor punishes length."""


def freeze(evidence: Evidence, *, method: Method = "temperature") -> Frozen:
    """Choose everything on this run's questions.

    The aggregation is the one under which best-of-k and the weighted vote are right most often, over both and all k; steps are
    calibrated before it and the aggregate after it.

    Raises:
        UserError: a test split, a verifier that knows the gold, or no right or no wrong replies.
    """
    if evidence.plan.exam.split == "test" and evidence.plan.config.benchmark.kind != "jsonl":
        raise UserError(f"freeze: {evidence.plan.exam.name} test is a test split; choose on validation or dev")
    if evidence.verifier.uses_gold:
        raise UserError(f"freeze: verifier {evidence.name} knows the gold, so there is nothing to choose")
    steps = Steps.of(evidence.chains)
    fitted = fit(method, steps.scores, steps.right) if _has_both(steps.right) else None
    cut = threshold(fitted.apply(steps.scores), steps.right) if fitted else None
    tried: dict[Aggregation, float] = {
        how: float(np.mean(list(found.method_QK.values()))) for how, found in by_aggregation(evidence, fitted).items()
    }
    best = max(tried.values(), default=0.0)
    chosen: Aggregation | None = next((how for how in PREFERRED if tried.get(how) == best), None)
    frozen = Frozen(
        verifier=evidence.identity,
        aggregation=chosen,
        aggregations=tried,
        steps=fitted,
        step_threshold=cut,
        dev=evidence.dev(),
    )
    _, right, scores = judged(evidence.under(frozen))
    if not _has_both(right):
        raise UserError(f"freeze: {len(right)} judged replies are all right or all wrong; give a dev run with both")
    frozen = frozen.model_copy(update={"response": fit(method, scores, right)})
    _, right, scores = judged(evidence.under(frozen))
    measured = gains(credits_of(pools := evidence.pools(frozen), evidence.name, budgets(pools)), evidence.units)
    found = [
        DevGain(
            method=g.method, k=g.k, mean=g.over_vote.interval.mean, low=g.over_vote.interval.low, high=g.over_vote.interval.high
        )
        for g in measured
    ]
    return frozen.model_copy(update={"response_threshold": threshold(scores, right), "gains": tuple(found)}).sealed()


def by_aggregation(evidence: Evidence, fitted: Temperature | Isotonic | None) -> dict[Aggregation, Credits]:
    """What each aggregation of the same step scores gives, at every k above 1; none without step scores."""
    if not any(chain.scores for chain in evidence.chains):
        return {}
    ks = budgets(evidence.pools())
    return {how: credits_of(aggregated(evidence, fitted, how), evidence.name, ks[1:] or ks) for how in AGGREGATIONS}


def aggregated(evidence: Evidence, fitted: Temperature | Isotonic | None, how: Aggregation):
    """The questions' pools under another aggregation of the same step scores."""

    def score(steps: Sequence[float]) -> float | None:
        return aggregate(fitted.apply(steps).tolist() if fitted and steps else steps, how)

    return [
        rescored(
            evidence.graded[i].pool(None),
            evidence.name,
            [None if item.scores.score is None else score(item.scores.steps) for item in items],
        )
        for i, items in evidence.items.items()
    ]


def answer_auroc(evidence: Evidence, fitted: Temperature | Isotonic | None, how: Aggregation) -> float | None:
    """Right and wrong replies told apart under an aggregation."""
    pools = aggregated(evidence, fitted, how)
    rows = [
        (credit == 1, score)
        for pool in pools
        for credit, score in zip(pool.credits, pool.scores[evidence.name], strict=True)
        if score is not None
    ]
    return auroc([row[0] for row in rows], [row[1] for row in rows])


def _has_both(right: Sequence[bool] | np.ndarray) -> bool:
    return 0 < sum(map(bool, right)) < len(right)
