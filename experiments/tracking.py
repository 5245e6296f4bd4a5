"""Weights & Biases; no other module knows it. What a run found goes there once, whatever was killed and resumed on the way.

A folder has one W&B run, whose id lies in its `tracking.json`. Points are logged in a fixed order with their rank as step, so a
resumed online run goes on behind the last step that the server has. An offline run that was cut short left a folder of its own,
which is removed and written anew: one folder, one `wandb sync`.
"""

import hashlib
import json
import os
import secrets
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import islice
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, Field

from experiments import axes
from experiments.tensorboard import TensorBoard
from training.wandb_mode import wandb_mode
from ttc.errors import UserError

if TYPE_CHECKING:
    from experiments.config import RunConfig
    from experiments.curves import Curves, Point
    from experiments.run import Results

AXES: Mapping[str, Callable[["Point"], float | None]] = {axis.label: attrgetter(axis.key) for axis in axes.AXES.values()}
"""What accuracy is drawn against: axis -> its value at a point, None where unknown."""

_TEXT = 2000
"""Characters kept of a reply or a question in the table of samples."""

Row = Mapping[str, float]
Publish = Callable[["Curves", "Results", Mapping[str, Any]], str]
"""Curves, results and manifest -> the line to print about it."""


class NoTracking(BaseModel, frozen=True, extra="forbid"):
    """Results stay in the run's folder."""

    kind: Literal["none"] = "none"


class WandB(BaseModel, frozen=True, extra="forbid"):
    """Weights & Biases: offline where no key is set, unless the variable WANDB_MODE says otherwise."""

    kind: Literal["wandb"] = "wandb"
    project: str = "test-time-compute"
    entity: str | None = None
    """User or team; W&B's own default where not given."""
    group: str | None = None
    """Runs shown together; the sweep's name where not given."""
    samples: int = Field(default=500, ge=0)
    """Most rows of the table of samples, spread evenly over draws and questions."""


AnyTracking = Annotated[NoTracking | WandB | TensorBoard, Field(discriminator="kind")]


@contextmanager
def tracked(config: "RunConfig", folder: Path, *, name: str, group: str | None = None) -> Iterator[Publish]:
    """Open the folder's tracked run for as long as the run lasts, and give the function that publishes what was found.

    Args:
        folder: the run's folder, which exists.
        group: of a sweep's points; the config's own group comes first.

    Raises:
        UserError: what tracks is not installed, or W&B's server refuses or cannot be reached.
    """
    settings = config.tracking
    if settings.kind == "none" or (settings.kind == "wandb" and os.environ.get("WANDB_MODE") == "disabled"):
        yield lambda found, results, facts: ""
        return
    if isinstance(settings, TensorBoard):
        settings.check()
        yield lambda found, results, facts: settings.write(found, folder)
        return
    run = _Tracked(settings, config, folder, name, settings.group or group)
    done = False
    try:
        yield run.publish
        done = True
    finally:
        run.close(failed=not done)


@dataclass(slots=True)
class _State:
    """What `tracking.json` holds."""

    id: str
    """Of the W&B run."""
    config: str
    """Hash of the config; another config is another W&B run."""
    points: str = ""
    """Hash of the points, once logging them has begun."""
    complete: bool = False
    """All is logged."""


