"""Several verifiers as one: the mean of their scores, or a weighted sum of their log-odds (`verifiers.ensemble_fit`).

A reply that fools one of them need not win: members that disagree can cost a reply some of its mean (`pessimism`).
"""

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from functools import cached_property
from math import exp
from pathlib import Path
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from pydantic import BaseModel, Field, model_validator

from ttc.bank import Bank, Writer
from ttc.errors import UserError
from ttc.records import Question, Reply, StepScores, Usage
from ttc.scoring import Scoring, verifier_id
from ttc.sealed import Sealed, read_sealed
from ttc.select import clipped_logit
from verifiers.frozen import Dev

if TYPE_CHECKING:
    from verifiers import AnyVerifier

VOTE = "vote"
"""Name of the samples' own vote among the members of a label-free fit."""


class Member(BaseModel, frozen=True, extra="forbid"):
    """What an ensemble knows of one member."""

    weight: float
    """Of its log-odds, in units of their spread; 0 where it was left out."""
    mean: float = 0.0
    """Of its log-odds where it was fitted: what stands in for a score that is missing."""
    spread: float = Field(default=1.0, gt=0)
    accuracy: float | None = None
    """As the label-free model estimates it."""
    left_out: str = ""
    """Why it has no weight."""
    verifier: str = ""
    """What scored, as `scored_by` has it: weights of another verifier by that name are none."""


class Weights(Sealed, frozen=True, extra="forbid"):
    """A fitted ensemble, as it is stored."""

    fitted: Literal["labels", "label_free"]
    data: str
    """Hash of what it was fitted on, or whatever tells it from others."""
    dev: Dev | None = None
    """The dev split it was fitted on; None where it was no run's."""
    replies: int
    prevalence: float
    """Share of right replies there, counted or estimated."""
    intercept: float
    members: Mapping[str, Member]

    def score(self, scores: Mapping[str, float | None]) -> float | None:
        """Probability that a reply is right; None where no member that counts has a score."""
        known = {name: score for name, score in scores.items() if score is not None and self.members[name].weight}
        if not known:
            return None
        z = self.intercept
        for name, score in known.items():
            member = self.members[name]
            z += member.weight * (clipped_logit(score) - member.mean) / member.spread
        return 1 / (1 + exp(-z)) if z >= 0 else exp(z) / (1 + exp(z))

    def bound(self, verifiers: Mapping[str, str], dev: Dev) -> "Weights":
        """With what scored, by member, and the dev split it was fitted on."""
        members = {
            name: member.model_copy(update={"verifier": verifiers.get(name, "")}) for name, member in self.members.items()
        }
        return self.model_copy(update={"members": members, "dev": dev})

    def save(self, path: Path) -> None:
        """Write the file that `Ensemble.weights` names, sealed."""
        self.sealed().write(path)


def load_weights(path: Path) -> Weights:
    """Raises UserError where the file is missing, is none of ours, or was changed since."""
    return read_sealed(path, Weights, what="weights", writer="ttc ensemble", made="they were fitted")


def scored_by(verifier: "AnyVerifier") -> str:
    """What determines a member's score: the verifier by its content, and how it sums up its steps."""
    aggregation = getattr(verifier, "aggregation", None)
    return verifier_id(verifier) + (f" by {aggregation}" if aggregation else "")


