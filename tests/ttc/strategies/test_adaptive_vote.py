"""Votes that stop early: live against the full vote, live against the replayed curve, and what is drawn."""

import asyncio
from dataclasses import asdict
from itertools import permutations
from statistics import mean

import numpy as np
import pytest

from ttc import prompts, select
from ttc.estimators import EarlyStop, LosslessStop
from ttc.estimators.stopping import fewest_to_stop, tally
from ttc.records import Question, Sample, Sampling, Selection, Usage
from ttc.session import Session
from ttc.strategies import AdaptiveVote, Vote

OPTIONS = ("one", "two", "three", "four")
RULES = [{"rule": "lossless"}, {"rule": "beta", "confidence": 0.9}, {"rule": "esc", "window": 2}]


class Said:
    """A source whose samples say these letters, `-` nothing; counts what it is asked for."""

    def __init__(self, letters: str) -> None:
        self.letters, self.asked = letters, []

    async def samples(self, question, prompt, sampling, n, prefix=()):
        self.asked.append(n)
        texts = ["no idea" if letter == "-" else f"Answer: {letter}" for letter in self.letters[:n]]
        return [Sample("k", i, "q", text, finish="stop", prompt_tokens=7, completion_tokens=3) for i, text in enumerate(texts)]


def solve(strategy, source: Said) -> tuple[Selection, Usage]:
    question = Question("q", "pocket", "multiple-choice", "Which?", OPTIONS)
    session = Session(question, source, lambda asked, style: prompts.render(asked, style=style), Sampling())
    return asyncio.run(strategy.solve(session)), session.usage


def test_lossless_stopping_gives_the_selection_of_the_full_vote_with_fewer_samples():
    rng = np.random.default_rng(3)
    drawn = []
    for _ in range(200):
        said = "".join(rng.choice(list("ABCD-"), 12, p=[0.7, 0.1, 0.1, 0.05, 0.05]))
        early, usage = solve(AdaptiveVote(n=12), Said(said))
        full, _ = solve(Vote(n=12), Said(said))
        assert early == full
        drawn.append(usage.samples)
    assert mean(drawn) < 10


@pytest.mark.parametrize("settings", RULES, ids=str)
@pytest.mark.parametrize("said", ["AAAAAAAA", "ABABABAB", "--------", "-ABBBBBB", "ABBAAAAA"])
def test_waves_draw_exactly_what_a_decision_after_every_window_would_have_drawn(settings, said):
    strategy = AdaptiveVote(n=8, **settings)
    classes = [None if letter == "-" else letter for letter in said]
    window = strategy.stopping.window
    stops = (k for k in range(window, 9, window) if strategy.stopping.stops(tally(classes[:k], 8, window)))
    selection, usage = solve(strategy, Said(said))
    assert usage == Usage(usage.samples, 7, 3 * usage.samples, flops=None)
    assert usage.samples == next(stops, 8)
    assert selection.sample == select.plurality(classes[: usage.samples])


def test_a_first_wave_holds_the_fewest_that_could_settle_the_vote():
    source = Said("A" * 64)
    solve(AdaptiveVote(n=64), source)
    assert source.asked == [33]
    assert fewest_to_stop(EarlyStop(4), tally((), 10, 4)) == 4
    assert fewest_to_stop(LosslessStop(), tally("AB", 10)) == 5


@pytest.mark.parametrize("settings", RULES, ids=str)
def test_the_curve_is_the_mean_of_live_runs_over_all_orders_in_credit_coverage_and_every_cost(bench, settings):
    configured = AdaptiveVote(n=5, **settings)
    pool = bench.pool(configured)

    async def live(k: int) -> list[dict[str, float]]:
        one = configured.model_copy(update={"n": k})
        return [asdict(await bench.solve(one, order)) for order in permutations(range(5))]

    for k in (1, 2, 4, 5):
        runs, expected = asyncio.run(live(k)), asdict(configured.expected(pool, k))
        assert expected == pytest.approx({name: mean(run[name] for run in runs) for name in expected}, abs=1e-9)
