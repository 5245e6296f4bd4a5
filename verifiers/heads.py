"""Output layers of verifiers that others trained: read from their weights, and put where the vocabulary was."""

from itertools import chain
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from torch import Tensor, nn

from ttc.backends.chat import Chat
from ttc.backends.engine import load_model
from ttc.backends.transformers import Transformers
from ttc.errors import UserError
from verifiers.prm import StepScorer, StepVerifier
from verifiers.render import Renderer
from verifiers.step_model import HEAD, load_head


class HeadedScorer(StepScorer):
    """Scores through an output layer that stands among the model's weights, or in a file of its own beside them."""

    def __init__(self, config: StepVerifier, renderer: type[Renderer], prefix: str) -> None:
        """Args:
            prefix: how the names of the layer's tensors begin; empty where the vocabulary is the output layer.

        Raises:
            UserError: the model does not load, or there is no such layer.
        """
        settings = config.model_dump(include=set(Transformers.model_fields) - {"kind", "adapter"})
        self._config, place = config, config.adapter or config.location().folder
        is_apart = (place / HEAD).is_file()
        self._model, takes_images = load_model(Transformers(**settings), headless=bool(prefix) and not is_apart)
        if is_apart:
            load_head(self._model, place)
        elif prefix:
            put_head(self._model, read_head(config.location().folder, prefix))
        if config.adapter:
            # peft finds the places of an adapter by the names of modules, so the head is put on first
            self._model.load_adapter(str(config.adapter))
        self._chat = Chat.load(config, takes_images=takes_images)
        self._renderer = renderer(self._chat, config.shown, config.model)
        own = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self._longest = config.max_context or own


def read_head(weights: Path, prefix: str) -> nn.Module:
    """One linear layer, or several with ReLUs between them, from a folder's safetensors.

    Raises:
        UserError: no tensor's name begins with `prefix`: scores of a fresh layer would be chance.
    """
    found: dict[str, Tensor] = {}
    for path in sorted(weights.glob("*.safetensors")):
        with safe_open(path, "pt") as file:
            names = [name for name in file.keys() if name.startswith(prefix)]  # noqa: SIM118
            found |= {name.removeprefix(prefix): file.get_tensor(name) for name in names}
    layers = sorted(name.removesuffix("weight") for name in found if name.endswith("weight"))
    if not layers:
        raise UserError(
            f"verifier {weights}: no weights {prefix}* among its tensors, so it has no output layer for scores; give a folder "
            "that was saved with its head"
        )
    linear = [_linear(found[f"{layer}weight"], found.get(f"{layer}bias")) for layer in layers]
    return nn.Sequential(*list(chain.from_iterable((one, nn.ReLU()) for one in linear))[:-1])


def put_head(model: Any, head: nn.Module) -> None:
    """Make `head` the output layer of a model. Raises UserError where it was made for another width."""
    old, first = model.get_output_embeddings(), next(head.parameters())
    if first.shape[1] != old.weight.shape[1]:
        raise UserError(
            f"a head of width {first.shape[1]} on a model of width {old.weight.shape[1]}; take the model it came with"
        )
    for config in (model.config, model.config.get_text_config()):
        config.tie_word_embeddings = False
    model.set_output_embeddings(head.to(old.weight.device, old.weight.dtype))


def _linear(weight: Tensor, bias: Tensor | None) -> nn.Linear:
    layer = nn.Linear(weight.shape[1], weight.shape[0], bias=bias is not None)
    with torch.no_grad():
        layer.weight.copy_(weight)
        if bias is not None:
            layer.bias.copy_(bias)
    return layer.requires_grad_(False)
