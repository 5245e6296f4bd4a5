"""Evaluation logs of inspect_ai, as JSON or as its zipped `.eval` form. Every epoch is a sample; an errored one stays in."""

import json
import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ttc.errors import UserError
from ttc.outputs import plain
from ttc.outputs.files import field, json_file
from ttc.outputs.replies import Known, Outputs, Reply, Stored


def read(path: Path, benchmark: str, known: Known) -> Outputs:
    """A log.

    Raises:
        UserError: it cannot be read, or a sample lacks a needed key.
    """
    log = _zipped(path) if path.suffix == ".eval" else json_file(path)
    samples = field(log, "samples", where=f"outputs {path}") or []
    replies = [
        reply
        for number, sample in enumerate(samples, start=1)
        for reply in _replies(sample, benchmark, known, f"{path}, sample {number}")
    ]
    if not replies:
        raise UserError(f"outputs {path}: the log has no samples")
    return Outputs("inspect_ai", tuple(replies), tuple(_problems(path, log, len(samples))))


def _problems(path: Path, log: Mapping[str, Any], found: int) -> Iterator[str]:
    if log.get("status", "success") != "success":
        yield f"{path}: the run ended with status {log['status']}"
    evaluation = log.get("eval") or {}
    planned = (evaluation.get("dataset") or {}).get("sample_ids") or []
    expected = len(planned) * int((evaluation.get("config") or {}).get("epochs") or 1)
    if expected > found:
        yield f"{path}: {expected - found} of {expected} planned samples are not in the log, nor in any number here"


def _zipped(path: Path) -> dict[str, Any]:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
            header = json.loads(archive.read("header.json" if "header.json" in names else "_journal/start.json"))
            samples = [json.loads(archive.read(name)) for name in names if name.startswith("samples/")]
    except OSError as error:
        raise UserError(f"outputs {path}: {error.strerror}") from error
    except (zipfile.BadZipFile, NotImplementedError, KeyError, ValueError) as error:
        raise UserError(f"outputs {path}: cannot be unpacked ({error}); write it as JSON with `inspect log dump`") from error
    return {**header, "samples": samples}


def _replies(sample: Mapping[str, Any], benchmark: str, known: Known, where: str) -> Iterator[Reply]:
    output = sample.get("output") or {}
    choices = output.get("choices") or []
    first = choices[0] if choices else {}
    text = output.get("completion") or _content((first.get("message") or {}).get("content"))
    error = sample.get("error") or output.get("error")
    if error:
        text = {"error": error.get("message", error) if isinstance(error, dict) else error}
    score = next(iter((sample.get("scores") or {}).values()), None)
    metadata = sample.get("metadata") or {}
    row = {
        **{name: value for name, value in metadata.items() if name not in ("options", "question_type", "answer", "gold")},
        "id": field(sample, "id", where=where),
        "question": _question(sample.get("input")),
        "options": sample.get("choices"),
        "gold": field(sample, "target", where=where),
        "response": text,
    }
    finish = "length" if first.get("stop_reason") in ("max_tokens", "model_length") else "stop"
    stored = Stored(score.get("answer"), score.get("value") in ("C", 1, 1.0, True)) if isinstance(score, dict) else None
    return plain.from_row(row, benchmark, known, where=where, stored=stored, finish=finish)


def _question(asked: object) -> str:
    if isinstance(asked, str):
        return asked
    turns = asked if isinstance(asked, list) else []
    return next((_content(turn.get("content")) for turn in reversed(turns) if turn.get("role") == "user"), "")


def _content(content: object) -> str:
    """Text of a message: a string, or a list of parts of which the text ones count."""
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else []
    return "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict) and part.get("type") == "text")
