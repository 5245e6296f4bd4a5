"""Outcomes from each half of a question's samples: what one half decides, the other judges, so that no luck counts twice."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeVar

from experiments.expectations import expectations
from experiments.panel import Outcomes
from experiments.thresholds import Thresholds
from ttc.pool import Pool

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Halves:
    """Two independent sets of outcomes on the same questions, at budgets up to half of the samples."""

    outcomes: tuple[Outcomes, Outcomes]
    """From the samples with an even and with an odd index."""
    indivisible: frozenset[str] = frozenset()
    """Strategies that read a single sample, which stands in both halves: fit for bins made from other samples, but not for a
    choice per question."""


def half(pool: Pool, which: int) -> Pool:
    """Every second sample, from the first (0) or the second (1) on; an odd last one is left out, so that halves are equal."""

    def taken(column: Sequence[T]) -> tuple[T, ...]:
        return tuple(column[which : pool.n // 2 * 2 : 2])

    def each(columns: Mapping[str, Sequence[T] | None]) -> dict[str, Any]:
        return {name: None if column is None else taken(column) for name, column in columns.items()}

    return replace(
        pool,
        classes=taken(pool.classes),
        credits=taken(pool.credits),
        completion_tokens=taken(pool.completion_tokens),
        decode_flops=None if pool.decode_flops is None else taken(pool.decode_flops),
        scores=each(pool.scores),
        verifier_tokens=each(pool.verifier_tokens),
        verifier_flops=each(pool.verifier_flops),
        falls=each(pool.falls),
        prompts=taken(pool.prompts),
    )


def halved(
    strategies: Mapping[str, Any],
    pools: Mapping[str, Mapping[str, Pool]],
    ks: Mapping[str, Sequence[int]],
    thresholds: Mapping[str, Thresholds] = MappingProxyType({}),
) -> Halves:
    """Expectations from each half.

    Args:
        strategies: parallel strategies by name.
        pools: what each reads, by question id.
        ks: the budgets of each; those beyond half of a pool's samples are left out.
        thresholds: as chosen from all samples, since they are those of other questions.
    """
    whole = frozenset(name for name in strategies if any(pool.n == 1 for pool in pools[name].values()))
    first, second = (
        expectations(
            strategies,
            {
                name: {i: pool if name in whole else half(pool, which) for i, pool in by_id.items()}
                for name, by_id in pools.items()
            },
            ks,
            thresholds,
        )
        for which in (0, 1)
    )
    return Halves((first, second), whole)
