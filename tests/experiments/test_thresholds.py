"""Thresholds chosen on other questions: by enumeration, without a look at the questions judged."""

import asyncio
import json
from dataclasses import replace
from statistics import mean

import numpy as np
import pytest
import yaml
from pydantic import ValidationError

from experiments.expectations import expectations
from experiments.thresholds import check_folds, choose, folds
from ttc.errors import UserError
from ttc.pool import Pool
from ttc.records import Question
from ttc.strategies import FilteredVote, Rejection
from ttc.strategies.threshold import goal

SCORES = [0.1, 0.3, 0.5, 0.7, 0.9]


def pool(number: int, rng: np.random.Generator) -> Pool:
    """Five samples whose scores are better than chance; one of them without a score."""
    credits = rng.integers(0, 2, 5).tolist()
    scores: list[float | None] = [float(rng.choice(SCORES[1 + credit : 4 + credit])) for credit in credits]
    scores[int(rng.integers(5))] = None
    classes = tuple(7 if credit else int(rng.integers(3)) for credit in credits)
    tokens = {"v": (5,) * 5}
    return Pool(
        f"q{number}", classes, tuple(map(float, credits)), 7, (10,) * 5, None, None, {"v": tuple(scores)}, tokens, {"v": None}
    )


QUESTIONS = [Question(f"q{i}", "exam", "open", "?", cluster=f"c{i // 2}") for i in range(12)]
POOLS = {f"q{i}": pool(i, np.random.default_rng(i)) for i in range(12)}
SIDES = folds(QUESTIONS)


def test_folds_hold_whole_clusters_and_as_many_of_them():
    assert all(SIDES[f"q{i}"] == SIDES[f"q{i + 1}"] for i in range(0, 12, 2))
    assert sum(SIDES.values()) == 6


def merit(wanted: str, pools: list[Pool], strategy, cut: float, k: int) -> tuple[float, ...]:
    """What is to be made as large as possible, by enumeration of every set of k samples in every question."""
    found = [strategy.model_copy(update={"threshold": cut}).expected(one, k) for one in pools]
    credit, coverage = mean(one.credit for one in found), mean(one.coverage for one in found)
    selective = credit / coverage if coverage else 0.0
    aim = goal(wanted)
    if aim.kind == "accuracy":
        return (credit,)
    value, other = (coverage, selective) if aim.kind == "coverage" else (selective, coverage)
    return (1.0, other) if value >= aim.least else (0.0, value)


@pytest.mark.parametrize("wanted", ["accuracy", "coverage>=0.8", "selective_accuracy>=0.75", "selective_accuracy>=1"])
@pytest.mark.parametrize("kind", [Rejection, FilteredVote])
@pytest.mark.parametrize("k", [1, 3])
def test_what_each_fold_chooses_serves_the_goal_on_it_as_well_as_any_threshold(wanted, kind, k):
    strategy = kind(n=5, verifier="v", threshold=wanted)
    chosen = choose(strategy, POOLS, [k], SIDES)
    assert chosen is not None
    for fold, cut in enumerate(chosen.by_k[k]):
        others = [one for i, one in POOLS.items() if SIDES[i] != fold]
        every = [merit(wanted, others, strategy, any_cut, k) for any_cut in SCORES]
        assert merit(wanted, others, strategy, cut, k) == pytest.approx(max(every))


def test_the_credits_of_a_question_have_no_part_in_its_threshold():
    strategy = Rejection(n=5, verifier="v", threshold="accuracy")
    chosen = choose(strategy, POOLS, [1, 5], SIDES)
    for fold in (0, 1):
        spoilt = {i: replace(one, credits=(0.0,) * 5) if SIDES[i] == fold else one for i, one in POOLS.items()}
        again = choose(strategy, spoilt, [1, 5], SIDES)
        assert [cuts[fold] for cuts in again.by_k.values()] == [cuts[fold] for cuts in chosen.by_k.values()]
        assert again.by_k != chosen.by_k


def test_each_question_is_judged_with_the_threshold_of_the_other_fold():
    strategy = Rejection(n=5, verifier="v", threshold="selective_accuracy>=0.75")
    chosen = choose(strategy, POOLS, [2], SIDES)
    found = expectations({"r": strategy}, {"r": POOLS}, {"r": [2]}, {"r": chosen})["r"]
    for i, one in POOLS.items():
        number = chosen.by_k[2][SIDES[i]]
        assert found[i] == [(2, Rejection(n=5, verifier="v", threshold=number).expected(one, 2))]


