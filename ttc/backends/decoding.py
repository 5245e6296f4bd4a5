"""Decoding with a KV cache: each prompt is prefilled once, its cache spread over its samples, and rows leave as they end.

Names carry their axes: Q prompts, B rows (samples), T tokens, V vocabulary.
"""

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import LongTensor, Tensor
from torch.nn.functional import pad
from transformers import DynamicCache, GenerationMixin
from transformers.cache_utils import DynamicLayer

from ttc.backends.chat import Encoded
from ttc.backends.gumbel import draw_tokens
from ttc.records import Finish, Sampling

_SHRINK = 8
"""Ended rows are dropped once they are one in this many: dropping copies the cache."""
_ROOM = 64
"""Spare tokens when a layer's cache grows."""
_HOOK = inspect.signature(GenerationMixin.prepare_inputs_for_generation)  # pyright: ignore[reportAttributeAccessIssue]
_CACHE = "cache" if "cache" in _HOOK.parameters else "past_key_values"
"""What this version of transformers calls the cache."""


@dataclass(eq=False, slots=True)
class Row:
    """One sample in the making."""

    prompt: int
    """Index of its prompt within the batch."""
    index: int
    """Number of the sample under its key."""
    seed: int
    limit: int
    """Tokens after which it is cut."""
    ids: list[int] = field(default_factory=list)
    """Drawn so far."""
    logprobs: list[float] = field(default_factory=list)
    finish: Finish = ""
    """Why it ended; empty while it goes on."""


def decode(
    model: Any,
    prompts: Sequence[Encoded],
    starts: Sequence[int],
    rows: Sequence[Row],
    sampling: Sampling,
    finish: Callable[[Row], Finish],
) -> Iterator[Row]:
    """Draw every row to its end, and yield each as it ends.

    Args:
        model: a transformers model with a language head.
        prompts: token ids with the prefix of the reply, if any, at their end.
        starts: per prompt, the position of the first new token within the reply: the length of the prefix.
        rows: in the order of their prompts.
        finish: says why a row ends with the token it just got; empty where it goes on.
    """
    batch = _Batch(model, prompts, starts, rows)
    while True:
        batch.draw(sampling)
        for row in batch.rows:
            if not row.finish:
                row.finish = finish(row)
                if row.finish:
                    yield row
        alive = [position for position, row in enumerate(batch.rows) if not row.finish]
        if not alive:
            return
        if (len(batch.rows) - len(alive)) * _SHRINK >= len(batch.rows):
            batch.keep(alive)
        batch.forward()


class _Batch:
    """The rows that are decoded together, and their tensors."""

    @torch.inference_mode()
    def __init__(self, model: Any, prompts: Sequence[Encoded], starts: Sequence[int], rows: Sequence[Row]) -> None:
        self.rows = list(rows)
        self._model, self._cache = model, new_cache(model)
        inputs = collate(prompts, model.device, model.dtype)
        input_ids_QT, self._mask = inputs.pop("input_ids"), inputs.pop("attention_mask")
        self._positions = _positions(model, input_ids_QT, {**inputs, "attention_mask": self._mask})
        self._logits = self._run(input_ids_QT, is_first_iteration=True, **inputs)
        if self._positions is not None:
            self._positions = self._positions[..., -1:]
        self._seeds = torch.tensor([row.seed for row in rows], device=model.device)
        self._steps = torch.tensor([starts[row.prompt] for row in rows], device=model.device)
        self._select(torch.tensor([row.prompt for row in rows], device=model.device))

    @torch.inference_mode()
    def draw(self, sampling: Sampling) -> None:
        """Add one token to every row that goes on."""
        # Apple's GPUs have no float64
        logits = self._logits.cpu() if self._logits.device.type == "mps" else self._logits
        tokens = draw_tokens(logits, self._seeds.to(logits.device), self._steps.to(logits.device), sampling)
        logprobs = _logprobs(logits, tokens).tolist() if sampling.logprobs else None
        drawn, self._tokens = tokens.tolist(), tokens.to(self._logits.device)
        for position, row in enumerate(self.rows):
            if not row.finish:
                row.ids.append(drawn[position])
                if logprobs is not None:
                    row.logprobs.append(logprobs[position])

    @torch.inference_mode()
    def forward(self) -> None:
        """Logits after the tokens drawn last."""
        self._steps = self._steps + 1
        self._mask = pad(self._mask, (0, 1), value=1)
        if self._positions is not None:
            self._positions = self._positions + 1
        self._logits = self._run(self._tokens[:, None], is_first_iteration=False)

    @torch.inference_mode()
    def keep(self, alive: Sequence[int]) -> None:
        """Drop all other rows."""
        chosen = torch.tensor(alive, device=self._seeds.device)
        self.rows = [self.rows[position] for position in alive]
        self._seeds, self._steps, self._tokens = self._seeds[chosen], self._steps[chosen], self._tokens[chosen]
        self._select(chosen)

    def _select(self, chosen: Tensor) -> None:
        """Make the rows of every tensor the chosen ones; a row may be chosen several times."""
        self._cache.reorder_cache(cast(LongTensor, chosen))
        self._mask, self._logits = self._mask[chosen], self._logits[chosen]
        if self._positions is not None:
            # some models have several kinds of position; the batch is the last axis but one in all of them
            self._positions = self._positions.index_select(-2, chosen)

    def _run(self, input_ids: Tensor, **inputs: Any) -> Tensor:
        if self._positions is not None:
            inputs["position_ids"] = self._positions
        if _takes(self._model, "logits_to_keep"):
            inputs["logits_to_keep"] = 1
        prepared = self._model.prepare_inputs_for_generation(
            input_ids, attention_mask=self._mask, use_cache=True, **{_CACHE: self._cache}, **inputs
        )
        return self._model(**prepared, return_dict=True).logits[:, -1]


