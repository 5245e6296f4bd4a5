"""What scores a sample without seeing the gold answer. A strategy names a verifier; the run's config binds the name.

    scripted    told or hashed scores, without a model
    confidence  the model's own log-probabilities
    truth       the pocket exam's true steps: marked as using gold, and kept out of tables of methods
    language_model, generative   a model of any backend says, step by step or after a rationale, what it thinks of the reply
    step_verifier   a model trained by `ttc train`: all steps of a reply in one forward pass
    outcome_verifier   a model trained by `ttc train`, or a public reward model: one score of the whole reply
    public_verifier   process reward models that others published, each shown replies as in its own training
    step_verifier_vllm   the same through vLLM, by the log-probabilities of the prompt
    ensemble   several of these as one, with weights learned from labels or without any
    aggregate   step scores to one score

A verifier is its frozen config with `open` (see `ttc.protocols.Verifier`); scores are kept in the bank by its content.
"""

from typing import Annotated

from pydantic import Field

from ttc.plugins import Joined
from verifiers.confidence import Confidence
from verifiers.ensemble import Ensemble
from verifiers.families import PublicVerifier
from verifiers.generative import Generative
from verifiers.llm import LanguageModel
from verifiers.orm import OutcomeVerifier
from verifiers.prm import StepVerifier
from verifiers.prm_vllm import VLLMStepVerifier
from verifiers.scripted import Scripted
from verifiers.truth import Truth

AnyVerifier = Annotated[
    Scripted
    | Confidence
    | Truth
    | LanguageModel
    | Generative
    | StepVerifier
    | OutcomeVerifier
    | PublicVerifier
    | VLLMStepVerifier
    | Ensemble,
    Field(discriminator="kind"),
    Joined("ttc.verifiers"),
]
"""A verifier's config, told apart by `kind`."""

Ensemble.model_rebuild(_types_namespace={"AnyVerifier": AnyVerifier})

__all__ = [
    "AnyVerifier",
    "Confidence",
    "Ensemble",
    "Generative",
    "LanguageModel",
    "OutcomeVerifier",
    "PublicVerifier",
    "Scripted",
    "StepVerifier",
    "Truth",
    "VLLMStepVerifier",
]
