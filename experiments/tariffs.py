"""What the tokens of a run's strategies cost: the config's prices and speeds, and the device time that its samples tell."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from math import fsum
from typing import Any

from pydantic import TypeAdapter

from experiments.config import RunConfig, strategy_name
from ttc.compute.tariff import Costs, Tariff
from ttc.grading import Graded


@dataclass(frozen=True, slots=True)
class Tariffs:
    """Of one run; without anything known, as in runs from before there were any."""

    strategies: Mapping[str, Tariff] = field(default_factory=dict)
    """By name; one without a tariff has none of these costs."""
    currency: str = ""
    """Empty where no money is known."""
    seconds_per_token: float | None = None
    """Device seconds per completion token, where they were measured and are used."""

    @property
    def notes(self) -> list[str]:
        """Where the figures come from, one sentence each."""
        device = "the configured throughput"
        if self.seconds_per_token:
            took = f"{self.seconds_per_token:.3g} s per completion token"
            device = f"{took}, as the engine took with many at once and their prompts within"
        known = any(tariff.device_seconds for tariff in self.strategies.values())
        money = f"in {self.currency}, at the configured prices" if self.currency else "unknown, for want of prices"
        return [
            f"Device seconds are attributed, not timed: tokens at {device}." if known else "Device seconds are unknown.",
            f"Money is {money}.",
            "Latency is the critical path: the prompt, the longest of the replies drawn side by side, the longest of their"
            " scorings, and what waits for another one after it; in seconds where the config has the speed of a single sample.",
        ]


def tariffs(config: RunConfig, graded: Mapping[str, Mapping[str, Graded]]) -> Tariffs:
    """Every strategy's tariff.

    Args:
        graded: draw label -> question id -> samples, for what was measured.
    """
    costs = costs_of(config)
    measured = seconds_per_token(graded) if costs.throughput == "measured" else None
    found = {
        strategy_name(strategy): costs.tariff(getattr(strategy, "verifier", None), measured) for strategy in config.strategies
    }
    return Tariffs(found, _currency(costs, found), measured)


def costs_of(config: RunConfig) -> Costs:
    """The config's costs; what they leave out is as the backend has it."""
    backend = config.backend
    prices = config.costs.prices or getattr(backend, "prices", None)
    called_each = getattr(backend, "multiple", None) == "separate"
    rereads = called_each if config.costs.rereads is None else config.costs.rereads
    return config.costs.model_copy(update={"prices": prices, "rereads": rereads})


def _currency(costs: Costs, found: Mapping[str, Tariff]) -> str:
    if not any(tariff.money for tariff in found.values()):
        return ""
    return costs.prices.currency if costs.prices else costs.currency


def seconds_per_token(graded: Mapping[str, Mapping[str, Graded]]) -> float | None:
    """Device seconds over completion tokens of all samples that tell both; None where none does."""
    samples = [sample for by_id in graded.values() for one in by_id.values() for sample in one.samples]
    timed = [(sample.device_seconds, sample.completion_tokens) for sample in samples if sample.device_seconds is not None]
    seconds, tokens = fsum(second for second, _ in timed), sum(token for _, token in timed)
    return seconds / tokens if seconds and tokens else None


def read_tariffs(manifest: Mapping[str, Any]) -> Tariffs:
    """As `run.json` has them."""
    return TypeAdapter(Tariffs).validate_python(manifest.get("tariffs", {}))
