"""Settings that did nothing in a run: a threshold that no score reaches, a window that no reply fills."""

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from experiments.config import strategy_name
from ttc.pool import Pool

if TYPE_CHECKING:
    from experiments.run import Results


def idle_lines(results: "Results") -> list[str]:
    """A line for each parallel strategy that such a setting kept from what it is for."""
    strategies = {strategy_name(strategy): strategy for strategy in results.plan.config.parallel}
    return [line for name, strategy in strategies.items() for line in idle(name, strategy, results.pools[name])]


def idle(name: str, strategy: Any, pools: Mapping[str, Pool]) -> Iterator[str]:
    """What did nothing in one strategy, and what the scores or replies were.

    Args:
        pools: by question id, as the strategy sees them.
    """
    threshold = getattr(strategy, "threshold", None)
    if isinstance(threshold, int | float):
        scores = [score for pool in pools.values() for score in pool.eligible(strategy.verifier) if score is not None]
        if scores and max(scores) < threshold:
            yield (
                f"{name}: no sample reaches threshold {threshold:g}; "
                f"scores of {strategy.verifier} are between {min(scores):.3g} and {max(scores):.3g}"
            )
    if getattr(strategy, "warmup", None) is not None:
        parts = [zip(pool.falls[strategy.verifier], pool.completion_tokens, strict=True) for pool in pools.values()]
        scored = [(falls[0].tokens, tokens) for part in parts for falls, tokens in part if falls]
        if scored and all(first >= tokens for first, tokens in scored):
            yield (
                f"{name}: warmup saves nothing, for no reply is longer than the window of {strategy.verifier}; replies have up "
                f"to {max(tokens for _, tokens in scored):,} tokens: set verifiers.{strategy.verifier}.window well below"
            )
