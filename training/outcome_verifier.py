"""Training of an outcome verifier: chains -> pairs of a right and a wrong reply -> trl's reward trainer -> folder with card.

The folder is what `kind: outcome_verifier` takes as `model`, or as `adapter` of its base where LoRA was trained.
"""

from collections.abc import Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from random import Random
from typing import Any

import torch
from datasets import Dataset
from torch import Tensor
from trl.trainer.reward_config import RewardConfig
from trl.trainer.reward_trainer import RewardTrainer

from training.chains import LabelledChain
from training.config import OutcomeVerifierTraining
from training.labels import is_right
from training.step_verifier import Course
from ttc.errors import UserError
from verifiers.orm import whole_reply
from verifiers.orm_scorer import WholeReply
from verifiers.render import Renderer
from verifiers.step_model import batch_of


class OutcomeCourse(Course):
    """One training run; see `Course`. Chains of which nothing says whether they are right are left out."""

    config: OutcomeVerifierTraining

    def __init__(
        self, config: OutcomeVerifierTraining, train: Sequence[LabelledChain], dev: Sequence[LabelledChain], out: Path
    ) -> None:
        """As `Course`. Raises UserError, too, where no question has both a right and a wrong reply."""
        config = config.model_copy(update={"rendering": whole_reply(config.rendering)})
        super().__init__(config, wholes(train), wholes(dev), out)

    def _renderer(self) -> Renderer:
        config = self.config
        return WholeReply(self.chat, config.rendering, config.base.model, questions_kept=config.questions_kept)

    def _trainer(self) -> Any:
        config, seed = self.config, self.config.optimisation.seed
        chains = [*self.train.chains, *self.dev.chains]
        train = pairs(self.train.chains, config.pairs, seed)
        dev = pairs(self.dev.chains, config.pairs, seed, first=len(self.train.chains))
        labels = self.model.config.num_labels
        self.model.config.num_labels = 1  # what trl knows a reward model by
        trainer = RewardTrainer(
            model=self.model,
            args=RewardConfig(**self._settings(len(train)), metric_for_best_model="accuracy"),
            train_dataset=_rows(train, [*self.train.lengths, *self.dev.lengths]),
            eval_dataset=_rows(dev, [*self.train.lengths, *self.dev.lengths]),
            data_collator=PairCollator(chains, self.renderer),
            processing_class=self.chat.tokenizer,
            peft_config=self._adapter(),
            callbacks=self._callbacks(),
        )
        self.model.config.num_labels = labels
        return trainer


class PairCollator:
    """Pairs by the places of their chains -> one batch, all right replies before all wrong ones, as trl's loss wants it."""

    def __init__(self, chains: Sequence[LabelledChain], renderer: Renderer) -> None:
        self._chains, self._renderer = chains, renderer

    def __call__(self, rows: Sequence[dict[str, Any]]) -> dict[str, Tensor]:
        """The batch of these rows."""
        places = [*(row["chosen_ids"][0] for row in rows), *(row["rejected_ids"][0] for row in rows)]
        chains = [self._chains[place] for place in places]
        rendered = [self._renderer.render(chain.question, chain.steps) for chain in chains]
        return batch_of(rendered, torch.device("cpu"), torch.float32)


def wholes(chains: Sequence[LabelledChain]) -> list[LabelledChain]:
    """The chains with their whole reply as one labelled step, without those of which nothing is known."""
    return [
        replace(chain, steps=("".join(chain.steps),), labels=(right,), kinds=(None,))
        for chain in chains
        if (right := is_right(chain)) is not None
    ]


def pairs(chains: Sequence[LabelledChain], most: int, seed: int, *, first: int = 0) -> list[tuple[int, int]]:
    """Places of a right and a wrong reply to one question under the same images, at most `most`, in the order of the chains.

    Args:
        first: place of the first chain.

    Raises:
        UserError: there is no such pair.
    """
    by_question: dict[tuple[str, ...], tuple[list[int], list[int]]] = {}
    for place, chain in enumerate(chains, start=first):
        asked = chain.question
        shown = asked.benchmark, asked.id, *(media.sha256 for media in asked.media)
        right, wrong = by_question.setdefault(shown, ([], []))
        (right if chain.labels[0] else wrong).append(place)
    found: list[tuple[int, int]] = []
    for (_, question, *_), (right, wrong) in by_question.items():
        every = list(product(right, wrong))
        found += Random(f"{seed}/{question}").sample(every, k=min(most, len(every)))
    if not found:
        raise UserError(
            f"{len(chains)} replies to {len(by_question)} questions, and none with a right and a wrong one: no pair to learn "
            "from; add the other kind"
        )
    return found


def _rows(pairs: Sequence[tuple[int, int]], lengths: Sequence[int]) -> Dataset:
    """The columns that trl takes for tokens are places: the collator makes tokens of them, images and all."""
    return Dataset.from_dict(
        {
            "chosen_ids": [[right] for right, _ in pairs],
            "rejected_ids": [[wrong] for _, wrong in pairs],
            "length": [max(lengths[right], lengths[wrong]) for right, wrong in pairs],
        }
    )
