"""Data sets. Each is its frozen config with `load`; this union is registry, validator and documentation."""

from typing import Annotated

from pydantic import Field

from ttc.benchmarks.foreign import ForeignOutputs
from ttc.benchmarks.jsonl import Jsonl
from ttc.benchmarks.mmmu import MMMU
from ttc.benchmarks.mmmu_pro import MMMUPro
from ttc.benchmarks.mmvu import MMVU
from ttc.benchmarks.pocket import Pocket
from ttc.plugins import Joined

AnyBenchmark = Annotated[
    MMMU | MMMUPro | MMVU | Pocket | Jsonl | ForeignOutputs, Field(discriminator="kind"), Joined("ttc.benchmarks")
]
