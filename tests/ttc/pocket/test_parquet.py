import ast
import hashlib

import pyarrow.parquet as pq

from ttc.benchmarks.pocket import Pocket
from ttc.pocket.parquet import write_parquet


def test_the_files_hold_every_question_as_mmmu_would(tmp_path):
    subjects = ("Tables", "Circuits", "Bars", "Dials")
    exam = Pocket(split="validation", subjects=subjects).load()
    files = write_parquet("validation", tmp_path)
    assert [file.relative_to(tmp_path).as_posix() for file in files] == [
        f"{subject}/validation-00000-of-00001.parquet" for subject in subjects
    ]
    rows = {row["id"]: row for file in files for row in pq.read_table(file).to_pylist()}
    assert set(rows) == set(exam.golds)
    for question in exam.questions:
        row = rows[question.id]
        assert (row["question"], row["question_type"]) == (question.text, question.question_type)
        assert ast.literal_eval(row["options"]) == list(question.options)
        assert [row["answer"]] == list(exam.golds[question.id].answers)
        for media in question.media:
            assert hashlib.sha256(row[f"image_{media.marker}"]["bytes"]).hexdigest() == media.sha256
        assert [row[f"image_{n}"] is not None for n in range(1, 8)] == [n <= len(question.media) for n in range(1, 8)]
