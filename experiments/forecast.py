"""What a run will take, from a few of its own samples: nothing is wasted, they are the first samples of the run itself.

config -> probe (some questions: their first samples, live strategies run for real) -> tokens, FLOPs, KV memory, hours, money
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import nan
from time import monotonic
from typing import Any

import numpy as np

from experiments.config import budget_of, strategy_name
from experiments.limit import limited
from experiments.plan import Plan, lacking
from experiments.run import draw_and_solve
from experiments.solved import Solved
from experiments.tariffs import costs_of
from ttc import keys
from ttc.bank import Bank
from ttc.compute import kv_bytes, question_flops
from ttc.compute.tariff import Tariff
from ttc.records import Reply, Sample, StepScores
from ttc.scoring import Scoring
from ttc.statistics import t_interval
from ttc.strategies import AdaptiveVote, Rejection

ADAPTIVE = (AdaptiveVote, Rejection)
"""Strategies whose samples are all drawn, for their curves, but which stop earlier when they run alone."""


@dataclass(frozen=True, slots=True)
class Total:
    """Of all questions, scaled up from the probed ones, with the 95 % interval that these give."""

    value: float
    low: float
    high: float
    """Both NaN where one question was probed."""

    @classmethod
    def of(cls, per_question: Sequence[float], questions: int) -> "Total | None":
        """None where one of them is unknown, or none was probed."""
        if not per_question or np.isnan(per_question).any():
            return None
        mean, low, high = float(np.mean(per_question)), nan, nan
        if len(per_question) > 1:
            spread = t_interval(per_question, range(len(per_question)))
            low, high = max(0.0, spread.low), spread.high
        return cls(questions * mean, questions * low, questions * high)


@dataclass(frozen=True, slots=True)
class Forecast:
    """One thing that a run does on every question: a draw, a verifier's pass over one, or a strategy that is run as it goes."""

    what: str
    samples: Total
    """Drawn, or scored."""
    prompt_tokens: Total | None
    """Prompts and images, once per question; None where unknown, or where none are read."""
    completion_tokens: Total | None
    verifier_tokens: Total | None
    flops: float | None
    """None where a model's shape is unknown."""
    kv_bytes: int | None
    """Of one question's n samples at their ends, in the probe's largest case; of draws only."""
    money: float | None
    """By the config's costs or the backend's prices; None without."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The whole run."""

    draws: tuple[Forecast, ...]
    passes: tuple[Forecast, ...]
    """Of verifiers over draws."""
    live: tuple[Forecast, ...]
    """Strategies that are run as they go. Draws, passes and these are the run."""
    alone: tuple[Forecast, ...]
    """Adaptive strategies as if each ran alone, which is what their curves say; the run takes their draw."""
    lacking: int
    """Samples of draws that the bank does not hold, the probe's being there now."""
    hours: float | None
    """To draw those and what live strategies will, at the probe's own rate: rather too much, since small batches are slow. None
    where nothing was timed, since the bank held the whole probe, or its tokens are not counted."""


def forecast(
    plan: Plan,
    bank: Bank,
    *,
    questions: int = 48,
    samples: int = 4,
    live_questions: int = 12,
    on_sample: Callable[[Sample], None] = lambda sample: None,
) -> Outlook:
    """What the plan will take. Draws the probe, which stays in the bank.

    Args:
        questions: of which samples are drawn.
        samples: of each, where the draw has as many.
        live_questions: of these, on which live and adaptive strategies are run for real.
    """
    probe = probe_of(plan, questions, samples, live_questions)
    clock = _Clock(on_sample)
    drawn, live = draw_and_solve(probe, plan.config.backend, bank, on_sample=clock)
    draws = tuple(_draw(plan, label, drawn[label]) for label in plan.draws)
    passes = tuple(_passes(probe, plan, drawn, bank))
    going, alone = [], []
    for strategy in dict.fromkeys(strategy for strategy, _ in probe.live):
        found = live[strategy_name(strategy), budget_of(strategy)]
        (alone if isinstance(strategy, ADAPTIVE) else going).append(_solved(plan, strategy, list(found.values())))
    wanted = plan.wanted(plan.config.backend.identity())
    left, count = lacking(bank, wanted), len(plan.exam.questions)
    undrawn, unsolved = left / max(1, sum(wanted.values())), 1 - min(live_questions, questions, count) / count
    ahead = [(one.completion_tokens, share) for part, share in ((draws, undrawn), (going, unsolved)) for one in part]
    tokens = sum(total.value * share if total else nan for total, share in ahead)
    seconds = nan if clock.seconds_per_token is None else tokens * clock.seconds_per_token
    return Outlook(draws, passes, tuple(going), tuple(alone), left, None if math.isnan(seconds) else seconds / 3600)


