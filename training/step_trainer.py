"""trl's `SFTTrainer` with the loss of a step verifier: two-way between the verdicts, at the slots alone.

Names carry their axes: B chains, S slots.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from datasets import Dataset
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits
from torch.nn.utils.rnn import pad_sequence
from transformers import EvalPrediction
from trl.trainer.sft_trainer import SFTTrainer

from training.chains import LabelledChain
from ttc.errors import UserError
from verifiers.render import Renderer
from verifiers.step_model import batch_of, step_logits

IGNORED = -100.0
"""The label of an unlabelled step, and of a spare slot."""


class Collator:
    """Chains by their places -> one padded batch, rendered as it is asked for, with `labels` 1, 0 or `IGNORED`."""

    def __init__(self, chains: Sequence[LabelledChain], renderer: Renderer) -> None:
        self._chains, self._renderer = chains, renderer

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """The inputs of `step_logits`, and labels_BS."""
        chains = [self._chains[row["place"]] for row in rows]
        rendered = [self._renderer.render(chain.question, chain.steps) for chain in chains]
        labels = [
            torch.tensor([IGNORED if label is None else float(label) for label in chain.labels], dtype=torch.float32)
            for chain in chains
        ]
        batch = batch_of(rendered, torch.device("cpu"), torch.float32)
        batch["labels"] = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
        assert "said" in batch or batch["labels"].shape == batch["logits_to_keep"].shape
        return batch


def places(lengths: Sequence[int], first: int = 0) -> Dataset:
    """What trl iterates over: the places of chains in the collator's list, from `first` on, and their lengths in tokens."""
    return Dataset.from_dict({"place": list(range(first, first + len(lengths))), "length": list(lengths)})


class StepVerifierTrainer(SFTTrainer):
    """Learns the verdicts. All else, such as devices, checkpoints and schedules, is trl's."""

    loss_is_scaled_for_ga = True

    def __init__(self, *, verdicts: tuple[int, int], weights: tuple[float, float] = (1.0, 1.0), **more: Any) -> None:
        """Args: ids of good and bad; weights in the loss of a wrong and of a right step; the rest as `SFTTrainer`."""
        super().__init__(compute_metrics=auroc, **more)
        self._verdicts, self._class_weights = verdicts, weights

    def get_batch_samples(self, epoch_iterator: Any, num_batches: int, device: torch.device) -> Any:
        """The micro-batches of one step, and the weight of all their labelled steps on all devices: what the loss is over.

        A mean of means would let a step of a short chain weigh more than one of a long chain.
        """
        batches, _ = super().get_batch_samples(epoch_iterator, num_batches, device)
        weight = torch.stack([self._weights(batch["labels"]).sum() for batch in batches]).sum()
        return batches, torch.as_tensor(self.accelerator.gather(weight.to(device))).sum()

    def compute_loss(
        self, model: nn.Module, inputs: dict[str, Tensor], return_outputs: bool = False, num_items_in_batch: Any = None
    ) -> Any:
        """Weighted binary cross-entropy of the verdicts, over `num_items_in_batch`, or over this batch where that is None."""
        labels_BS = inputs["labels"]
        z_BS = step_logits(model, {name: tensor for name, tensor in inputs.items() if name != "labels"}, *self._verdicts)
        weights_BS = self._weights(labels_BS)
        total = binary_cross_entropy_with_logits(z_BS, labels_BS.clamp(min=0), weights_BS, reduction="sum")
        if num_items_in_batch is None:
            loss = total / weights_BS.sum().clamp(min=1e-6)
        else:  # gradients are averaged over the devices
            loss = total / num_items_in_batch.clamp(min=1e-6) * self.accelerator.num_processes
        return (loss, z_BS) if return_outputs else loss

    def prediction_step(
        self, model: nn.Module, inputs: dict[str, Any], prediction_loss_only: bool, ignore_keys: list[str] | None = None
    ) -> tuple[Tensor | None, Tensor | None, Tensor | None]:
        """Loss, z_BS and labels_BS of one batch."""
        inputs = self._prepare_inputs(inputs)
        with torch.no_grad(), self.compute_loss_context_manager():
            loss, z_BS = self.compute_loss(model, inputs, return_outputs=True)
        return (loss, None, None) if prediction_loss_only else (loss, z_BS, inputs["labels"])

    def _issue_warnings_after_load(self, load_result: Any) -> None:
        """Refuse a checkpoint without all weights, where transformers only warns."""
        tied = getattr(self.model, "all_tied_weights_keys", None) or {}
        if missing := sorted(set(load_result.missing_keys) - set(tied)):
            raise UserError(f"a checkpoint lacks {len(missing)} weights, {missing[0]} the first; remove it, and train again")

    def _weights(self, labels_BS: Tensor) -> Tensor:
        wrong, right = self._class_weights
        return (labels_BS == 0) * wrong + (labels_BS == 1) * right


def auroc(predicted: EvalPrediction) -> dict[str, float]:
    """How well the verdicts tell right steps from wrong ones; 0.5 where the dev chains have only one kind."""
    from sklearn.metrics import roc_auc_score

    z, labels = np.asarray(predicted.predictions), np.asarray(predicted.label_ids)
    known = labels != IGNORED
    if len(np.unique(labels[known])) < 2:
        return {"auroc": 0.5}
    return {"auroc": float(roc_auc_score(labels[known], z[known]))}
