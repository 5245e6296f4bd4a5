"""Stored samples of one question, and strategies at work on them in any order."""

from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass, replace
from pathlib import Path

import pytest

from ttc import prompts
from ttc.bank import Bank
from ttc.compute import ModelShape
from ttc.grading import Graded, Job, grade
from ttc.judges.rules import Rules
from ttc.pool import Outcome, Pool
from ttc.records import Gold, Prompt, Question, Reply, Sample, Sampling
from ttc.scoring import Scoring
from ttc.session import Session
from verifiers import Confidence, Scripted

SHAPE = ModelShape(layers=2, width=16, query_heads=2, kv_heads=1, head_dim=8, mlp_weights=3000, vocabulary=100)
QUESTION = Question("q1", "pocket", "multiple-choice", "Which?", ("one", "two", "three"))
GOLD = Gold("q1", ("B",))


@dataclass
class Stored:
    """A source that hands out given samples: those of the greedy draw, and the others in the order they are in.

    Samples that saw the options in an order of their own have these for a key.
    """

    sampled: Sequence[Sample]
    greedy: Sequence[Sample]

    async def samples(self, question: Question, prompt: Prompt, sampling: Sampling, n: int, prefix: tuple[int, ...] = ()):
        shown = [one for one in self.sampled if one.key == " ".join(question.options)]
        return list(self.greedy if sampling.temperature == 0 else shown or self.sampled)[:n]


def sample(index: int, text: str, tokens: int, *, key: str = "sampled") -> Sample:
    return Sample(key, index, "q1", text, finish="stop", prompt_tokens=9, completion_tokens=tokens)


@dataclass
class Bench:
    """Graded and scored samples, the pool that estimators read of them, and live runs over them."""

    graded: Graded
    greedy: Graded
    scoring: Scoring
    verifier: Confidence | Scripted

    def pool(self, strategy) -> Pool:
        seen = self.graded.seen(strategy.draw, strategy.draw.n).pool(SHAPE, {"v": self.verifier})
        last = getattr(strategy, "fallback_draw", None)
        return replace(seen, greedy=self.greedy.seen(last, 1).pool(SHAPE)) if last else seen

    async def solve(self, strategy, order: Sequence[int]) -> Outcome:
        """What one live run achieves and costs."""
        source = Stored([self.graded.samples[i] for i in order], self.greedy.samples)
        session = Session(
            QUESTION,
            source,
            lambda question, style: prompts.render(question, style=style),
            Sampling(),
            shape=SHAPE,
            verification=self.scoring,
        )
        answer, usage = (await strategy.solve(session)).answer, session.usage
        credit = Rules().judge(QUESTION, GOLD, answer).credit if answer else 0.0
        costs = usage.samples, usage.prompt_tokens, usage.completion_tokens, usage.flops, usage.verifier_tokens
        return Outcome(credit, float(answer is not None), *costs, session.reread_tokens, *astuple(session.path))


@pytest.fixture
def bench(tmp_path: Path):
    """Five samples: two say B, one C, one nothing, one A; the C has no score; two scores are equal."""
    told = {"s0": 0.4, "s1": 0.9, "s2": None, "s3": 0.7, "s4": 0.4}
    said = ["Answer: B", "Answer: B", "Answer: C", "no idea", "Answer: A"]
    lengths = [5, 11, 7, 40, 3]
    verifier = Scripted(scores=told | dict.fromkeys(said, 1.0), tokens_per_reply=13, flops_per_token=10.0)
    samples = tuple(
        sample(i, f"{name}\n{text}", tokens) for i, (name, text, tokens) in enumerate(zip(told, said, lengths, strict=True))
    )
    with benched(tmp_path, samples, verifier) as made:
        yield made


@pytest.fixture
def sure_bench(tmp_path: Path):
    """Five samples with log-probabilities, scored by their least sure window of two: one lacks them, one sinks twice."""
    told = [(-1, -1, -9), (-2, -2, -2, -2), (-1, -4, -4, -9, -9, -1), (), (-3, -1, -6, -1)]
    said = ["Answer: B", "Answer: B", "Answer: C", "Answer: A", "Answer: A"]
    samples = tuple(
        replace(sample(i, f"{i}\n{text}", len(logprobs) or 8), logprobs=logprobs)
        for i, (text, logprobs) in enumerate(zip(said, told, strict=True))
    )
    with benched(tmp_path, samples, Confidence(over="lowest_window", window=2)) as made:
        yield made


@contextmanager
def benched(folder: Path, samples: Sequence[Sample], verifier: Confidence | Scripted):
    """All of them graded and scored."""
    graded, greedy = (
        grade(Job(QUESTION, GOLD, tuple(drawn)), Rules()) for drawn in (samples, (sample(0, "Answer: B", 6, key="greedy"),))
    )
    bank = Bank(folder)
    with bank.writer() as writer, Scoring({"v": verifier}, bank, writer) as scoring:
        found = scoring.score_all("v", [Reply(QUESTION, one) for one in samples])
        yield Bench(replace(graded, scores={"v": tuple(found)}), greedy, scoring, verifier)
