"""What the report's sample browser shows: questions with their images, and graded samples with their steps and scores.

    graded samples -> a small index of all questions for the filters, and a packed block per question, read when it is opened

A page for 900 questions x 64 samples must open at once, so samples, text and images are bounded here and the page says so.
"""

import base64
import json
import zlib
from bisect import bisect
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from experiments.curves import Curves, level_order
from experiments.panel import Outcomes
from experiments.pictures import media_key, pictures
from ttc.grading import Graded
from ttc.records import Answer, Exam, Gold, Question, Sample, StepScores, Verdict

QUESTIONS = 1_000
"""Questions shown; of a larger exam every second, third ... one."""
SAMPLES = 100_000
"""Samples in one page; of more, the first ones of every question. All of them are counted."""
TEXT_CHARACTERS = 100_000_000
"""Reply text in one page before it is packed, which takes about a fifth of that."""
SEARCHED = 600
"""Characters of a question's text and options that a search reads."""

GradedDraws = Mapping[str, Mapping[str, Graded]]
"""Draw label -> question id -> its graded samples."""


@dataclass(frozen=True, slots=True)
class Exhibits:
    """Everything the browser needs, ready for JSON."""

    index: Mapping[str, Any]
    """What filters read, for all questions at once."""
    details: Sequence[Mapping[str, Any]]
    """Per question, unpacked by the page when it is opened."""
    pictures: Mapping[str, Mapping[str, Any]]
    """By content hash: data URLs, or the problem."""
    note: str
    """What was left out, in one or two sentences."""


def exhibits(found: Curves, outcomes: Outcomes, exam: Exam, graded: GradedDraws, fields: Sequence[str]) -> Exhibits:
    """Gather the browser's content for the questions of an exam, in its order.

    Args:
        fields: question fields that the page offers as filters.
    """
    step = -(-len(exam.questions) // QUESTIONS)
    questions = exam.questions[::step] if step > 1 else exam.questions
    kept = [by_id[question.id] for by_id in graded.values() for question in questions if question.id in by_id]
    n = level([len(one.samples) for one in kept], SAMPLES)
    limit = level([len(sample.text) for one in kept for sample in one.samples[:n]], TEXT_CHARACTERS)
    names = [entrant.name for entrant in found.entrants]
    verifiers = list(dict.fromkeys(name for one in kept for name in one.scores))
    rows, details = [], []
    for question in questions:
        draws = {label: by_id[question.id] for label, by_id in graded.items() if question.id in by_id}
        credits = [_last_credit(outcomes.get(name, {}).get(question.id, ())) for name in names]
        fooled = [place for place, name in enumerate(verifiers) if any(is_fooled(one, name) for one in draws.values())]
        rows.append(_row(question, draws, credits, fields) | {"fooled": fooled})
        details.append(_detail(question, exam.golds.get(question.id), [_draw(*draw, n, limit) for draw in draws.items()]))
    shown, skipped = pictures(questions)
    index = {"questions": rows, "strategies": names, "fields": list(fields), "verifiers": verifiers}
    return Exhibits(index, details, shown, _note(exam, questions, kept, n, limit, skipped))


def level(sizes: Sequence[int], room: int) -> int:
    """The largest cap under which the sizes fit the room together, and 1 at least; the largest size where all fit."""
    caps = range(1, max(sizes, default=1) + 1)
    return max(1, bisect(caps, room, key=lambda cap: sum(min(size, cap) for size in sizes)))


def packed(detail: Mapping[str, Any]) -> str:
    """A question's block: deflated JSON in base64, so that all samples of a large run fit one page."""
    text = json.dumps(detail, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode("utf-8"))).decode("ascii")


def is_fooled(one: Graded, verifier: str) -> bool:
    """A wrong answer has a score above that of every right one, and there is a right one."""
    read = zip(one.scores.get(verifier, ()), one.answers, one.verdicts, strict=False)
    scored = [
        (scores.score, verdict.credit)
        for scores, answer, verdict in read
        if scores.score is not None and answer.values and verdict.status == "graded"
    ]
    right = [score for score, credit in scored if credit > 0.5]
    wrong = [score for score, credit in scored if credit <= 0.5]
    return bool(right and wrong) and max(wrong) > max(right)


def _note(exam: Exam, questions: Sequence[Question], kept: Sequence[Graded], n: int, limit: int, skipped: int) -> str:
    most = max((len(one.samples) for one in kept), default=0)
    note = "Every sample of every question." if n >= most else f"The first {n:,} of up to {most:,} samples of each question."
    if not most:
        note = "No samples of this run are at hand."
    if len(questions) < len(exam.questions):
        note = f"{len(questions):,} of {len(exam.questions):,} questions, evenly spaced. {note}"
    if any(len(sample.text) > limit for one in kept for sample in one.samples[:n]):
        note += f" Replies over {limit:,} characters are cut in the middle."
    if skipped:
        note += f" {skipped:,} images are left out to keep the page small."
    return note


def choices(questions: Sequence[Question], fields: Sequence[str]) -> list[dict[str, Any]]:
    """For each field with at least two values, those values in order."""
    found = []
    for field in fields:
        values = sorted({value for question in questions for value in question.values(field)}, key=level_order)
        found.append({"field": field, "values": values})
    return found


