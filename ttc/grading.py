"""Samples -> answers -> verdicts -> pools: a pass of its own, run again in seconds when a rule is mended."""

import os
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import starmap
from multiprocessing import get_context

from ttc import answers as reading
from ttc.compute import ModelShape
from ttc.pool import Pool
from ttc.protocols import Judge
from ttc.records import Answer, Gold, Question, Sample, Verdict

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

    def pool(self, shape: ModelShape | None) -> Pool:
        """What the estimators read; FLOPs where the model's shape is known."""
        first = self.samples[0]
        prefill = decode = None
        if shape is not None:
            prefill = shape.prompt_flops(first.prompt_tokens, first.image_tokens)
            decode = tuple(shape.decode_flops(sample.completion_tokens, sample.prompt_tokens) for sample in self.samples)
        return Pool(
            self.question.id,
            self.classes,
            tuple(verdict.credit for verdict in self.verdicts),
            first.prompt_tokens,
            tuple(sample.completion_tokens for sample in self.samples),
            prefill,
            decode,
            n_options=len(self.question.options),
        )


def grade(question: Question, gold: Gold, samples: Sequence[Sample], judge: Judge) -> Graded:
    """Read and judge the samples of one question. Equal replies are read once, equal answers judged once."""
    read: dict[tuple[str, str, str], Answer] = {}
    judged: dict[Answer, Verdict] = {}
    answers: list[Answer] = []
    for sample in samples:
        reply = (sample.text, sample.status, sample.finish)
        if reply not in read:
            read[reply] = reading.extract(question, sample)
        answers.append(read[reply])
    for answer in answers:
        if answer not in judged:
            judged[answer] = judge.judge(question, gold, answer)
    verdicts = tuple(judged[answer] for answer in answers)
    return Graded(question, tuple(samples), tuple(answers), verdicts, reading.classes(question, answers))


Job = tuple[Question, Gold, Sequence[Sample], Judge]


def grade_all(jobs: Sequence[Job]) -> list[Graded]:
    """Grade many questions, in order; in several processes where it pays (math-verify needs a process's main thread)."""
    workers = os.cpu_count() or 1
    if workers == 1 or sum(len(samples) for _, _, samples, _ in jobs) < PARALLEL_FROM:
        return list(starmap(grade, jobs))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as processes:
        return list(processes.map(_grade_job, jobs, chunksize=max(1, len(jobs) // (workers * 8))))


def _grade_job(job: Job) -> Graded:
    return grade(*job)
