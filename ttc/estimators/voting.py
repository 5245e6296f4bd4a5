"""vote@k: the expected credit of the plurality of k samples, exactly, at any k from the same n samples.

Of the C(n, k) subsets we count those in which a class of n_j members wins with t votes beside r others that tie. Members of a
class taken x at a time are the coefficients of (1 + X)^n_i, cut above X^t for a rival, whose X^t counts as one more tie. Three
facts make this fast: rivals with fewer than t members are never cut, so they merge with the samples that do not vote; beyond
t = k/2 nobody can tie; and polynomials packed into Python integers are multiplied in one product each, without rounding.
Cost: about 0.2 ms a question at n = 64, 10 ms at n = 256, seconds at n = 1000: a `WeightedPool` of equal weights estimates.
"""

from array import array
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from functools import lru_cache
from math import comb, lcm

from ttc.estimators.counting import require_budget, require_parallel


@lru_cache(maxsize=8192)
def _packed_binomial(n: int, length: int, bits: int) -> int:
    """The first `length` coefficients of (1 + X)^n, each in a slot of `bits` bits."""
    return sum(comb(n, x) << (bits * x) for x in range(min(n + 1, length)))


def _add_rival(ways: list[int], rival: int, t: int, most_ties: int, length: int, bits: int) -> list[int]:
    """Multiply by a rival class that gets at most t votes; `ways[r]` counts subsets in which r rivals have exactly t."""
    keep = (1 << bits * length) - 1
    fewer = _packed_binomial(rival, t, bits)
    tying = comb(rival, t)
    out = [way * fewer & keep for way in ways]
    if len(out) <= most_ties:
        out.append(0)
    for r in range(1, len(out)):
        out[r] += (ways[r - 1] * tying << bits * t) & keep
    return out


def _winning_subsets(size: int, rivals: Sequence[int], nobody: int, ceiling: int) -> list[list[int]]:
    """`[r][k]`: subsets of k samples in which a class wins with at most ceiling / 2 votes beside r rivals that tie."""
    length, n = ceiling + 1, size + sum(rivals) + nobody
    bits = comb(n, min(ceiling, n // 2)).bit_length()
    totals: list[int] = []
    for t in range(1, min(size, ceiling // 2) + 1):
        uncut = nobody + sum(rival for rival in rivals if rival < t)
        ways = [_packed_binomial(uncut, length, bits)]
        for rival in rivals:
            if rival >= t:
                ways = _add_rival(ways, rival, t, ceiling // t - 1, length, bits)
        totals += [0] * (len(ways) - len(totals))
        for r, way in enumerate(ways):
            totals[r] += way * comb(size, t) << bits * t
    slot = (1 << bits) - 1
    return [[(total >> bits * k) & slot for k in range(length)] for total in totals]


@lru_cache(maxsize=1 << 15)
def _win_probabilities(size: int, rivals: tuple[int, ...], nobody: int, ceiling: int) -> "array[float]":
    """Probability that one class of `size` members wins at each budget k <= ceiling < n, against rivals in descending order."""
    n = size + sum(rivals) + nobody
    wins = _winning_subsets(size, rivals, nobody, ceiling)
    shares = lcm(*range(1, len(wins) + 1))
    out = array("d")
    for k in range(ceiling + 1):
        shared = sum(row[k] * (shares // (r + 1)) for r, row in enumerate(wins))
        alone = sum(comb(size, t) * comb(n - size, k - t) for t in range(ceiling // 2 + 1, min(k, size) + 1))
        out.append((shared + alone * shares) / (comb(n, k) * shares))
    return out


def _ceiling(k: int, n: int) -> int:
    """The budget up to which to compute when k is asked for: one pass yields all, and a curve will ask for the others next."""
    ceiling = min(n // 2, 64)
    while ceiling < k:
        ceiling *= 2
    return min(ceiling, n - 1)


def vote_curve(
    answers: Sequence[Hashable], credits: Sequence[float], ks: Sequence[int], fallback_credit: float = 0.0
) -> list[float]:
    """Expected credit of the plurality answer of k samples, for each k of `ks`.

    Ties are broken uniformly, which has the same expectation as by the answer seen first. Where credits differ within a class,
    the class counts with its mean.

    Args:
        answers: equivalence class of each sample's answer; None does not vote.
        fallback_credit: credit where none of the k votes: 0 abstains, 1 / number of options guesses.

    Source: self-consistency, Wang et al. 2022, arXiv:2203.11171.
    """
    n = require_parallel(answers=answers, credits=credits)
    for k in ks:
        require_budget(k, n)
    nobody, ranked, by_size = _counted(tuple(answers), tuple(credits))
    partial = [k for k in ks if k < n]
    curve = [fallback_credit * (comb(nobody, k) / comb(n, k)) if fallback_credit else 0.0 for k in ks]
    for size, credit in by_size.items():
        chances: Sequence[float] = ()
        if partial:
            place = ranked.index(size)
            rivals = ranked[:place] + ranked[place + 1 :]
            chances = _win_probabilities(size, rivals, nobody, _ceiling(max(partial), n))
        whole = 1 / ranked.count(size) if size == ranked[0] else 0.0
        curve = [total + credit * (whole if k == n else chances[k]) for total, k in zip(curve, ks, strict=True)]
    return curve


@lru_cache(maxsize=64)
def _counted(answers: tuple[Hashable, ...], credits: tuple[float, ...]) -> tuple[int, tuple[int, ...], dict[int, float]]:
    """How many do not vote, the classes' sizes, largest first, and the credit by size, since equal ones win equally often."""
    sizes = Counter(answers)
    nobody = sizes.pop(None, 0)
    earned: dict[Hashable, float] = defaultdict(float)
    for answer, credit in zip(answers, credits, strict=True):
        if credit and answer is not None:
            earned[answer] += credit
    by_size: dict[int, float] = defaultdict(float)
    for answer, total in earned.items():
        by_size[sizes[answer]] += total / sizes[answer]
    return nobody, tuple(sorted(sizes.values(), reverse=True)), by_size


def vote_at_k(answers: Sequence[Hashable], credits: Sequence[float], k: int, fallback_credit: float = 0.0) -> float:
    """`vote_curve` at one budget."""
    return vote_curve(answers, credits, (k,), fallback_credit)[0]


def vote_coverage_at_k(answers: Sequence[Hashable], k: int) -> float:
    """Probability that at least one of k samples votes."""
    n = len(answers)
    require_budget(k, n)
    every = comb(n, k)
    return (every - comb(answers.count(None), k)) / every
