"""`ttc serve`: strategies behind an OpenAI-compatible endpoint."""

from pathlib import Path
from typing import Annotated

import typer


def serve(
    config: Annotated[Path, typer.Argument(help="YAML file of a run; its strategies are the models that clients name.")],
    assignments: Annotated[list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Overrides.")] = None,
    host: Annotated[str, typer.Option(help="Address to listen at; no password is asked for.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes a free one.")] = 8080,
) -> None:
    """Serve the strategies of a config as models; the benchmark and the judge in it play no part."""
    import importlib.util
    import sys
    from contextlib import suppress

    from experiments.config import points
    from ttc.errors import UserError

    if missing := [package for package in ("starlette", "uvicorn") if importlib.util.find_spec(package) is None]:
        raise UserError(f"the package {missing[0]} is not installed; install the extra `serve`")
    from experiments.endpoint.app import Server, listening

    runs = points(config, assignments or [])
    if len(runs) > 1:
        raise UserError(f"config {config}: its grid has {len(runs)} points, and one is served; take it out with grid=null")
    server = Server(next(iter(runs.values())))
    for note in server.service.notes:
        print(note, file=sys.stderr)
    with listening(host, port) as place, suppress(KeyboardInterrupt):
        server.run([place])
    if server.failure is not None:
        raise server.failure
