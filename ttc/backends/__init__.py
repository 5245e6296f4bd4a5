"""Engines that draw samples. Each is its frozen config; heavy libraries are imported when one is opened."""

from typing import Annotated

from pydantic import Field

from ttc.backends.archive import Archive
from ttc.backends.openai import OpenAI
from ttc.backends.replay import Replay
from ttc.backends.scripted import Scripted
from ttc.backends.transformers import Transformers
from ttc.backends.vllm import VLLM
from ttc.plugins import Joined

AnyBackend = Annotated[
    Transformers | VLLM | OpenAI | Replay | Archive | Scripted, Field(discriminator="kind"), Joined("ttc.backends")
]
