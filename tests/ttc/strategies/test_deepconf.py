"""DeepConf online: samples that are stopped on the way, replayed and live."""

import asyncio
from dataclasses import asdict
from itertools import permutations
from statistics import mean

import pytest
from pydantic import ValidationError

from ttc.strategies import DeepConf


@pytest.mark.parametrize(("warmup", "top_percent"), [(1, 100), (2, 50), (3, 60)])
def test_the_replay_is_the_mean_of_live_runs_over_all_orders_in_credit_coverage_and_every_cost(sure_bench, warmup, top_percent):
    configured = DeepConf(n=5, verifier="v", warmup=warmup, top_percent=top_percent)
    pool = sure_bench.pool(configured)

    async def live(k: int) -> list[dict[str, float]]:
        one = configured.model_copy(update={"n": k})
        return [asdict(await sure_bench.solve(one, order)) for order in permutations(range(5))]

    for k in (2, 5):
        runs = asyncio.run(live(k))
        expected = asdict(configured.expected(pool, k))
        assert expected == pytest.approx({name: mean(run[name] for run in runs) for name in expected}, abs=1e-9)


def test_a_sample_costs_what_was_drawn_until_its_window_fell_below_the_worst_one_kept(sure_bench):
    configured = DeepConf(n=3, verifier="v", warmup=1, top_percent=100)
    # The second never falls below exp(-2); the first does with its third token, the third with its second.
    found = asyncio.run(sure_bench.solve(configured, (1, 0, 2)))
    assert (found.completion_tokens, found.samples) == (4 + 3 + 2, 3)
    assert found.path_completion_tokens == 4 + 3
    assert found.credit == 1
    assert asyncio.run(sure_bench.solve(configured, (2, 0, 1))).completion_tokens == 6 + 3 + 4


def test_the_last_low_of_a_running_score_is_the_score_of_the_sample(sure_bench):
    pool = sure_bench.pool(DeepConf(n=5, verifier="v", warmup=2))
    assert [[fall.tokens for fall in one] for one in pool.falls["v"]] == [[2, 3], [2], [2, 3, 4, 5], [], [2, 3]]
    assert [one[-1].score for one in pool.falls["v"] if one] == pytest.approx([s for s in pool.scores["v"] if s is not None])


def test_a_length_cap_leaves_no_running_score_to_stop_by():
    with pytest.raises(ValidationError, match="leave one out"):
        DeepConf(n=5, verifier="v", warmup=2, cap_tokens=3)
