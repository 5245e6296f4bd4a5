"""`ttc import`: outputs that other programs wrote, into the bank."""

from pathlib import Path
from typing import Annotated

import typer

from experiments.commands.bank import DEFAULT, Folder


def import_outputs(
    outputs: Annotated[Path, typer.Argument(help="File or folder of replies, in any form that `ttc score` reads.")],
    benchmark: Annotated[
        str | None, typer.Option(help="mmmu, mmmu_pro, mmvu or jsonl; told by the form where left out.")
    ] = None,
    form: Annotated[str | None, typer.Option(help="Form of the outputs, where it is not told by their content.")] = None,
    style: Annotated[str, typer.Option(help="Prompt style that the replies were drawn under: cot or direct.")] = "cot",
    bank: Folder = DEFAULT,
    config: Annotated[Path | None, typer.Option("-o", "--config", help="Also write the config of a run over them.")] = None,
) -> None:
    """Put every reply into the bank, so that all analysis works on it. Doing it again adds nothing."""
    import yaml

    from experiments.importing import import_outputs
    from ttc.errors import UserError

    if style not in ("cot", "direct"):
        raise UserError(f"--style {style}: use cot or direct")
    found = import_outputs(outputs, bank, benchmark=benchmark, form=form, style=style)
    print(f"{found.added:,} of {found.replies:,} replies to {len(found.exam.questions):,} questions are new in {bank}")
    for problem in found.exam.problems[:5]:
        print(f"  data: {problem}")
    if config:
        try:
            config.write_text(yaml.safe_dump(found.settings, sort_keys=False, allow_unicode=True), encoding="utf-8")
        except OSError as error:
            raise UserError(f"--config {config}: {error.strerror}") from error
        print(f"run over them: ttc run {config}")
