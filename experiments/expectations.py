"""What parallel strategies are expected to achieve, from the pools of all questions."""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

from experiments.thresholds import Thresholds
from ttc.pool import Outcome, Pool


def expectations(
    strategies: Mapping[str, Any],
    pools: Mapping[str, Mapping[str, Pool]],
    ks: Mapping[str, Sequence[int]],
    thresholds: Mapping[str, Thresholds] = MappingProxyType({}),
) -> dict[str, dict[str, list[tuple[int, Outcome]]]]:
    """The outcomes of parallel strategies at their budgets, as far as the pools go.

    Question by question, since strategies share what is counted or permuted of a question's samples.

    Args:
        thresholds: of the strategies whose configs do not give a number, by name.
    """
    found: dict[str, dict[str, list[tuple[int, Outcome]]]] = {name: {} for name in strategies}
    for question_id in dict.fromkeys(i for name in strategies for i in pools[name]):
        for name, strategy in strategies.items():
            if pool := pools[name].get(question_id):
                chosen, budgets = thresholds.get(name), [k for k in ks[name] if k <= pool.n]
                at = {k: chosen.fix(strategy, question_id, k) if chosen else strategy for k in budgets}
                found[name][question_id] = [(k, at[k].expected(pool, k)) for k in budgets]
    return found
