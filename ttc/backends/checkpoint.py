"""A model and all that determines what it says: shared by every engine that loads weights, so that they share samples."""

import hashlib
import importlib.util
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from ttc.backends import folder
from ttc.errors import UserError

if TYPE_CHECKING:
    from ttc.compute import ModelShape

Dtype = Literal["auto", "float32", "bfloat16", "float16", "float64"]


class Checkpoint(BaseModel, frozen=True, extra="forbid"):
    """Weights, adapter, number type, chat template and image size. Every field here is part of a sample's key."""

    model: str
    """A folder, a name on the hub, or `pocket`: the model that is shipped with the package."""
    revision: str | None = None
    """Branch, tag or commit of a hub name; the commit it stands for goes into the key."""
    adapter: Path | None = None
    """Folder of a peft adapter to put on the model."""
    gguf: str | None = None
    """Name of a GGUF file in the folder, to be used in place of safetensors; the weights are expanded to `dtype`."""
    dtype: Dtype = "auto"
    """Type of weights and arithmetic; `auto`: as stored, or float32 for GGUF."""
    chat_template: Path | None = None
    """File with a Jinja chat template, in place of the model's own."""
    chat_template_args: Mapping[str, object] = Field(default_factory=dict)
    """Variables handed to the chat template, such as `enable_thinking: false`."""
    min_pixels: int | None = Field(default=None, gt=0)
    """Smaller images are enlarged to this, for processors that know the setting."""
    max_pixels: int | None = Field(default=None, gt=0)
    """Larger images are shrunk to this, for processors that know the setting."""
    trust_remote_code: bool = False
    """Run Python code that comes with the model. It can do anything on this machine."""

    @property
    def devices(self) -> int:
        """Devices that it works on, for its device time."""
        return 1

    def location(self) -> folder.Location:
        """Where the model is. Raises UserError where it is not."""
        return folder.locate(self.model, self.revision, self.gguf or "config.json")

    def identity(self) -> Mapping[str, object]:
        """Content of the model, not its path: see `ttc.protocols.Backend`."""
        return {
            "model": self._model_identity(),
            "adapter": self._adapter_identity(),
            "dtype": self.number_type(),
            "chat_template": hashlib.sha256((self.template() or "").encode()).hexdigest(),
            "chat_template_args": dict(self.chat_template_args),
            "min_pixels": self.min_pixels,
            "max_pixels": self.max_pixels,
        }

    def number_type(self) -> str:
        """`dtype` with `auto` resolved."""
        if self.dtype != "auto":
            return self.dtype
        return "float32" if self.gguf else folder.checkpoint_dtype(self.location())

    def template(self) -> str | None:
        """The chat template that replaces the model's own, or None. Raises UserError where its file is missing."""
        if self.chat_template is None:
            return None
        if not self.chat_template.is_file():
            raise UserError(f"chat_template {self.chat_template} is not a file; give a file with a Jinja template")
        return self.chat_template.read_text(encoding="utf-8")

    def encoder(self) -> Callable[[str], tuple[int, ...]]:
        """Text to token ids, without special tokens and without loading the model. Raises UserError without a tokenizer."""
        from ttc.backends.chat import Chat

        tokenizer = Chat.load(self, takes_images=False).tokenizer
        return lambda text: tuple(tokenizer.encode(text, add_special_tokens=False))

    def shape(self) -> "ModelShape | None":
        """The model's shape for FLOPs. Raises UserError where the file that tells it cannot be read."""
        from ttc.compute import ModelShape

        location = self.location()
        return ModelShape.from_config(self._gguf_config(location) if self.gguf else folder.config_of(location))

    def _gguf_config(self, location: folder.Location) -> Mapping[str, object]:
        if importlib.util.find_spec("gguf") is None:
            raise UserError(f"model {self.model}: reading {self.gguf} takes the package gguf; install the extra `gguf`")
        from transformers import AutoConfig

        try:
            return AutoConfig.from_pretrained(location.name, gguf_file=self.gguf, **location.arguments).to_dict()
        except (OSError, ValueError) as error:
            reason = next(iter(str(error).strip().splitlines()), type(error).__name__)
            raise UserError(f"model {self.model}: {self.gguf} does not load: {reason}") from error

    def _model_identity(self) -> str:
        location = self.location()
        if location.commit:
            return "/".join(filter(None, (f"{location.name}@{location.commit}", self.gguf)))
        return folder.fingerprint(location.folder, self.gguf or "*.safetensors", code=self.trust_remote_code)

    def _adapter_identity(self) -> str:
        if self.adapter is None:
            return ""
        if not (self.adapter / "adapter_config.json").is_file():
            raise UserError(
                f"adapter {self.adapter} has no adapter_config.json; give the folder that peft's `save_pretrained` wrote"
            )
        return folder.fingerprint(self.adapter)
