# pyright: reportMissingImports=false
"""A step verifier scored by vLLM: verdicts are read off the log-probabilities of the prompt's own tokens.

vLLM tells, at each place, the log-probability of the token that stands there and of the few likeliest ones. "+" stands in every
slot; where "-" is not among the likeliest, it is at most as likely as the last of these, and the score is a lower bound.
"""

import gc
import os
from collections.abc import Iterator, Mapping, Sequence
from math import exp
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field

from ttc.backends.vllm import VLLM
from ttc.errors import UserError
from ttc.records import Reply, StepScores
from verifiers.aggregate import aggregate
from verifiers.prm import StepScorer, StepVerifier
from verifiers.render import Rendered, Renderer

if TYPE_CHECKING:
    from vllm.logprobs import Logprob


class VLLMStepVerifier(StepVerifier, frozen=True, extra="forbid"):
    """As `step_verifier`, in vLLM: for large verifiers and many replies. Its scores are kept apart from those of transformers.

    Of the settings of speed and memory, those below count; `device`, `attention`, `threads` are of transformers.
    """

    kind: Literal["step_verifier_vllm"] = "step_verifier_vllm"
    alternatives: int = Field(default=20, gt=0)
    """Likeliest tokens that vLLM tells at each place; more make bounds rarer and scoring slower."""
    tensor_parallel: int = Field(default=1, gt=0)
    """Devices that share one copy of the model."""
    memory: float = Field(default=0.9, gt=0, le=1)
    """Share of each device's memory that the engine takes."""
    max_images: int | None = Field(default=None, ge=0)
    """Most images, or frames of a video, in one prompt; vLLM's own limit where not given."""
    max_sequences: int = Field(default=256, gt=0)
    """Replies scored at once."""
    eager: bool = False
    """Do not compile or capture graphs: starts faster, runs slower."""

    def identity(self) -> Mapping[str, object]:
        """As of `step_verifier`, and what decides where scores are bounds."""
        return {**super().identity(), "alternatives": self.alternatives}

    def engine_arguments(self) -> dict[str, Any]:
        """What vLLM calls these settings."""
        shared = self.model_dump(include=set(VLLM.model_fields) - {"kind", "model"})
        arguments = VLLM(model=self.location().name, **shared).engine_arguments()
        return {**arguments, "max_logprobs": self.alternatives, "disable_log_stats": True, "use_tqdm_on_load": False}

    def open(self) -> "VLLMStepScorer":
        """Start the engine. Raises UserError where vLLM is missing or refuses the model, or the verifier has a head."""
        return VLLMStepScorer(self)


class VLLMStepScorer(StepScorer):
    """See `ttc.protocols.Scorer`."""

    def __init__(self, config: VLLMStepVerifier) -> None:
        from ttc.backends.chat import Chat
        from ttc.backends.vllm_engine import _ENVIRONMENT, _lora, _reason

        if config.shown.form != "verdicts":
            raise UserError(f"verifier {config.model}: its head is not in what vLLM runs; use kind: step_verifier")
        for variable, value in {**_ENVIRONMENT, "VLLM_CPU_KVCACHE_SPACE": "1"}.items():
            os.environ.setdefault(variable, value)
        try:
            from vllm import LLM, SamplingParams
        except ImportError as error:
            raise UserError(f"verifier {config.kind}: {error}; install vLLM, best in an environment of its own") from error
        try:
            self._llm = LLM(**config.engine_arguments())
        except (ValueError, RuntimeError, OSError) as error:
            raise UserError(f"verifier {config.kind}: model {config.model} does not start: {_reason(error)}") from error
        settings = self._llm.llm_engine.vllm_config.model_config
        self._config, self._settings = config, config
        self._renderer = Renderer(Chat.load(config, takes_images=settings.is_multimodal_model), config.shown, config.model)
        self._longest = settings.max_model_len - 2  # the last slot's word, and a token that vLLM must draw
        self._lora = _lora(VLLM(model=config.model, adapter=config.adapter))
        self._sampling = SamplingParams(
            max_tokens=1, temperature=0, prompt_logprobs=config.alternatives, detokenize=False, skip_reading_prefix_cache=True
        )

    def close(self) -> None:
        """End the engine's processes and free the devices."""
        self._llm.llm_engine.engine_core.shutdown()
        del self._llm
        gc.collect()

    def _score(self, window: Sequence[tuple[Reply, Rendered]]) -> Iterator[StepScores]:
        prompts = [self._prompt(reply, shown) for reply, shown in window]
        outputs = self._llm.generate(prompts, self._sampling, use_tqdm=False, lora_request=self._lora) if prompts else []
        for (reply, shown), output in zip(window, outputs, strict=True):
            if len(output.prompt_token_ids) != shown.length + 1:
                raise UserError(
                    f"verifier {self._config.model}: vLLM makes {len(output.prompt_token_ids) - 1} tokens of a reply to "
                    f"question {reply.question.id}, its processor {shown.length}; use kind: step_verifier"
                )
            good, bad = self._renderer.word_id, self._renderer.bad_id
            read = [
                probability(output.prompt_logprobs[slot + 1], good, bad, self._settings.alternatives) for slot in shown.slots
            ]
            bounds = [str(place) for place, (_, is_bound) in enumerate(read, 1) if is_bound]
            steps = [value for value, _ in read]
            yield reply.scored(
                aggregate(steps, self._config.aggregation),
                steps,
                tokens=shown.length,
                image_tokens=shown.encoded.image_tokens,
                image_spans=shown.encoded.image_spans,
                status=f"lower bound at steps {', '.join(bounds)}" if bounds else "ok",
            )

    def _prompt(self, reply: Reply, shown: Rendered) -> dict[str, Any]:
        """Our ids, in which vLLM expands one placeholder per image, and the word whose probability is read in the last slot."""
        prompt: dict[str, Any] = {"prompt_token_ids": [*shown.plain_ids, self._renderer.word_id]}
        if images := [image for group in self._renderer.images(reply.question) for image in group]:
            prompt["multi_modal_data"] = {"image": images}
        return prompt


def probability(told: "Mapping[int, Logprob]", good: int, bad: int, alternatives: int) -> tuple[float, bool]:
    """The two-way probability of `good`, and whether it is a lower bound, since `bad` was not told.

    Args:
        told: by token id, of the token in the slot, which is `good`, and of the `alternatives` likeliest.
    """
    if bad in told:
        return _sigmoid(told[good].logprob - told[bad].logprob), False
    likeliest = [one.logprob for one in told.values() if one.rank is None or one.rank <= alternatives]
    return _sigmoid(told[good].logprob - min(likeliest)), True


def _sigmoid(z: float) -> float:
    return 1 / (1 + exp(-z)) if z >= 0 else exp(z) / (1 + exp(z))
