"""Sampling that is exact and does not depend on the batch: logits plus Gumbel noise, then argmax.

The noise of a token is a function of (seed, position, token id) alone, so a sample is the same whatever shares its batch, on
every device. Names carry their axes: B rows, V vocabulary.

Sources: Gumbel-max, Gumbel 1954; counter-based streams, Salmon et al. 2011; the mixing function is SplitMix64, Steele, Lea and
Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
"""

import torch
from torch import Tensor

from ttc.records import Sampling

# SplitMix64's increment and multipliers, as signed 64-bit integers: torch's integer arithmetic wraps as the algorithm wants
_GOLDEN = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64

_ONE = 0x3FF << 52
"""Bits of the float64 1.0."""
_CHUNK = 1 << 17
"""Elements per pass on the CPU: the intermediate arrays stay in its cache, twice as fast for large vocabularies."""
_NUCLEUS = 1024
"""Tokens sorted first when looking for the nucleus; the whole vocabulary is sorted only where it does not fit in them."""


def draw_tokens(logits_BV: Tensor, seeds_B: Tensor, positions_B: Tensor, sampling: Sampling) -> Tensor:
    """One token per row, distributed as softmax(logits / temperature) cut to top-k, then to top-p.

    Args:
        logits_BV: raw logits, any floating type.
        seeds_B: int64, the seed of each row's sample.
        positions_B: int64, index of the token within its completion.

    Returns:
        tokens_B: int64. At temperature 0 the first of the largest logits, whatever the seed.
    """
    if sampling.temperature == 0:
        return logits_BV.argmax(-1)
    rows = max(1, _CHUNK // logits_BV.shape[-1]) if logits_BV.device.type == "cpu" else len(logits_BV)
    chunks = zip(logits_BV.split(rows), seeds_B.split(rows), positions_B.split(rows), strict=True)
    return torch.cat([_draw(*chunk, sampling) for chunk in chunks])


def _draw(logits_BV: Tensor, seeds_B: Tensor, positions_B: Tensor, sampling: Sampling) -> Tensor:
    scores_BV = truncate(logits_BV.double() / sampling.temperature, sampling.top_k, sampling.top_p)
    return (scores_BV + gumbel(seeds_B, positions_B, scores_BV.shape[-1])).argmax(-1)


def truncate(scores_BV: Tensor, top_k: int, top_p: float) -> Tensor:
    """Scores with -inf outside the `top_k` largest (0: all) and outside the smallest set that holds `top_p` of the rest.

    Of equal scores at either edge all stay in.
    """
    if 0 < top_k < scores_BV.shape[-1]:
        edge_B1 = scores_BV.topk(top_k).values[:, -1:]
        scores_BV = scores_BV.masked_fill(scores_BV < edge_B1, -torch.inf)
    if top_p < 1:
        scores_BV = _nucleus(scores_BV, top_p)
    return scores_BV


def _nucleus(scores_BV: Tensor, top_p: float) -> Tensor:
    probs_BV = scores_BV.softmax(-1)
    for width in (min(_NUCLEUS, probs_BV.shape[-1]), probs_BV.shape[-1]):
        largest_BW = probs_BV.topk(width).values
        before_BW = largest_BW.cumsum(-1) - largest_BW
        inside_BW = before_BW < top_p
        if not bool(inside_BW[:, -1].any()):
            break
    edge_B1 = largest_BW.gather(-1, inside_BW.sum(-1, keepdim=True) - 1)
    return scores_BV.masked_fill(probs_BV < edge_B1, -torch.inf)


def gumbel(seeds_B: Tensor, positions_B: Tensor, vocabulary: int) -> Tensor:
    """Standard Gumbel noise, float64 of shape (B, V): a function of (seed, position, token id) and nothing else."""
    uniform_BV = _uniform(random_bits(seeds_B, positions_B, vocabulary))
    return uniform_BV.log_().neg_().log_().neg_()


def random_bits(seeds_B: Tensor, positions_B: Tensor, vocabulary: int) -> Tensor:
    """64 random bits per row and token id, int64 of shape (B, V).

    Row b holds the first V outputs of the SplitMix64 generator whose seed is output number `position` of the SplitMix64
    generator with the row's seed.
    """
    keys_B = _mix(seeds_B + (positions_B + 1) * _GOLDEN)
    counters_V = torch.arange(1, vocabulary + 1, device=seeds_B.device) * _GOLDEN
    return _mix(keys_B[:, None] + counters_V)


def _mix(state: Tensor) -> Tensor:
    """SplitMix64's output function, in place."""
    shifted = torch.empty_like(state)
    for shift, factor in ((30, _FIRST), (27, _SECOND), (31, 1)):
        torch.bitwise_right_shift(state, shift, out=shifted)
        # torch shifts the sign in; SplitMix64 shifts zeros in
        shifted &= (1 << (64 - shift)) - 1
        state ^= shifted
        state *= factor
    return state


def _uniform(bits: Tensor) -> Tensor:
    """The upper 52 bits as float64 strictly between 0 and 1, in place."""
    bits >>= 12
    bits &= (1 << 52) - 1
    bits |= _ONE
    unit = bits.view(torch.float64)
    # from [1, 2) to the middles of 2**52 equal cells: neither 0 nor 1, whose noise would be infinite
    unit -= 1 - 2.0**-53
    return unit
