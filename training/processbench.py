"""ProcessBench and VisualProcessBench: replies of many models with steps that people labelled.

ProcessBench (Zheng et al. 2024, arXiv:2412.06559): mathematics in text, the first wrong step or none.
VisualProcessBench (Wang et al. 2025, arXiv:2503.10291): questions with images, every step right, wrong or neutral.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.chains import LabelledChain
from ttc.benchmarks.files import json_rows
from ttc.errors import UserError
from ttc.media import media_from_file
from ttc.records import Question

_LABELS = {1: True, -1: False, 0: None}


def process_bench(path: Path) -> list[LabelledChain]:
    """The chains of one of its files, such as `gsm8k.json`. Steps behind the first error are unlabelled.

    Steps come without what stood between them; they are joined by blank lines.

    Raises:
        UserError: no such file, or a row of another form; names it.
    """
    return [_text_chain(row, path) for row in json_rows(path.expanduser())]


def visual_process_bench(path: Path) -> list[LabelledChain]:
    """The chains of its file of JSON lines; images lie in its folder or below. A neutral step is unlabelled.

    Raises:
        UserError: no such file, or a row of another form; names it.
    """
    path = path.expanduser()
    return [_visual_chain(row, number, path) for number, row in enumerate(json_rows(path), start=1)]


def _text_chain(row: Mapping[str, Any], path: Path) -> LabelledChain:
    where = f"{path}, row {row.get('id', str(row)[:60])!r}"
    steps, label = row.get("steps"), row.get("label")
    if not _are_texts(steps) or not isinstance(row.get("problem"), str) or not isinstance(label, int):
        raise UserError(f"{where}: lacks problem, steps or label; give a file of ProcessBench")
    if not -1 <= label < len(steps):
        raise UserError(f"{where}: label {label} with {len(steps)} steps; it is a step's index or -1")
    question = Question(str(row.get("id", "")), "processbench", "open", row["problem"], fields={"subset": path.stem})
    labels = (True,) * len(steps) if label < 0 else (*(True,) * label, False, *(None,) * (len(steps) - label - 1))
    is_right = row.get("final_answer_correct")
    return _chain(question, steps, labels, f"processbench/{row.get('generator', '')}", is_right)


def _visual_chain(row: Mapping[str, Any], number: int, path: Path) -> LabelledChain:
    where = f"{path}, row {number}"
    said = row.get("response") if isinstance(row.get("response"), Mapping) else row
    steps, marks = said.get("steps"), said.get("process_correctness")
    if not _are_texts(steps) or not isinstance(marks, list) or not isinstance(row.get("question"), str):
        raise UserError(f"{where}: lacks question, steps or process_correctness; give the file of VisualProcessBench")
    if len(marks) != len(steps) or not set(marks) <= _LABELS.keys():
        raise UserError(f"{where}: {len(marks)} labels {marks} for {len(steps)} steps; there is 1, 0 or -1 for each")
    names = row.get("image", [])
    images = [names] if isinstance(names, str) else list(names or [])
    media = tuple(media_from_file(name, root=path.parent) for name in images)
    source = str(row.get("data_source", ""))
    question = Question(
        f"{number}",
        "visualprocessbench",
        "open",
        row["question"].replace("<image>", ""),
        media=media,
        fields={"subset": source},
    )
    labels = tuple(_LABELS[mark] for mark in marks)
    return _chain(question, steps, labels, f"visualprocessbench/{row.get('policy_model', '')}", None)


def _chain(
    question: Question, steps: list[str], labels: tuple[bool | None, ...], source: str, is_right: bool | None
) -> LabelledChain:
    texts = (*(f"{step.rstrip()}\n\n" for step in steps[:-1]), steps[-1])
    return LabelledChain(question, texts, labels, (None,) * len(texts), "natural", source, question.id, is_right)


def _are_texts(steps: object) -> bool:
    return isinstance(steps, list) and bool(steps) and all(isinstance(step, str) and step.strip() for step in steps)
