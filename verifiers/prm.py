"""A trained step verifier: how likely each step of a reply is right, all steps in one forward pass.

Source: the multi-turn form of VisualPRM, Wang et al. 2025, arXiv:2503.10291, with a neutral token in every earlier slot.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import resources
from math import isnan
from typing import TYPE_CHECKING, ClassVar, Literal

from pydantic import Field

from ttc.backends import folder
from ttc.backends.checkpoint import Checkpoint
from ttc.errors import BackendUnavailable, MediaError, UserError
from ttc.records import Reply, StepScores
from verifiers.aggregate import Aggregation, aggregate
from verifiers.render import Rendered, Renderer, Rendering, described
from verifiers.steps import steps_of

if TYPE_CHECKING:
    from ttc.compute import ModelShape

_WINDOW = 4
"""Batches rendered at a time: enough to sort by length, little enough to keep few images in memory."""


class StepVerifier(Checkpoint, frozen=True, extra="forbid"):
    """A model that was trained to say "+" or "-" after each step (`ttc train`), or a head that reads a marker there.

    `model` may be `pocket`: the verifier that is shipped with the package.
    """

    kind: Literal["step_verifier"] = "step_verifier"
    rendering: Rendering | None = None
    """How it was shown replies in training; what its folder says where not given."""
    aggregation: Aggregation = "mean"
    """How the steps make up the reply's score."""
    device: str = Field(default="auto", pattern=r"^(auto|cpu|mps|cuda(:\d+)?)$")
    """`auto`: the first GPU where there is one."""
    attention: Literal["eager", "sdpa", "flash_attention_2"] | None = None
    """As of the `transformers` backend."""
    batch_tokens: int = Field(default=16_384, gt=0)
    """Tokens of a batch, padding included."""
    max_context: int | None = Field(default=None, gt=0)
    """Longest reply in tokens, question and images included; none: what the model's config says. A longer one has no score."""
    threads: int | None = Field(default=None, gt=0)
    """As of the `transformers` backend."""
    uses_gold: ClassVar[bool] = False

    def location(self) -> folder.Location:
        """Where the model is; see `Checkpoint.location`."""
        if self.model != folder.POCKET:
            return super().location()
        return folder.locate(str(resources.files("ttc.pocket") / "verifier"), self.revision)

    @cached_property
    def shown(self) -> Rendering:
        """How it is shown replies.

        Raises:
            UserError: neither the config nor the folder says, or an adapter was trained on another model.
        """
        place = self.adapter or self.location().folder
        about = described(place)
        if self.adapter and about and about[1].get("base") not in (None, self._model_identity()):
            raise UserError(f"adapter {self.adapter} was trained on {about[1]['base']}, not on {self.model}; give its own base")
        if self.rendering is None and about is None:
            raise UserError(f"verifier {place}: it does not say how it is shown replies; set `rendering` as in its training")
        return self.rendering or about[0]  # pyright: ignore[reportOptionalSubscript]

    def identity(self) -> Mapping[str, object]:
        """Content of the model and how replies are shown to it; not how steps are aggregated."""
        return {**super().identity(), "rendering": self.shown.model_dump(mode="json")}

    def response_score(self, scores: StepScores) -> float | None:
        """The aggregate of its steps."""
        return aggregate(scores.steps, self.aggregation)

    def flops(self, scores: StepScores) -> float | None:
        """Of one pass over question and reply, with outputs at the steps' slots; under `likelihood`, at most at every token."""
        if self._shape is None:
            return None
        outputs = {"verdicts": len(scores.steps), "marker": 0, "likelihood": scores.tokens - scores.image_tokens}
        read = outputs[self.shown.form]
        return float(self._shape.scorer_flops(scores.tokens, read, scores.image_tokens, scores.image_spans))

    @cached_property
    def _shape(self) -> "ModelShape | None":
        return self.shape()

    def open(self) -> "StepScorer":
        """Load the model. Raises UserError with the way out where it cannot."""
        return StepScorer(self)


