"""The pools of a run as a table, one row per pool: what halves are made of, should somebody ask for them."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple, replace
from math import isnan, nan
from typing import Any

from ttc.pool import Fall, Pool, PoolPrompt

Pools = Mapping[str, Mapping[str, Pool]]
"""Strategy name -> question id -> the samples as it sees them."""


def pool_rows(pools: Pools) -> list[dict[str, Any]]:
    """A row for each pool, which strategies share; a greedy sample to fall back on is a row that no strategy reads."""
    readers: dict[int, list[str]] = {}
    found: dict[int, Pool] = {}
    for name, by_id in pools.items():
        for pool in by_id.values():
            for one in filter(None, (pool, pool.greedy)):
                found[id(one)] = one
            readers.setdefault(id(pool), []).append(name)
    number = {key: place for place, key in enumerate(found)}
    return [
        {
            "pool": number[key],
            "strategies": readers.get(key, []),
            "greedy": None if pool.greedy is None else number[id(pool.greedy)],
            "question_id": pool.question_id,
            "n_options": pool.n_options,
            "prompts": [(one.number, _known(one.tokens), one.flops) for one in pool.prompts],
            "classes": pool.classes,
            "credits": pool.credits,
            "prompt_tokens": _known(pool.prompt_tokens),
            "completion_tokens": [_known(tokens) for tokens in pool.completion_tokens],
            "prefill_flops": pool.prefill_flops,
            "decode_flops": pool.decode_flops,
            "verifiers": list(pool.scores),
            "scores": list(pool.scores.values()),
            "verifier_tokens": [pool.verifier_tokens[name] for name in pool.scores],
            "verifier_flops": [pool.verifier_flops[name] for name in pool.scores],
            "falls": [
                [[astuple(fall) for fall in one] for one in pool.falls[name]] if name in pool.falls else None
                for name in pool.scores
            ],
        }
        for key, pool in found.items()
    ]


def pools_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Pool]]:
    """The pools by strategy and question again."""
    found = {row["pool"]: (_pool(row), row) for row in rows}
    pools: dict[str, dict[str, Pool]] = {}
    for pool, row in found.values():
        whole = pool if row["greedy"] is None else replace(pool, greedy=found[row["greedy"]][0])
        for name in row["strategies"]:
            pools.setdefault(name, {})[pool.question_id] = whole
    return pools


def _pool(row: Mapping[str, Any]) -> Pool:
    def columns(name: str) -> dict[str, Any]:
        return {one: _tuple(column) for one, column in zip(row["verifiers"], row[name], strict=True)}

    return Pool(
        row["question_id"],
        tuple(row["classes"]),
        tuple(row["credits"]),
        _counted(row["prompt_tokens"]),
        tuple(map(_counted, row["completion_tokens"])),
        row["prefill_flops"],
        _tuple(row["decode_flops"]),
        scores=columns("scores"),
        verifier_tokens=columns("verifier_tokens"),
        verifier_flops=columns("verifier_flops"),
        falls={
            name: tuple(tuple(Fall(int(tokens), score, flops) for tokens, score, flops in one) for one in column)
            for name, column in zip(row["verifiers"], row.get("falls", ()), strict=False)
            if column is not None
        },
        n_options=row["n_options"],
        prompts=tuple(PoolPrompt(int(one), _counted(tokens), flops) for one, tokens, flops in row.get("prompts", ())),
    )


def _known(tokens: float) -> float | None:
    """Null where it is unknown: not every reader of Parquet knows NaN."""
    return None if isnan(tokens) else tokens


def _counted(tokens: float | None) -> float:
    return nan if tokens is None else tokens


def _tuple(column: list[Any] | None) -> tuple[Any, ...] | None:
    return None if column is None else tuple(column)
