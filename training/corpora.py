"""Explained examples -> labelled chains: released explanations, the pocket exam's golds and its model's own replies."""

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate

from training.chains import LabelledChain
from ttc.answers import extract
from ttc.records import Exam, Gold, Question, Sample, Verdict
from verifiers.steps import split

_CONCLUDES = re.compile(r"\b(?:answers?|options?|choices?)\b", re.IGNORECASE)


def gold_chains(exam: Exam) -> list[LabelledChain]:
    """One chain for each question that has an explanation, every step right.

    A step that stands by another option than the gold one is unlabelled: in released data, options were shuffled after some
    explanations were written. An explanation that only says so (`?`) is none.
    """
    chains = []
    for question in exam.questions:
        gold = exam.golds.get(question.id)
        if gold is None or not any(character.isalnum() for character in gold.explanation):
            continue
        steps = tuple(step.text for step in split(gold.explanation))
        labels = tuple(None if _is_stale(question, gold, step) else True for step in steps)
        chains.append(
            LabelledChain(question, steps, labels, (None,) * len(steps), "gold", exam.name, group=question.id, is_right=True)
        )
    return chains


def natural_chain(question: Question, sample: Sample, *, model: str, verdict: Verdict | None = None) -> LabelledChain | None:
    """A model's own reply, its steps unlabelled (see `training.rollouts`); None where there is none.

    Args:
        model: name of what drew it.
        verdict: on its final answer, where it was judged.
    """
    steps = tuple(step.text for step in split(sample.text)) if sample.status == "ok" else ()
    if not steps:
        return None
    nothing: tuple[None, ...] = (None,) * len(steps)
    is_right = None if verdict is None or verdict.status == "ungraded" else verdict.credit == 1
    source = f"{question.benchmark}/{model}"
    sample_id = f"{sample.key}/{sample.index}"
    return LabelledChain(question, steps, nothing, nothing, "natural", source, question.id, is_right, sample_id)


def pocket_chains(
    questions: Iterable[Question], golds: Mapping[str, Gold], samples: Mapping[str, Sequence[Sample]], *, model: str
) -> list[LabelledChain]:
    """A model's own replies to pocket questions, each step labelled by the exam itself: right, or which kind of error.

    Args:
        golds: by question id.
        samples: by question id, as a bank holds them; those without a reply are left out.
        model: name of what drew them.
    """
    from ttc.judges.rules import Rules

    chains, judge = [], Rules()
    for question in questions:
        for sample in samples.get(question.id, ()):
            verdict = judge.judge(question, golds[question.id], extract(question, sample))
            chain = natural_chain(question, sample, model=model, verdict=verdict)
            if chain is not None:
                labels, kinds, _ = pocket_labels(question, chain.steps)
                chains.append(replace(chain, labels=labels, kinds=kinds))
    return chains


def pocket_labels(
    question: Question, steps: Sequence[str]
) -> tuple[tuple[bool, ...], tuple[str | None, ...], tuple[bool, ...]]:
    """Whether each step is right by the pocket exam itself, the kind of its first error, and whether it reads the image."""
    from ttc.pocket.checker import check
    from ttc.pocket.exam import find

    reply = "".join(steps)
    checks = iter(check(find(question.id), reply))
    lines = [(line, next(checks) if line.strip() else None) for line in reply.splitlines(keepends=True)]
    ends = list(accumulate(len(line) for line, _ in lines))
    kinds: list[str | None] = []
    reads: list[bool] = []
    start = 0
    for step in steps:
        # a reply of one line has steps within it: each takes the line's label
        touched = range(bisect_right(ends, start), bisect_left(ends, start + len(step)) + 1)
        found = [check for at in touched if (check := lines[at][1]) is not None]
        kinds.append(next((check.kind for check in found if check.kind != "right"), None))
        reads.append(any(check.reads for check in found))
        start += len(step)
    return tuple(kind is None for kind in kinds), tuple(kinds), tuple(reads)


def _is_stale(question: Question, gold: Gold, step: str) -> bool:
    if not question.options or not gold.answers or not _CONCLUDES.search(step):
        return False
    answer = extract(question, step)
    return answer.value is not None and answer.value not in gold.answers
