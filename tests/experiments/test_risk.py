"""Risk against coverage: as arrays over many questions, against the estimator and against enumeration."""

import json
from dataclasses import replace
from itertools import combinations
from math import exp, fsum
from statistics import mean

import numpy as np
import pytest
import yaml

from experiments.curves import Curves
from experiments.risk import POINTS, Risk, risks
from experiments.thresholds import Thresholds
from ttc.estimators import risk_coverage
from ttc.pool import Pool
from ttc.select import clipped_logit
from ttc.strategies import BestOfN, FilteredVote, Rejection, Vote, WeightedVote

ALL = {("", "all"): [0, 1, 2, 3], ("level", "Hard"): [1, 3]}


def pool(number: int, n: int = 5) -> Pool:
    """Scores tie within a question and between questions, and one is missing."""
    rng = np.random.default_rng(number)
    scores = [float(score) for score in rng.integers(1, 5, n) / 4]
    columns = {"v": (*scores[:-1], None)}, {"v": (1,) * n}, {"v": None}
    credits = tuple(rng.integers(0, 2, n).astype(float).tolist())
    return Pool(f"q{number}", tuple(range(n)), credits, 1, (1,) * n, None, None, *columns)


POOLS = [pool(number) for number in range(4)]


def by_place(kind, ks=(1, 3), pools=POOLS) -> dict[tuple[str, int], Risk]:
    strategy = kind(n=5, verifier="v", **({"threshold": 0.5} if kind is Rejection else {}))
    return {(one.value, one.k): one for one in risks("s", strategy, pools, ks, ALL)}


@pytest.mark.parametrize("k", [1, 3])
def test_rejection_over_all_questions_at_once_is_the_estimator_of_each(k):
    found = by_place(Rejection)["all", k]
    expected = risk_coverage([one.scores["v"] for one in POOLS], [one.credits for one in POOLS], k)
    assert found.thresholds == expected.thresholds
    assert found.coverage == pytest.approx(expected.coverage)
    assert found.accuracy == pytest.approx(expected.accuracy)
    assert found.area == pytest.approx(expected.area)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_best_of_n_answers_where_its_best_score_reaches_the_threshold(k):
    found = by_place(BestOfN, (k,))["all", k]
    for cut, coverage, accuracy in zip(found.thresholds, found.coverage, found.accuracy, strict=True):
        sets = [[_answered(one, drawn, cut) for drawn in combinations(range(one.n), k)] for one in POOLS]
        covered, credit = (mean(mean(pair[part] for pair in found) for found in sets) for part in (0, 1))
        assert (coverage, accuracy) == pytest.approx((covered, credit / covered))


@pytest.mark.parametrize("kind", ["vote", "filtered_vote", "weighted_vote", "clipped_logit"])
@pytest.mark.parametrize("k", [2, 5])
def test_a_vote_answers_where_its_winner_has_enough_of_the_weight(kind, k):
    pools = [replace(one, classes=(0, 1, None, i % 2, 1)) for i, one in enumerate(POOLS)]
    strategy, weigh = {
        "vote": (Vote(n=5), lambda _: 1.0),
        "filtered_vote": (FilteredVote(n=5, verifier="v", threshold=0.5), lambda s: 1.0 if s and s >= 0.5 else None),
        "weighted_vote": (WeightedVote(n=5, verifier="v"), lambda s: s),
        "clipped_logit": (WeightedVote(n=5, verifier="v", weights="clipped_logit"), lambda s: s and clipped_logit(s)),
    }[kind]
    [found, *_] = risks("s", strategy, pools, [k], ALL)
    sets = [[_share(strategy, one, drawn, weigh) for drawn in combinations(range(5), k)] for one in pools]
    for cut, coverage, accuracy in zip(found.thresholds, found.coverage, found.accuracy, strict=True):
        given = [[(1.0, credit) if share >= cut - 1e-9 else (0.0, 0.0) for share, credit in drawn] for drawn in sets]
        covered, credit = (mean(mean(pair[part] for pair in drawn) for drawn in given) for part in (0, 1))
        assert (coverage, accuracy) == pytest.approx((covered, credit / covered))
    assert len(found.coverage) > 1


def _share(strategy, one: Pool, drawn, weigh) -> tuple[float, float]:
    """The winner's share of the weight of these samples, below any threshold where nobody votes; and what it is worth."""
    weights = {i: weight for i in drawn if (weight := weigh(one.scores["v"][i])) is not None}
    sums = [fsum(w for i, w in weights.items() if one.classes[i] == c) for c in {one.classes[i] for i in weights} - {None}]
    if not sums:
        return -1.0, 0.0
    odds = [exp(total) for total in sums]
    logits = getattr(strategy, "weights", "") == "clipped_logit"
    member = np.isin(range(5), drawn)[None]
    credit = strategy.votes(one).subset_credits(member)[0]
    return (max(odds) / (1 + sum(odds)) if logits else max(sums) / fsum(weights.values())), credit


