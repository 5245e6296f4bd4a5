"""Public process reward models under one roof: each is shown replies as in its own training, and read where it was taught.

Their forms are data: `families.yaml`.
"""

from collections.abc import Mapping
from functools import cache, cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml
from pydantic import BaseModel, Field, model_validator

from ttc.backends.checkpoint import Checkpoint
from ttc.prompts import PromptConfig
from verifiers.aggregate import Aggregation
from verifiers.instructions import SHIPPED
from verifiers.prm import StepVerifier
from verifiers.render import Rendering

if TYPE_CHECKING:
    from verifiers.families_scorer import PublicScorer

_UNWRITTEN = "\ue0b6"
"""A character for private use."""

FamilyName = Literal["math_shepherd", "rlhflow", "skywork", "qwen_math", "visual_prm"]


class Family(BaseModel, frozen=True, extra="forbid"):
    """The form that a family of verifiers was trained in; `families.yaml` says what each field means."""

    source: str
    layout: Literal["turns", "chat", "numbered", "lines"]
    tag: str = ""
    head: str = ""
    good: str | int | None = None
    bad: str | int | None = None
    heading: str = ""
    between: str = ""
    system: str | None = None
    """None: what the chat template in the model's folder says, if anything."""
    sees: bool = False
    """False for a text model, which is told the numbers of the images."""
    aggregation: Aggregation

    @property
    def template(self) -> str | None:
        """The chat template of a model that was not trained on chats."""
        content = "{% for message in messages %}{{ message.content }}{% endfor %}"
        return {"numbered": f"{content} ", "lines": "{{ bos_token or '' }}" + content + "{{ '\\n' }}"}.get(self.layout)

    def rendering(self, at_most: int) -> Rendering:
        """How such a verifier is shown replies."""
        prompt = PromptConfig(templates=SHIPPED / "bare.yaml", system=self.system, vision="images" if self.sees else "none")
        common: dict[str, Any] = {"style": "bare", "prompt": prompt, "heading": self.heading, "at_most": at_most}
        if self.layout == "turns":
            return Rendering(form="verdicts", between=self.between, good=str(self.good), bad=str(self.bad), **common)
        # what is put in by its id needs no text that no reply may hold
        return Rendering(form="marker", marker=_UNWRITTEN if self.layout == "lines" else self.tag, **common)


@cache
def families() -> Mapping[str, Family]:
    """All families by name."""
    content = yaml.safe_load(Path(__file__).with_name("families.yaml").read_text(encoding="utf-8"))
    return {name: Family.model_validate(entry) for name, entry in content.items()}


class PublicVerifier(StepVerifier, frozen=True, extra="forbid"):
    """A process reward model that others trained and published. Needs none of the code that comes with some of them."""

    kind: Literal["public_verifier"] = "public_verifier"
    family: FamilyName
    at_most: int = Field(default=12, gt=0)
    """Steps of a reply; more are merged."""

    @model_validator(mode="before")
    @classmethod
    def _aggregated_as_published(cls, data: Any) -> Any:
        known = isinstance(data, Mapping) and families().get(str(data.get("family")))
        return {"aggregation": known.aggregation, **data} if known else data

    @property
    def form(self) -> Family:
        """The family's form."""
        return families()[self.family]

    @cached_property
    def shown(self) -> Rendering:
        """How it is shown replies: as its family was, unless told otherwise."""
        return self.rendering or self.form.rendering(self.at_most)

    def template(self) -> str | None:
        """See `Checkpoint.template`."""
        return super().template() or self.form.template

    def identity(self) -> Mapping[str, object]:
        """Content of the model and the form; not how steps are aggregated."""
        form = self.form.model_dump(mode="json", exclude={"source", "aggregation"})
        rendering = self.rendering and self.rendering.model_dump(mode="json")
        return {**Checkpoint.identity(self), "family": form, "at_most": self.at_most, "rendering": rendering}

    def open(self) -> "PublicScorer":
        """Load the model. Raises UserError with the way out where it cannot, or where it has no head."""
        from verifiers.families_scorer import PublicScorer

        return PublicScorer(self)