def _positions(model: Any, input_ids_QT: Tensor, inputs: dict[str, Any]) -> Tensor | None:
    """Position ids as the model's own `generate` would make them; None for models without."""
    return model._prepare_position_ids_for_generation(input_ids_QT, inputs) if _takes(model, "position_ids") else None


def _takes(model: Any, argument: str) -> bool:
    return argument in inspect.signature(model.forward).parameters


def _logprobs(logits_BV: Tensor, tokens_B: Tensor) -> Tensor:
    return logits_BV.double().log_softmax(-1).gather(-1, tokens_B[:, None])[:, 0]


def collate(prompts: Sequence[Encoded], device: torch.device, dtype: torch.dtype) -> dict[str, Tensor]:
    """One batch of prompts, padded on the left.

    Per-token tensors are padded like the ids; all others (pixels, grids, sizes) are padded with zeros at their ends, as the
    processors do for batches of their own, and stacked along the first axis.
    """
    width = max(len(prompt.ids) for prompt in prompts)
    batch = {
        # any id will do under the mask but an image placeholder, of which a model may count all
        "input_ids": torch.stack([_left(torch.tensor(prompt.ids), width, fill=prompt.ids[-1]) for prompt in prompts]),
        "attention_mask": torch.stack([_left(torch.ones(len(prompt.ids), dtype=torch.long), width) for prompt in prompts]),
    }
    for name in sorted({name for prompt in prompts for name in prompt.tensors}):
        if name.endswith("token_type_ids"):
            batch[name] = torch.cat([_token_types(prompt, name, width) for prompt in prompts])
        else:
            batch[name] = _stack([prompt.tensors[name] for prompt in prompts if name in prompt.tensors])
    return {name: tensor.to(device, dtype if tensor.is_floating_point() else None) for name, tensor in batch.items()}


def _left(tensor: Tensor, width: int, fill: int = 0) -> Tensor:
    return pad(tensor, (width - tensor.shape[-1], 0), value=fill)


def _token_types(prompt: Encoded, name: str, width: int) -> Tensor:
    """Zero, which means text, for padding, for a prefix, and for prompts without images."""
    types = prompt.tensors.get(name, torch.zeros(1, 0, dtype=torch.long))
    return _left(pad(types, (0, len(prompt.ids) - types.shape[-1])), width)


def _stack(tensors: Sequence[Tensor]) -> Tensor:
    sizes = [max(lengths) for lengths in zip(*(tensor.shape[1:] for tensor in tensors), strict=True)]
    return torch.cat([_fill(tensor, sizes) for tensor in tensors])


def _fill(tensor: Tensor, sizes: Sequence[int]) -> Tensor:
    missing = [size - length for size, length in zip(sizes, tensor.shape[1:], strict=True)]
    return pad(tensor, [amount for size in reversed(missing) for amount in (0, size)])


def new_cache(model: Any) -> DynamicCache:
    """An empty cache of the kinds of layers that the model needs, its ordinary ones with room to grow."""
    cache = DynamicCache(config=model.config)
    cache.layers = [_RoomyLayer() if type(layer) is DynamicLayer else layer for layer in cache.layers]
    return cache


class _RoomyLayer(DynamicLayer):
    """Writes new tokens into spare room, where its parent copies the whole cache for each token: a third of the time."""

    def update(self, key_states: Tensor, value_states: Tensor, *args: Any, **kwargs: Any) -> tuple[Tensor, Tensor]:
        """Add tokens; see the parent."""
        length = self.get_seq_length()
        end = length + key_states.shape[-2]
        if not self.is_initialized or end > self._key_room.shape[-2]:
            self._key_room = _with_room(self.keys, key_states, end + _ROOM)
            self._value_room = _with_room(self.values, value_states, end + _ROOM)
            self.device, self.is_initialized = key_states.device, True
        self._key_room[:, :, length:end] = key_states
        self._value_room[:, :, length:end] = value_states
        self.keys, self.values = self._key_room[:, :, :end], self._value_room[:, :, :end]
        return self.keys, self.values

    def reorder_cache(self, beam_idx: Tensor) -> None:
        """Take rows, the room with them; see the parent."""
        length = self.get_seq_length()
        self._key_room = self._key_room.index_select(0, beam_idx)
        self._value_room = self._value_room.index_select(0, beam_idx)
        self.keys, self.values = self._key_room[:, :, :length], self._value_room[:, :, :length]


def _with_room(old: Tensor | None, new: Tensor, length: int) -> Tensor:
    room = new.new_empty(*new.shape[:2], length, new.shape[-1])
    if old is not None:
        room[:, :, : old.shape[-2]] = old
    return room
