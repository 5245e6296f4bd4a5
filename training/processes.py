"""The processes that train together: one for each GPU under `accelerate launch`, or of a CPU under `torchrun`."""

from datetime import timedelta

import torch
from accelerate import PartialState

_PATIENCE = timedelta(days=1)
"""How long the others wait for the first, which draws samples that the bank lacks; torch's own limit is ten minutes."""


def processes() -> PartialState:
    """This process among them. Without `cpu`, accelerate takes processes on a CPU for so many runs of one process each."""
    return PartialState(cpu=not torch.cuda.is_available(), timeout=_PATIENCE)
