import numpy as np
import pytest
import torch
from scipy import stats

from ttc.backends.gumbel import draw_tokens, gumbel, random_bits, truncate
from ttc.records import Sampling

MASK = 2**64 - 1


def splitmix64(seed: int, n: int) -> list[int]:
    """The published algorithm in Python's integers."""
    outputs = []
    for _ in range(n):
        seed = (seed + 0x9E3779B97F4A7C15) & MASK
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        outputs.append(z ^ (z >> 31))
    return outputs


def bits(seed: int, position: int, vocabulary: int) -> list[int]:
    return [value & MASK for value in random_bits(torch.tensor([seed]), torch.tensor([position]), vocabulary)[0].tolist()]


def test_reference_gives_the_published_outputs_for_seed_1234567():
    assert splitmix64(1234567, 3) == [6457827717110365317, 3203168211198807973, 9817491932198370423]


@pytest.mark.parametrize("seed", [0, 1234567, 2**62 + 63])
def test_bits_are_splitmix64_seeded_with_its_own_output_at_the_position(seed: int):
    assert bits(seed, 4, 50) == splitmix64(splitmix64(seed, 5)[-1], 50)


def test_noise_is_gumbel_distributed_over_tokens_positions_and_neighbouring_seeds():
    over_tokens = gumbel(torch.tensor([7]), torch.tensor([0]), 20_000)[0]
    over_seeds = gumbel(torch.arange(20_000), torch.zeros(20_000, dtype=torch.long), 3)[:, 2]
    over_positions = gumbel(torch.full((20_000,), 7), torch.arange(20_000), 3)[:, 2]
    for noise in (over_tokens, over_seeds, over_positions):
        assert stats.kstest(noise.numpy(), stats.gumbel_r.cdf).pvalue > 0.01


def test_noise_of_neighbouring_seeds_positions_and_tokens_is_uncorrelated():
    noise = gumbel(torch.arange(400).repeat_interleave(50), torch.arange(50).repeat(400), 40).view(400, 50, 40).numpy()
    for a, b in ((noise[1:], noise[:-1]), (noise[:, 1:], noise[:, :-1]), (noise[..., 1:], noise[..., :-1])):
        assert abs(np.corrcoef(a.ravel(), b.ravel())[0, 1]) < 4 / np.sqrt(a.size)


@pytest.mark.parametrize(
    "sampling",
    [
        Sampling(),
        Sampling(temperature=0.5),
        Sampling(top_k=7),
        Sampling(top_p=0.8),
        Sampling(temperature=1.7, top_k=12, top_p=0.6),
    ],
)
def test_tokens_follow_the_softmax_under_temperature_top_k_and_top_p(sampling: Sampling):
    logits = torch.randn(25, generator=torch.Generator().manual_seed(1), dtype=torch.float64) * 1.5
    expected = reference_probabilities(logits.numpy(), sampling)
    rows = 40_000
    seeds, positions = torch.arange(rows) + 2**61, torch.full((rows,), 3)
    counts = np.bincount(draw_tokens(logits.expand(rows, -1), seeds, positions, sampling).numpy(), minlength=25)
    assert counts[expected == 0].sum() == 0
    assert stats.chisquare(counts[expected > 0], rows * expected[expected > 0]).pvalue > 0.01


def reference_probabilities(logits: np.ndarray, sampling: Sampling) -> np.ndarray:
    """Temperature, then top-k, then top-p, by the definitions, one token at a time."""
    order = np.argsort(-logits)[: sampling.top_k or None]
    weights = np.exp(logits[order] / sampling.temperature)
    weights /= weights.sum()
    kept = [rank for rank in range(len(order)) if weights[:rank].sum() < sampling.top_p]
    probabilities = np.zeros_like(logits)
    probabilities[order[kept]] = weights[kept] / weights[kept].sum()
    return probabilities


def test_temperature_zero_takes_the_largest_logit_whatever_the_seed():
    logits = torch.tensor([[0.0, 3.0, 3.0], [5.0, 1.0, 2.0]])
    for seed in range(5):
        tokens = draw_tokens(logits, torch.tensor([seed, seed]), torch.tensor([0, 1]), Sampling(temperature=0))
        assert tokens.tolist() == [1, 0]


def test_equal_scores_at_the_edge_of_top_k_and_top_p_all_stay_in():
    scores = torch.tensor([[2.0, 1.0, 1.0, 0.0]])
    assert torch.isfinite(truncate(scores, 2, 1.0)).tolist() == [[True, True, True, False]]
    assert torch.isfinite(truncate(scores, 0, 0.7)).tolist() == [[True, True, True, False]]


def test_a_nucleus_wider_than_the_first_look_is_found_whole():
    scores = torch.linspace(0, 0.01, 5000, dtype=torch.float64)[None]
    kept = torch.isfinite(truncate(scores, 0, 0.9))[0]
    probabilities = scores[0].softmax(-1)
    assert 0.9 <= float(probabilities[kept].sum()) < 0.9 + 2 / 5000
    assert bool(kept[1000:].all())


def test_large_vocabularies_drawn_in_chunks_equal_rows_drawn_alone():
    logits = torch.randn(5, 70_000, generator=torch.Generator().manual_seed(2))
    seeds, positions, sampling = torch.arange(5), torch.arange(5), Sampling()
    together = draw_tokens(logits, seeds, positions, sampling)
    alone = [draw_tokens(logits[row : row + 1], seeds[row : row + 1], positions[row : row + 1], sampling) for row in range(5)]
    assert torch.equal(together, torch.cat(alone))
