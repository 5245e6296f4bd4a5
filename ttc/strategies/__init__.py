"""Inference strategies. A strategy is its frozen config with `solve`; this union is registry, validator and documentation."""

from typing import Annotated

from pydantic import Field

from ttc.strategies.oracle import Oracle
from ttc.strategies.single import ChainOfThought, Direct
from ttc.strategies.vote import Vote

AnyStrategy = Annotated[Direct | ChainOfThought | Vote | Oracle, Field(discriminator="kind")]
