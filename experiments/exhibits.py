"""What the report's sample browser shows: questions with their images, and a bounded number of graded samples.

A page for 900 questions x 64 samples must open at once, so samples, text and images are bounded here and the page says so.
"""

import base64
import io
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from PIL import Image

from experiments.curves import Curves, level_order, values_of
from experiments.panel import Outcomes
from ttc import media
from ttc.errors import MediaError
from ttc.grading import Graded
from ttc.records import Clip, Exam, FrameRule, Gold, Media, Picture, Question

QUESTIONS = 1_000
"""Questions shown; of a larger exam every second, third ... one."""
SAMPLES = 8
"""Samples shown of each draw of a question; all of them are counted."""
TEXT_CHARACTERS = 16_000_000
"""Reply text in one page, over all samples shown."""
IMAGE_CHARACTERS = 16_000_000
"""Image data in one page, as base64."""
PIXELS = (224 * 224, 512 * 512)
"""Fewest and most pixels of an image; between them, what the page's share allows."""
PIXELS_PER_CHARACTER = 4
"""Of a photograph as WebP in base64."""
FRAMES = 4
TINY = 160
"""Images with both sides below this are enlarged by the page without smoothing."""

GradedDraws = Mapping[str, Mapping[str, Graded]]
"""Draw label -> question id -> its graded samples."""


@dataclass(frozen=True, slots=True)
class Exhibits:
    """Everything the browser needs, ready for JSON."""

    index: Mapping[str, Any]
    """What filters read, for all questions at once."""
    details: Sequence[Mapping[str, Any]]
    """Per question, parsed by the page when it is opened."""
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
    limit = max(1_000, TEXT_CHARACTERS // max(1, sum(min(len(one.samples), SAMPLES) for one in kept)))
    names = [entrant.name for entrant in found.entrants]
    rows, details = [], []
    for question in questions:
        draws = {label: by_id[question.id] for label, by_id in graded.items() if question.id in by_id}
        credits = [_last_credit(outcomes.get(name, {}).get(question.id, ())) for name in names]
        rows.append(_row(question, draws, credits, fields))
        details.append(_detail(question, exam.golds.get(question.id), draws, limit))
    pictures, skipped = _pictures(questions)
    most = max((len(one.samples) for one in kept), default=0)
    note = "No samples of this run are at hand."
    if most:
        note = f"The first {min(SAMPLES, most)} of up to {most} samples of each question; the tallies count all of them."
    if step > 1:
        note = f"{len(questions):,} of {len(exam.questions):,} questions, evenly spaced. {note}"
    if any(len(sample.text) > limit for one in kept for sample in one.samples[:SAMPLES]):
        note += f" Replies over {limit:,} characters are cut in the middle."
    if skipped:
        note += f" {skipped:,} images are left out to keep the page small."
    return Exhibits({"questions": rows, "strategies": names, "fields": list(fields)}, details, pictures, note)


def choices(questions: Sequence[Question], fields: Sequence[str]) -> list[dict[str, Any]]:
    """For each field with at least two values, those values in order."""
    found = []
    for field in fields:
        values = sorted({value for question in questions for value in values_of(question, field)}, key=level_order)
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
        "values": [values_of(question, field) for field in fields],
        "opening": question.text[:160],
        "credits": credits,
        "drawn": sum(len(one.samples) for one in draws.values()),
        "answered": sum(answer.value is not None for one in draws.values() for answer in one.answers),
        "solved": sum(verdict.credit > 0.5 for one in draws.values() for verdict in one.verdicts),
        "problem": any(sample.status != "ok" for one in draws.values() for sample in one.samples),
    }


def _detail(question: Question, gold: Gold | None, draws: Mapping[str, Graded], limit: int) -> dict[str, Any]:
    values = {field: " / ".join(values_of(question, field)) for field in question.fields}
    named = [f"{field} {value}" if value.isdigit() else value for field, value in values.items() if value]
    return {
        "facts": list(dict.fromkeys([question.question_type, *named])),
        "text": question.text,
        "options": question.options,
        "gold": gold.answers if gold else (),
        "media": [{"kind": one.kind, "marker": one.marker, "key": _key(one)} for one in question.media],
        "draws": [_draw(label, one, limit) for label, one in draws.items()],
    }


def _draw(label: str, one: Graded, limit: int) -> dict[str, Any]:
    answers: Counter[str] = Counter()
    credit: dict[str, float] = {}
    for answer, verdict in zip(one.answers, one.verdicts, strict=True):
        text = ", ".join(answer.values)[:80] or f"none ({answer.status})"
        answers[text] += 1
        credit[text] = verdict.credit
    samples = [
        {
            "index": sample.index,
            "text": _cut(sample.text, limit),
            "reason": sample.reason,
            "answer": ", ".join(answer.values)[:200] if answer.values else None,
            "status": answer.status,
            "rule": answer.rule,
            "credit": verdict.credit,
            "ungraded": verdict.status == "ungraded",
            "tokens": sample.completion_tokens if sample.counted else None,
            "cut": sample.finish == "length",
        }
        for sample, answer, verdict in zip(one.samples[:SAMPLES], one.answers, one.verdicts, strict=False)
    ]
    tally = [{"answer": text, "count": count, "credit": credit[text]} for text, count in answers.most_common(8)]
    return {"name": label, "drawn": len(one.samples), "tally": tally, "samples": samples}


def _cut(text: str, limit: int) -> str:
    """The beginning and the end, where the answer stands."""
    if len(text) <= limit:
        return text
    half = limit // 2
    return f"{text[:half]}\n[... {len(text) - 2 * half:,} characters left out ...]\n{text[-half:]}"


def _key(one: Media) -> str:
    return f"{one.kind}-{one.sha256}" if one.sha256 else f"problem-{one.problem}"


def _pictures(questions: Sequence[Question]) -> tuple[dict[str, Any], int]:
    """Each medium once, until the page's share for images is used up; and the number left out."""
    media_by_key = {_key(one): one for question in questions for one in question.media}
    least, most = PIXELS
    pixels = max(least, min(most, PIXELS_PER_CHARACTER * IMAGE_CHARACTERS // max(1, len(media_by_key))))
    pictures: dict[str, Any] = {}
    room = IMAGE_CHARACTERS
    for key, one in media_by_key.items():
        if room <= 0:
            break
        part = Picture(one, pixels) if one.kind == "image" else Clip(one, FrameRule(frames=FRAMES), pixels // FRAMES)
        try:
            images = media.load_images(part)
        except MediaError as error:
            pictures[key] = {"frames": (), "problem": str(error), "tiny": False}
            continue
        frames = tuple(_data_url(image) for image in images)
        room -= sum(map(len, frames))
        pictures[key] = {"frames": frames, "problem": "", "tiny": max(images[0].size) < TINY}
    return pictures, len(media_by_key) - len(pictures)


def _data_url(image: Image.Image) -> str:
    """WebP as for photographs; PNG for tiny images, whose every pixel counts."""
    buffer = io.BytesIO()
    name = "png" if max(image.size) < TINY else "webp"
    image.save(buffer, name, quality=75, method=2)
    return f"data:image/{name};base64,{base64.b64encode(buffer.getvalue()).decode('ascii')}"
