"""The one door to compute: what is drawn, what comes from the bank, what is counted."""

import asyncio
import json
from collections.abc import Mapping

import pytest

from ttc import prompts
from ttc.backends.scripted import Scripted
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.draw import Draw
from ttc.errors import BackendUnavailable, BudgetSpent
from ttc.records import Media, Question, Sample, Sampling
from ttc.session import Session
from ttc.strategies import Vote

SAMPLING = Sampling(max_tokens=32)


def question(number: int = 0, **changes: object) -> Question:
    values: dict[str, object] = {"text": f"What is {number} + 1?", "options": ("1", "2", "3")}
    return Question(f"q{number}", "pocket", "multiple-choice", **{**values, **changes})  # type: ignore[arg-type]


def session(asked: Question, source: Dispatcher, **settings: object) -> Session:
    return Session(asked, source, lambda q, style: prompts.render(q, style=style), SAMPLING, **settings)  # type: ignore[arg-type]


def drawn(bank: Bank, backend: Scripted, n: int, *, questions: int = 3, run_seed: int = 0) -> tuple[list[list[Sample]], int]:
    """Samples of each question, and how many were executed."""

    async def run() -> tuple[list[list[Sample]], int]:
        async with Dispatcher(backend, bank, run_seed=run_seed) as source:
            asked = [question(number) for number in range(questions)]
            found = await asyncio.gather(*(source.samples(q, prompts.render(q, style="cot"), SAMPLING, n) for q in asked))
            return list(found), source.executed.samples

    return asyncio.run(run())


REPLIES = ["Answer: A", "Answer: B", "so B. Answer: B", "no idea"]


def test_sixteen_then_sixty_four_draws_only_the_forty_eight_that_are_new(tmp_path):
    bank = Bank(tmp_path)
    first, executed = drawn(bank, Scripted(replies=REPLIES), 16)
    assert executed == 3 * 16
    second, executed = drawn(bank, Scripted(replies=REPLIES), 64)
    assert executed == 3 * 48
    assert [samples[:16] for samples in second] == first
    assert all([s.index for s in samples] == list(range(64)) for samples in second)


def test_the_prompt_as_it_was_sent_is_kept_beside_its_samples(tmp_path):
    bank, image = Bank(tmp_path), Media("image", 1, "00", data=b"no image at all")
    asked = question(text="What is <image 1>?", media=(image,))
    sent = prompts.render(asked, style="cot")

    async def run() -> Sample:
        async with Dispatcher(Scripted(replies=REPLIES), bank) as source:
            return (await source.samples(asked, sent, SAMPLING, 1))[0]

    key = asyncio.run(run()).key
    ((role, parts),) = json.loads(bank.descriptions([key])[key])["prompt"]
    assert (role, parts[0], parts[1]["image"]) == ("user", {"text": "What is "}, "00")
    assert parts[2] == {"text": sent.messages[0].parts[2].text}  # pyright: ignore


def test_another_run_seed_is_a_replicate_of_its_own(tmp_path):
    bank = Bank(tmp_path)
    first, _ = drawn(bank, Scripted(replies=REPLIES, pick="seeded"), 16)
    second, executed = drawn(bank, Scripted(replies=REPLIES, pick="seeded"), 16, run_seed=1)
    assert executed == 3 * 16
    assert [s.text for s in first[0]] != [s.text for s in second[0]]


def test_two_strategies_on_the_same_samples_draw_them_once(tmp_path):
    async def run() -> int:
        async with Dispatcher(Scripted(replies=REPLIES), Bank(tmp_path)) as source:
            asked = question()
            await asyncio.gather(*(session(asked, source).draw(Draw(n=n)) for n in (8, 32, 16)))
            return source.executed.samples

    assert asyncio.run(run()) == 32


def test_a_dead_engine_loses_nothing_and_the_same_call_goes_on(tmp_path):
    bank = Bank(tmp_path)
    with pytest.raises(BackendUnavailable):
        drawn(bank, Scripted(replies=REPLIES, unavailable_after=20), 16)
    kept = bank.stats().samples
    assert kept == 20
    _, executed = drawn(bank, Scripted(replies=REPLIES), 16)
    assert executed == 3 * 16 - kept


def test_an_unreadable_image_becomes_samples_with_a_status_and_the_others_go_on(tmp_path):
    broken = question(1, text="<image 1>", media=(Media("image", 1, "00", data=b"no image at all"),))

    async def run(asked: Question) -> list[Sample]:
        async with Dispatcher(Scripted(replies=REPLIES), Bank(tmp_path)) as source:
            return await source.samples(asked, prompts.render(asked, style="cot"), SAMPLING, 4)

    samples = asyncio.run(run(broken))
    assert [s.status for s in samples] == ["media"] * 4
    assert samples[0].reason
    assert [s.status for s in asyncio.run(run(question()))] == ["ok"] * 4


def test_a_session_counts_the_prompt_once_and_every_drawn_token(tmp_path):
    async def run() -> tuple[Session, list[Sample]]:
        async with Dispatcher(Scripted(replies=REPLIES), Bank(tmp_path)) as source:
            at_work = session(question(), source)
            samples = [*await at_work.draw(Draw(n=3)), *await at_work.draw(Draw(n=5))]
            return at_work, samples

    at_work, samples = asyncio.run(run())
    assert [s.index for s in samples] == list(range(8))
    assert at_work.usage.samples == 8
    assert at_work.usage.prompt_tokens == samples[0].prompt_tokens > 0
    assert at_work.usage.completion_tokens == sum(s.completion_tokens for s in samples)


def test_a_spent_budget_stops_the_next_draw_and_names_the_way_out(tmp_path):
    async def run() -> None:
        async with Dispatcher(Scripted(replies=REPLIES), Bank(tmp_path)) as source:
            at_work = session(question(), source, budget_tokens=3)
            await at_work.draw(Draw(n=3))
            await at_work.draw(Draw(n=1))

    with pytest.raises(BudgetSpent, match=r"q0: \d+ of 3 tokens.*budget_tokens"):
        asyncio.run(run())


@pytest.mark.parametrize(("replies", "answer"), [(["Answer: A", "Answer: B", "Answer: B"], "B"), (["hm", "well"], None)])
def test_vote_stands_by_the_most_common_answer_and_abstains_without_any(tmp_path, replies: list[str], answer: str | None):
    script: Mapping[str, list[str]] = {"q0": replies}

    async def run():
        async with Dispatcher(Scripted(replies=script), Bank(tmp_path)) as source:
            return await Vote(n=len(replies)).solve(session(question(), source))

    selection = asyncio.run(run())
    assert (selection.answer.value if selection.answer else None) == answer


def test_a_question_without_options_is_rejected_samples_and_no_request(tmp_path):
    async def run() -> list[Sample]:
        asked = question(options=())
        async with Dispatcher(Scripted(replies=REPLIES, unavailable_after=0), Bank(tmp_path)) as source:
            return await source.samples(asked, prompts.render(asked, style="cot"), SAMPLING, 2)

    samples = asyncio.run(run())
    assert [(s.index, s.status, s.text) for s in samples] == [(0, "rejected", ""), (1, "rejected", "")]
    assert "without any option" in samples[0].reason
