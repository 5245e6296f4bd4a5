"""Training of a generative verifier: chains -> rationales and verdicts -> trl -> folder with card.

What it is asked is rendered by the verifier itself and encoded as the backends encode it, so that training and use see the same
ids. The folder is what `kind: generative` takes as its backend's `model`, or as `adapter` of its base where LoRA was trained.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
import yaml
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence
from trl.trainer.sft_config import SFTConfig
from trl.trainer.sft_trainer import SFTTrainer

from training.chains import LabelledChain
from training.config import GenerativeVerifierTraining
from training.labels import is_right
from training.step_trainer import places
from training.step_verifier import Course
from ttc import media
from ttc.backends.chat import Chat, Encoded
from ttc.backends.transformers import Transformers
from ttc.records import Question
from verifiers.generative import Generative
from verifiers.render import Key, Rendered
from verifiers.step_model import batch_of

IGNORED = -100
"""The label of a token that is not learned."""
FILE = "verifier.yaml"
"""In the folder: the verifier's entry in a run's config."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A chain with what should be said of it."""

    encoded: Encoded
    """Prompt, rationale and the end of the turn."""
    prompt_tokens: int

    @property
    def length(self) -> int:
        """Tokens."""
        return len(self.encoded.ids)


class Lessons:
    """The lessons of chains, encoded as they are asked for."""

    def __init__(self, verifier: Generative, chat: Chat, chains: Sequence[LabelledChain]) -> None:
        self._verifier, self._chat = verifier, chat
        # a question with its images hidden has the same id, and other things to say of the same steps
        self._said = {(Key(chain.question), chain.steps): rationale(chain) for chain in chains}
        ends = chat.end_ids(None)
        self._end = min(ends - {chat.tokenizer.eos_token_id} or ends)

    def render(self, question: Question, steps: Sequence[str]) -> Lesson:
        """The lesson of one chain. Raises Rejected or MediaError where the model cannot be asked about it."""
        prompt = self._verifier.prompt(question, steps)
        images = tuple(media.load_images(part) for part in prompt.media_parts)
        asked = self._chat.encode(prompt, images)
        said = self._chat.tokenizer.encode(self._said[Key(question), tuple(steps)], add_special_tokens=False)
        return Lesson(replace(asked, ids=(*asked.ids, *said, self._end)), len(asked.ids))


class GenerativeCourse(Course):
    """One training run; see `Course`. Chains that show nothing, or that contradict themselves, are left out."""

    config: GenerativeVerifierTraining  # pyright: ignore[reportIncompatibleVariableOverride]
    renderer: Lessons  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(
        self, config: GenerativeVerifierTraining, train: Sequence[LabelledChain], dev: Sequence[LabelledChain], out: Path
    ) -> None:
        """As `Course`."""
        train, dev = list(filter(teaches, train)), list(filter(teaches, dev))
        self._chains = [*train, *dev]
        super().__init__(config, train, dev, out)  # pyright: ignore[reportArgumentType]

    def _renderer(self) -> Lessons:  # pyright: ignore[reportIncompatibleMethodOverride]
        return Lessons(verifier_of(self.config), self.chat, self._chains)

    def _describe(self, folder: Path) -> None:
        chosen = self.config.model_dump(mode="json", include={"instructions", "shown"}, exclude_defaults=True)
        text = yaml.safe_dump({"kind": "generative", **chosen}, sort_keys=False)
        (folder / FILE).write_text(text, encoding="utf-8")

    def _trainer(self) -> Any:
        settings: dict[str, Any] = {**self._settings(len(self.train.chains)), "greater_is_better": False}
        return SFTTrainer(
            model=self.model,
            args=SFTConfig(
                **settings,
                metric_for_best_model="loss",
                label_names=["labels"],
                dataset_kwargs={"skip_prepare_dataset": True},
            ),
            train_dataset=places(self.train.lengths),
            eval_dataset=places(self.dev.lengths, first=len(self.train.chains)),
            data_collator=LessonCollator([*self.train.chains, *self.dev.chains], self.renderer),
            processing_class=self.chat.tokenizer,
            peft_config=self._adapter(),
            callbacks=self._callbacks(),
        )


class LessonCollator:
    """Chains by their places -> one padded batch whose `labels` are the tokens of rationale and verdict."""

    def __init__(self, chains: Sequence[LabelledChain], lessons: Lessons) -> None:
        self._chains, self._lessons = chains, lessons

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """The batch of these rows."""
        lessons = [self._lessons.render(chain.question, chain.steps) for chain in (self._chains[row["place"]] for row in rows)]
        batch = batch_of([Rendered(one.encoded, (0,), ()) for one in lessons], torch.device("cpu"), torch.float32)
        del batch["logits_to_keep"]
        labels = [torch.tensor([*[IGNORED] * one.prompt_tokens, *one.encoded.ids[one.prompt_tokens :]]) for one in lessons]
        batch["labels"] = pad_sequence(labels, batch_first=True, padding_value=IGNORED)
        return batch


def rationale(chain: LabelledChain) -> str:
    """What is to be said of a chain: each step that is known up to the first wrong one, and the verdict on the whole."""
    lines = []
    for number, (label, kind) in enumerate(zip(chain.labels, chain.kinds, strict=True), start=1):
        if label is not None:
            lines.append(f"Step {number}: right" if label else f"Step {number}: wrong" + (f", {kind}" if kind else ""))
        if label is False:
            break
    return "\n".join([*lines, f"Verdict: {'right' if is_right(chain) else 'wrong'}"])


def teaches(chain: LabelledChain) -> bool:
    """Whether the whole reply is known to be right or wrong, and no step says otherwise."""
    right = is_right(chain)
    return right is not None and not (right and chain.first_error is not None)


def verifier_of(config: GenerativeVerifierTraining) -> Generative:
    """The verifier as it is used with the base model: it asks what is trained."""
    backend = Transformers(**config.base.model_dump())
    return Generative(backend=backend, instructions=config.instructions, shown=config.shown)
