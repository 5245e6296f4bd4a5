"""The pocket exam's video subjects in MMVU's own form: rows of JSON with rationale and knowledge, videos beside them."""

import json
from pathlib import Path

from ttc.media import encoded
from ttc.pocket import exam
from ttc.records import LETTERS, Gold, Question

CHOICES = 5
"""Options a row names; those it does not have are empty."""


def write_mmvu(split: str, folder: Path) -> Path:
    """Write a finite split as `<folder>/<split>.json` with `<folder>/videos/<Subject>/<n>.mp4`. Returns the JSON file."""
    rows = []
    for subject in (name for name, subject in exam.SUBJECTS.items() if subject.is_video):
        for source in exam.problems(split, (subject,)):
            question = exam.question(source)
            video = f"videos/{subject}/{source.index}.mp4"
            (folder / video).parent.mkdir(parents=True, exist_ok=True)
            (folder / video).write_bytes(encoded(question.media[0]))
            rows.append(row(question, exam.gold(source), video))
    file = folder / f"{split}.json"
    file.write_text(json.dumps(rows, indent=1) + "\n")
    return file


def row(question: Question, gold: Gold, video: str) -> dict[str, object]:
    """One row of the released form; `video` is a path below the file's folder, where the release has an address."""
    options = (*question.options, *[""] * (CHOICES - len(question.options)))
    return {
        "id": question.id,
        "video": video,
        "question_type": "multiple-choice" if question.options else "open-ended",
        "metadata": {
            "subject": question.fields["subject"],
            "textbook": "",
            "knowledge": list(gold.knowledge),
            "rationale": gold.explanation,
        },
        "question": question.text,
        "choices": dict(zip(LETTERS, options, strict=False)),
        "answer": gold.answers[0],
    }
