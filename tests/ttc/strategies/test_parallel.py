"""Every parallel strategy: its exact curve against live runs over all orders, and against choices over all selections of k."""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, replace
from itertools import permutations
from statistics import mean

import numpy as np
import pytest
from pydantic import TypeAdapter

from ttc import select
from ttc.bank import Bank
from ttc.draw import Draw
from ttc.grading import Job, grade_all
from ttc.judges.rules import Rules
from ttc.pool import Pool
from ttc.records import Gold
from ttc.strategies import AnyStrategy

VERIFIED = [
    {"kind": "best_of_n"},
    {"kind": "weighted_vote"},
    {"kind": "weighted_vote", "weights": "clipped_logit"},
    {"kind": "filtered_vote", "threshold": 0.5},
    {"kind": "filtered_vote", "threshold": 0.8, "fallback": "vote"},
    {"kind": "deepconf", "top_percent": 40},
    {"kind": "rejection", "threshold": 0.8},
    {"kind": "rejection", "threshold": 0.8, "fallback": "vote"},
    {"kind": "rejection", "threshold": 0.8, "fallback": "best"},
    {"kind": "rejection", "threshold": 0.8, "fallback": "greedy"},
]
UNSCORED = ("vote", "shuffled_vote")


def strategy(n: int, settings: dict):
    verified = {} if settings["kind"] in UNSCORED else {"verifier": "v"}
    return TypeAdapter(AnyStrategy).validate_python({"n": n, **verified, **settings})


@pytest.mark.parametrize("cap", [None, 8])
@pytest.mark.parametrize("settings", [{"kind": "vote"}, *VERIFIED], ids=str)
def test_a_curve_is_the_mean_of_live_runs_over_all_orders_in_credit_coverage_and_every_cost(bench, settings, cap):
    configured = strategy(5, {**settings, "cap_tokens": cap})
    pool = bench.pool(configured)

    async def live(k: int) -> list[dict[str, float]]:
        one = configured.model_copy(update={"n": k})
        return [asdict(await bench.solve(one, order)) for order in permutations(range(5))]

    for k in (1, 2, 3, 5):
        runs = asyncio.run(live(k))
        expected = asdict(configured.expected(pool, k))
        assert expected == pytest.approx({name: mean(run[name] for run in runs) for name in expected}, abs=1e-9)


@pytest.mark.parametrize("cap", [None, 8])
def test_a_shuffled_curve_is_the_mean_of_live_runs_over_all_orders_with_each_distinct_prompt_paid_once(
    monkeypatch, bench, tmp_path, cap
):
    seen = ["one two three", "two three one", "one two three", "three one two", "two three one"]
    question, prompts = bench.graded.question, {"one two three": 9, "two three one": 12, "three one two": 10}
    samples = [replace(one, key=key, prompt_tokens=prompts[key]) for one, key in zip(bench.graded.samples, seen, strict=True)]
    shown = [tuple(map(question.options.index, key.split())) for key in seen]
    configured = strategy(5, {"kind": "shuffled_vote", "cap_tokens": cap})

    def put(order: Sequence[int]) -> None:
        monkeypatch.setattr(Draw, "orders", lambda draw, question: [shown[i] for i in order][: draw.n])

    async def live(k: int, order: Sequence[int]) -> dict[str, float]:
        put(order)
        return asdict(await shuffled.solve(configured.model_copy(update={"n": k}), order))

    put(range(5))
    [graded] = grade_all([Job(question, Gold("q1", ("B",)), tuple(samples), configured.draw)], Rules(), Bank(tmp_path))
    assert [answer.value for answer in graded.answers] == ["B", "C", "C", None, "B"]
    shuffled = replace(bench, graded=replace(graded, scores=bench.graded.scores))
    pool = shuffled.pool(configured)
    for k in (1, 2, 3, 5):
        runs = [asyncio.run(live(k, order)) for order in permutations(range(5))]
        expected = asdict(configured.expected(pool, k))
        assert expected == pytest.approx({name: mean(run[name] for run in runs) for name in expected}, abs=1e-9)


