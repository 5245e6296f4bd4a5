"""The pocket exam in MMMU's own files: one folder a subject, one row a question, images inside."""

from collections.abc import Iterable
from pathlib import Path

from ttc.pocket import exam
from ttc.records import Gold, Question

IMAGES = 7
"""Image columns of the schema."""

TEXTS = (
    "id",
    "question",
    "options",
    "explanation",
    "img_type",
    "answer",
    "topic_difficulty",
    "question_type",
    "subfield",
)


def write_parquet(split: str, folder: Path) -> list[Path]:
    """Write a finite split as `<folder>/<Subject>/<split>-00000-of-00001.parquet`. Returns the files."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    image = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
    columns = [(name, pa.string()) for name in TEXTS] + [(f"image_{n + 1}", image) for n in range(IMAGES)]
    files = []
    for subject in (name for name, subject in exam.SUBJECTS.items() if not subject.is_video):
        file = folder / subject / f"{split}-00000-of-00001.parquet"
        file.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.Table.from_pylist(list(_rows(split, subject)), schema=pa.schema(columns)), file)
        files.append(file)
    return files


def _rows(split: str, subject: str) -> Iterable[dict[str, object]]:
    for source in exam.problems(split, (subject,)):
        yield row(exam.question(source), exam.gold(source))


def row(question: Question, gold: Gold) -> dict[str, object]:
    """One row of the schema; lists are written as Python literals, as the hub has them."""
    held = {media.marker: {"bytes": media.data, "path": f"{question.id}_{media.marker}.png"} for media in question.media}
    return {
        "id": question.id,
        "question": question.text,
        "options": repr(list(question.options)),
        "explanation": gold.explanation,
        "img_type": repr(list(question.fields["img_type"])),
        "answer": gold.answers[0],
        "topic_difficulty": question.fields["topic_difficulty"],
        "question_type": question.question_type,
        "subfield": question.fields["subfield"],
        **{f"image_{n}": held.get(n) for n in range(1, IMAGES + 1)},
    }
