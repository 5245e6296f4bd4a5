"""Training on Weights & Biases: curves as they grow, each point once, whatever was killed and resumed on the way.

A folder has one W&B run, whose id lies in it. A run that goes on has its history in the checkpoint, and tells it again: a
server is told what it lacks, and an offline run that was cut short is removed and written anew: one folder, one `wandb sync`.
"""

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import wandb
from transformers import TrainerCallback
from transformers.integrations.integration_utils import rewrite_logs

from training.config import Training
from training.wandb_mode import wandb_mode
from ttc.errors import UserError

ID = "wandb.id"
"""In the folder."""


class Curves(TrainerCallback):
    """Logs what the trainer logs under the step it belongs to, on the first process alone."""

    def __init__(self, config: Training, folder: Path) -> None:
        """Args: the folder of the verifier."""
        self._config, self._folder = config, folder
        self._run: Any = None
        self._known = 0
        """Steps that the server has already."""

    def on_train_begin(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Open the run. Raises UserError where W&B refuses."""
        if not state.is_world_process_zero:
            return
        self._run = _opened(self._config, self._folder)
        self._known = self._run.step
        for row in state.log_history:
            self._log(row)

    def on_log(self, args: Any, state: Any, control: Any, logs: Mapping[str, Any] | None = None, **more: Any) -> None:
        """See transformers."""
        if self._run is not None:
            self._log({**(logs or {}), "step": state.global_step})

    def on_train_end(self, args: Any, state: Any, control: Any, **more: Any) -> None:
        """Close the run: what is evaluated from here on is the best checkpoint, and no point of a curve."""
        if self._run is not None:
            self._run.summary["best"] = state.best_metric
            self._run.finish()
            self._run = None

    def _log(self, row: Mapping[str, Any]) -> None:
        if row["step"] >= self._known:
            self._run.log(rewrite_logs({name: value for name, value in row.items() if name != "step"}), step=row["step"])


def _opened(config: Training, folder: Path) -> Any:
    path = folder / ID
    if not path.exists():
        path.write_text(secrets.token_hex(4), encoding="utf-8")
    run_id = path.read_text(encoding="utf-8")
    for left in (folder / "wandb").glob(f"offline-run-*-{run_id}"):
        shutil.rmtree(left)
    try:
        return wandb.init(
            project=config.tracking.project,
            name=folder.name,
            id=run_id,
            resume="allow",
            dir=folder,
            config=config.model_dump(mode="json"),
            mode=wandb_mode(),
            settings=wandb.Settings(silent=True, console="off", init_timeout=30),
        )
    except wandb.Error as error:
        said = " ".join(str(error).split())
        raise UserError(f"tracking: W&B cannot be used ({said}); mend it, or set WANDB_MODE=offline") from error