def probe_of(plan: Plan, questions: int, samples: int, live_questions: int) -> Plan:
    """A part of the plan: its first samples of some questions, and all live and adaptive strategies on some of these."""
    exam = limited(plan.exam, questions)
    few = limited(exam, live_questions).questions
    strategies = [one for one in plan.config.strategies if not hasattr(one, "draw") or isinstance(one, ADAPTIVE)]
    draws = {label: draw.model_copy(update={"n": min(samples, draw.n)}) for label, draw in plan.draws.items()}
    return replace(plan, exam=exam, draws=draws, live=[(strategy, question) for strategy in strategies for question in few])


def stored(plan: Plan, bank: Bank) -> dict[str, Forecast]:
    """By draw label, what the samples foretell that the bank holds already; draws without any are left out. Draws nothing."""
    identity, found = plan.config.backend.identity(), {}
    for label, draw in plan.draws.items():
        wanted = {
            question.id: {keys.key_of(described): n for described, n in plan.requests(question, draw, identity).items()}
            for question in plan.exam.questions
        }
        held = bank.samples({key for ns in wanted.values() for key in ns}, tokens=False)
        drawn = {
            i: [sample for key, n in ns.items() for sample in held.get(key, {}).values() if sample.index < n]
            for i, ns in wanted.items()
        }
        if drawn := {i: samples for i, samples in drawn.items() if samples}:
            found[label] = _draw(plan, label, drawn)
    return found


class _Clock:
    """The engine at work, without its start: from the submission of the first sample to the arrival of the last."""

    def __init__(self, on_sample: Callable[[Sample], None]) -> None:
        self._on_sample, self._begun, self._ended, self._tokens = on_sample, math.inf, 0.0, 0

    def __call__(self, sample: Sample) -> None:
        self._ended = monotonic()
        self._begun = min(self._begun, self._ended - sample.seconds)
        self._tokens += sample.completion_tokens
        self._on_sample(sample)

    @property
    def seconds_per_token(self) -> float | None:
        """None where nothing arrived."""
        return max(0.0, self._ended - self._begun) / self._tokens if self._tokens else None


