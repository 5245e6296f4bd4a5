"""An outcome verifier: one number for a whole reply, from a head that reads its last token.

Those that `ttc train` makes, text or images, and public reward models in the form of sequence classification with one label.

Source: Cobbe et al. 2021, arXiv:2110.14168; the loss on pairs is Bradley and Terry's.
"""

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Literal

from ttc.backends.checkpoint import Checkpoint
from ttc.prompts import PromptConfig
from ttc.records import StepScores
from verifiers.instructions import SHIPPED
from verifiers.prm import StepVerifier
from verifiers.render import Rendering, described

if TYPE_CHECKING:
    from verifiers.orm_scorer import OutcomeScorer


class OutcomeVerifier(StepVerifier, frozen=True, extra="forbid"):
    """Sigmoid of the head's output: only its order within a question was trained, so calibrate it before it is a probability.

    A folder that says nothing of its rendering is a public one: the question as bare text, the reply as the assistant's turn.
    """

    kind: Literal["outcome_verifier"] = "outcome_verifier"
    aggregation: Literal["last"] = "last"
    """There is one score and nothing to choose."""

    @cached_property
    def shown(self) -> Rendering:
        """How it is shown replies: whole, up to the end of the assistant's turn, which the head reads."""
        if self._is_public:
            bare = PromptConfig(templates=SHIPPED / "bare.yaml")
            return whole_reply(Rendering(heading="", style="bare", prompt=bare))
        return whole_reply(super().shown)

    @property
    def _is_public(self) -> bool:
        return self.rendering is None and described(self.adapter or self.location().folder) is None

    def identity(self) -> Mapping[str, object]:
        """Content of the model and how replies are shown to it."""
        # the files of this package lie elsewhere on another machine
        return {**Checkpoint.identity(self), "rendering": "bare"} if self._is_public else super().identity()

    def response_score(self, scores: StepScores) -> float | None:
        """As stored."""
        return scores.score

    def open(self) -> "OutcomeScorer":
        """Load the model. Raises UserError with the way out where it cannot, or where it has no head."""
        from verifiers.orm_scorer import OutcomeScorer

        return OutcomeScorer(self)


def whole_reply(rendering: Rendering) -> Rendering:
    """The same, with the reply as one step; an empty marker stands for the end of the assistant's turn."""
    return rendering.model_copy(update={"form": "marker", "at_most": 1})
