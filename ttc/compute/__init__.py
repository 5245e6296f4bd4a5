"""Tokens to FLOPs, memory, money and time: the accounting rules in one place.

    shape    a model's sizes, and the FLOPs of a prefill, a decode, an image, a verifier's pass
    config   those sizes read from a model's config.json
    costs    KV memory, prices
    tariff   money and seconds of a strategy's tokens, from prices and speeds

A multiply-add is 2 FLOPs. Norms, activations and the softmax are left out, as `torch.utils.flop_counter` leaves them out.
"""

from ttc.compute.costs import Prices, continuation_flops, kv_bytes, kv_slots, question_flops, sample_flops
from ttc.compute.shape import ModelShape, VisionShape, attended_pairs

__all__ = [
    "ModelShape",
    "Prices",
    "VisionShape",
    "attended_pairs",
    "continuation_flops",
    "kv_bytes",
    "kv_slots",
    "question_flops",
    "sample_flops",
]