def test_noise_gains_nothing_by_a_threshold_though_the_questions_judged_would_say_so():
    rng = np.random.default_rng(1)
    questions = [Question(f"q{i}", "exam", "open", "?") for i in range(60)]
    noisy = {q.id: _noise(q.id, rng) for q in questions}
    strategy = FilteredVote(n=4, verifier="v", threshold="accuracy", fallback="vote")
    chosen = choose(strategy, noisy, [4], folds(questions))
    honest = mean(o.credit for [(_, o)] in expectations({"f": strategy}, {"f": noisy}, {"f": [4]}, {"f": chosen})["f"].values())
    cuts = np.linspace(0, 1, 30)
    best = max(
        mean(strategy.model_copy(update={"threshold": c}).expected(one, 4).credit for one in noisy.values()) for c in cuts
    )
    assert honest < best
    assert honest == pytest.approx(0.5, abs=4 * 0.5 / 60**0.5)


def _noise(name: str, rng: np.random.Generator) -> Pool:
    credits = tuple(rng.integers(0, 2, 4).astype(float).tolist())
    scores = {"v": tuple(rng.random(4).tolist())}
    return Pool(name, tuple(map(int, credits)), credits, 1, (1,) * 4, None, None, scores, {"v": (1,) * 4}, {"v": None})


def test_a_goal_needs_other_questions():
    strategy = Rejection(n=5, verifier="v", threshold="accuracy")
    with pytest.raises(UserError, match="the 2 here share an image"):
        check_folds(QUESTIONS[:2], [strategy])
    check_folds(QUESTIONS[:2], [strategy.model_copy(update={"threshold": 0.5})])
    check_folds(QUESTIONS[1:3], [strategy])
    with pytest.raises(UserError, match="give a number"):
        strategy.expected(POOLS["q0"], 1)
    with pytest.raises(UserError, match="give a number"):
        asyncio.run(strategy.solve(None))


@pytest.mark.parametrize(
    "wanted", ["best", "coverage", "coverage>=2", "accuracy>=0.5", "selective_accuracy>=-1", float("nan"), float("inf")]
)
def test_what_is_no_goal_is_refused(wanted):
    with pytest.raises(ValidationError, match="a threshold is a"):
        Rejection(n=1, verifier="v", threshold=wanted)


def test_a_run_lists_what_was_chosen_beside_the_fixed_one(ttc, tmp_path):
    rows = [{"id": f"q{i}", "question": f"{i}?", "options": list("abcd"), "gold": "A"} for i in range(8)]
    (tmp_path / "exam.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    strategies = [{"kind": "rejection", "n": 4, "verifier": "v", "threshold": t} for t in (0.5, "coverage >= 0.5", 7)]
    content = {
        "benchmark": {"kind": "jsonl", "path": str(tmp_path / "exam.jsonl")},
        "backend": {"kind": "scripted", "replies": ["Answer: A", "Answer: B"], "pick": "seeded"},
        "verifiers": {"v": {"kind": "scripted"}},
        "strategies": strategies,
        "bank": str(tmp_path / "bank"),
    }
    (tmp_path / "run.yaml").write_text(yaml.safe_dump(content), encoding="utf-8")
    ended = ttc("run", tmp_path / "run.yaml", "--out", tmp_path / "out")
    assert ended.code == 0, ended.err
    facts = json.loads((tmp_path / "out" / "run.json").read_text(encoding="utf-8"))
    name = "rejection(verifier=v,threshold=coverage>=0.5)"
    assert set(facts["strategies"]) == {"rejection(verifier=v,threshold=0.5)", name, "rejection(verifier=v,threshold=7.0)"}
    assert ended.out.count("no sample reaches threshold") == 1
    assert "rejection(verifier=v,threshold=7.0): no sample reaches threshold 7; scores of v are between 0" in ended.out
    assert list(facts["thresholds"]) == [name]
    assert all(0 <= cut <= 1 for cuts in facts["thresholds"][name].values() for cut in cuts)
    assert set(facts["thresholds"][name]) == {"1", "2", "4"}
