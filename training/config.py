"""What `ttc train` reads: one frozen config per kind of training, told apart by `kind`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field, model_validator

from training.order import Order
from ttc.backends.checkpoint import Checkpoint
from ttc.backends.transformers import Transformers
from ttc.benchmarks import AnyBenchmark
from ttc.records import Sampling
from ttc.settings import checked
from verifiers.aggregate import Aggregation
from verifiers.instructions import SHIPPED, Shown
from verifiers.render import Rendering

LANGUAGE_LAYERS = r"(?!.*(?:vision|visual|image|audio)).*\.(?:q|k|v|o|gate|up|down)_proj"
"""The matrices of attention and MLP in the language model, and none of the vision tower's, by their names."""


class Lora(BaseModel, frozen=True, extra="forbid"):
    """Low-rank adapters (Hu et al. 2021, arXiv:2106.09685); all else stays as it is."""

    rank: int = Field(default=16, gt=0)
    alpha: int = Field(default=32, gt=0)
    dropout: float = Field(default=0.05, ge=0, lt=1)
    targets: str = LANGUAGE_LAYERS
    """Regular expression for the whole name of a module."""


class Optimisation(BaseModel, frozen=True, extra="forbid"):
    """How weights are learned: AdamW, a warm-up, a cosine to zero."""

    epochs: float = Field(default=1.0, gt=0)
    learning_rate: float = Field(default=1e-4, gt=0)
    """1e-4 to 2e-4 for LoRA, 1e-5 for all weights of a large model."""
    warmup: float = Field(default=0.05, ge=0, lt=1)
    """Share of the steps over which the rate rises."""
    weight_decay: float = Field(default=0.0, ge=0)
    batch: int = Field(default=512, gt=0)
    """Chains of one step, over all devices."""
    micro_batch: int = Field(default=1, gt=0)
    """Chains of one forward pass on one device."""
    seed: int = 0
    order: Order = "random"
    """How the chains follow each other."""
    by_length: bool = False
    """With order `random`: chains of similar length share a batch, so that little is padding. Which ones depends on how many
    devices there are; all else is the same on any number."""
    precision: Literal["auto", "float32", "bfloat16"] = "auto"
    """Of the arithmetic; weights learn in float32. `auto`: bfloat16 on a GPU."""
    gradient_checkpointing: bool = False
    """Less memory, a third more time."""
    evaluations: int = Field(default=4, gt=0)
    """How often the dev chains are scored and a checkpoint is written, over the whole run."""
    patience: int | None = Field(default=None, gt=0)
    """Stop after so many evaluations without a better one; never where not given. The best checkpoint is what is kept."""

    @model_validator(mode="after")
    def _whole_batches(self) -> "Optimisation":
        if self.batch % self.micro_batch:
            raise ValueError(f"batch={self.batch} is no multiple of micro_batch={self.micro_batch}")
        return self


class Tracking(BaseModel, frozen=True, extra="forbid"):
    """Where the curves of training go besides the folder. W&B is offline where no key is set, unless WANDB_MODE is."""

    kind: Literal["none", "wandb"] = "none"
    project: str = "test-time-compute"


class Hub(BaseModel, frozen=True, extra="forbid"):
    """Where a finished verifier is pushed to."""

    name: str = Field(pattern=r"^[\w.-]+/[\w.-]+$")
    """`user/model`."""
    private: bool = True


class ChainFiles(BaseModel, frozen=True, extra="forbid"):
    """Chains that were written before (`training.chain_files`)."""

    kind: Literal["chains"] = "chains"
    benchmarks: tuple[AnyBenchmark, ...] = Field(min_length=1)
    """Whose questions the chains are about."""
    train: Path
    dev: Path


class PocketReplies(BaseModel, frozen=True, extra="forbid"):
    """A model's own replies to the pocket exam: drawn into a bank where it lacks them, and labelled by the exam's checker."""

    kind: Literal["pocket"] = "pocket"
    backend: Transformers = Transformers(model="pocket")
    sampling: Sampling = Sampling(max_tokens=96)
    bank: Path = Path("runs/bank")
    train_questions: int = Field(default=3000, gt=0)
    """Of the train split, the subjects in turn."""
    dev_questions: int = Field(default=300, gt=0)
    """Of the train split as well, behind those: the validation split chooses prompts and budgets, and is left alone."""
    samples: int = Field(default=8, gt=0)
    """Of each question."""
    planted: int = Field(default=0, ge=0)
    """Chains with an error put in by program besides, over the same questions (`training.pocket_planted`)."""
    seed: int = 0
    """Of what is planted."""
    leave_out: tuple[str, ...] = ()
    """Subjects that are not trained on, so that transfer to them can be measured."""
    blind: float = Field(default=0.0, ge=0, le=1)
    """Chains with blank images and films, as a share of the others: steps that read them are not labelled there, so that sums
    and rules are judged without leaning on what is shown."""


