"""Runs whose strategies read scores: what is scored, what is counted, what is marked."""

import asyncio
import io
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import pytest
from pydantic import BaseModel
from rich.console import Console

from experiments import folder as folders
from experiments.config import RunConfig, validate
from experiments.curve_tables import table
from experiments.curves import curves
from experiments.plan import plan
from experiments.run import Results, execute
from experiments.submission import submission
from ttc.bank import Bank
from ttc.draw import Draw
from ttc.errors import UserError
from ttc.records import Selection
from ttc.session import Session
from ttc.strategies import ShuffledVote

REPLIES = ["Answer: A", "so\nAnswer: B", "Answer: B", "Answer: 14", "no idea", "q1: 8\nAnswer: C"]


def config(bank: Path, *strategies: dict[str, Any], **settings: Any) -> RunConfig:
    content = {
        "benchmark": {"kind": "pocket", "split": "validation", "subjects": ["Tables", "Bars"]},
        "backend": {"kind": "scripted", "pick": "seeded", "replies": REPLIES},
        "verifiers": {"noise": {"kind": "scripted", "tokens_per_reply": 20}, "truth": {"kind": "truth"}},
        "strategies": strategies,
        "limit": 12,
        "bank": str(bank),
    }
    return validate(content | settings, "test")


def run(asked: RunConfig) -> Results:
    return execute(plan(asked), asked.backend, Bank(asked.bank))


BEST = {"kind": "best_of_n", "n": 8, "verifier": "noise"}
TRUE = {"kind": "best_of_n", "n": 8, "verifier": "truth"}
ORACLE = {"kind": "oracle", "n": 8}


def test_a_second_run_scores_nothing_and_finds_the_same(tmp_path):
    first = run(config(tmp_path, BEST, TRUE))
    assert (first.executed.samples, first.executed.verifier_tokens) == (12 * 8, 12 * 8 * 20)
    second = run(config(tmp_path, BEST, TRUE))
    assert (second.executed.samples, second.executed.verifier_tokens) == (0, 0)
    assert second.outcomes == first.outcomes


def test_only_the_samples_that_a_strategy_asks_for_are_scored(tmp_path):
    found = run(config(tmp_path, {"kind": "vote", "n": 32}, BEST))
    assert found.executed.verifier_tokens == 12 * 8 * 20
    assert {k: one.verifier_tokens for k, one in next(iter(found.outcomes["best_of_n(verifier=noise)"].values()))} == {
        1: 20,
        2: 40,
        4: 80,
        8: 160,
    }


def test_a_length_cap_is_replayed_without_drawing_and_costs_no_more_than_the_cap(tmp_path):
    run(config(tmp_path, {"kind": "vote", "n": 8}))
    found = run(config(tmp_path, {"kind": "vote", "n": 8}, {"kind": "vote", "n": 8, "cap_tokens": 2}))
    assert found.executed.samples == 0
    whole, capped = found.outcomes["vote"], found.outcomes["vote(cap_tokens=2)"]
    for question_id, points in capped.items():
        [lengths] = {tuple(s.completion_tokens for s in found.graded["cot"][question_id].samples)}
        assert points[-1][1].completion_tokens == sum(min(length, 2) for length in lengths)
        assert points[-1][1].coverage <= whole[question_id][-1][1].coverage


def test_a_greedy_fallback_is_drawn_and_paid_for(tmp_path):
    never = {"kind": "rejection", "n": 2, "verifier": "noise", "threshold": 2.0, "fallback": "greedy"}
    found = run(config(tmp_path, never, {"kind": "cot"}))
    [name] = [name for name in found.outcomes if name.startswith("rejection")]
    for question_id, points in found.outcomes[name].items():
        greedy = found.outcomes["cot"][question_id][0][1]
        assert [(k, one.samples, one.credit) for k, one in points] == [(1, 2, greedy.credit), (2, 3, greedy.credit)]


def test_a_strategy_whose_verifier_knows_the_truth_is_marked_as_the_oracle_is_and_has_no_losses(tmp_path):
    asked = config(tmp_path, BEST, TRUE, ORACLE)
    found = run(asked)
    facts = folders.manifest(found, asked.backend, "test")["strategies"]
    assert {name: fact["uses_gold"] for name, fact in facts.items()} == {
        "best_of_n(verifier=noise)": False,
        "best_of_n(verifier=truth)": True,
        "oracle": True,
    }
    oracles = {name: fact["oracle"] for name, fact in facts.items()}
    made = curves(
        found.plan.exam.questions, found.outcomes, by=(), oracles=oracles, golds=["best_of_n(verifier=truth)"], draws=100
    )
    assert [one.uses_gold for one in made.entrants] == [False, True, True]
    assert {loss.strategy for loss in made.overall.losses} == {"best_of_n(verifier=noise)"}
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(table(made))
    text = console.export_text()
    assert text.count("(gold)") == 2 * 4
    assert "…" not in text


def test_the_answers_of_a_verified_strategy_can_be_submitted_and_those_of_one_with_the_truth_not(tmp_path):
    asked = config(tmp_path, BEST, TRUE)
    found = run(asked)
    answers = submission(plan(asked), asked.backend, Bank(asked.bank), "best_of_n(verifier=noise)")
    assert len(answers) == 12
    assert any(answers.values())
    coverage = {i: points[-1][1].coverage for i, points in found.outcomes["best_of_n(verifier=noise)"].items()}
    assert all(not answers[i] for i, covered in coverage.items() if covered == 0)
    with pytest.raises(UserError, match="can submit"):
        submission(plan(asked), asked.backend, Bank(asked.bank), "best_of_n(verifier=truth)")


