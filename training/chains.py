"""The record of training: one chain of reasoning steps about a question, and what is known about each step."""

from dataclasses import dataclass
from typing import Literal

from ttc.records import Question

Origin = Literal["gold", "perturbed", "natural"]
"""An explanation that ships with the question, one with a known error put in, or a model's own reply."""


@dataclass(frozen=True, slots=True)
class LabelledChain:
    """S steps and their labels. Joined, the steps are the reply to the letter."""

    question: Question
    steps: tuple[str, ...]
    labels: tuple[bool | None, ...]
    """S entries: right, wrong, or unlabelled (kept out of the loss)."""
    kinds: tuple[str | None, ...]
    """S entries: kind of error of a wrong step where it is known, as `ttc.records` or the source names it."""
    origin: Origin
    source: str
    """Data set and, for a natural chain, model: `mmvu`, `pocket/pocket`."""
    group: str
    """Chains of one group never stand on two sides of a split: the question's id, until the splitter joins groups."""
    is_right: bool | None = None
    """The chain's final answer against the gold; None where it was not judged."""
    sample_id: str | None = None
    """The bank's sample, for a natural chain."""

    def __post_init__(self) -> None:
        assert len(self.steps) == len(self.labels) == len(self.kinds)

    @property
    def first_error(self) -> int | None:
        """Index of the first wrong step."""
        return next((place for place, label in enumerate(self.labels) if label is False), None)