def chosen(settings: dict, classes: list, scores: list) -> int | None:
    """Which of these samples, in the order drawn, the strategy stands by."""
    threshold = settings.get("threshold", 0.0)
    accepted = [i for i, score in enumerate(scores) if score is not None and score >= threshold]
    eligible = [(classes[i] is not None, scores[i] is not None, scores[i] or 0.0, -i) for i in range(len(scores))]
    best = max(range(len(scores)), key=eligible.__getitem__)
    votes = [answer if i in accepted else None for i, answer in enumerate(classes)]
    match settings:
        case {"kind": "shuffled_vote"}:
            return select.plurality(classes)
        case {"kind": "best_of_n"}:
            return best
        case {"kind": "weighted_vote", "weights": "clipped_logit"}:
            return select.weighted(classes, [None if s is None else select.clipped_logit(s) for s in scores])
        case {"kind": "weighted_vote"}:
            return select.weighted(classes, scores)
        case {"kind": "deepconf", "top_percent": percent}:
            return select.weighted(classes, select.top(scores, -(-len(scores) * percent // 100)))
        case {"kind": "filtered_vote", "fallback": "vote"} if not any(vote is not None for vote in votes):
            return select.plurality(classes)
        case {"kind": "filtered_vote"}:
            return select.plurality(votes)
    if answered := [i for i in accepted if classes[i] is not None]:
        return answered[0]
    return {"vote": select.plurality(classes), "best": best}.get(settings.get("fallback", ""))


@pytest.mark.parametrize("settings", [{"kind": "shuffled_vote"}, *VERIFIED[:-1]], ids=str)
@pytest.mark.parametrize("seed", [1, 2])
def test_a_curve_equals_enumeration_over_all_selections_of_seven_samples(settings, seed):
    rng = np.random.default_rng(seed)
    classes = [None if c == 3 else int(c) for c in rng.integers(0, 4, 7)]
    scores = [None if s > 0.95 else round(float(s), 1) for s in rng.random(7)]
    scores[6] = None
    credits = [float(answer == 0) for answer in classes]
    pool = Pool(
        "q",
        tuple(classes),
        tuple(credits),
        3,
        (1,) * 7,
        None,
        None,
        scores={"v": tuple(scores)},
        verifier_tokens={"v": (0,) * 7},
        verifier_flops={"v": None},
    )
    for k in range(1, 8):
        picks = [
            (order, chosen(settings, [classes[i] for i in order], [scores[i] for i in order]))
            for order in permutations(range(7), k)
        ]
        winners = [None if place is None else order[place] for order, place in picks]
        credit = mean(0.0 if winner is None else credits[winner] for winner in winners)
        coverage = mean(winner is not None and classes[winner] is not None for winner in winners)
        found = strategy(7, settings).expected(pool, k)
        assert (found.credit, found.coverage) == pytest.approx((credit, coverage), abs=1e-12)


def pool(classes: str, scores: list[float | None], question_id: str = "q") -> Pool:
    """A is right, `-` is no answer; every sample costs 10 tokens, and its scoring 5."""
    n = len(classes)
    return Pool(
        question_id,
        tuple(None if c == "-" else ord(c) for c in classes),
        tuple(float(c == "A") for c in classes),
        7,
        (10,) * n,
        100.0,
        (2.0,) * n,
        scores={"v": tuple(scores)},
        verifier_tokens={"v": (5,) * n},
        verifier_flops={"v": (1.0,) * n},
    )


def test_a_sample_without_a_score_loses_to_any_and_never_votes_nor_is_accepted():
    one = pool("AB", [None, 0.0])
    assert strategy(2, {"kind": "best_of_n"}).expected(one, 2).credit == 0
    assert strategy(2, {"kind": "weighted_vote"}).expected(one, 2).credit == 0
    assert strategy(2, {"kind": "filtered_vote", "threshold": -1.0}).expected(one, 2).credit == 0
    assert strategy(2, {"kind": "rejection", "threshold": -1.0}).expected(one, 2).credit == 0


def test_where_every_score_is_missing_votes_abstain_and_the_best_is_any():
    one = pool("AB", [None, None])
    for settings in ({"kind": "weighted_vote"}, {"kind": "filtered_vote", "threshold": 0.0}):
        found = strategy(2, settings).expected(one, 2)
        assert (found.credit, found.coverage) == (0, 0)
    assert strategy(2, {"kind": "best_of_n"}).expected(one, 2).credit == 0.5


def test_a_sample_without_an_answer_is_neither_best_nor_accepted_however_it_scores():
    for settings in ({"kind": "best_of_n"}, {"kind": "rejection", "threshold": 0.1}):
        found = strategy(2, settings).expected(pool("A-", [0.2, 0.9]), 2)
        assert (found.credit, found.coverage) == (1, 1)
    without_score = strategy(2, {"kind": "best_of_n"}).expected(pool("A-", [None, 0.9]), 2)
    assert (without_score.credit, without_score.coverage) == (1, 1)


def test_where_no_sample_has_an_answer_the_best_is_an_abstention():
    found = strategy(2, {"kind": "best_of_n"}).expected(pool("--", [0.2, 0.9]), 2)
    assert (found.credit, found.coverage) == (0, 0)


def test_rejection_pays_for_what_it_draws_and_for_scoring_it():
    # One of four is accepted: it comes first, second, third or fourth, as likely.
    found = strategy(4, {"kind": "rejection", "threshold": 0.5}).expected(pool("ABBB", [0.9, 0.1, 0.1, 0.1]), 4)
    assert (found.samples, found.completion_tokens, found.verifier_tokens, found.flops) == (2.5, 25, 12.5, 107.5)
    assert (found.credit, found.coverage) == (1, 1)


def test_every_sample_of_a_vote_under_a_verifier_is_scored_and_paid_for():
    for settings in ({"kind": "best_of_n"}, {"kind": "weighted_vote"}, {"kind": "filtered_vote", "threshold": 0.5}):
        found = strategy(4, settings).expected(pool("ABBB", [0.9, 0.1, 0.1, 0.1]), 2)
        assert (found.completion_tokens, found.verifier_tokens, found.flops) == (20, 10, 106)
    assert strategy(4, {"kind": "vote"}).expected(pool("ABBB", [0.9, 0.1, 0.1, 0.1]), 2).verifier_tokens == 0


def test_negative_log_odds_speak_against_an_answer():
    one = pool("AAB", [0.4, 0.4, 0.6])
    assert strategy(3, {"kind": "weighted_vote"}).expected(one, 3).credit == 1
    assert strategy(3, {"kind": "weighted_vote", "weights": "clipped_logit"}).expected(one, 3).credit == 0


def test_a_permuted_estimate_is_the_same_every_time_and_near_the_truth():
    rng = np.random.default_rng(5)
    questions = [pool("".join(rng.choice(list("AABC-"), 20)), rng.random(20).tolist(), f"q{i}") for i in range(30)]
    vote = strategy(20, {"kind": "weighted_vote"})
    found = [vote.expected(one, 10).credit for one in questions]
    assert found == [vote.expected(one, 10).credit for one in questions]
    equal = [vote.expected(Pool(*_equal_scores(one)), 10).credit for one in questions]
    plain = [strategy(20, {"kind": "vote"}).expected(one, 10).credit for one in questions]
    assert mean(equal) == pytest.approx(mean(plain), abs=4 * 0.5 / np.sqrt(1000 * 30))


def _equal_scores(one: Pool) -> tuple:
    columns = (one.verifier_tokens, one.verifier_flops)
    samples = (one.question_id, one.classes, one.credits, one.prompt_tokens, one.completion_tokens)
    return *samples, one.prefill_flops, one.decode_flops, {"v": (0.5,) * one.n}, *columns


def test_more_samples_than_there_are_is_an_error_for_every_strategy():
    for settings in [*({"kind": kind} for kind in UNSCORED), *VERIFIED]:
        with pytest.raises(ValueError, match="k"):
            strategy(3, settings).expected(pool("ABB", [0.1, 0.2, 0.3]), 4)