def _draw(plan: Plan, label: str, by_id: Mapping[str, Sequence[Sample]]) -> Forecast:
    """Scale a draw's probe up to all questions and n samples of each."""
    draw, shape, count = plan.draws[label], plan.config.backend.shape(), len(plan.exam.questions)
    orders = [len(draw.parts(question)) for question in plan.exam.questions if question.id in by_id]
    drawn = [by_id[question.id] for question in plan.exam.questions if question.id in by_id]
    counted = all(sample.counted for samples in drawn for sample in samples)
    each = [samples[0].prompt_tokens if counted else nan for samples in drawn]
    prompts = [of * tokens for of, tokens in zip(orders, each, strict=True)]
    replies = [draw.n * float(np.mean([s.completion_tokens for s in samples])) if counted else nan for samples in drawn]
    flops = kv = None
    if shape is not None and counted:
        prompt = np.mean([of * question_flops(shape, samples[0]) for of, samples in zip(orders, drawn, strict=True)])
        # FLOPs are quadratic in length: the mean of FLOPs, not the FLOPs of the mean.
        reply = np.mean([shape.decode_flops(s.completion_tokens, s.prompt_tokens) for samples in drawn for s in samples])
        flops = float(count * (prompt + draw.n * reply))
        kv = max(
            of * kv_bytes(shape, s[0].prompt_tokens, [max(x.completion_tokens for x in s)] * -(-draw.n // of))
            for of, s in zip(orders, drawn, strict=True)
        )
    rereads = [draw.n * tokens - paid for tokens, paid in zip(each, prompts, strict=True)]
    money = _money(costs_of(plan.config).tariff(None), prompts, rereads, replies)
    samples = Total(float(count * draw.n), float(count * draw.n), float(count * draw.n))
    priced = None if money is None else count * money
    return Forecast(f"draw {label}", samples, Total.of(prompts, count), Total.of(replies, count), None, flops, kv, priced)


def _passes(probe: Plan, plan: Plan, drawn: Mapping[str, Mapping[str, list[Sample]]], bank: Bank) -> list[Forecast]:
    """Every verifier's pass over a draw, from scoring the probe for real."""
    if not plan.scored:
        return []
    by_id = {question.id: question for question in probe.exam.questions}
    found, verifiers = [], plan.config.verifiers
    with bank.writer() as writer, Scoring(verifiers, bank, writer, calibrated=plan.calibrated) as scoring:
        for (label, name), n in plan.scored.items():
            scores = [
                scoring.score_all(name, [Reply(by_id[i], sample) for sample in samples]) for i, samples in drawn[label].items()
            ]
            tariff = costs_of(plan.config).tariff(name)
            found.append(_pass(f"verifier {name} on {label}", len(plan.exam.questions), n, scores, scoring, name, tariff))
    return found


def _pass(
    what: str, count: int, n: int, scores: Sequence[Sequence[StepScores]], scoring: Scoring, name: str, tariff: Tariff
) -> Forecast:
    tokens = [n * float(np.mean([one.tokens for one in row])) for row in scores]
    flops = [scoring.flops(name, one) for row in scores for one in row]
    known = [value for value in flops if value is not None]
    nothing = [0.0] * len(tokens)
    money = _money(tariff, nothing, nothing, nothing, tokens)
    return Forecast(
        what,
        Total(float(count * n), float(count * n), float(count * n)),
        None,
        None,
        Total.of(tokens, count),
        count * n * float(np.mean(known)) if len(known) == len(flops) else None,
        None,
        None if money is None else count * money,
    )


def _solved(plan: Plan, strategy: Any, found: Sequence[Solved]) -> Forecast:
    """Scale what a strategy took on the probed questions up to all of them."""
    count, used = len(plan.exam.questions), [one.usage for one in found]
    columns = [[one.samples, one.prompt_tokens, one.completion_tokens, one.verifier_tokens] for one in used]
    samples, prompts, replies, scoring = (list(map(float, column)) for column in zip(*columns, strict=True))
    flops = [one.flops for one in used if one.flops is not None]
    verifier = getattr(strategy, "verifier", None)
    money = _money(costs_of(plan.config).tariff(verifier), prompts, [float(s.reread_tokens) for s in found], replies, scoring)
    drawn = Total.of(samples, count)
    assert drawn is not None
    budget = budget_of(strategy)
    return Forecast(
        strategy_name(strategy) + (f"@{budget}" if budget else ""),
        drawn,
        Total.of(prompts, count),
        Total.of(replies, count),
        Total.of(scoring, count) if verifier else None,
        count * float(np.mean(flops)) if len(flops) == len(used) else None,
        None,
        None if money is None else count * money,
    )


def _money(
    tariff: Tariff, prompts: Sequence[float], rereads: Sequence[float], replies: Sequence[float], scoring: Sequence[float] = ()
) -> float | None:
    """Mean price of a question; None where it is unknown."""
    if tariff.money is None:
        return None
    verifier = np.array(scoring) if len(scoring) else np.zeros(len(replies))
    mean = float(tariff.money.total(np.array(prompts), np.array(rereads), np.array(replies), verifier).mean())
    return None if math.isnan(mean) else mean
