"""`ttc train`: a verifier from labelled chains."""

from pathlib import Path
from typing import Annotated

import typer


def train(
    config: Annotated[Path, typer.Argument(help="YAML file of a training run, such as those in configs/train/.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="Folder of the verifier.  \\[default: runs/train/ and the config's name]")
    ] = None,
) -> None:
    """Train a verifier, or go on where a killed run stopped. For several GPUs: accelerate launch -m training CONFIG."""
    from experiments.config import override, read_yaml
    from training.config import validate
    from training.run import train as run

    folder = out or Path("runs/train") / config.stem
    found = run(validate(override(read_yaml(config), assignments or []), str(config)), folder)
    for name, value in found.items():
        print(f"{name.replace('_', ' ')}: {value}")
    print(f"verifier: {folder}")
