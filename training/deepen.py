"""Layers on top of a model that change nothing at first: room to compare what it expects with what it then reads."""

from copy import deepcopy
from typing import Any

import torch

from ttc.errors import UserError


def deepen(model: Any, layers: int) -> None:
    """Put `layers` copies of the last decoder layer on top, each of them the identity until it learns.

    What a layer adds leaves it through two matrices, of attention and of the feed-forward part: these are zero.

    Raises:
        UserError: the model's layers are of another form.
    """
    stack = getattr(model.get_decoder(), "layers", None)
    config = model.config.get_text_config()
    if stack is None or not hasattr(config, "num_hidden_layers"):
        raise UserError(f"{type(model).__name__}: no list of decoder layers to put more on; leave `deeper` out")
    for _ in range(layers):
        layer = deepcopy(stack[-1])
        try:
            ends = (layer.self_attn.o_proj, layer.mlp.down_proj)
        except AttributeError as error:
            raise UserError(f"{type(layer).__name__}: {error}; leave `deeper` out") from error
        for end in ends:
            for weight in end.parameters():
                torch.nn.init.zeros_(weight)
        layer.self_attn.layer_idx = len(stack)
        stack.append(layer)
        config.num_hidden_layers += 1
        if getattr(config, "layer_types", None):
            config.layer_types = [*config.layer_types, config.layer_types[-1]]