def status_table(graded: GradedDraws) -> Mapping[str, Any]:
    """Per draw, how many samples ended in which way: columns and rows for a table."""
    counts: dict[str, Counter[str]] = {}
    for label, by_id in graded.items():
        tally = counts.setdefault(label, Counter())
        for one in by_id.values():
            tally["samples"] += len(one.samples)
            tally.update(answer.status for answer in one.answers)
            tally["by the judge"] += sum(verdict.rule.startswith("model:") for verdict in one.verdicts)
            tally["ungraded"] += sum(verdict.status == "ungraded" for verdict in one.verdicts)
            tally["cut at the limit"] += sum(sample.finish == "length" for sample in one.samples)
            tally.update(sample.status for sample in one.samples if sample.status in ("rejected", "media"))
    always = ("samples", "answered", "truncated", "refused", "failed")
    columns = [*always, "empty", "unclear", "abstained", "rejected", "media", "by the judge", "ungraded", "cut at the limit"]
    columns = [column for column in columns if column in always or any(tally[column] for tally in counts.values())]
    rows = [{"name": label, "counts": [tally[column] for column in columns]} for label, tally in counts.items()]
    return {"columns": columns, "rows": rows}


def _last_credit(points: Sequence[tuple[int, Any]]) -> float | None:
    return round(max(points, key=lambda point: point[0])[1].credit, 4) if points else None


def _row(question: Question, draws: Mapping[str, Graded], credits: list[float | None], fields: Sequence[str]) -> dict[str, Any]:
    return {
        "id": question.id,
        "values": [question.values(field) for field in fields],
        "words": " ".join((question.text, *question.options))[:SEARCHED],
        "credits": credits,
        "drawn": sum(len(one.samples) for one in draws.values()),
        "answered": sum(answer.value is not None for one in draws.values() for answer in one.answers),
        "solved": sum(verdict.credit > 0.5 for one in draws.values() for verdict in one.verdicts),
        "problem": any(sample.status != "ok" for one in draws.values() for sample in one.samples),
    }


def _detail(question: Question, gold: Gold | None, draws: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = {field: " / ".join(question.values(field)) for field in question.fields}
    named = [f"{field} {value}" if value.isdigit() else value for field, value in values.items() if value]
    return {
        "facts": list(dict.fromkeys([question.question_type, *named])),
        "text": question.text,
        "options": question.options,
        "gold": gold.answers if gold else (),
        "media": [{"kind": one.kind, "marker": one.marker, "key": media_key(one)} for one in question.media],
        "draws": draws,
    }


def _draw(label: str, one: Graded, n: int, limit: int) -> dict[str, Any]:
    answers: Counter[str] = Counter()
    credit: dict[str, float] = {}
    for answer, verdict in zip(one.answers, one.verdicts, strict=True):
        text = ", ".join(answer.values)[:80] or f"none ({answer.status})"
        answers[text] += 1
        credit[text] = verdict.credit
    read = zip(one.samples[:n], one.answers, one.verdicts, strict=False)
    samples = [
        {"index": place, "seen": "".join(one.question.letters[at] for at in one.orders[place]) if one.orders else ""}
        | _sample(*columns, [column[place] if place < len(column) else None for column in one.scores.values()], limit)
        for place, columns in enumerate(read)
    ]
    tally = [{"answer": text, "count": count, "credit": credit[text]} for text, count in answers.most_common(8)]
    return {"name": label, "drawn": len(one.samples), "verifiers": list(one.scores), "tally": tally, "samples": samples}


def _sample(
    sample: Sample, answer: Answer, verdict: Verdict, scores: Sequence[StepScores | None], limit: int
) -> dict[str, Any]:
    from verifiers.steps import texts_of

    count = next((len(one.steps) for one in scores if one is not None and one.steps), 0)
    # where the scores are of steps that we cannot find, the reply stays whole and they stand beside it
    steps = texts_of(sample.text, count) or (sample.text,) if sample.text.strip() else ()
    return {
        "steps": _cut(steps, limit),
        "reason": sample.reason,
        "answer": ", ".join(answer.values)[:200] if answer.values else None,
        "status": answer.status,
        "rule": answer.rule,
        "credit": verdict.credit,
        "ungraded": verdict.status == "ungraded",
        "tokens": sample.completion_tokens if sample.counted else None,
        "cut": sample.finish == "length",
        "scores": [one and {"score": one.score, "steps": _short(one.steps), "status": one.status} for one in scores],
    }


def _short(scores: Sequence[float]) -> list[float]:
    return [round(score, 3) for score in scores]


def _cut(steps: Sequence[str], limit: int) -> list[str]:
    """The steps without the middle of a long reply: its beginning stays, and its end, where the answer stands."""
    length = sum(map(len, steps))
    if length <= limit:
        return list(steps)
    begin, end = limit // 2, length - limit // 2
    found, start = [], 0
    for step in steps:
        head, tail = step[: max(0, begin - start)], step[max(0, end - start) :]
        is_whole = len(head) == len(step) or len(tail) == len(step)
        found.append(step if is_whole else f"{head}[... {len(step) - len(head) - len(tail):,} characters left out ...]{tail}")
        start += len(step)
    return found
