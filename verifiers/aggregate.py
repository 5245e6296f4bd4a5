"""Step scores -> one score of the reply."""

from collections.abc import Sequence
from math import exp, fsum, log, prod
from typing import Literal, get_args

Aggregation = Literal["last", "min", "product", "mean", "geometric_mean"]
AGGREGATIONS: tuple[Aggregation, ...] = get_args(Aggregation)


def aggregate(steps: Sequence[float], how: Aggregation) -> float | None:
    """The reply's score from the probabilities that its steps are right; None where it has no step.

    Source: `min` and `product` as compared by Lightman et al. 2023, arXiv:2305.20050; `last` by Snell et al. 2024,
    arXiv:2408.03314.
    """
    if not steps:
        return None
    match how:
        case "last":
            return steps[-1]
        case "min":
            return min(steps)
        case "product":
            return prod(steps)
        case "mean":
            return fsum(steps) / len(steps)
        case "geometric_mean":  # the product, without its bias against long replies
            return exp(fsum(map(log, steps)) / len(steps)) if min(steps) > 0 else 0.0
