"""Options in random order, and answers brought back."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest

from ttc import prompts, select
from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.grading import Job, grade_all
from ttc.judges.item import Item
from ttc.judges.rules import Rules
from ttc.records import Gold, Question, Sample, Sampling, Selection, Usage, Verdict
from ttc.session import Session
from ttc.strategies import ShuffledVote, Vote

CHOICE = Question("q0", "pocket", "multiple-choice", "Which?", ("one", "two", "three"))
OPEN = Question("q0", "pocket", "open", "How many?")


def solve(strategy, bank: Path, asked: Question, replies: list[str]) -> tuple[Selection, Usage, int]:
    """What it stands by, what that costs, and how many samples were new."""

    async def run() -> tuple[Selection, Usage, int]:
        async with Dispatcher(Scripted(replies=replies), Bank(bank)) as source:
            session = Session(asked, source, lambda question, style: prompts.render(question, style=style), Sampling())
            return await strategy.solve(session), session.usage, source.executed.samples

    return asyncio.run(run())


@pytest.mark.parametrize("letter", "ABC")
def test_a_model_that_always_says_one_letter_votes_for_whatever_stands_there(tmp_path, letter):
    strategy = ShuffledVote(n=9)
    selection, _, _ = solve(strategy, tmp_path, CHOICE, [f"Answer: {letter}"])
    meant = ["ABC"[order["ABC".index(letter)]] for order in strategy.draw.orders(CHOICE)]
    assert len(set(meant)) == 3
    assert selection.answer
    assert selection.answer.value == meant[select.plurality(meant) or 0]


def test_every_distinct_order_is_a_prompt_that_is_paid_for_once(tmp_path):
    strategy = ShuffledVote(n=9)
    _, usage, executed = solve(strategy, tmp_path, CHOICE, ["Answer: B"])
    _, plain, _ = solve(Vote(n=9), tmp_path, CHOICE, ["Answer: B"])
    orders = set(strategy.draw.orders(CHOICE))
    assert (usage.samples, executed) == (9, 9)
    assert usage.prompt_tokens == len(orders) * plain.prompt_tokens
    assert 1 < len(orders) <= 6


def test_more_samples_keep_the_orders_of_the_fewer_and_draw_only_the_rest(tmp_path):
    solve(ShuffledVote(n=4), tmp_path, CHOICE, ["Answer: B"])
    _, _, executed = solve(ShuffledVote(n=10), tmp_path, CHOICE, ["Answer: B"])
    assert executed == 6


def test_every_order_is_as_likely(tmp_path):
    counts = Counter(ShuffledVote(n=3000).draw.orders(CHOICE))
    assert len(counts) == 6
    assert max(abs(count - 500) for count in counts.values()) < 5 * (500 * 5 / 6) ** 0.5


def test_an_open_question_gets_the_plain_vote_and_shares_its_samples(tmp_path):
    replies = ["Answer: 4", "Answer: 5", "Answer: 5", "hm"]
    plain, _, _ = solve(Vote(n=4), tmp_path, OPEN, replies)
    shuffled, _, executed = solve(ShuffledVote(n=4), tmp_path, OPEN, replies)
    assert (shuffled.answer, executed) == (plain.answer, 0)


def test_nobody_answering_is_an_abstention(tmp_path):
    selection, _, _ = solve(ShuffledVote(n=3), tmp_path, CHOICE, ["no idea"])
    assert selection == Selection(None, reason="abstain")


class Reader:
    """Judges by rules, and remembers what it was given to read."""

    def judge_many(self, items: Sequence[Item], bank: Bank) -> list[Verdict]:
        self.items = list(items)
        return Rules().judge_many(items, bank)


def test_a_judge_that_reads_is_given_options_and_key_as_the_sample_saw_them(tmp_path):
    samples = tuple(Sample("k", index, "q0", f"Answer: {'ABC'[index % 3]}", finish="stop") for index in range(9))
    judge, draw = Reader(), ShuffledVote(n=9).draw
    [graded] = grade_all([Job(CHOICE, Gold("q0", ("B",)), samples, draw)], judge, Bank(tmp_path))
    assert len(judge.items) == 9
    for item in judge.items:
        assert item.question.options[item.question.letters.index(item.gold.answers[0])] == "two"
        assert item.reply == f"Answer: {item.answer.value}"
    assert [verdict.credit for verdict in graded.verdicts] == [float(answer.value == "B") for answer in graded.answers]
    assert {verdict.credit for verdict in graded.verdicts} == {0.0, 1.0}