def test_a_filtered_vote_with_a_goal_is_judged_with_the_threshold_that_other_questions_chose():
    goal = FilteredVote(n=5, verifier="v", threshold="accuracy")
    chosen = Thresholds({one.question_id: i % 2 for i, one in enumerate(POOLS)}, {3: (0.25, 0.75)})
    found = [
        risks("s", strategy, POOLS, [3], {("level", "Hard"): [1, 3]}, thresholds)
        for strategy, thresholds in ((goal, chosen), (goal.model_copy(update={"threshold": 0.75}), None))
    ]
    assert found[0] == found[1]


def _answered(one: Pool, drawn, cut: float) -> tuple[float, float]:
    """Whether it is answered, and the mean credit of the best."""
    scores = [one.scores["v"][i] for i in drawn]
    top = max((score for score in scores if score is not None), default=None)
    if top is None or top < cut:
        return 0.0, 0.0
    return 1.0, mean(one.credits[i] for i, score in zip(drawn, scores, strict=True) if score == top)


def test_a_question_without_samples_is_never_answered_and_stays_in_the_denominator():
    whole, short = by_place(Rejection)["all", 3], by_place(Rejection, pools=[*POOLS[:3], None])["all", 3]
    [three] = risks("s", Rejection(n=5, verifier="v", threshold=0), POOLS[:3], [3], {("", "all"): [0, 1, 2]})
    assert short.coverage == pytest.approx([0.75 * coverage for coverage in three.coverage])
    assert short.coverage[-1] < whole.coverage[-1]
    assert risks("s", Rejection(n=5, verifier="v", threshold=0), [None], [3], {("", "all"): [0]}) == []


def test_a_reply_without_an_answer_is_never_accepted_however_good_its_score():
    silent = replace(POOLS[0], classes=(None, *POOLS[0].classes[1:]))
    unscored = replace(POOLS[0], scores={"v": (None, *POOLS[0].scores["v"][1:])})
    for kind in (Rejection, BestOfN):
        found, expected = (by_place(kind, pools=[one, *POOLS[1:]])["all", 3] for one in (silent, unscored))
        assert found == expected


def test_groups_have_the_last_budget_and_are_of_their_questions_alone():
    found = by_place(Rejection)
    assert set(found) == {("all", 1), ("all", 3), ("Hard", 3)}
    expected = risk_coverage([POOLS[i].scores["v"] for i in (1, 3)], [POOLS[i].credits for i in (1, 3)], 3)
    assert found["Hard", 3].coverage == pytest.approx(expected.coverage)


def test_accuracy_at_a_coverage_is_that_of_the_strictest_threshold_that_reaches_it():
    found = by_place(Rejection)["all", 1]
    for one in found.selective:
        reached = [place for place, coverage in enumerate(found.coverage) if coverage >= one.at_least - 1e-12]
        expected = (found.coverage[reached[0]], found.accuracy[reached[0]]) if reached else (None, None)
        assert (one.coverage, one.accuracy) == expected
    assert found.selective[-1].accuracy is None  # one sample of five has no score


def test_many_thresholds_are_thinned_but_not_for_the_area():
    rng = np.random.default_rng(0)
    columns = {"v": tuple(rng.random(500).tolist())}, {"v": (1,) * 500}, {"v": None}
    credits = tuple(rng.integers(0, 2, 500).astype(float).tolist())
    one = Pool("q", (0,) * 500, credits, 1, (1,) * 500, None, None, *columns)
    [found] = risks("s", Rejection(n=5, verifier="v", threshold=0), [one], [1], {("", "all"): [0]})
    assert len(found.coverage) <= POINTS
    assert found.coverage[-1] == 1
    assert found.area == pytest.approx(risk_coverage([one.scores["v"]], [one.credits], 1).area)


def test_a_run_has_risk_against_coverage_in_its_json_and_the_curves_command_shows_it(ttc, tmp_path):
    rows = [{"id": f"q{i}", "question": f"{i}?", "options": list("abcd"), "gold": "A", "level": "ab"[i % 2]} for i in range(6)]
    (tmp_path / "exam.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    content = {
        "benchmark": {"kind": "jsonl", "path": str(tmp_path / "exam.jsonl")},
        "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B", "So: A", "Thus: C"], "pick": "seeded"},
        "verifiers": {"v": {"kind": "scripted"}},
        "strategies": [{"kind": "vote", "n": 4}, {"kind": "best_of_n", "n": 4, "verifier": "v"}],
        "bank": str(tmp_path / "bank"),
        "by": ["level"],
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    ended = ttc("run", tmp_path / "run.yaml", "--out", tmp_path / "out")
    assert "answering only where sure" in ended.out
    shown = ttc("curves", tmp_path / "out", "--json", tmp_path / "again.json").out
    assert "best_of_n(verifier=v)@4" in shown[shown.index("answering only") :]
    for path in (tmp_path / "out" / "curves.json", tmp_path / "again.json"):
        found = Curves.from_json(path.read_text(encoding="utf-8"))
        assert [(one.value, one.k) for one in found.risks] == [
            ("all", 4),
            ("a", 4),
            ("b", 4),
            ("all", 1),
            ("all", 2),
            ("all", 4),
            ("a", 4),
            ("b", 4),
        ]
