"""Difficulty read off a vision-language model's own state: a linear head where the reply would begin.

The head gives P(level above l) for every l; their sum is the expected level. The model learns with it, whole or by adapters, or
stays as it is.

B questions, H width, L levels.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field

from training.config import Lora
from training.difficulty_models import Predicted, cut
from ttc import prompts
from ttc.errors import MediaError, UserError
from ttc.media import load_images
from ttc.records import Prompt, Question, Text

if TYPE_CHECKING:
    from torch import Tensor, nn

    from ttc.backends.chat import Chat, Encoded

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]


class Head(BaseModel, frozen=True, extra="forbid"):
    """A model, what it is shown, and how it learns."""

    model: str = "pocket"
    """Name or folder of an image-text model."""
    sees: Literal["both", "image", "text"] = "both"
    """`image` hides the words and `text` the images: what each gives away alone."""
    trains: Literal["all", "adapter", "head"] = "all"
    """`adapter`: what a large model can be taught on one device; 1e-4 to 2e-4 is its rate."""
    lora: Lora = Lora()
    """For `adapter`."""
    epochs: int = Field(default=6, gt=0)
    batch: int = Field(default=32, gt=0)
    learning_rate: float = Field(default=1e-3, gt=0)
    held_out: float = Field(default=0.125, gt=0, lt=0.5)
    """Share of the training questions that only lay the cuts between levels."""
    threads: int | None = Field(default=1, gt=0)
    """CPU threads; none: as torch has it."""


def predict(
    head: Head,
    train: Sequence[Question],
    level_Q: IntArray,
    clusters: Sequence[str],
    test: Sequence[Question],
    *,
    levels: int,
    seed: int = 0,
) -> Predicted:
    """Train on some questions and predict others.

    Args:
        clusters: of the training questions; those held out for the cuts share none with the rest.

    Raises:
        UserError: the model does not load, or cannot be shown a question, or all training questions are one group.
    """
    from ttc.backends.chat import Chat
    from ttc.backends.engine import load_model
    from ttc.backends.transformers import Transformers

    names = sorted(set(clusters))
    if len(names) < 2:
        raise UserError(f"head: {len(train)} questions to learn from are one group, so none can lay the cuts; give it more")
    config = Transformers(model=head.model, threads=head.threads)
    model, takes_images = load_model(config)
    chat = Chat.load(config, takes_images=takes_images)
    seen, asked = ([_encoded(chat, question, head.sees) for question in questions] for questions in (train, test))
    Random(seed).shuffle(names)
    held = set(names[: max(1, round(head.held_out * len(names)))])
    is_held_Q = np.array([cluster in held for cluster in clusters])
    course = _Course(model, head, levels, seed)
    course.fit([one for one, out in zip(seen, is_held_Q, strict=True) if not out], level_Q[~is_held_Q])
    held_scores = course.score([one for one, out in zip(seen, is_held_Q, strict=True) if out])
    scores_Q = course.score(asked)
    return Predicted(scores_Q, cut(scores_Q, held_scores, level_Q[is_held_Q], levels))


def _encoded(chat: "Chat", question: Question, sees: str) -> "Encoded":
    """The question as the model is asked it, without what is hidden. Media that cannot be used are left out."""
    from ttc.backends.chat import Rejected

    prompt = prompts.render(question, style="direct")
    messages = tuple(
        replace(message, parts=tuple(part for part in message.parts if _is_shown(part, sees))) for message in prompt.messages
    )
    shown = Prompt(messages)
    try:
        images = tuple(load_images(part) for part in shown.media_parts)
    except MediaError:
        return _encoded(chat, replace(question, media=()), "text")
    try:
        return chat.encode(shown, images)
    except Rejected as error:
        raise UserError(f"question {question.id}: {error}; set the head's `sees` to what its model takes") from error


def _is_shown(part: object, sees: str) -> bool:
    return sees == "both" or isinstance(part, Text) == (sees == "text")


def _adapt(model: Any, lora: Lora) -> None:
    """Put adapters into the model itself; they alone learn, in float32."""
    from peft import LoraConfig, get_peft_model

    get_peft_model(
        model, LoraConfig(r=lora.rank, lora_alpha=lora.alpha, lora_dropout=lora.dropout, target_modules=lora.targets)
    )


class _Course:
    """A model and its head, in training and after."""

    def __init__(self, model: "nn.Module", head: Head, levels: int, seed: int) -> None:
        import torch

        if head.threads:
            torch.set_num_threads(head.threads)
        self._model, self._head, self._seed = model, head, seed
        weight = next(model.parameters())
        self._device, self._dtype = weight.device, weight.dtype
        config: Any = model.config
        width = config.get_text_config().hidden_size
        self._reader = torch.nn.Linear(width, levels - 1, device=weight.device)
        torch.nn.init.zeros_(self._reader.weight)
        model.requires_grad_(head.trains == "all")
        if head.trains == "adapter":
            _adapt(model, head.lora)

    def fit(self, encoded: "Sequence[Encoded]", level_Q: IntArray) -> None:
        """AdamW on the cross-entropy of every cut, the rate falling to zero."""
        import torch
        from torch.nn.functional import binary_cross_entropy_with_logits

        levels = self._reader.out_features + 1
        above_QL = torch.tensor(level_Q[:, None] > np.arange(levels - 1), dtype=torch.float32, device=self._device)
        with torch.no_grad():
            share_L = above_QL.mean(dim=0).clamp(1e-3, 1 - 1e-3)
            self._reader.bias.copy_(torch.logit(share_L))
        trained = [*self._reader.parameters(), *(weight for weight in self._model.parameters() if weight.requires_grad)]
        optimizer = torch.optim.AdamW(trained, lr=self._head.learning_rate, weight_decay=0.01)
        batches = [batch for epoch in range(self._head.epochs) for batch in self._batches(encoded, epoch)]
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - step / len(batches))
        self._model.train()
        for batch in batches:
            loss = binary_cross_entropy_with_logits(self._logits([encoded[row] for row in batch]), above_QL[batch])
            loss.backward()
            torch.nn.utils.clip_grad_norm_(trained, 1.0)
            optimizer.step()
            optimizer.zero_grad()
            schedule.step()

    def score(self, encoded: "Sequence[Encoded]") -> FloatArray:
        """Expected level of each question."""
        import torch

        scores_Q = np.zeros(len(encoded))
        self._model.eval()
        with torch.inference_mode():
            for batch in self._batches(encoded, 0):
                scores_Q[batch] = self._logits([encoded[row] for row in batch]).sigmoid().sum(dim=1).cpu().numpy()
        return scores_Q

    def _logits(self, encoded: "Sequence[Encoded]") -> "Tensor":
        """logits_BL at the last token, which left padding puts in one column."""
        from ttc.backends.decoding import collate

        inputs = collate(encoded, self._device, self._dtype)
        core: Any = self._model.model  # the output layer over the vocabulary is not needed
        state_BH = core(**inputs, use_cache=False).last_hidden_state[:, -1]
        return self._reader(state_BH.float())

    def _batches(self, encoded: "Sequence[Encoded]", epoch: int) -> Iterator[list[int]]:
        """Questions of nearly one length together, in an order of their own each epoch."""
        rng = Random(f"{self._seed} {epoch}")
        rows = sorted(range(len(encoded)), key=lambda row: (len(encoded[row].ids), rng.random()))
        batches = [rows[start : start + self._head.batch] for start in range(0, len(rows), self._head.batch)]
        rng.shuffle(batches)
        yield from batches