class Ensemble(BaseModel, frozen=True, extra="forbid"):
    """One score from those of its members, which stay in the bank beside it. Its tokens are theirs together."""

    kind: Literal["ensemble"] = "ensemble"
    members: Mapping[str, "AnyVerifier"] = Field(min_length=1)
    weights: Path | None = None
    """File of a fit; the mean of the members' scores where not given."""
    pessimism: float = Field(default=0.0, ge=0, allow_inf_nan=False)
    """Standard deviations between the members that are taken off their mean, down to 0. For two or three seeds of one verifier:
    with many samples the best score is often the mistake of one of them (arXiv:2506.19248)."""
    uses_gold: ClassVar[bool] = False

    @model_validator(mode="after")
    def _no_member_knows_the_gold(self) -> Self:
        if known := [name for name, member in self.members.items() if member.uses_gold]:
            raise ValueError(f"member {known[0]} knows the gold answers, and the ensemble would; leave it out")
        return self

    @model_validator(mode="after")
    def _pessimism_is_about_a_mean(self) -> Self:
        if self.pessimism and (self.weights is not None or len(self.members) < 2):
            raise ValueError("pessimism is taken off the mean of several members; leave it out with weights, or add members")
        return self

    @cached_property
    def fit(self) -> Weights | None:
        """The weights. Raises UserError where they are of other members, or of other verifiers by the same names."""
        if self.weights is None:
            return None
        found = load_weights(self.weights)
        if missing := sorted(set(self.members) ^ (set(found.members) - {VOTE})):
            raise UserError(
                f"weights {self.weights}: fitted on other members than these ({missing[0]}); fit the ensemble again"
            )
        for name, member in self.members.items():
            if found.members[name].verifier not in ("", scored_by(member)):
                raise UserError(
                    f"weights {self.weights}: fitted on {found.members[name].verifier} as {name}, which is {scored_by(member)} "
                    "here; fit the ensemble again"
                )
        return found

    def refuse_dev(self, questions: Sequence[Question]) -> None:
        """Raise UserError where its weights, or those of an ensemble in it, were fitted on any of these questions."""
        if self.fit is not None and self.fit.dev is not None:
            self.fit.dev.refuse(questions, f"weights {self.weights}")
        for member in self.members.values():
            if isinstance(member, Ensemble):
                member.refuse_dev(questions)

    def identity(self) -> Mapping[str, object]:
        """Members, how each sums up its steps, the weights, and pessimism where there is some."""
        members = {name: [verifier_id(one), getattr(one, "aggregation", None)] for name, one in self.members.items()}
        weights = None if self.fit is None else json.loads(self.fit.model_dump_json(exclude={"dev", "seal"}))
        return {"members": members, "weights": weights} | ({"pessimism": self.pessimism} if self.pessimism else {})

    def response_score(self, scores: StepScores) -> float | None:
        """As stored."""
        return scores.score

    def flops(self, scores: StepScores) -> float | None:
        """Those of its members together, known when it scored; None where one of them is unknown."""
        return scores.flops

    def open(self) -> "EnsembleScorer":
        """Keeps no member's scores. Raises UserError as the members' `open`, when first asked."""
        closing = ExitStack()
        bank = Bank(closing.enter_context(tempfile.TemporaryDirectory()))
        return EnsembleScorer(self, bank, closing.enter_context(bank.writer()), closing)

    def open_in(self, bank: Bank, writer: Writer) -> "EnsembleScorer":
        """Takes the members' scores from the bank where it has them, and keeps there what is new."""
        return EnsembleScorer(self, bank, writer, ExitStack())


class EnsembleScorer:
    """See `ttc.protocols.Scorer`."""

    def __init__(self, config: Ensemble, bank: Bank, writer: Writer, closing: ExitStack) -> None:
        self._config, self._closing = config, closing
        self._scoring = closing.enter_context(Scoring(config.members, bank, writer))

    def score(self, replies: Sequence[Reply]) -> Iterator[StepScores]:
        """See `ttc.protocols.Scorer`. Members score one after the other, so that one model at a time fills the device."""
        found = {name: self._scoring.score_all(name, replies) for name in self._config.members}
        for place, reply in enumerate(replies):
            of_members = {name: scores[place] for name, scores in found.items()}
            score = self._combined({name: one.score for name, one in of_members.items()})
            spent = (Usage(flops=self._config.members[name].flops(one)) for name, one in of_members.items())
            failed = next((f"{name}: {one.status}" for name, one in of_members.items() if one.score is None), "")
            yield reply.scored(
                score,
                tokens=sum(one.tokens for one in of_members.values()),
                image_tokens=sum(one.image_tokens for one in of_members.values()),
                flops=sum(spent, Usage()).flops,
                status="ok" if not failed else f"failed: {failed}" if score is None else f"without {failed}",
            )

    def _combined(self, scores: Mapping[str, float | None]) -> float | None:
        if self._config.fit is not None:
            return self._config.fit.score(scores)
        known = [score for score in scores.values() if score is not None]
        return max(0.0, fmean(known) - self._config.pessimism * pstdev(known)) if known else None

    def close(self) -> None:
        """Free what the members hold."""
        self._closing.close()