AnyChains = Annotated[ChainFiles | PocketReplies, Field(discriminator="kind")]


class Training(BaseModel, frozen=True, extra="forbid"):
    """What every training run says."""

    base: Checkpoint
    """The model to start from."""
    data: AnyChains
    lora: Lora | None = Lora()
    """All weights learn where null."""
    train_vision: bool = False
    """Let the vision tower learn too, where all weights do."""
    optimisation: Optimisation = Optimisation()
    max_tokens: int = Field(default=8192, gt=0)
    """Longest chain, images included. A longer one is an error: nothing is ever cut off."""
    deeper: int = Field(default=0, ge=0)
    """Decoder layers put on top of the base, the identity until they learn, where all weights learn."""
    threads: int | None = Field(default=None, gt=0)
    """CPU threads; one is fastest for tiny models."""
    tracking: Tracking = Tracking()
    hub: Hub | None = None

    @model_validator(mode="after")
    def _deepens_all(self) -> "Training":
        if self.deeper and self.lora is not None:
            raise ValueError("deeper=... adds layers that an adapter would not hold; set lora: null, or leave deeper out")
        return self

    @property
    def has_head(self) -> bool:
        """Whether a new output layer learns in the place of the vocabulary."""
        return False

    @model_validator(mode="after")
    def _whole_base(self) -> "Training":
        if self.base.adapter is not None:
            raise ValueError("base.adapter: training starts from whole weights; merge the adapter into them first")
        return self


class StepVerifierTraining(Training, frozen=True, extra="forbid"):
    """A step verifier (`verifiers.prm`) from labelled chains."""

    kind: Literal["step_verifier"] = "step_verifier"
    rendering: Rendering = Rendering()
    class_weights: Literal["balanced", "none"] = "balanced"
    """`balanced`: right and wrong steps weigh the same in all."""
    questions_kept: int = Field(default=8, gt=0)
    """Questions whose encoded images stay in memory."""
    aggregation: Aggregation = "mean"
    """For the card's numbers; every use of the verifier names its own."""

    @property
    def has_head(self) -> bool:
        """See `Training`."""
        return self.rendering.form == "marker"


class OutcomeVerifierTraining(StepVerifierTraining, frozen=True, extra="forbid"):
    """An outcome verifier (`verifiers.orm`) from pairs of a right and a wrong reply to one question."""

    kind: Literal["outcome_verifier"] = "outcome_verifier"
    rendering: Rendering = Rendering(form="marker", heading="", at_most=1)
    """Always the whole reply; an empty marker is the end of the assistant's turn."""
    pairs: int = Field(default=4, gt=0)
    """Most pairs of one question."""
    class_weights: Literal["none"] = "none"
    """Both sides of a pair weigh the same."""
    aggregation: Literal["last"] = "last"
    """There is one score and nothing to choose."""


class GenerativeVerifierTraining(Training, frozen=True, extra="forbid"):
    """A generative verifier (`verifiers.generative`): it learns to go through the steps and then to rule."""

    kind: Literal["generative_verifier"] = "generative_verifier"
    instructions: Path = SHIPPED / "generative.yaml"
    """What it is told, here and in use."""
    shown: Shown = Shown()
    """What it sees of the question's media, here and in use."""


AnyTraining = Annotated[
    StepVerifierTraining | OutcomeVerifierTraining | GenerativeVerifierTraining, Field(discriminator="kind")
]
"""A training run's config, told apart by `kind`; a step verifier's where it names none."""


def validate(content: Mapping[str, Any], where: str) -> AnyTraining:
    """A checked config. Raises UserError with the first thing that is wrong."""
    return checked(AnyTraining, {"kind": "step_verifier", **content}, f"config {where}")
