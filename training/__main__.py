"""`python -m training CONFIG`, for several GPUs `accelerate launch -m training CONFIG`; the same as `ttc train`.

On a CPU, several are `torchrun --standalone --nproc_per_node 2 -m training CONFIG`: `accelerate launch --cpu` starts one.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from ttc.errors import BackendUnavailable, UserError


def main(
    config: Annotated[Path, typer.Argument(help="YAML file of a training run, such as those in configs/train/.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the verifier.  [default: runs/train/ and the config's name]")
    ] = None,
) -> None:
    """Train a verifier, or go on where a killed run stopped."""
    from training.config import validate
    from training.run import train
    from ttc.settings import read_yaml

    train(validate(read_yaml(config), str(config)), out or Path("runs/train") / config.stem)


if __name__ == "__main__":
    try:
        typer.run(main)
    except BackendUnavailable as error:
        print(f"stopped: {error}", file=sys.stderr)
        sys.exit(3)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
