"""What a run will take, from a few of its own samples: nothing is wasted, they are the first samples of the run itself.

config -> probe (some questions, their first samples) -> tokens, FLOPs, KV memory, hours, money of the whole
"""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from time import monotonic

import numpy as np

from experiments.limit import limited
from experiments.run import Plan, draw_all, lacking
from ttc.backends.openai import OpenAI
from ttc.bank import Bank
from ttc.compute import kv_bytes, question_flops
from ttc.draw import Draw
from ttc.errors import UserError
from ttc.records import Sample
from ttc.statistics import t_interval


@dataclass(frozen=True, slots=True)
class Forecast:
    """The whole of one draw of a run: every question, every sample."""

    draw: str
    questions: int
    samples: int
    prompt_tokens: float
    """Prompts and images, once per question."""
    completion_tokens: float
    completion_low: float
    completion_high: float
    """95 % interval over the probed questions."""
    flops: float | None
    kv_bytes: int | None
    """Of one question's n samples at their ends, in the probe's largest case; None where the model's shape is unknown."""
    money: float | None
    """By the backend's prices; None without."""


@dataclass(frozen=True, slots=True)
class Outlook:
    """The whole run."""

    draws: tuple[Forecast, ...]
    lacking: int
    """Samples that the bank does not hold, the probe's being there now."""
    hours: float | None
    """To draw those at the probe's own rate: rather too much, since small batches are slow. None where the bank held the whole
    probe, so that nothing was timed."""


def forecast(
    plan: Plan, bank: Bank, *, questions: int = 48, samples: int = 4, on_sample: Callable[[Sample], None] = lambda sample: None
) -> Outlook:
    """What the draws of the plan will take. Draws the probe, which stays in the bank.

    Raises:
        UserError: the run has no parallel strategy, whose samples could be foretold.
    """
    if not plan.draws:
        raise UserError("only what parallel strategies draw can be foretold; the config has none")
    draws = {label: draw.model_copy(update={"n": min(samples, draw.n)}) for label, draw in plan.draws.items()}
    config = plan.config.model_copy(update={"strategies": ()})
    probe = replace(plan, exam=limited(plan.exam, questions), draws=draws, config=config)
    identity = config.backend.identity()
    fresh = lacking(bank, probe.wanted(identity))
    clock = _Clock(on_sample)
    drawn = draw_all(probe, config.backend, bank, on_sample=clock)
    left = lacking(bank, plan.wanted(identity))
    hours = left * clock.seconds / fresh / 3600 if fresh else None
    return Outlook(
        tuple(_forecast(plan, label, draw, list(drawn[label].values())) for label, draw in plan.draws.items()), left, hours
    )


class _Clock:
    """Time between the submission of the first sample and the arrival of the last: the engine at work, without its start."""

    def __init__(self, on_sample: Callable[[Sample], None]) -> None:
        self._on_sample, self._begun, self._ended = on_sample, math.inf, 0.0

    def __call__(self, sample: Sample) -> None:
        self._ended = monotonic()
        self._begun = min(self._begun, self._ended - sample.seconds)
        self._on_sample(sample)

    @property
    def seconds(self) -> float:
        """0 where nothing arrived."""
        return max(0.0, self._ended - self._begun)


def _forecast(plan: Plan, label: str, draw: Draw, drawn: list[list[Sample]]) -> Forecast:
    """Scale the probe up to all questions and n samples of each."""
    count = len(plan.exam.questions)
    lengths = np.array([np.mean([s.completion_tokens for s in samples]) for samples in drawn])
    spread = t_interval(lengths, range(len(lengths)))
    replies = count * draw.n
    prompts = count * float(np.mean([samples[0].prompt_tokens for samples in drawn]))
    shape, backend = plan.config.backend.shape(), plan.config.backend
    flops = kv = money = None
    if shape is not None:
        prompt = np.mean([question_flops(shape, s[0]) for s in drawn])
        # FLOPs are quadratic in length: the mean of FLOPs, not the FLOPs of the mean.
        reply = np.mean([shape.decode_flops(s.completion_tokens, s.prompt_tokens) for samples in drawn for s in samples])
        flops = float(count * (prompt + draw.n * reply))
        kv = max(kv_bytes(shape, s[0].prompt_tokens, [max(x.completion_tokens for x in s)] * draw.n) for s in drawn)
    if isinstance(backend, OpenAI) and backend.prices is not None:
        # A server charges the prompt with every call, and a call has one sample or all.
        charged = prompts * (1 if backend.multiple == "n" else draw.n)
        money = backend.prices.money(charged, replies * spread.mean)
    low, high = replies * spread.low, replies * spread.high
    return Forecast(label, count, replies, prompts, replies * spread.mean, low, high, flops, kv, money)
