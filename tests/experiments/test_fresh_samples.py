"""Curves from one pool of samples against live runs on fresh ones, drawn under another seed by the pocket model."""

import asyncio
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from statistics import mean, variance

import pytest

from experiments.config import strategy_name, validate
from experiments.plan import plan
from experiments.run import draw_all, execute
from ttc.bank import Bank
from ttc.judges.rules import Rules
from ttc.records import Sample
from ttc.scoring import Scoring
from ttc.session import Session

SURE = {"verifier": "sure"}
STRATEGIES = [
    {"kind": "vote"},
    {"kind": "best_of_n", **SURE},
    {"kind": "weighted_vote", **SURE},
    {"kind": "weighted_vote", "weights": "clipped_logit", **SURE},
    {"kind": "filtered_vote", "threshold": 0.9, "fallback": "vote", **SURE},
    {"kind": "rejection", "threshold": 0.95, "fallback": "vote", **SURE},
    {"kind": "rejection", "threshold": 0.95, **SURE},
    {"kind": "adaptive_vote"},
    {"kind": "adaptive_vote", "rule": "beta"},
    {"kind": "adaptive_vote", "rule": "esc"},
]


def config(bank: Path, *, n: int, limit: int, seed: int):
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "transformers", "model": "pocket"},
        "sampling": {"temperature": 1.0, "max_tokens": 96, "logprobs": True},
        "verifiers": {"sure": {"kind": "confidence"}},
        "strategies": [{**strategy, "n": n} for strategy in STRATEGIES],
        "limit": limit,
        "bank": str(bank),
        "seed": seed,
    }
    return validate(content, "test")


@dataclass
class Drawn:
    """A source of given samples."""

    samples_given: list[Sample]

    async def samples(self, question, prompt, sampling, n, prefix=()):
        return self.samples_given[:n]


@pytest.mark.parametrize(
    ("k", "n", "limit"),
    [(4, 64, 6), *(pytest.param(k, 256, 40, marks=[pytest.mark.slow, pytest.mark.timeout(900)]) for k in (2, 8, 32))],
)
def test_every_parallel_curve_is_what_live_runs_on_fresh_samples_achieve_and_cost(k, n, limit, tmp_path):
    bank = Bank(tmp_path)
    curve = plan(config(tmp_path, n=n, limit=limit, seed=0))
    expected = execute(curve, curve.config.backend, bank).outcomes
    again = plan(config(tmp_path, n=n, limit=limit, seed=1))
    [pool] = draw_all(curve, curve.config.backend, bank).values()
    [fresh] = draw_all(again, again.config.backend, bank).values()
    with bank.writer() as writer, Scoring(again.config.verifiers, bank, writer) as scoring:
        for strategy in again.config.strategies:
            live = strategy.model_copy(update={"n": k})
            questions = again.exam.questions
            runs = [asyncio.run(_live(again, live, question, fresh[question.id], scoring)) for question in questions]
            own = [asyncio.run(_live(again, live, question, pool[question.id], scoring)) for question in questions]
            for part, name in enumerate(("credit", "samples", "completion_tokens")):
                found = [[run[part] for run in of_question] for of_question in runs]
                at_k = [getattr(dict(points)[k], name) for points in expected[strategy_name(strategy)].values()]
                # the curve uses each set of k samples of its pool, so it is no noisier than runs on k of them after the other
                noise = [*found, *([run[part] for run in of_question] for of_question in own)]
                error = sqrt(sum(variance(one) / len(one) for one in noise)) / len(found)
                achieved = mean(map(mean, found))
                # what none of m runs showed can still happen in three of m (rule of three)
                unseen = 3 / sum(map(len, noise)) * max(map(max, noise))
                assert mean(at_k) == pytest.approx(achieved, abs=4 * error + unseen), (strategy_name(strategy), name)


async def _live(plan, strategy, question, samples, scoring) -> list[tuple[float, float, float]]:
    """Credit, samples and tokens of one run on each k samples."""
    runs = []
    for start in range(0, len(samples) - strategy.n + 1, strategy.n):
        source = Drawn(samples[start : start + strategy.n])
        session = Session(question, source, plan.prompt, plan.config.sampling, verification=scoring)
        answer = (await strategy.solve(session)).answer
        credit = Rules().judge(question, plan.exam.golds[question.id], answer).credit if answer else 0.0
        runs.append((credit, float(session.usage.samples), float(session.usage.completion_tokens)))
    return runs
