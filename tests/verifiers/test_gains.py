"""Choosing by a verifier against the vote: exact, paired, and honest about what was not shown."""

from itertools import combinations

import numpy as np
import pytest

from ttc import select
from ttc.pool import Pool
from verifiers import gains
from verifiers.findings import holds_at_large_n


def pools(questions: int, n: int, score, *, rate: float = 0.4, seed: int = 0) -> list[Pool]:
    """The right answer is class 0, wrong ones are spread over four; `score(rng, is_right)` is the verifier."""
    rng, found = np.random.default_rng(seed), []
    for number in range(questions):
        right = rng.random(n) < rate
        classes = tuple(0 if one else int(rng.integers(1, 5)) for one in right)
        scores = tuple(float(score(rng, bool(one))) for one in right)
        credits = tuple(float(one) for one in right)
        found.append(
            Pool(f"q{number}", classes, credits, 10, (5,) * n, None, None, {"v": scores}, {"v": (0,) * n}, {"v": None})
        )
    return found


def knows(rng, is_right):
    return np.clip(rng.normal(0.7 if is_right else 0.3, 0.15), 0, 1)


def blind(rng, is_right):
    return rng.random()


def hacked(rng, is_right):
    """Good, but for 3 % of wrong replies that it likes above all: what is optimised against finds them."""
    return 1.0 if not is_right and rng.random() < 0.03 else 0.9 * knows(rng, is_right)


def test_gain_of_each_method_is_that_of_all_subsets_by_brute_force():
    [pool] = pools(1, 6, knows)
    found = gains.gains(gains.credits_of([pool], "v", [1, 3]), ["q"])
    subsets = list(combinations(range(6), 3))

    def mean(choose) -> float:
        return float(np.mean([pool.credits[subset[choose(subset)]] for subset in subsets]))

    best = mean(lambda s: select.best([pool.scores["v"][i] for i in s]))
    weighted = mean(lambda s: select.weighted([pool.classes[i] for i in s], [pool.scores["v"][i] for i in s]))
    assert {gain.method: gain.accuracy for gain in found} == pytest.approx({"best_of_n": best, "weighted_vote": weighted})
    assert {gain.k for gain in found} == {3}


def test_share_of_the_oracle_gap_by_hand():
    pool = Pool("q", (0, 1), (1.0, 0.0), 1, (1, 1), None, None, {"v": (0.9, 0.1)}, {"v": (0, 0)}, {"v": None})
    [best, _] = gains.gains(gains.credits_of([pool], "v", [2]), ["q"])
    assert (best.accuracy, best.vote, best.oracle) == (1, 0.5, 1)
    assert best.recovered.mean == 1
    assert best.vote_recovered == 0


def test_nothing_to_choose_leaves_the_share_undefined():
    found = gains.gains(gains.credits_of(pools(5, 4, knows, rate=0.0), "v", [2]), [f"q{i}" for i in range(5)])
    assert {gain.recovered for gain in found} == {None}
    assert {gain.reading for gain in found} == {"the same as the vote on every question"}


def test_a_verifier_that_knows_gains_and_a_blind_one_is_below_the_vote():
    units = [f"q{i}" for i in range(120)]
    for score, reading in ((knows, "above the vote"), (blind, "below the vote")):
        found = gains.gains(gains.credits_of(pools(120, 16, score), "v", [16], methods=["best_of_n"]), units)
        assert [gain.reading for gain in found] == [reading]


def test_an_unclear_gain_says_what_it_could_have_shown():
    units = [f"q{i}" for i in range(30)]
    found = gains.gains(gains.credits_of(pools(30, 8, blind, rate=0.5), "v", [2], methods=["best_of_n"]), units)
    assert found[0].reading == f"unclear; finds {100 * found[0].over_vote.detectable:.1f} or more"
    assert found[0].over_vote.interval.low < 0 < found[0].over_vote.interval.high


def test_budgets_go_as_far_as_every_question_and_no_further_than_64():
    assert gains.budgets([*pools(1, 12, blind), *pools(1, 100, blind)]) == (1, 2, 4, 8, 12)
    assert gains.budgets(pools(1, 100, blind))[-1] == 64


def test_a_hacked_verifier_falls_at_large_n_and_a_good_one_does_not():
    units = [f"q{i}" for i in range(100)]
    ks = [1, 2, 4, 8, 16, 32, 64]
    verdicts = {}
    for score in (hacked, knows):
        found = gains.credits_of(pools(100, 64, score), "v", ks, methods=["best_of_n"])
        verdicts[score.__name__] = holds_at_large_n(found, units).verdict
    assert verdicts == {"hacked": "fail", "knows": "pass"}
