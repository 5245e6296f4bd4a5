"""One training run from config to folder: what `ttc train` and `python -m training` do."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.chains import LabelledChain
from training.config import AnyTraining, GenerativeVerifierTraining, OutcomeVerifierTraining, StepVerifierTraining
from ttc.backends.transformers import Transformers
from ttc.errors import UserError
from ttc.records import Sampling
from verifiers import Generative, OutcomeVerifier, StepVerifier

if TYPE_CHECKING:
    from training.step_verifier import Course


def train(config: AnyTraining, out: Path) -> dict[str, Any]:
    """Train into a folder, or go on where a killed run stopped; tell the figures of its card.

    Raises:
        UserError: config, data and model do not fit together, or the folder holds another run.
        BackendUnavailable: drawing training samples was stopped; the same call goes on.
    """
    _check_packages(*(["wandb"] if config.tracking.kind == "wandb" else []))
    from training import data, report
    from training.processes import processes

    with processes().main_process_first():  # the others find the samples in the bank
        chains, dev = data.load(config.data)
    course = _course(config, chains, dev, out)
    for reason, count in (course.train.dropped + course.dev.dropped).most_common():
        print(f"left out {count} chains: {reason}")
    course.run()
    if not course.trainer.is_world_process_zero():
        return {}
    found = _figures(config, course, out)
    report.write_card(out, config, course.train.chains, found, course.hash)
    if config.hub is not None:
        _push(out, config.hub.name, private=config.hub.private)
    return found


def _course(config: AnyTraining, chains: Sequence[LabelledChain], dev: Sequence[LabelledChain], out: Path) -> "Course":
    """The training run that a config stands for."""
    match config:
        case OutcomeVerifierTraining():  # a kind of step verifier, so it is asked first
            from training.outcome_verifier import OutcomeCourse

            return OutcomeCourse(config, chains, dev, out)
        case GenerativeVerifierTraining():
            from training.generative_verifier import GenerativeCourse

            return GenerativeCourse(config, chains, dev, out)
        case StepVerifierTraining():
            from training.step_verifier import Course

            return Course(config, chains, dev, out)


def _figures(config: AnyTraining, course: "Course", out: Path) -> dict[str, Any]:
    """What the saved verifier is worth on the dev chains, asked through its public door."""
    from training import report

    adapter = out if config.lora is not None else None
    settings = config.base.model_dump() | {"model": config.base.model if adapter else str(out), "adapter": adapter}
    settings["threads"] = config.threads
    if adapter is None:
        settings |= {"revision": None, "gguf": None, "chat_template": None}
    match config:
        case OutcomeVerifierTraining():
            return report.outcome_figures(OutcomeVerifier(**settings), course.dev.chains)
        case GenerativeVerifierTraining():
            greedy = {"votes": 1, "sampling": Sampling(temperature=0.0, max_tokens=1024)}
            asked = Generative(backend=Transformers(**settings), instructions=config.instructions, shown=config.shown, **greedy)
            return report.outcome_figures(asked, course.dev.chains)
        case StepVerifierTraining():
            verifier = StepVerifier(**settings, aggregation=config.aggregation)
            return report.figures(report.served(verifier, course.dev.chains))


def _push(folder: Path, name: str, *, private: bool) -> None:
    """Upload the verifier without its checkpoints and curves."""
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HTTPError  # pyright: ignore[reportPrivateImportUsage]  (its client changes)

    hub = HfApi()
    try:
        hub.create_repo(name, private=private, exist_ok=True)
        hub.upload_folder(repo_id=name, folder_path=folder, ignore_patterns=["checkpoints/*", "wandb*"])
    except (HTTPError, OSError) as error:
        raise UserError(
            f"hub {name}: not pushed ({type(error).__name__}); the verifier is in {folder}, log in and push it"
        ) from error


def _check_packages(*more: str) -> None:
    from importlib.util import find_spec

    if missing := [name for name in ("accelerate", "peft", "trl", *more) if find_spec(name) is None]:
        raise UserError(
            f"training needs {', '.join(missing)}; install the project with its extras `training` and, for W&B, `tracking`"
        )
