"""`ttc chains`: labelled chains of reasoning steps from the explanations of exams, for training verifiers."""

from pathlib import Path
from typing import Annotated

import typer


def chains(
    config: Annotated[Path, typer.Argument(help="YAML file of a corpus, such as those in configs/chains/.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
    out: Annotated[Path | None, typer.Option(help="Folder to write.  \\[default: runs/chains/ and the config's name]")] = None,
) -> None:
    """Right chains and chains with one planted error each, split so that nothing is shared, with a manifest of hashes."""
    from experiments.config import override, read_yaml
    from training.build import build, validate

    folder = out or Path("runs/chains") / config.stem
    for line in build(validate(override(read_yaml(config), assignments or []), str(config)), folder):
        print(line)
    print(f"chains: {folder}")