class StepScorer:
    """See `ttc.protocols.Scorer`."""

    def __init__(self, config: StepVerifier) -> None:
        from ttc.backends.chat import Chat
        from ttc.backends.engine import load_model
        from ttc.backends.transformers import Transformers
        from verifiers import step_model

        self._config, rendering = config, config.shown
        location = config.location()
        settings = config.model_dump(include=set(Transformers.model_fields) - {"kind", "adapter"})
        name = location.name if config.model == folder.POCKET else config.model
        # peft finds the places of an adapter by the names of modules, so the head is put on first
        self._model, takes_images = load_model(Transformers(**{**settings, "model": name}))
        if rendering.form == "marker":
            step_model.load_head(self._model, config.adapter or location.folder)
        if config.adapter:
            self._model.load_adapter(str(config.adapter))
        self._renderer = Renderer(Chat.load(config, takes_images=takes_images), rendering, config.model)
        own = getattr(self._model.config.get_text_config(), "max_position_embeddings", None)
        self._longest: int | None = config.max_context or own

    def score(self, replies: Sequence[Reply]) -> Iterator[StepScores]:
        """See `ttc.protocols.Scorer`. A reply that is too long, or that cannot be shown to this model, has a status."""
        window: list[tuple[Reply, Rendered]] = []
        for reply in replies:
            shown = self._render(reply)
            if isinstance(shown, str):
                yield reply.scored(None, status=shown)
                continue
            window.append((reply, shown))
            if sum(one.length for _, one in window) >= _WINDOW * self._config.batch_tokens:
                yield from self._score(window)
                window = []
        yield from self._score(window)

    def close(self) -> None:
        """Free the device."""
        import torch

        del self._model
        if torch.cuda.is_available():
            torch.cuda.empty_cache()

    def _render(self, reply: Reply) -> Rendered | str:
        """The reply as the model takes it, or why it cannot."""
        from ttc.backends.chat import Rejected

        steps = steps_of(reply, at_most=self._config.shown.at_most)
        if not steps:
            return "empty"
        try:
            shown = self._renderer.render(reply.question, steps)
        except Rejected as error:
            return f"rejected: {error}"
        except MediaError as error:
            return f"media: {error}"
        if self._longest is not None and shown.length > self._longest:
            return f"too long: {shown.length} tokens of at most {self._longest}"
        return shown

    def _score(self, window: Sequence[tuple[Reply, Rendered]]) -> Iterator[StepScores]:
        for batch in packed(window, self._config.batch_tokens):
            scored = self._probabilities([shown for _, shown in batch])
            for (reply, shown), steps in zip(batch, scored, strict=True):
                failed = any(map(isnan, steps))
                yield reply.scored(
                    None if failed else aggregate(steps, self._config.aggregation),
                    () if failed else steps,
                    tokens=shown.length,
                    image_tokens=shown.encoded.image_tokens,
                    image_spans=shown.encoded.image_spans,
                    status="failed: the model's outputs are no numbers" if failed else "ok",
                )

    def _probabilities(self, rendered: Sequence[Rendered]) -> list[list[float]]:
        import torch

        from verifiers.step_model import batch_of, step_logits

        try:
            with torch.inference_mode():
                inputs = batch_of(rendered, self._model.device, self._model.dtype)
                z_BS = step_logits(self._model, inputs, self._renderer.word_id, self._renderer.bad_id)
        except torch.OutOfMemoryError as error:
            raise BackendUnavailable(
                f"out of memory with {len(rendered)} replies of up to {max(one.length for one in rendered)} tokens; lower the "
                f"verifier's batch_tokens from {self._config.batch_tokens}, and run the same command again"
            ) from error
        return [row[: len(one.slots)] for row, one in zip(z_BS.double().sigmoid().tolist(), rendered, strict=True)]


def packed(window: Iterable[tuple[Reply, Rendered]], budget_tokens: int) -> Iterator[list[tuple[Reply, Rendered]]]:
    """Batches of similar lengths, each within the budget where a single reply is."""
    batch: list[tuple[Reply, Rendered]] = []
    for one in sorted(window, key=lambda pair: pair[1].length):
        if batch and (len(batch) + 1) * one[1].length > budget_tokens:
            yield batch
            batch = []
        batch.append(one)
    if batch:
        yield batch
