"""Sampling in a process of its own: another environment, other devices, and all of the device's memory back when it ends.

sampling pass (its process, its environment) -> bank -> scoring, grading, curves (this process)
"""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pydantic import BaseModel

from ttc.dispatcher import Stopped
from ttc.errors import UserError


class Placement(BaseModel, frozen=True, extra="forbid"):
    """Where samples are drawn. Verifiers and judges name their own devices and servers."""

    python: Path | None = None
    """Interpreter of the environment that samples, such as .venv-vllm/bin/python; this one where not given."""
    devices: str | None = None
    """CUDA_VISIBLE_DEVICES of the sampling process; as here where not given."""

    def check(self, package: str) -> None:
        """See that the other environment can sample.

        Args:
            package: what the backend needs there; empty for nothing beyond this project.

        Raises:
            UserError: no such interpreter, or one without this project or the package.
        """
        needed = ", ".join(filter(None, ("experiments", package)))
        command = [*self._command(), "-c", f"import {needed}"]
        try:
            found = subprocess.run(command, capture_output=True, text=True, env=self._environment())
        except OSError as error:
            raise UserError(f"placement.python {self.python}: {error.strerror}; name an environment's python") from error
        if found.returncode:
            why = found.stderr.strip().splitlines()[-1:] or ["it ends without a word"]
            raise UserError(f"placement.python {self.python or sys.executable} cannot import {needed}: {why[0]}")

    def sample(self, config: Path) -> None:
        """Draw what a config file asks for, and wait for it.

        Raises:
            Stopped: it was told to stop, or its engine gave up; what it drew is in the bank.
            UserError: it refused; its own line says why.
        """
        command = [*self._command(), "-m", "experiments", "draw", str(config)]
        process = subprocess.Popen(command, env=self._environment())
        with _handing_on(process):
            code = process.wait()
        if code in (3, -signal.SIGTERM):
            raise Stopped("what the sampling process drew is committed, and the same command goes on")
        if code:
            raise UserError(f"the sampling process ended with {code}; its own words are above")

    def _command(self) -> list[str]:
        return [str(self.python or sys.executable)]

    def _environment(self) -> dict[str, str]:
        shown = {} if self.devices is None else {"CUDA_VISIBLE_DEVICES": self.devices}
        return {**os.environ, **shown}


@contextmanager
def _handing_on(process: "subprocess.Popen[bytes]") -> Iterator[None]:
    """Inside, SIGTERM goes on to the process. A terminal's Ctrl-C reaches it by itself, so here it is only outlived."""

    def hand_on(number: int, frame: object) -> None:
        process.terminate()

    before = {signal.SIGTERM: hand_on, signal.SIGINT: lambda number, frame: None}
    kept = {number: signal.signal(number, handler) for number, handler in before.items()}
    try:
        yield
    finally:
        for number, handler in kept.items():
            signal.signal(number, handler)
