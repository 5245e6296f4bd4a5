"""What is read off the log-probabilities that vLLM tells; the engine itself is tested in tests/vllm."""

from dataclasses import dataclass
from math import log

import pytest

from verifiers.prm_vllm import probability

GOOD, BAD = 7, 8


@dataclass
class Told:
    """As vLLM's `Logprob`."""

    logprob: float
    rank: int | None


def told(**probabilities: float) -> dict[int, Told]:
    ids = {"good": GOOD, "bad": BAD}
    ranked = sorted(probabilities, key=lambda name: -probabilities[name])
    return {ids.get(name, place): Told(log(probabilities[name]), place) for place, name in enumerate(ranked, 1)}


def test_both_verdicts_told_give_the_probability_itself():
    value, is_bound = probability(told(good=0.6, bad=0.2, other=0.1), GOOD, BAD, 3)
    assert (value, is_bound) == (pytest.approx(0.75), False)


def test_an_untold_verdict_is_at_most_the_least_likely_that_is_told():
    value, is_bound = probability(told(good=0.6, other=0.2), GOOD, BAD, 2)
    assert (value, is_bound) == (pytest.approx(0.75), True)


def test_the_word_in_the_slot_is_told_beyond_the_likeliest_and_bounds_nothing():
    unlikely = told(one=0.5, other=0.3, good=0.1)
    value, is_bound = probability(unlikely, GOOD, BAD, 2)
    assert (value, is_bound) == (pytest.approx(0.1 / (0.1 + 0.3)), True)


@pytest.mark.parametrize("gap", [105.0, -105.0, 1e4, -1e4])
def test_verdicts_far_apart_are_sure(gap):
    value, _ = probability({GOOD: Told(min(gap, 0), 1), BAD: Told(min(-gap, 0), 2)}, GOOD, BAD, 2)
    assert value == pytest.approx(float(gap > 0), abs=1e-12)
