"""Samples -> answers -> verdicts -> pools: a pass of its own, run again in seconds when a rule is mended."""

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, replace
from itertools import starmap
from math import nan
from multiprocessing import get_context
from types import MappingProxyType
from typing import TYPE_CHECKING, TypeVar

from ttc import answers as reading
from ttc.bank import Bank
from ttc.compute import ModelShape, question_flops
from ttc.draw import Draw, together
from ttc.judges.item import Item
from ttc.judges.rules import Rules
from ttc.judges.stored import StoredVerdicts
from ttc.pool import Fall, Pool, PoolPrompt
from ttc.protocols import ReadingJudge, RunningVerifier, Verifier
from ttc.records import Answer, Gold, Question, Sample, StepScores, Verdict

if TYPE_CHECKING:
    from ttc.outputs import Reply

T = TypeVar("T")
PARALLEL_FROM = 50_000
"""Samples below which starting processes costs more than it saves."""


@dataclass(frozen=True, slots=True)
class Graded:
    """One question's samples of one draw, read and judged; sequences in index order."""

    question: Question
    samples: tuple[Sample, ...]
    answers: tuple[Answer, ...]
    verdicts: tuple[Verdict, ...]
    classes: tuple[int | None, ...]
    scores: Mapping[str, tuple[StepScores, ...]] = field(default_factory=dict)
    """By verifier name, for those that were asked; of the first samples where not all were scored."""
    orders: Sequence[tuple[int, ...]] = ()
    """The places of the options as each sample saw them, where these were shuffled."""

    def seen(self, draw: Draw, n: int) -> "Graded":
        """The first n samples as a draw sees them: one over its length cap has no answer, no credit and no score."""
        if draw.cap_tokens is None and n >= len(self.samples):
            return self
        samples = tuple(draw.capped(sample) for sample in self.samples[:n])
        over = [cut is not sample for cut, sample in zip(samples, self.samples, strict=False)]

        def unless_over(column: Sequence[T], nothing: Callable[[T], T]) -> tuple[T, ...]:
            return tuple(nothing(value) if cut else value for value, cut in zip(column, over, strict=False))

        return replace(
            self,
            samples=samples,
            answers=unless_over(self.answers, lambda _: Answer((), "truncated", "length-cap")),
            verdicts=unless_over(self.verdicts, lambda _: Verdict(0.0, rule="rules: truncated")),
            classes=unless_over(self.classes, lambda _: None),
            scores={
                name: unless_over(column, lambda one: replace(one, steps=(), score=None, tokens=0))
                for name, column in self.scores.items()
            },
        )

    def pool(self, shape: ModelShape | None, verifiers: Mapping[str, Verifier] = MappingProxyType({})) -> Pool:
        """What the estimators read: FLOPs where the model's shape is known, and the scores of these verifiers."""
        first = next((sample for sample in self.samples if sample.prompt_tokens), self.samples[0])  # not one refused unread
        counted = all(sample.counted for sample in self.samples)
        prefill = decode = None
        if shape is not None and counted:
            prefill = question_flops(shape, first)
            decode = tuple(shape.decode_flops(sample.completion_tokens, sample.prompt_tokens) for sample in self.samples)
        columns = {name: self.scores[name] for name in verifiers}
        return Pool(
            self.question.id,
            self.classes,
            tuple(verdict.credit for verdict in self.verdicts),
            first.prompt_tokens if counted else nan,
            tuple(sample.completion_tokens if sample.counted else nan for sample in self.samples),
            prefill,
            decode,
            scores={name: tuple(scores.score for scores in column) for name, column in columns.items()},
            verifier_tokens={name: tuple(scores.tokens for scores in column) for name, column in columns.items()},
            verifier_flops={name: _flops(verifiers[name], column) for name, column in columns.items()},
            falls={
                name: tuple(self._falls(one, sample, shape) for sample in self.samples)
                for name, one in verifiers.items()
                if isinstance(one, RunningVerifier) and one.running
            },
            n_options=len(self.question.options),
            prompts=self._prompts(shape if counted else None),
        )

    def _prompts(self, shape: ModelShape | None) -> tuple[PoolPrompt, ...]:
        firsts = {one.key: one for one in sorted(self.samples, key=lambda sample: sample.prompt_tokens > 0)}
        if len(firsts) == 1:
            return ()
        found = {
            key: PoolPrompt(number, one.prompt_tokens if one.counted else nan, shape and question_flops(shape, one))
            for number, (key, one) in enumerate(firsts.items())
        }
        return tuple(found[sample.key] for sample in self.samples)

    def _falls(self, verifier: RunningVerifier, sample: Sample, shape: ModelShape | None) -> tuple[Fall, ...]:
        def flops(tokens: int) -> float | None:
            return None if shape is None else shape.decode_flops(tokens, sample.prompt_tokens)

        return tuple(Fall(tokens, score, flops(tokens)) for tokens, score in verifier.falls(sample))


def _flops(verifier: Verifier, column: Sequence[StepScores]) -> tuple[float, ...] | None:
    flops = [verifier.flops(scores) if scores.tokens else 0.0 for scores in column]
    known = tuple(value for value in flops if value is not None)
    return known if len(known) == len(flops) else None


