"""Training of a step verifier: chains -> lengths checked -> trl -> best checkpoint -> folder with card.

A killed run goes on from its last whole checkpoint under the same command. The folder is what `kind: step_verifier` takes as
`model`, or as `adapter` of its base where LoRA was trained.
"""

import hashlib
import json
import shutil
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch
from peft import LoraConfig
from transformers import EarlyStoppingCallback, TrainerCallback
from trl.trainer.sft_config import SFTConfig

from training.chains import LabelledChain
from training.config import StepVerifierTraining, Training
from training.deepen import deepen
from training.order import ordered
from training.processes import processes
from training.step_trainer import Collator, StepVerifierTrainer, places
from ttc.backends.chat import Chat, Rejected
from ttc.backends.engine import load_model
from ttc.backends.transformers import Transformers
from ttc.errors import MediaError, UserError
from verifiers import step_model
from verifiers.render import FILE, Renderer

HASH = "data.sha256"
"""In the folder: hash of settings and chains, so that a run does not go on from a foreign checkpoint."""

_READERS = ("tokenizer*", "*.jinja", "vocab.*", "merges.txt", "*.model", "special_tokens_map.json", "added_tokens.json")
_READERS += ("processor_config.json", "preprocessor_config.json", "video_preprocessor_config.json", "chat_template.json")
"""Files of a model folder that turn text and images into its inputs."""


@dataclass(frozen=True, slots=True)
class Measured:
    """Chains that can be shown to the model, and how long they are."""

    chains: Sequence[LabelledChain]
    lengths: Sequence[int]
    """In tokens, images included."""
    dropped: Counter[str]
    """Reason -> chains that cannot be shown."""


def measure(chains: Sequence[LabelledChain], renderer: Renderer, max_tokens: int) -> Measured:
    """Render every chain once, before hours of training depend on it.

    Raises:
        UserError: one is too long; nothing is cut off, since its last labels would be lost without a word.
    """
    kept: list[LabelledChain] = []
    lengths: list[int] = []
    dropped: Counter[str] = Counter()
    for chain in chains:
        try:
            length = renderer.render(chain.question, chain.steps).length
        except (Rejected, MediaError) as error:
            dropped[f"{error}"] += 1
            continue
        if length > max_tokens:
            raise UserError(
                f"a chain of question {chain.question.id} has {length} tokens, max_tokens is {max_tokens}; raise it, or make "
                "images smaller (rendering.prompt.max_pixels)"
            )
        kept.append(chain)
        lengths.append(length)
    return Measured(kept, lengths, dropped)


