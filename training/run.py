"""One training run from config to folder: what `ttc train` and `python -m training` do."""

import os
from pathlib import Path
from typing import Any

from training.config import AnyTraining, StepVerifierTraining
from ttc.errors import UserError


def train(config: AnyTraining, out: Path) -> dict[str, Any]:
    """Train into a folder, or go on where a killed run stopped; tell the figures of its card.

    Raises:
        UserError: config, data and model do not fit together, or the folder holds another run.
        BackendUnavailable: drawing training samples was stopped; the same call goes on.
    """
    if config.tracking.kind == "wandb":
        os.environ.setdefault("WANDB_PROJECT", config.tracking.project)
    _check_packages()
    return _step_verifier(config, out)


def _step_verifier(config: StepVerifierTraining, out: Path) -> dict[str, Any]:
    from accelerate import PartialState

    from training import data, report
    from training.step_verifier import Course
    from verifiers.prm import StepVerifier

    with PartialState().main_process_first():  # the others find the samples in the bank
        chains, dev = data.load(config.data)
    course = Course(config, chains, dev, out)
    for reason, count in (course.train.dropped + course.dev.dropped).most_common():
        print(f"left out {count} chains: {reason}")
    course.run()
    if not course.trainer.is_world_process_zero():
        return {}
    adapter = out if config.lora is not None else None
    settings = config.base.model_dump() | {"model": config.base.model if adapter else str(out), "adapter": adapter}
    if adapter is None:
        settings |= {"revision": None, "gguf": None, "chat_template": None}
    verifier = StepVerifier(**settings, aggregation=config.aggregation, threads=config.threads)
    found = report.figures(report.served(verifier, course.dev.chains))
    report.write_card(out, config, course.train.chains, found, course.hash)
    if config.hub is not None:
        _push(out, config.hub.name, private=config.hub.private)
    return found


def _push(folder: Path, name: str, *, private: bool) -> None:
    """Upload the verifier without its checkpoints."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    hub = HfApi()
    try:
        hub.create_repo(name, private=private, exist_ok=True)
        hub.upload_folder(repo_id=name, folder_path=folder, ignore_patterns=["checkpoints/*"])
    except (HfHubHTTPError, OSError) as error:
        raise UserError(
            f"hub {name}: not pushed ({type(error).__name__}); the verifier is in {folder}, log in and push it"
        ) from error


def _check_packages() -> None:
    from importlib.util import find_spec

    if missing := [name for name in ("accelerate", "peft", "trl") if find_spec(name) is None]:
        raise UserError(f"training needs {', '.join(missing)}; install the project with its `training` extra")
