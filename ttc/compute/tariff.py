"""What tokens cost in money and in seconds. Every cost is linear in tokens, so that of an expectation is the expected cost.

    config's `costs` -> Costs -> Tariff of a strategy -> money, device seconds, seconds of the critical path

Nothing is guessed: what lacks a price or a speed is unknown, and its axis is empty.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import BaseModel, Field

from ttc.compute.costs import Prices


class Speed(BaseModel, frozen=True, extra="forbid"):
    """Tokens per second."""

    completion: float = Field(gt=0)
    prompt: float | None = Field(default=None, gt=0)
    """Prompt tokens read per second; none: reading them takes no time of its own."""


class VerifierCosts(BaseModel, frozen=True, extra="forbid"):
    """What a verifier's tokens cost, prompt included."""

    price: float | None = Field(default=None, ge=0)
    """Per million tokens; none: the price of its device seconds."""
    throughput: float | None = Field(default=None, gt=0)
    """Tokens per second of one device at work on many replies."""
    speed: float | None = Field(default=None, gt=0)
    """Tokens per second of one reply's scoring."""


class Costs(BaseModel, frozen=True, extra="forbid"):
    """Prices and speeds. They change no sample, only what the samples are said to cost."""

    prices: Prices | None = None
    """The model's; none: the backend's own, or the price of its device seconds."""
    rereads: bool | None = None
    """Charge the prompt with every sample, at the cached price after the first, as a server does that is called for each; none:
    as the backend calls."""
    device_hour: float | None = Field(default=None, ge=0)
    """Price of an hour of one device, for models that run on devices of one's own."""
    currency: str = "USD"
    """Of `device_hour`; `prices` have their own."""
    throughput: Speed | Literal["measured"] | None = "measured"
    """Of one device at work on many samples. `measured`: the engine's device time over the tokens it drew, prompts within, as
    the samples tell it; a server's is unknown."""
    speed: Speed | None = None
    """What a single sample sees: the seconds of the critical path."""
    verifiers: Mapping[str, VerifierCosts] = Field(default_factory=dict)
    """By the names that strategies use."""

    def tariff(self, verifier: str | None, seconds_per_token: float | None = None) -> "Tariff":
        """Of a strategy with this verifier.

        Args:
            seconds_per_token: measured device seconds per completion token, where they are known.
        """
        scoring = self.verifiers.get(verifier or "", VerifierCosts())
        device = self._device(scoring, seconds_per_token)
        path = None if self.speed is None else _at(self.speed, scoring.speed)
        return Tariff(self._money(scoring, device), device, path)

    def _device(self, scoring: VerifierCosts, seconds_per_token: float | None) -> "Weights | None":
        if isinstance(self.throughput, Speed):
            return _at(self.throughput, scoring.throughput)
        if self.throughput is None or seconds_per_token is None:
            return None
        return Weights(completion=seconds_per_token, verifier=_inverse(scoring.throughput))

    def _money(self, scoring: VerifierCosts, device: "Weights | None") -> "Weights | None":
        second = None if self.device_hour is None else self.device_hour / 3600
        rented = None if second is None or scoring.throughput is None else second / scoring.throughput
        verifier = rented if scoring.price is None else scoring.price / 1e6
        if self.prices is not None:
            prices = self.prices
            cached = prices.input if prices.cached_input is None else prices.cached_input
            reread = cached / 1e6 if self.rereads else 0.0
            return Weights(prices.input / 1e6, reread, prices.output / 1e6, verifier)
        if second is None or device is None:
            return None
        return Weights(second * device.prompt, 0.0, second * device.completion, verifier)


@dataclass(frozen=True, slots=True)
class Weights:
    """Cost of one token of each kind."""

    prompt: float = 0.0
    reread: float = 0.0
    """Of a prompt that another sample has read before."""
    completion: float = 0.0
    verifier: float | None = 0.0
    """None where it is unknown."""

    def total(self, prompt: ArrayLike, reread: ArrayLike, completion: ArrayLike, verifier: ArrayLike) -> NDArray[np.float64]:
        """Cost of so many tokens of each kind; NaN where it is unknown."""
        kinds = ((self.prompt, prompt), (self.reread, reread), (self.completion, completion))
        # a kind that costs nothing may be unknown
        known = sum(
            (weight * np.asarray(tokens, dtype=float) for weight, tokens in kinds if weight), np.zeros(np.shape(prompt))
        )
        scoring = np.asarray(verifier, dtype=float)
        if self.verifier is None:
            return np.where(scoring == 0, known, np.nan)
        return known + (self.verifier * scoring if self.verifier else 0.0)


@dataclass(frozen=True, slots=True)
class Tariff:
    """What a strategy's tokens cost; None where it is unknown."""

    money: Weights | None = None
    device_seconds: Weights | None = None
    path_seconds: Weights | None = None
    """Of the tokens on the critical path."""


def _inverse(tokens_per_second: float | None) -> float | None:
    return None if tokens_per_second is None else 1 / tokens_per_second


def _at(speed: Speed, verifier: float | None) -> Weights:
    return Weights(_inverse(speed.prompt) or 0.0, 0.0, 1 / speed.completion, _inverse(verifier))