class Course:
    """One training run: model, renderer, data and trainer."""

    def __init__(
        self, config: StepVerifierTraining, train: Sequence[LabelledChain], dev: Sequence[LabelledChain], out: Path
    ) -> None:
        """Load the model and check the data. Raises UserError where one does not fit the other."""
        self.config, self.out = config, out
        self.model, takes_images = load_model(Transformers(**config.base.model_dump(), device="cpu", threads=config.threads))
        if config.lora is None or not torch.cuda.is_available():
            self.model = self.model.float()  # small steps vanish in half precision; adapters are kept in float32 by peft
        self.chat = Chat.load(config.base, takes_images=takes_images)
        self.renderer = self._renderer()
        self.old_head = self.model.get_output_embeddings()
        if config.has_head:
            step_model.add_head(self.model)
        if config.lora is None:
            deepen(self.model, config.deeper)
            _keep_names(self.model)
        if config.lora is None and not config.train_vision:
            _freeze_vision(self.model)
        learning = config.optimisation
        self.train = measure(ordered(train, learning.order, learning.seed), self.renderer, config.max_tokens)
        self.dev = measure(dev, self.renderer, config.max_tokens)
        if not (self.train.chains and self.dev.chains):
            reasons = "; ".join(self.train.dropped + self.dev.dropped) or "there are none"
            raise UserError(f"training needs chains to learn from and dev chains to choose by: {reasons}")
        self.hash = data_hash(config, [*self.train.chains, *self.dev.chains])
        self.trainer = self._trainer()

    def run(self) -> dict[str, float]:
        """Train, or go on from the last checkpoint, and write the folder. Returns trl's dev metrics of what was kept.

        Raises:
            UserError: the folder holds a run with other settings or data.
        """
        checkpoints = Path(str(self.trainer.args.output_dir))
        if self.trainer.is_world_process_zero():
            _claim(self.out, self.hash)
        self.trainer.train(resume_from_checkpoint=last_checkpoint(checkpoints))
        metrics = self.trainer.evaluate()
        if self.trainer.is_world_process_zero():
            self.save(self.out)
        return {name.removeprefix("eval_"): value for name, value in metrics.items()}

    def save(self, folder: Path) -> None:
        """Write the verifier: weights or adapter, head, processor, and how replies are shown to it."""
        model: Any = self.trainer.accelerator.unwrap_model(self.trainer.model)
        folder.mkdir(parents=True, exist_ok=True)
        self._describe(folder)
        if self.config.has_head:
            step_model.save_head(_head(model), folder)
        if self.config.has_head and self.config.lora is None:
            head = model.get_output_embeddings()
            model.set_output_embeddings(self.old_head)  # a folder that loads as any other model
            model.save_pretrained(folder, save_original_format=True)
            model.set_output_embeddings(head)
        elif self.config.lora is None:
            model.save_pretrained(folder, save_original_format=True)
        else:
            model.save_pretrained(folder)
        if self.config.lora is None:
            source = self.config.base.location().folder
            for path in {path for pattern in _READERS for path in source.glob(pattern)}:
                shutil.copyfile(path, folder / path.name)
            if template := self.config.base.template():
                (folder / "chat_template.jinja").write_text(template, encoding="utf-8")

    def _describe(self, folder: Path) -> None:
        """Write how replies are shown to the verifier."""
        about: dict[str, Any] = {"rendering": self.renderer.rendering.model_dump(mode="json")}
        if self.config.lora is not None:
            about["base"] = self.config.base.identity()["model"]
        (folder / FILE).write_text(json.dumps(about, indent=2) + "\n", encoding="utf-8")

    def _renderer(self) -> Renderer:
        config = self.config
        return Renderer(self.chat, config.rendering, config.base.model, questions_kept=config.questions_kept)

    def _trainer(self) -> StepVerifierTrainer:
        config, train, dev = self.config, self.train, self.dev
        return StepVerifierTrainer(
            verdicts=(self.renderer.word_id, self.renderer.bad_id),
            weights=class_weights(train.chains) if config.class_weights == "balanced" else (1.0, 1.0),
            model=self.model,
            args=self._arguments(),
            train_dataset=places(train.lengths),
            eval_dataset=places(dev.lengths, first=len(train.chains)),
            data_collator=Collator([*train.chains, *dev.chains], self.renderer),
            processing_class=self.chat.tokenizer,
            peft_config=self._adapter(),
            callbacks=self._callbacks(),
        )

    def _callbacks(self) -> list[TrainerCallback]:
        found: list[TrainerCallback] = [LastEvaluation()]
        if patience := self.config.optimisation.patience:
            found.append(EarlyStoppingCallback(early_stopping_patience=patience))
        if self.config.tracking.kind == "wandb":
            from training.tracking import Curves

            found.append(Curves(self.config, self.out))
        return found

    def _adapter(self) -> LoraConfig | None:
        lora = self.config.lora
        if lora is None:
            return None
        return LoraConfig(
            r=lora.rank,
            lora_alpha=lora.alpha,
            lora_dropout=lora.dropout,
            target_modules=lora.targets,
            # peft freezes a new head otherwise, and says nothing
            modules_to_save=["lm_head"] if self.config.has_head else None,
        )

    def _arguments(self) -> SFTConfig:
        return SFTConfig(
            **self._settings(len(self.train.chains)),
            metric_for_best_model="auroc",
            label_names=["labels"],
            dataset_kwargs={"skip_prepare_dataset": True},
        )

    def _settings(self, rows: int) -> dict[str, Any]:
        """What every trainer of trl is told; `rows` are those of one epoch."""
        learning = self.config.optimisation
        on_gpu, devices = torch.cuda.is_available(), processes().num_processes
        if learning.batch % (learning.micro_batch * devices):
            raise UserError(f"batch={learning.batch} is no multiple of micro_batch={learning.micro_batch} on {devices} devices")
        steps = max(1, round(rows / learning.batch * learning.epochs))
        every = max(1, steps // learning.evaluations)
        by_length = learning.order == "random" and learning.by_length
        return {
            "output_dir": str(self.out / "checkpoints"),
            "max_steps": steps,
            "per_device_train_batch_size": learning.micro_batch,
            "per_device_eval_batch_size": learning.micro_batch,
            "gradient_accumulation_steps": learning.batch // (learning.micro_batch * devices),
            "learning_rate": learning.learning_rate,
            "lr_scheduler_type": "cosine",
            "warmup_steps": round(learning.warmup * steps),
            "weight_decay": learning.weight_decay,
            "seed": learning.seed,
            # `random` was mixed already, by a seed of ours
            "train_sampling_strategy": "group_by_length" if by_length else "sequential",
            "bf16": on_gpu and learning.precision != "float32",
            "use_cpu": not on_gpu,
            "activation_checkpointing": learning.gradient_checkpointing,
            "eval_strategy": "steps",
            "eval_steps": every,
            "save_steps": every,
            "save_total_limit": 2,
            "load_best_model_at_end": True,
            "greater_is_better": True,
            "logging_steps": max(1, every // 10),
            "report_to": "none",
            "disable_tqdm": True,
            "remove_unused_columns": False,
            "max_length": None,
        }


class LastEvaluation(TrainerCallback):
    """The last step is a candidate for the best, too."""

    def on_step_end(self, args: Any, state: Any, control: Any, **more: Any) -> Any:
        """See transformers."""
        if state.global_step >= state.max_steps:
            control.should_evaluate = control.should_save = True
        return control


def class_weights(chains: Sequence[LabelledChain]) -> tuple[float, float]:
    """Weights of wrong and right steps by which both classes weigh half of all labelled steps."""
    counts = Counter(label for chain in chains for label in chain.labels if label is not None)
    if not (counts[False] and counts[True]):
        raise UserError(
            f"{counts[True]} right and {counts[False]} wrong steps: a verifier learns from both kinds; add the other"
        )
    half = counts.total() / 2
    return half / counts[False], half / counts[True]


def data_hash(config: Training, chains: Sequence[LabelledChain]) -> str:
    """Of what the weights depend on: settings and chains, media by content. 64 hex digits."""
    settings = config.model_dump(mode="json", exclude={"tracking", "hub", "threads", "questions_kept", "base"})
    digest = hashlib.sha256(json.dumps([settings, config.base.identity()], sort_keys=True).encode())
    for chain in chains:
        asked = [chain.question.id, chain.question.text, chain.question.options, [one.sha256 for one in chain.question.media]]
        digest.update(json.dumps([asked, chain.steps, chain.labels, chain.kinds, chain.is_right]).encode())
    return digest.hexdigest()


def last_checkpoint(folder: Path) -> str | None:
    """The newest checkpoint that was written to its end; a killed run may have left half a one, which lacks its last file."""
    whole = [path.parent for path in folder.glob("checkpoint-*/trainer_state.json") if _is_json(path)]
    return str(max(whole, key=lambda path: int(path.name.rpartition("-")[2]))) if whole else None


def _is_json(path: Path) -> bool:
    try:
        json.loads(path.read_text(encoding="utf-8"))
    except ValueError:
        return False
    return True


def _claim(folder: Path, digest: str) -> None:
    path = folder / HASH
    if path.is_file() and path.read_text().strip() != digest:
        raise UserError(f"{folder} holds a training run with other settings or data; give another --out, or remove it")
    folder.mkdir(parents=True, exist_ok=True)
    path.write_text(digest + "\n")


def _head(model: Any) -> torch.Tensor:
    """The weights of the marker form's head, of the adapter's copy where there is one."""
    head = model.get_output_embeddings()
    return next(weight for name, weight in head.named_parameters() if "original_module" not in name)


def _keep_names(model: Any) -> None:
    """Save checkpoints under the names that the weights have here.

    transformers saves some models under the names of their published files, looks for those of here when it resumes or takes
    the best checkpoint, finds none, warns, and goes on with other weights.
    """
    model.save_pretrained = partial(model.save_pretrained, save_original_format=False)


def _freeze_vision(model: Any) -> None:
    """The tower that looks stays as it is; what joins it to the language model learns."""
    for name, weight in model.named_parameters():
        words = name.split(".")
        if any(word.startswith(("vision", "visual")) for word in words) and not any(
            part in name for part in ("merger", "projector", "connector")
        ):
            weight.requires_grad_(False)
