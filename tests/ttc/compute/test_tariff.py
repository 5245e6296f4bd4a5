"""Money and seconds from tokens, by hand."""

import numpy as np
import pytest

from ttc.compute import Prices
from ttc.compute.tariff import Costs, Speed, VerifierCosts

PRICES = Prices(input=2.0, output=10.0, cached_input=0.5)
# 100 prompt tokens read once and 7 times more, 1000 tokens drawn, 5000 scored
TOKENS = np.array([100.0]), np.array([700.0]), np.array([1000.0]), np.array([5000.0])


def total(weights) -> float:
    assert weights is not None
    return float(weights.total(*TOKENS)[0])


def test_money_charges_prompt_output_and_verifier_at_their_own_prices():
    costs = Costs(prices=PRICES, verifiers={"prm": VerifierCosts(price=0.2)})
    assert total(costs.tariff("prm").money) == pytest.approx((100 * 2 + 1000 * 10 + 5000 * 0.2) / 1e6)


def test_a_server_called_for_each_sample_charges_the_prompt_again_at_the_cached_price():
    costs = Costs(prices=PRICES, rereads=True, verifiers={"prm": VerifierCosts(price=0)})
    assert total(costs.tariff("prm").money) == pytest.approx((100 * 2 + 700 * 0.5 + 1000 * 10) / 1e6)
    uncached = Costs(prices=Prices(input=2.0, output=10.0), rereads=True, verifiers={"prm": VerifierCosts(price=0)})
    assert total(uncached.tariff("prm").money) == pytest.approx((800 * 2 + 1000 * 10) / 1e6)


def test_a_rented_device_costs_its_seconds():
    costs = Costs(
        device_hour=3.6, throughput=Speed(completion=500, prompt=1000), verifiers={"prm": VerifierCosts(throughput=2500)}
    )
    tariff = costs.tariff("prm")
    assert total(tariff.device_seconds) == pytest.approx(0.1 + 2 + 2)
    assert total(tariff.money) == pytest.approx(0.001 * 4.1)


def test_measured_device_seconds_are_shared_by_the_tokens_drawn():
    costs = Costs(device_hour=3600, verifiers={"prm": VerifierCosts(throughput=5000)})
    tariff = costs.tariff("prm", seconds_per_token=0.004)
    assert (total(tariff.device_seconds), total(tariff.money)) == pytest.approx((5.0, 5.0))


def test_the_critical_path_takes_the_speed_of_a_single_sample():
    costs = Costs(speed=Speed(completion=50, prompt=200), verifiers={"prm": VerifierCosts(speed=1000)})
    assert total(costs.tariff("prm").path_seconds) == pytest.approx(0.5 + 20 + 5)


def test_what_has_no_price_or_speed_is_unknown_and_not_zero():
    nothing = Costs().tariff(None)
    assert (nothing.money, nothing.device_seconds, nothing.path_seconds) == (None, None, None)
    assert Costs(throughput=None).tariff(None, seconds_per_token=0.1).device_seconds is None
    unpriced = Costs(prices=PRICES).tariff("prm").money
    assert unpriced is not None
    spent = unpriced.total([100.0, 100.0], [np.nan, np.nan], [1000.0, 1000.0], [0.0, 5000.0])
    assert spent == pytest.approx([0.0102, np.nan], nan_ok=True)
