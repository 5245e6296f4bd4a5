"""The network of a step verifier: batches, the outputs at its slots, and the head of the marker form.

Names carry their axes: B replies, T tokens, S slots, V vocabulary.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils.rnn import pad_sequence
from transformers import modeling_utils

from ttc.backends.decoding import collate
from ttc.errors import UserError
from verifiers.render import Rendered

HEAD = "head.safetensors"
"""In the folder of a verifier of the marker form: the weights of its head."""

MOST_CERTAIN = 1e-6
"""A step is never more certain than one minus this, so that its log odds are finite."""

EACH_ROW_ITS_OWN = hasattr(modeling_utils, "slice_logits_to_keep")
"""Whether this transformers takes other places to keep for every reply of a batch; older ones take the same for all."""


def batch_of(rendered: Sequence[Rendered], device: torch.device, dtype: torch.dtype) -> dict[str, Tensor]:
    """The inputs of one forward pass, with the slots as `logits_to_keep`: only there is the vocabulary projected.

    Padded on the right, where a causal model sees the same as without padding, whatever kind of positions it has. Spare slots
    are 0.
    """
    inputs = collate([one.encoded for one in rendered], device, dtype)
    width = inputs["input_ids"].shape[1]
    padding_B = torch.tensor([width - one.length for one in rendered], device=device)
    turned_BT = (torch.arange(width, device=device) + padding_B[:, None]) % width
    for name, tensor in inputs.items():
        if name in ("input_ids", "attention_mask") or name.endswith("token_type_ids"):
            inputs[name] = tensor.gather(1, turned_BT)
    if any(one.first is not None for one in rendered):
        return inputs | {name: tensor.to(device) for name, tensor in _said(rendered).items()}
    inputs["logits_to_keep"] = pad_sequence([torch.tensor(one.slots) for one in rendered], batch_first=True).to(device)
    return inputs


def _said(rendered: Sequence[Rendered]) -> dict[str, Tensor]:
    """For each token of the replies: where it is foretold, its id, and the number of its step, -1 where there is no token."""
    kept, said, steps = [], [], []
    for one in rendered:
        assert one.first is not None
        places = torch.arange(one.first, one.slots[-1] + 1)
        kept.append(places - 1)
        said.append(torch.tensor(one.encoded.ids)[places])
        steps.append(torch.searchsorted(torch.tensor(one.slots), places))
    named = {"logits_to_keep": (kept, 0), "said": (said, 0), "step_of": (steps, -1)}
    return {name: pad_sequence(rows, batch_first=True, padding_value=blank) for name, (rows, blank) in named.items()}


def step_logits(model: nn.Module, inputs: Mapping[str, Tensor], good: int, bad: int) -> Tensor:
    """z_BS in float32: sigmoid(z) is the two-way softmax between the verdicts. A head's only output is z itself.

    The difference is taken in float32, and no probability is divided: saturated half-precision logits give 0 or 1, not NaN.
    Under `likelihood` it is the log odds of the probability that the model itself would have written the step.
    """
    inputs = dict(inputs)
    said_BT, step_BT = inputs.pop("said", None), inputs.pop("step_of", None)
    if said_BT is not None and step_BT is not None:
        logits_BTV = (_logits(model, **inputs) if EACH_ROW_ITS_OWN else _picked_logits(model, **inputs)).float()
        return _log_odds(logits_BTV, said_BT, step_BT)
    logits_BSV = (_logits(model, **inputs) if EACH_ROW_ITS_OWN else _picked_logits(model, **inputs)).float()
    return logits_BSV[..., 0] if logits_BSV.shape[-1] == 1 else logits_BSV[..., good] - logits_BSV[..., bad]


def _log_odds(logits_BTV: Tensor, said_BT: Tensor, step_BT: Tensor) -> Tensor:
    """z_BS of the product of each step's token probabilities."""
    log_BT = logits_BTV.log_softmax(-1).gather(-1, said_BT[..., None])[..., 0].masked_fill(step_BT < 0, 0.0)
    log_BS = log_BT.new_zeros(len(log_BT), int(step_BT.max()) + 1).scatter_add(1, step_BT.clamp(min=0), log_BT)
    log_BS = log_BS.clamp(max=-MOST_CERTAIN)
    return log_BS - torch.log(-torch.expm1(log_BS))


def _logits(model: nn.Module, **inputs: Tensor) -> Tensor:
    return model(**inputs, use_cache=False).logits


def _picked_logits(model: Any, *, logits_to_keep: Tensor, **inputs: Tensor) -> Tensor:
    """The same where transformers cannot: the states at the slots are picked as they enter the head."""

    def pick(_: nn.Module, args: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        return torch.take_along_dim(args[0], logits_to_keep[..., None], dim=1), *args[1:]

    head = getattr(model, "module", model).get_output_embeddings()  # a model in training may be wrapped for several devices
    hook = head.register_forward_pre_hook(pick)
    try:
        return _logits(model, **inputs)
    finally:
        hook.remove()


def add_head(model: Any) -> None:
    """Put a head of one output, zero at first, where the vocabulary was: the marker form's."""
    old = model.get_output_embeddings()
    head = nn.Linear(old.in_features, 1, bias=False, device=old.weight.device, dtype=old.weight.dtype)
    nn.init.zeros_(head.weight)
    for config in (model.config, model.config.get_text_config()):
        config.tie_word_embeddings = False  # else saving and loading would make it the embeddings again
    model.set_output_embeddings(head)


def save_head(weight: Tensor, folder: Path) -> None:
    """Write a head's 1 x H weights."""
    save_file({"weight": weight.detach().float().cpu().contiguous()}, folder / HEAD)


def load_head(model: Any, folder: Path) -> None:
    """Put the head of a verifier's folder on its model.

    Raises:
        UserError: there is none, or it is of another width: such a verifier would score by chance.
    """
    path = folder / HEAD
    if not path.is_file():
        raise UserError(f"verifier {folder}: no {HEAD}, which the marker form needs; fetch the folder whole or train it again")
    add_head(model)
    weight, head = load_file(path)["weight"], model.get_output_embeddings().weight
    if weight.shape != head.shape:
        raise UserError(
            f"{path}: a head of width {weight.shape[-1]} on a model of width {head.shape[-1]}; take the model it came with"
        )
    with torch.no_grad():
        head.copy_(weight)
