"""Pools in a run's folder: halves made of them later are those of the run's own samples."""

from math import isnan

import pyarrow as pa

from experiments.config import RunConfig, strategy_name
from experiments.folder import manifest, read_halves, save
from experiments.halves import halved
from experiments.plan import plan
from experiments.pools import pool_rows, pools_of
from experiments.run import execute
from ttc.bank import Bank
from ttc.pool import Fall, Pool


def test_halves_made_later_are_those_of_the_runs_own_samples(tmp_path):
    verified = {"n": 8, "verifier": "v"}
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "no idea"], "pick": "seeded"},
        "verifiers": {"v": {"kind": "scripted"}},
        "strategies": [
            {"kind": "direct"},
            {"kind": "best_of_n", **verified},
            {"kind": "rejection", **verified, "threshold": "accuracy", "fallback": "greedy"},
            {"kind": "adaptive_vote", "n": 8, "cap_tokens": 3},
            {"kind": "shuffled_vote", "n": 8},
        ],
        "limit": 6,
    }
    config = RunConfig.model_validate(content)
    results = execute(plan(config), config.backend, Bank(tmp_path / "bank"))
    save(tmp_path, results, manifest(results, config.backend, "run"))
    strategies = {strategy_name(strategy): strategy for strategy in config.strategies}
    whole = halved(strategies, results.pools, dict.fromkeys(strategies, (1, 2, 4)), results.thresholds)
    assert not (tmp_path / "halves.parquet").exists()
    assert read_halves(tmp_path) == whole
    assert (tmp_path / "halves.parquet").exists()
    assert read_halves(tmp_path) == whole


def test_what_was_not_counted_is_null_in_the_file_and_nan_again():
    pool = Pool("q", (None, 0), (0.0, 1.0), float("nan"), (float("nan"), 3.0), None, None)
    rows = pool_rows({"vote": {"q": pool}})
    [row] = rows
    assert row["prompt_tokens"] is None
    assert row["completion_tokens"] == [None, 3.0]
    again = pools_of(rows)["vote"]["q"]
    assert isnan(again.prompt_tokens)
    assert isnan(again.completion_tokens[0])
    assert (again.classes, again.credits, again.completion_tokens[1]) == ((None, 0), (0.0, 1.0), 3.0)


def test_the_lows_of_a_running_score_are_in_the_file():
    falls = {"v": ((Fall(2, 0.5, 1e9), Fall(7, 0.25, 2e9)), ())}
    columns = {"u": (None, 0.1), "v": (0.25, None)}
    tokens, flops = dict.fromkeys(columns, (0, 0)), dict.fromkeys(columns, (0.0, 0.0))
    pool = Pool("q", (None, 0), (0.0, 1.0), 5, (9, 3), 1.0, (1.0, 2.0), columns, tokens, flops, falls)
    rows = pa.Table.from_pylist(pool_rows({"deepconf": {"q": pool}})).to_pylist()
    assert pools_of(rows) == {"deepconf": {"q": pool}}
