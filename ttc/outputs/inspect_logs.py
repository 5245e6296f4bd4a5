"""Evaluation logs of inspect_ai, as JSON or as its zipped `.eval` form. Every epoch is a sample; an errored one stays in."""

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from ttc.errors import UserError
from ttc.outputs import plain
from ttc.outputs.files import checked, json_file
from ttc.outputs.replies import Known, Outputs, Reply, Stored


class _Part(BaseModel):
    type: str = ""
    text: str = ""


class _Message(BaseModel):
    role: str = ""
    content: str | list[_Part] = ""

    @property
    def words(self) -> str:
        return self.content if isinstance(self.content, str) else "".join(part.text for part in self.content)


class _Choice(BaseModel):
    message: _Message = _Message()
    stop_reason: str = ""


class _Error(BaseModel):
    message: str = ""


class _Output(BaseModel):
    choices: list[_Choice] = []
    completion: str = ""
    error: str | None = None


class _Score(BaseModel):
    value: Any = None
    answer: str | None = None


class _Sample(BaseModel):
    id: str | int
    input: str | list[_Message] = ""
    choices: list[str] | None = None
    target: str | list[str]
    output: _Output | None = None
    scores: dict[str, _Score] | None = None
    metadata: dict[str, Any] | None = None
    error: _Error | None = None


class _Dataset(BaseModel):
    sample_ids: list[str | int] | None = None


class _Config(BaseModel):
    epochs: int | None = None


class _Evaluation(BaseModel):
    dataset: _Dataset = _Dataset()
    config: _Config = _Config()


class _Log(BaseModel):
    """The parts of a log that are read."""

    status: str = "success"
    eval: _Evaluation = _Evaluation()
    samples: list[_Sample] | None = None


def read(path: Path, benchmark: str, known: Known) -> Outputs:
    """A log.

    Raises:
        UserError: it cannot be read, or a sample lacks a needed part.
    """
    log = checked(_Log, _zipped(path) if path.suffix == ".eval" else json_file(path), where=f"outputs {path}")
    samples = log.samples or []
    replies = [
        reply
        for number, sample in enumerate(samples, start=1)
        for reply in _replies(sample, benchmark, known, f"{path}, sample {number}")
    ]
    if not replies:
        raise UserError(f"outputs {path}: the log has no samples")
    return Outputs("inspect_ai", tuple(replies), tuple(_problems(path, log, len(samples))))


def _problems(path: Path, log: _Log, found: int) -> Iterator[str]:
    if log.status != "success":
        yield f"{path}: the run ended with status {log.status}"
    expected = len(log.eval.dataset.sample_ids or []) * (log.eval.config.epochs or 1)
    if expected > found:
        yield f"{path}: {expected - found} of {expected} planned samples are not in the log, nor in any number here"


def _zipped(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            header = json.loads(archive.read("header.json" if "header.json" in names else "_journal/start.json"))
            samples = [json.loads(archive.read(name)) for name in names if name.startswith("samples/")]
            return {**header, "samples": samples}
    except OSError as error:
        raise UserError(f"outputs {path}: {error.strerror}") from error
    except (zipfile.BadZipFile, NotImplementedError, KeyError, ValueError, TypeError) as error:
        raise UserError(f"outputs {path}: cannot be unpacked ({error}); write it as JSON with `inspect log dump`") from error


def _replies(sample: _Sample, benchmark: str, known: Known, where: str) -> Iterator[Reply]:
    output = sample.output or _Output()
    first = output.choices[0] if output.choices else _Choice()
    response: object = output.completion or first.message.words
    if sample.error or output.error:
        response = {"error": (sample.error.message if sample.error else output.error) or "error"}
    score = next(iter((sample.scores or {}).values()), None)
    metadata = {
        name: value for name, value in (sample.metadata or {}).items() if name not in ("question_type", "answer", "response")
    }
    row = {
        **metadata,
        "id": sample.id,
        "question": _question(sample.input),
        "options": sample.choices,
        "gold": sample.target,
        "response": response,
    }
    finish = "length" if first.stop_reason in ("max_tokens", "model_length") else "stop"
    stored = Stored(score.answer, score.value in ("C", 1, True)) if score else None
    return plain.from_row(row, benchmark, known, where=where, stored=stored, finish=finish)


def _question(asked: str | list[_Message]) -> str:
    """The last user turn."""
    if isinstance(asked, str):
        return asked
    return next((turn.words for turn in reversed(asked) if turn.role == "user"), "")
