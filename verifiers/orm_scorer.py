"""An outcome verifier at work."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

from ttc.backends.chat import Chat
from ttc.errors import UserError
from ttc.records import Reply, StepScores
from verifiers.heads import HeadedScorer
from verifiers.orm import OutcomeVerifier
from verifiers.render import Rendered, Renderer, Rendering


class OutcomeScorer(HeadedScorer):
    """See `ttc.protocols.Scorer`."""

    def __init__(self, config: OutcomeVerifier) -> None:
        super().__init__(config, WholeReply, "score.")
        outputs = next(weight.shape[0] for weight in reversed(list(self._model.get_output_embeddings().parameters())))
        if outputs != 1:
            raise UserError(
                f"verifier {config.model}: its head has {outputs} outputs, and an outcome verifier has one; it was trained for "
                "something else"
            )

    def _score(self, window: Sequence[tuple[Reply, Rendered]]) -> Iterator[StepScores]:
        for scores in super()._score(window):
            yield replace(scores, steps=())


class WholeReply(Renderer):
    """The reply as the assistant's turn, read at the token that ends it."""

    def __init__(self, chat: Chat, rendering: Rendering, name: str, **more: Any) -> None:
        super().__init__(chat, ended(rendering, chat), name, **more)


def ended(rendering: Rendering, chat: Chat) -> Rendering:
    """The rendering with the end of the assistant's turn as its marker, where it has none."""
    ends = chat.end_ids(None)
    end = min(ends - {chat.tokenizer.eos_token_id} or ends)
    return rendering if rendering.marker else rendering.model_copy(update={"marker": chat.tokenizer.decode([end])})