class Twice(BaseModel, frozen=True, extra="forbid"):
    """A live strategy: draws two, scores them, stands by the first."""

    kind: Literal["twice"] = "twice"
    verifier: str = "noise"
    uses_gold: ClassVar[bool] = False

    async def solve(self, session: Session) -> Selection:
        samples = await session.draw(Draw(n=2))
        await session.score(samples, self.verifier)
        return session.stand_by(samples, 0, "first")


def test_a_live_strategy_is_charged_for_its_verifier(tmp_path):
    found = run(config(tmp_path, BEST).model_copy(update={"strategies": (Twice(),)}))
    assert {one.verifier_tokens for points in found.outcomes["twice"].values() for _, one in points} == {40}
    assert found.executed.verifier_tokens == 12 * 40
    again = run(config(tmp_path, BEST).model_copy(update={"strategies": (Twice(),)}))
    assert (again.executed.verifier_tokens, again.outcomes) == (0, found.outcomes)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"strategies": [{**BEST, "verifier": "steps"}]}, r"no verifier 'steps'.*bound: noise, truth"),
        ({"strategies": [{**BEST, "cap_tokens": 4000}]}, r"cap_tokens=4000 is above sampling.max_tokens=1024"),
        ({"verifiers": {"noise": {"kind": "confidence"}}}, r"set sampling.logprobs: true"),
        (
            {"strategies": [{"kind": "deepconf", "n": 4, "verifier": "noise", "warmup": 2}]},
            r"verifier 'noise' scores them whole; bind \{kind: confidence, over: lowest_window, window: N\}",
        ),
        ({"strategies": [{"kind": "best_of_n", "n": 8}]}, r"verifier.*required"),
    ],
)
def test_a_config_that_cannot_be_scored_is_refused_with_the_way_out(tmp_path, changes, message):
    with pytest.raises(UserError, match=message):
        config(tmp_path, BEST, **changes)


def test_a_live_strategy_listed_with_several_sizes_has_a_point_for_each_and_draws_once(tmp_path):
    many, few = ({"kind": "revision", "stop_when_kept": False, "rounds": rounds} for rounds in (3, 1))
    found = run(config(tmp_path, many, few))
    assert found.executed.samples == 12 * 4
    for points in found.outcomes["revision(stop_when_kept=False)"].values():
        assert [(k, one.samples) for k, one in points] == [(1, 2), (3, 4)]
    with pytest.raises(UserError, match="listed 2 times"):
        config(tmp_path, many, many)


class Slow(Twice, frozen=True, extra="forbid"):
    """Finishes later than `Twice`, and the latest on the questions that come first."""

    kind: Literal["slow"] = "slow"

    async def solve(self, session: Session) -> Selection:
        await asyncio.sleep(0.2 - int(session.question.id.rpartition("_")[2]) / 2000)
        return await super().solve(session)


class Going(BaseModel, frozen=True, extra="forbid"):
    """A shuffled vote, live."""

    kind: Literal["going"] = "going"
    uses_gold: ClassVar[bool] = False

    async def solve(self, session: Session) -> Selection:
        return await ShuffledVote(n=6).solve(session)


def test_the_curve_of_a_shuffled_vote_ends_at_the_cost_of_a_live_one_over_the_same_samples(tmp_path):
    asked = config(tmp_path, {"kind": "shuffled_vote", "n": 6})
    assert run(asked).executed.samples == 12 * 6
    found = run(asked.model_copy(update={"strategies": (*asked.strategies, Going())}))
    assert found.executed.samples == 0
    for curve, live in zip(found.outcomes["shuffled_vote"].values(), found.outcomes["going"].values(), strict=True):
        (k, expected), [(_, one)] = curve[-1], live
        assert (k, asdict(expected)) == (6, pytest.approx(asdict(replace(one, credit=expected.credit))))
        assert abs(expected.credit - one.credit) < 1  # a tie is shared


def test_strategies_and_questions_come_in_the_configs_and_the_exams_order_whichever_finishes_first(tmp_path):
    asked = config(tmp_path, BEST, ORACLE)
    best, oracle = asked.strategies
    found = run(asked.model_copy(update={"strategies": (Slow(), best, Twice(), oracle)}))
    assert list(found.outcomes) == ["slow", "best_of_n(verifier=noise)", "twice", "oracle"]
    assert list(found.outcomes["slow"]) == [question.id for question in found.plan.exam.questions]


def test_a_capped_reply_has_no_answer_at_all_beside_an_uncapped_one(tmp_path):
    found = run(config(tmp_path, {"kind": "vote", "n": 8}))
    one = next(iter(found.graded["cot"].values()))
    seen = one.seen(Draw(n=8, cap_tokens=2), 8)
    for before, after in zip(one.samples, seen.samples, strict=True):
        place = before.index
        if before.completion_tokens <= 2:
            assert (after, seen.answers[place], seen.classes[place]) == (before, one.answers[place], one.classes[place])
        else:
            assert (after.completion_tokens, after.finish, after.text) == (2, "length", "")
            assert (seen.answers[place].status, seen.classes[place], seen.verdicts[place].credit) == ("truncated", None, 0.0)
    assert {s.completion_tokens > 2 for s in one.samples} == {True, False}
