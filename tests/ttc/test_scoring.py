"""Verifiers at work: bank first, batches of many questions, what is counted, what a crash leaves."""

import asyncio
import threading
from collections.abc import Iterator, Sequence

import pytest
from pydantic import PrivateAttr

from ttc.bank import Bank
from ttc.errors import UserError
from ttc.records import Question, Reply, Sample, StepScores
from ttc.scoring import Scoring, verifier_id
from verifiers import Scripted

VERIFIER = Scripted(tokens_per_reply=5)


class Counting(Scripted, frozen=True):
    """A scripted verifier that notes the size of each batch, waits while its gate is closed, and can break down."""

    breaks_after: int = 10**9
    _batches: list[int] = PrivateAttr(default_factory=list)
    _gate: threading.Event = PrivateAttr(default_factory=threading.Event)

    def model_post_init(self, context: object) -> None:
        self._gate.set()

    def open(self) -> "Counting":  # type: ignore[override]
        return self

    def score(self, replies: Sequence[Reply]) -> Iterator[StepScores]:
        self._batches.append(len(replies))
        self._gate.wait()
        for place, scores in enumerate(super().open().score(replies)):
            if place == self.breaks_after:
                raise UserError("out of memory")
            yield scores

    def close(self) -> None:
        pass


def replies(question: str = "q", n: int = 3, text: str = "so\nAnswer: B") -> list[Reply]:
    asked = Question(question, "exam", "open", "What?")
    return [Reply(asked, Sample(question * 32, index, question, f"{index} {text}")) for index in range(n)]


def scored(bank: Bank, verifier: Scripted, asked: list[Reply]) -> tuple[list[StepScores], int]:
    """Scores, and the verifier tokens that were executed."""
    with bank.writer() as writer, Scoring({"v": verifier}, bank, writer) as scoring:
        return scoring.score_all("v", asked), scoring.executed.verifier_tokens


def test_scores_are_kept_in_the_bank_and_only_new_replies_are_scored(tmp_path):
    bank = Bank(tmp_path)
    first, executed = scored(bank, VERIFIER, replies(n=3))
    assert executed == 3 * 5
    second, executed = scored(bank, VERIFIER, replies(n=5))
    assert executed == 2 * 5
    assert second[:3] == first
    assert [(one.key, one.index) for one in second] == [("q" * 32, index) for index in range(5)]


def test_scores_are_kept_by_what_determines_them_and_not_by_the_name_in_a_config(tmp_path):
    bank = Bank(tmp_path)
    scored(bank, VERIFIER, replies())
    with bank.writer() as writer, Scoring({"another name": VERIFIER}, bank, writer) as scoring:
        scoring.score_all("another name", replies())
        assert scoring.executed.verifier_tokens == 0
    _, executed = scored(bank, Scripted(tokens_per_reply=5, seed=1), replies())
    assert executed == 3 * 5


def test_another_aggregation_of_the_same_steps_needs_no_new_pass(tmp_path):
    bank = Bank(tmp_path)
    lowest, _ = scored(bank, VERIFIER, replies())
    last, executed = scored(bank, Scripted(tokens_per_reply=5, aggregation="last"), replies())
    assert executed == 0
    assert [one.score for one in lowest] == [min(one.steps) for one in lowest]
    assert [one.score for one in last] == [one.steps[-1] for one in lowest]
    assert lowest != last


def test_a_reply_without_text_has_no_score_and_costs_nothing(tmp_path):
    nothing = Reply(Question("q", "exam", "open", "What?"), Sample("k" * 64, 0, "q", " \n", status="media"))
    [found], executed = scored(Bank(tmp_path), VERIFIER, [nothing])
    assert (found.score, found.tokens, executed) == (None, 0, 0)


def test_a_verifier_that_breaks_down_keeps_what_it_has_scored(tmp_path):
    bank = Bank(tmp_path)
    with pytest.raises(UserError, match="out of memory"):
        scored(bank, Counting(tokens_per_reply=5, breaks_after=2), replies(n=6))
    _, executed = scored(bank, Counting(tokens_per_reply=5), replies(n=6))
    assert executed == 4 * 5


def test_what_strategies_ask_while_a_batch_is_scored_is_the_next_one(tmp_path):
    verifier, bank = Counting(), Bank(tmp_path)
    verifier._gate.clear()

    async def run() -> list[list[StepScores]]:
        with bank.writer() as writer, Scoring({"v": verifier}, bank, writer) as scoring:
            tasks = [asyncio.create_task(scoring.scores("v", replies(name, n=2))) for name in "ab"]
            while not verifier._batches:
                await asyncio.sleep(0.001)
            tasks += [asyncio.create_task(scoring.scores("v", replies(name, n=2))) for name in "acd"]
            await asyncio.sleep(0.001)
            verifier._gate.set()
            return await asyncio.gather(*tasks)

    found = asyncio.run(run())
    assert verifier._batches == [4, 4]  # what is known of a is not scored again
    assert [one.key[0] for some in found for one in some] == list("aabbaaccdd")


def test_a_breakdown_reaches_every_strategy_that_waits(tmp_path):
    async def run() -> list[object]:
        bank, verifier = Bank(tmp_path), Counting(breaks_after=0)
        with bank.writer() as writer, Scoring({"v": verifier}, bank, writer) as scoring:
            waiting = (scoring.scores("v", replies(name)) for name in "ab")
            return await asyncio.gather(*waiting, return_exceptions=True)

    assert [str(error) for error in asyncio.run(run())] == ["out of memory"] * 2


def test_a_name_that_is_not_bound_is_refused_with_the_names_that_are(tmp_path):
    async def run() -> None:
        bank = Bank(tmp_path)
        with bank.writer() as writer, Scoring({"v": VERIFIER}, bank, writer) as scoring:
            await scoring.scores("w", replies())

    with pytest.raises(UserError, match=r"'w'.*bound: v"):
        asyncio.run(run())


def test_the_identity_names_the_kind_and_changes_with_the_content():
    assert verifier_id(VERIFIER).startswith("scripted-")
    assert verifier_id(VERIFIER) == verifier_id(Scripted(tokens_per_reply=5, aggregation="mean", flops_per_token=3.0))
    assert verifier_id(VERIFIER) != verifier_id(Scripted(tokens_per_reply=5, scores={"so": 0.5}))
