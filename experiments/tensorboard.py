"""TensorBoard: a run's curves as scalars, in its folder; no other module knows it."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from experiments.axes import AXES
from ttc.errors import UserError

if TYPE_CHECKING:
    from experiments.curves import Curves

COUNTED = ("samples", "completion_tokens", "total_tokens", "flops", "path_tokens")
"""Axes on which curves are drawn: a step is a whole number there, so money and seconds are for the page."""


class TensorBoard(BaseModel, frozen=True, extra="forbid"):
    """Accuracy against compute in `tensorboard/` of the run's folder, for `tensorboard --logdir`; a step is a cost."""

    kind: Literal["tensorboard"] = "tensorboard"

    def check(self) -> None:
        """Raises UserError where it is not installed."""
        try:
            import tensorboard.summary  # noqa: F401
        except ImportError as error:
            raise UserError(
                "tracking.kind=tensorboard: tensorboard is not installed; install the extra `tensorboard`, or set none"
            ) from error

    def write(self, found: "Curves", folder: Path) -> str:
        """Write all points anew, so that none is there twice. Returns the line to print."""
        from tensorboard.summary import Writer

        where = folder / "tensorboard"
        shutil.rmtree(where, ignore_errors=True)
        writer = Writer(str(where))
        for axis in COUNTED:
            for group in found.groups:
                for curve in group.curves:
                    name = f"{group.field}={group.value}" if group.field else group.value
                    for point in curve.points:
                        if (cost := getattr(point, axis)) is not None:
                            writer.add_scalar(f"by {AXES[axis].label}/{name}/{curve.strategy}", point.accuracy, round(cost))
        writer.close()
        return f"TensorBoard: {where}; `tensorboard --logdir {where}` shows it"
