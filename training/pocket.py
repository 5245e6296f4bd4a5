"""How the embedded model was made: trained from scratch on questions written as it goes.

    python -m training.pocket --out runs/pocket

A killed run goes on from its last checkpoint under the same command. Batch `step` is a function of the seed and the step alone.
"""

import json
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from training import pocket_model
from training.pocket_lessons import PocketTraining, micro_batches
from ttc.errors import UserError

if TYPE_CHECKING:
    import torch
    from transformers import Idefics3ForConditionalGeneration


class Trainer:
    """One training run in a folder: model, optimisers, and the step they are at."""

    def __init__(self, config: PocketTraining, out: Path) -> None:
        import torch

        torch.set_num_threads(1)
        self.config, self.out, self.step = config, out, 0
        self.processor = pocket_model.processor()
        torch.manual_seed(config.seed)
        shape = {name: getattr(config, name) for name in ("width", "layers", "vision_width", "vision_layers")}
        self.model = pocket_model.network(self.processor.tokenizer, **shape)
        self.optimizers = _optimizers(self.model, config)
        self.rates = [optimizer.param_groups[0]["lr"] for optimizer in self.optimizers]
        out.mkdir(parents=True, exist_ok=True)
        if self._checkpoint.exists():
            self._resume()

    @property
    def _checkpoint(self) -> Path:
        return self.out / "checkpoint.pt"

    @property
    def _log(self) -> Path:
        return self.out / "log.jsonl"

    def train(self, *, minutes: float, save_every: int = 100) -> None:
        """Go on to the last step, or until the minutes are over; the state is on disk afterwards."""
        start = time.monotonic()
        while self.step < self.config.steps and time.monotonic() - start < 60 * minutes:
            before = time.monotonic()
            loss = self.advance()
            row = {"step": self.step, "loss": round(loss, 6), "seconds": round(time.monotonic() - before, 3)}
            with self._log.open("a") as log:
                log.write(json.dumps(row) + "\n")
            if self.step % save_every == 0:
                self.save()
        self.save()

    def advance(self) -> float:
        """One step of both optimisers. Returns the mean loss per reply token, in nats."""
        import torch
        from torch.nn.functional import cross_entropy

        for optimizer, rate in zip(self.optimizers, self.rates, strict=True):
            for group in optimizer.param_groups:
                group["lr"] = rate * _schedule(self.step, self.config)
        batches = list(micro_batches(self.config, self.step, self.processor))
        tokens = sum(int((batch.targets_BT >= 0).sum()) for batch in batches)
        total = 0.0
        for batch in batches:
            states_BTH = self.model.model(input_ids=batch.ids_BT, pixel_values=batch.pixels, use_cache=False).last_hidden_state
            taught = batch.targets_BT >= 0
            loss = cross_entropy(self.model.lm_head(states_BTH[taught]), batch.targets_BT[taught], reduction="sum") / tokens
            loss.backward()
            total += loss.item()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        for optimizer in self.optimizers:
            optimizer.step()
            optimizer.zero_grad()
        self.step += 1
        return total

    def save(self) -> None:
        """Write the checkpoint under a temporary name, then rename it: a kill leaves the old one or the new one."""
        import torch

        state = {
            "config": self.config.model_dump(),
            "step": self.step,
            "model": self.model.state_dict(),
            "optimizers": [optimizer.state_dict() for optimizer in self.optimizers],
            "generator": torch.get_rng_state(),
        }
        part = self._checkpoint.with_suffix(".part")
        torch.save(state, part)
        os.replace(part, self._checkpoint)

    def _resume(self) -> None:
        import torch

        state: dict[str, Any] = torch.load(self._checkpoint, weights_only=True)
        now = self.config.model_dump()
        changed = [name for name, value in state["config"].items() if now.get(name) != value and name != "steps"]
        if changed:
            raise UserError(f"{self._checkpoint} was trained with another {', '.join(changed)}; give another --out folder")
        self.model.load_state_dict(state["model"])
        for optimizer, held in zip(self.optimizers, state["optimizers"], strict=True):
            optimizer.load_state_dict(held)
        torch.set_rng_state(state["generator"])
        self.step = state["step"]
        # a killed run has logged steps that its checkpoint does not hold
        rows = self._log.read_text().splitlines(keepends=True) if self._log.exists() else []
        self._log.write_text("".join(rows[: self.step]))

    def export(self, folder: Path) -> None:
        """The model with all that `from_pretrained` needs."""
        self.model.save_pretrained(folder)
        self.processor.save_pretrained(folder)
        # the plain name asks for torchvision and warns on a machine without it
        settings = folder / "processor_config.json"
        named = json.loads(settings.read_text())
        named["image_processor"]["image_processor_type"] = "Idefics3ImageProcessorPil"
        settings.write_text(json.dumps(named, indent=2) + "\n")
        (folder / "model.safetensors").chmod(0o644)


def _schedule(step: int, config: PocketTraining) -> float:
    """Share of the full learning rates at a step: a short rise, a plateau, a straight fall to zero."""
    left = (config.steps - step) / (config.decay * config.steps)
    return min(1.0, (step + 1) / config.warmup, left)


def _optimizers(model: "Idefics3ForConditionalGeneration", config: PocketTraining) -> list["torch.optim.Optimizer"]:
    """Muon for the matrices inside the layers, AdamW for the rest."""
    import torch

    matrices, others = [], []
    for name, weight in model.named_parameters():
        inside = weight.ndim == 2 and not any(word in name for word in ("embed", "lm_head"))
        (matrices if inside else others).append(weight)
    return [
        torch.optim.Muon(matrices, lr=config.muon_rate, weight_decay=0.01, adjust_lr_fn="original"),
        torch.optim.AdamW(others, lr=config.adam_rate, betas=(0.9, 0.98), weight_decay=0.01),
    ]


def main(
    out: Annotated[Path, typer.Option(help="Folder of checkpoint, log and finished model.")] = Path("runs/pocket"),
    minutes: Annotated[float, typer.Option(help="Stop after this long; the same command goes on later.")] = 600.0,
    steps: Annotated[int, typer.Option(help="Steps of the whole run.")] = PocketTraining().steps,
) -> None:
    """Train the embedded model from scratch, or go on where the last run stopped."""
    trainer = Trainer(PocketTraining(steps=steps), out)
    trainer.train(minutes=minutes)
    trainer.export(out / "model")


if __name__ == "__main__":
    typer.run(main)
