"""What a live strategy waits for, counted by hand."""

import asyncio
from math import isnan

from experiments.solved import Solved
from ttc import prompts
from ttc.draw import Draw
from ttc.grading import Job, grade
from ttc.judges.rules import Rules
from ttc.records import CriticalPath, Gold, Question, Sample, Sampling, Selection, StepScores
from ttc.session import Session

LENGTHS = (3, 5, 7, 2)


class Told:
    """A source of samples of known lengths after a prompt of 9 tokens."""

    async def samples(self, question, prompt, sampling, n, prefix=()):
        return [
            Sample("k", i, "q", "", prompt_tokens=9, completion_tokens=LENGTHS[i], token_ids=(1,) * LENGTHS[i])
            for i in range(n)
        ]

    async def token_ids(self, text):
        return ()


class Scored:
    """Scoring a reply takes twice its tokens."""

    async def scores(self, name, replies):
        return [StepScores("k", one.sample.index, name, (), 0.5, tokens=2 * one.sample.completion_tokens) for one in replies]

    def flops(self, name, scores):
        return None


class RefusedFirst(Told):
    """A filter of the provider refuses the first sample before anything is read."""

    async def samples(self, question, prompt, sampling, n, prefix=()):
        _, *others = await super().samples(question, prompt, sampling, n, prefix)
        return [Sample("k", 0, "q", "", status="refused"), *others]


class Uncounted(Told):
    """As outputs of another program."""

    async def samples(self, question, prompt, sampling, n, prefix=()):
        return [Sample("k", i, "q", "", counted=False) for i in range(n)]


def session(source: Told | None = None) -> Session:
    question = Question("q", "pocket", "multiple-choice", "Which?", ("one", "two"))
    source = source or Told()
    return Session(question, source, lambda asked, style: prompts.render(asked, style=style), Sampling(), verification=Scored())


def test_of_a_round_the_longest_counts_and_rounds_follow_one_another():
    async def run(one: Session) -> None:
        first = await one.draw(Draw(n=2))
        assert one.path == CriticalPath(9, 5)
        await one.score(first, "v")
        await one.draw(Draw(n=2))

    one = session()
    asyncio.run(run(one))
    assert one.path == CriticalPath(9, 5 + 7, 2 * 5)
    assert (one.usage.prompt_tokens, one.reread_tokens) == (9, 3 * 9)


def test_a_sample_that_was_refused_unread_leaves_the_prompt_to_be_paid_by_the_next():
    one = session(RefusedFirst())
    samples = asyncio.run(one.draw(Draw(n=3)))
    assert (one.usage.samples, one.usage.prompt_tokens, one.reread_tokens) == (3, 9, 9)
    assert grade(Job(one.question, Gold("q", ("A",)), tuple(samples)), Rules()).pool(None).prompt_tokens == 9


def test_tokens_that_nobody_counted_are_unknown_and_not_none():
    one = session(Uncounted())
    asyncio.run(one.draw(Draw(n=2)))
    solved = Solved(Selection(None), one.usage, one.path, one.reread_tokens, one.counted)
    found = solved.outcome(0.0, answered=False)
    assert (found.samples, found.flops, found.verifier_tokens) == (2, None, 0)
    assert all(map(isnan, (found.prompt_tokens, found.completion_tokens, found.path_completion_tokens or 0.0)))


def test_what_runs_side_by_side_takes_what_the_longest_takes():
    async def run(one: Session) -> None:
        with one.side_by_side():
            samples = await asyncio.gather(one.draw(Draw(n=1)), one.draw(Draw(n=2)), one.draw(Draw(n=1)))
        with one.side_by_side():
            await asyncio.gather(*(one.score(drawn, "v") for drawn in samples))

    one = session()
    asyncio.run(run(one))
    assert one.path == CriticalPath(9, 7, 14)


def test_a_search_waits_for_the_longest_step_of_every_round():
    async def run(one: Session) -> None:
        [[first, second]] = await one.extend([()], "\n", 2)
        await one.extend([first.token_ids, second.token_ids], "\n", 3)

    one = session()
    asyncio.run(run(one))
    assert one.path == CriticalPath(9, 5 + 7)