class _Tracked:
    """The W&B run of one folder, open unless all was logged before."""

    def __init__(self, settings: WandB, config: "RunConfig", folder: Path, name: str, group: str | None) -> None:
        self._settings, self._folder, self._name, self._group = settings, folder, name, group
        self._config = config.model_dump(mode="json")
        self._state = self._stored() or self._fresh()
        self._run: Any = None if self._state.complete else self._open()

    def publish(self, found: "Curves", results: "Results", facts: Mapping[str, Any]) -> str:
        """Log everything, unless it is there."""
        rows = points(found)
        digest = _hash(rows)
        if self._state.complete and self._state.points == digest:
            return f"W&B: run {self._state.id} has all of this already"
        import wandb

        if self._state.points not in ("", digest):  # such as after a mended rule: steps that are taken cannot be mended
            self.close(failed=False)
            self._state = self._fresh()
        self._run = self._run or self._open()
        self._state.points = digest
        self._store()
        start = self._run.step  # behind what an interrupted run left on the server
        for step, row in islice(enumerate(rows), start, None):
            self._run.log(row, step=step)
        if start <= len(rows):
            tables = {"tables/curves": _curve_table(found), "tables/samples": _sample_table(results, self._settings.samples)}
            self._run.log({key: wandb.Table(*table) for key, table in tables.items()}, step=len(rows))
        self._run.config.update({"found": {key: facts[key] for key in _FACTS}}, allow_val_change=True)
        self._run.summary.update(_summary(found))
        report = wandb.Artifact(f"report-{self._state.id}", type="report")
        for file in ("report.html", "curves.json"):
            report.add_file(str(self._folder / file))
        self._run.log_artifact(report)
        return self._finish()

    def close(self, *, failed: bool) -> None:
        """End what is open; a failed run is marked so, and continued by the next."""
        if self._run is not None:
            self._run.finish(exit_code=int(failed))
            self._run = None

    def _finish(self) -> str:
        files = Path(self._run.dir).parent
        where = f"offline in {files}; `wandb sync` it to publish" if self._run.offline else self._run.url
        self.close(failed=False)
        self._state.complete = True
        self._store()
        return f"W&B: {where}"

    def _open(self) -> Any:
        try:
            import wandb
        except ImportError as error:
            raise UserError("tracking.kind=wandb: wandb is not installed; install the extra `tracking`, or set none") from error
        self._store()
        for left in (self._folder / "wandb").glob(f"offline-run-*-{self._state.id}"):
            shutil.rmtree(left)
        try:
            run = wandb.init(
                project=self._settings.project,
                entity=self._settings.entity,
                group=self._group,
                name=self._name,
                id=self._state.id,
                resume="allow",
                dir=self._folder,
                config=self._config,
                mode=wandb_mode(),
                settings=wandb.Settings(silent=True, console="off", init_timeout=30),
            )
        except wandb.Error as error:
            said = " ".join(str(error).split())
            raise UserError(f"tracking: W&B cannot be used ({said}); mend it, or set WANDB_MODE=offline") from error
        for axis in AXES:
            run.define_metric(f"axis/{axis}", hidden=True)
            run.define_metric(f"by {axis}*", step_metric=f"axis/{axis}")
        return run

    def _fresh(self) -> _State:
        return _State(secrets.token_hex(4), _hash(self._config))

    def _stored(self) -> _State | None:
        path = self._folder / "tracking.json"
        if not path.exists():
            return None
        state = _State(**json.loads(path.read_text(encoding="utf-8")))
        return state if state.config == _hash(self._config) else None

    def _store(self) -> None:
        partial = self._folder / f".tracking.json.{os.getpid()}"
        partial.write_text(json.dumps(asdict(self._state)), encoding="utf-8")
        partial.replace(self._folder / "tracking.json")


_FACTS = ("benchmark", "identity", "engines", "versions")


def points(found: "Curves") -> list[Row]:
    """One row per point of every curve: its place on each axis, and its accuracy under a name per axis, group and strategy."""
    rows = []
    for group in found.groups:
        for curve in group.curves:
            for point in curve.points:
                row: dict[str, float] = {}
                for axis, value_of in AXES.items():
                    if (value := value_of(point)) is not None:
                        row[f"axis/{axis}"] = value
                        row[f"{_section(axis, group.field)}/{group.value}/{curve.strategy}"] = point.accuracy
                rows.append(row)
    return rows


def _section(axis: str, field: str) -> str:
    return f"by {axis}, {field}" if field else f"by {axis}"


def _summary(found: "Curves") -> dict[str, float]:
    summary: dict[str, float] = {"questions": found.overall.questions}
    for group in found.groups:
        for curve in group.curves:
            if curve.points and not group.field:
                summary[f"accuracy/{curve.strategy}"] = curve.points[-1].accuracy
    for gap in found.gaps:
        summary[f"gap of Easy and Hard/{gap.strategy}"] = gap.points[-1].gap
        if gap.change:
            summary[f"change of the gap/{gap.strategy}"] = gap.change.change
    return summary


Table = tuple[list[Any], list[Any]]
"""Columns and rows."""


def _curve_table(found: "Curves") -> Table:
    columns = ["field", "value", "strategy", "k", "accuracy", "low", "high", "coverage", *AXES]
    rows = [
        [group.field, group.value, curve.strategy, p.k, p.accuracy, p.low, p.high, p.coverage, *(at(p) for at in AXES.values())]
        for group in found.groups
        for curve in group.curves
        for p in curve.points
    ]
    return columns, rows


def _sample_table(results: "Results", most: int) -> Table:
    columns = ["draw", "question", "index", "asked", "reply", "answer", "status", "credit", "tokens"]
    total = sum(len(graded.samples) for by_id in results.graded.values() for graded in by_id.values())
    rows = (
        [
            label,
            i,
            s.index,
            g.question.text[:_TEXT],
            s.text[:_TEXT],
            " ".join(a.values),
            a.status,
            v.credit,
            s.completion_tokens if s.counted else None,
        ]
        for label, by_id in results.graded.items()
        for i, g in by_id.items()
        for s, a, v in zip(g.samples, g.answers, g.verdicts, strict=True)
    )
    return columns, list(islice(rows, 0, None, -(-total // most))) if most and total else []


def _hash(value: object) -> str:
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()