@dataclass(frozen=True, slots=True)
class Job:
    """One question's samples of one draw, to be graded."""

    question: Question
    gold: Gold
    samples: tuple[Sample, ...]
    draw: Draw | None = None
    """What they are samples of, where they saw the options in other orders."""


def grade_all(jobs: Sequence[Job], judge: Rules | ReadingJudge, bank: Bank) -> list[Graded]:
    """Grade many questions, in order. Samples are read and judged under the options as they saw them."""
    graded = iter(_grade_parts([part for job in jobs for part in _as_seen(job)], judge, bank))
    return [next(graded) if job.draw is None else _as_meant(job, job.draw, graded) for job in jobs]


def _as_seen(job: Job) -> list[Job]:
    if job.draw is None:
        return [job]
    return [
        Job(part.shown(job.question), _key(job, part), tuple(job.samples[place] for place in places))
        for part, places in job.draw.parts(job.question).items()
    ]


def _key(job: Job, part: Draw) -> Gold:
    """The gold in the letters of the question as shown."""
    letters = {job.question.letters[place]: letter for place, letter in zip(part.order, job.question.letters, strict=False)}
    return replace(job.gold, answers=tuple(letters.get(answer, answer) for answer in job.gold.answers))


def _as_meant(job: Job, draw: Draw, graded: Iterator[Graded]) -> Graded:
    """A job's parts as one, with answers in the letters of the question as it is."""
    found = {part: (places, next(graded)) for part, places in draw.parts(job.question).items()}
    parts = {part: places for part, (places, _) in found.items()}
    answers = together(parts, ([part.meant(job.question, one) for one in of.answers] for part, (_, of) in found.items()))
    verdicts = together(parts, (of.verdicts for _, of in found.values()))
    classes = reading.classes(job.question, answers)
    return Graded(job.question, job.samples, tuple(answers), tuple(verdicts), classes, orders=draw.orders(job.question))


def _grade_parts(jobs: Sequence[Job], judge: Rules | ReadingJudge, bank: Bank) -> list[Graded]:
    """By rules in several processes where it pays, then by a reading judge if there is one."""
    if isinstance(judge, StoredVerdicts):
        replies = judge.by_question()
        return [_as_stored(job, judge, replies.get(job.question.id, [])) for job in jobs]
    rules = judge if isinstance(judge, Rules) else Rules()
    pairs = [(job, rules) for job in jobs]
    workers = os.cpu_count() or 1
    if workers == 1 or sum(len(job.samples) for job in jobs) < PARALLEL_FROM:
        graded = list(starmap(grade, pairs))
    else:
        # math-verify needs the main thread of a process, so threads would not do.
        with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as processes:
            graded = list(processes.map(_grade_pair, pairs, chunksize=max(1, len(jobs) // (workers * 8))))
    return graded if isinstance(judge, Rules) else _read_again(jobs, graded, judge, bank)


def grade(job: Job, rules: Rules) -> Graded:
    """Read and judge the samples of one question. Equal replies are read once, equal answers judged once."""
    read: dict[tuple[str, str, str], Answer] = {}
    judged: dict[Answer, Verdict] = {}
    answers: list[Answer] = []
    for sample in job.samples:
        reply = (sample.text, sample.status, sample.finish)
        if reply not in read:
            read[reply] = reading.extract(job.question, sample)
        answers.append(read[reply])
    for answer in answers:
        if answer not in judged:
            judged[answer] = rules.judge(job.question, job.gold, answer)
    verdicts = tuple(judged[answer] for answer in answers)
    return Graded(job.question, job.samples, tuple(answers), verdicts, reading.classes(job.question, answers))


def _as_stored(job: Job, judge: StoredVerdicts, replies: Sequence["Reply"]) -> Graded:
    """The samples of one question as the outputs have them."""
    answers, verdicts = zip(*(judge.read(sample, replies) for sample in job.samples), strict=True)
    numbers: dict[str, int] = {}
    classes = tuple(numbers.setdefault(answer.value, len(numbers)) if answer.value is not None else None for answer in answers)
    return Graded(job.question, job.samples, answers, verdicts, classes)


def _grade_pair(pair: tuple[Job, Rules]) -> Graded:
    return grade(*pair)


def _read_again(jobs: Sequence[Job], graded: Sequence[Graded], judge: ReadingJudge, bank: Bank) -> list[Graded]:
    """The same answers under the verdicts of a judge that reads."""
    items = [
        Item(job.question, job.gold, answer, sample.text)
        for job, found in zip(jobs, graded, strict=True)
        for answer, sample in zip(found.answers, found.samples, strict=True)
    ]
    found = iter(judge.judge_many(items, bank))
    return [replace(one, verdicts=tuple(next(found) for _ in one.answers)) for one in graded]


def verdicts(items: Sequence[Item], judge: Rules | ReadingJudge, bank: Bank) -> list[Verdict]:
    """One verdict per item, in order, by either kind of judge."""
    if isinstance(judge, Rules):
        return [judge.judge(item.question, item.gold, item.answer) for item in items]
    return judge.judge_many(items, bank)
