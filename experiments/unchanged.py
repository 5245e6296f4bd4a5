"""Whether a finished run would find the same again: its results are then shown as they are, in a second.

Compared are the config, our code and the packages below it, all that the config names (models by their identity, files and
folders by names, sizes and times, the bank among them), the exam, and what the run wrote. Whatever is in doubt is computed.
"""

import hashlib
import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from experiments.config import RunConfig
from experiments.plan import Plan
from ttc.bank.parts import is_own_part
from ttc.scoring import verifier_id

OURS = ("ttc", "verifiers", "training", "experiments")
STATE = "unchanged.json"
FILES = "config.yaml run.json questions.json outcomes.parquet pools.parquet samples.parquet curves.json report.html verify.json"
"""Of a run's folder: what a run writes, and what its page is made from besides."""

Files = Mapping[str, list[int] | None]
"""Path -> size and time of its last change; None where there is no file."""


@dataclass(frozen=True, slots=True)
class Inputs:
    """What results follow from, but for the exam."""

    digest: str
    bank: Files


def inputs(config: RunConfig) -> Inputs | None:
    """As they are now; None where code of others takes part, of which we do not know whether it changed."""
    inside = list(_inside(config))
    if any(type(one).__module__.partition(".")[0] not in OURS for one in inside if isinstance(one, BaseModel)):
        return None
    named = {str(one): _files(one) for one in inside if isinstance(one, Path) and one != config.bank}
    models = [config.backend.identity(), repr(config.backend.shape()), *map(verifier_id, config.verifiers.values())]
    said = json.dumps([config.model_dump(mode="json"), named, models, _packages()], sort_keys=True, default=str)
    digest = hashlib.sha256(said.encode())
    for path in sources():
        digest.update(str(path).encode() + path.read_bytes())
    return Inputs(digest.hexdigest(), {path: at for path, at in _files(config.bank).items() if not path.endswith(".tmp")})


def sources() -> list[Path]:
    """Every file of our packages, data among them."""
    root = Path(__file__).parents[1]
    found = [path for name in OURS for path in (root / name).rglob("*") if path.is_file()]
    return sorted(path for path in found if path.parent.name != "__pycache__")


def holds(folder: Path, found: Inputs | None) -> bool:
    """Whether the folder has the results of these inputs; the exam is compared apart, since it may have to be loaded."""
    state = _state(folder)
    return found is not None and state is not None and state == state | _stated(folder, found)


def knows(folder: Path, plan: Plan, wanted: Mapping[str, int]) -> bool:
    """Whether the exam, and what is asked of it, are those of the results there."""
    return (_state(folder) or {}).get("exam") == _exam(plan, wanted)


def remember(folder: Path, before: Inputs | None, config: RunConfig, plan: Plan, wanted: Mapping[str, int]) -> None:
    """Keep what the results in the folder were made from, unless something else changed while they were made.

    Args:
        before: as they were when the run began; since then its own samples and scores have joined the bank.
    """
    after = inputs(config)
    (folder / STATE).unlink(missing_ok=True)
    if before is None or after is None or before.digest != after.digest:
        return
    changed = {path for path in before.bank.keys() | after.bank.keys() if before.bank.get(path) != after.bank.get(path)}
    if all(path in after.bank and is_own_part(path) for path in changed):
        state = _stated(folder, after) | {"exam": _exam(plan, wanted)}
        (folder / STATE).write_text(json.dumps(state), encoding="utf-8")


def _stated(folder: Path, found: Inputs) -> dict[str, Any]:
    written = {name: _stamp(folder / name) for name in FILES.split()}
    return {"digest": found.digest, "bank": dict(found.bank), "written": written}


def _state(folder: Path) -> dict[str, Any] | None:
    try:
        return json.loads((folder / STATE).read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError):
        return None


def _exam(plan: Plan, wanted: Mapping[str, int]) -> list[Any]:
    asked = hashlib.sha256(json.dumps(sorted(wanted.items())).encode()).hexdigest()
    return [plan.exam.fingerprint, list(plan.exam.problems), asked]


def _inside(value: Any) -> Iterator[Any]:
    """The models and paths that a config is made of."""
    if isinstance(value, BaseModel | Path):
        yield value
    if isinstance(value, BaseModel):
        value = {name: getattr(value, name) for name in type(value).model_fields}
    if isinstance(value, Mapping):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        for one in value:
            yield from _inside(one)


def _files(path: Path) -> dict[str, list[int] | None]:
    if not path.is_dir():
        return {str(path): _stamp(path)}
    return {str(one): _stamp(one) for one in sorted(path.rglob("*")) if one.is_file()}


def _stamp(path: Path) -> list[int] | None:
    if not path.exists():
        return None
    found = path.stat()
    return [found.st_size, found.st_mtime_ns]


def _packages() -> list[str]:
    """Python, and name and version of what is installed."""
    return [sys.version, *sorted(info.name for folder in set(sys.path) for info in Path(folder).glob("*.dist-info"))]
