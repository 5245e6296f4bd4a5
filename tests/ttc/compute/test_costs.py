"""Memory, money and time."""

import pytest
from pydantic import ValidationError

from ttc.compute import ModelShape, Prices, kv_bytes, kv_slots, sample_flops
from ttc.records import Sample

SHAPE = ModelShape(layers=2, width=8, query_heads=2, kv_heads=1, head_dim=4, mlp_weights=2 * 3 * 8 * 16, vocabulary=10)


def test_whole_prompt_blocks_are_shared_and_the_rest_is_held_by_each_sample():
    # a prompt of 20 shares one block of 16; its 4 other tokens and 13 fed back tokens fill 2 blocks, with 12 tokens one
    assert kv_slots(20, [14, 13], block=16) == 16 + 2 * 16 + 16
    assert kv_slots(16, [1, 1], block=16) == 16
    assert kv_slots(5, [3, 3, 3], block=1) == 5 + 3 * 2


def test_kv_bytes_count_keys_and_values_of_every_layer():
    assert kv_bytes(SHAPE, 5, [3], block=1, bytes_per_value=2) == 7 * (2 * 2 * 1 * 4 * 2)


def test_the_prompt_is_charged_with_the_first_sample_only():
    sample = Sample(key="", index=0, question_id="", text="", prompt_tokens=7, completion_tokens=5)
    first, next_ = (sample_flops(SHAPE, sample, prompt_is_new=new) for new in (True, False))
    assert next_ == SHAPE.decode_flops(5, 7)
    assert first == next_ + SHAPE.prefill_flops(7)
    assert sample_flops(None, sample, prompt_is_new=True) is None


def test_a_sample_that_reached_no_model_costs_nothing():
    refused = Sample(key="", index=0, question_id="", text="", status="media")
    assert sample_flops(SHAPE, refused, prompt_is_new=True) == 0


def test_money_charges_cached_tokens_at_their_own_price():
    prices = Prices(input=2.0, output=10.0, cached_input=0.5)
    assert prices.money(1_000_000, 100_000, cached_tokens=400_000) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 1.0)
    assert Prices(input=2.0, output=10.0).money(1_000_000, 0, cached_tokens=400_000) == pytest.approx(2.0)
    with pytest.raises(ValidationError, match="greater than or equal to 0"):
        Prices(input=-1, output=0)
