"""A deterministic verifier without a model: for tests of everything above a verifier, and as one that knows nothing."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar, Literal

from pydantic import BaseModel, Field

from ttc.records import Reply, StepScores
from verifiers.aggregate import Aggregation, aggregate


class Scripted(BaseModel, frozen=True, extra="forbid"):
    """Scores told by the config, or drawn from a hash of question and text: the same every time, and blind to what is right.

    Each line is a step, whose score depends on the reply up to its end and on nothing behind it, as a step verifier's does.
    """

    kind: Literal["scripted"] = "scripted"
    scores: Mapping[str, float | None] = Field(default_factory=dict)
    """Score of the line that is exactly this text; None is a scoring that fails."""
    seed: int = 0
    """Of all lines that are not told."""
    aggregation: Aggregation = "min"
    """How the steps make up the reply's score."""
    tokens_per_reply: int = Field(default=0, ge=0)
    """Verifier tokens that scoring a reply counts for."""
    flops_per_token: float | None = Field(default=None, ge=0)
    """None: unknown, as an API's."""
    uses_gold: ClassVar[bool] = False

    def identity(self) -> Mapping[str, object]:
        """All but how steps are aggregated and what they cost in FLOPs."""
        return self.model_dump(mode="json", include={"scores", "seed", "tokens_per_reply"})

    def response_score(self, scores: StepScores) -> float | None:
        """The aggregate of its steps."""
        return aggregate(scores.steps, self.aggregation)

    def flops(self, scores: StepScores) -> float | None:
        """By the tokens."""
        return None if self.flops_per_token is None else self.flops_per_token * scores.tokens

    def open(self) -> "ScriptedScorer":
        """Never fails."""
        return ScriptedScorer(self)


class ScriptedScorer:
    """See `ttc.protocols.Scorer`."""

    def __init__(self, config: Scripted) -> None:
        self._config = config

    def score(self, replies: Sequence[Reply]) -> Iterator[StepScores]:
        """See `ttc.protocols.Scorer`."""
        for reply in replies:
            steps = list(self._steps(reply))
            known = [step for step in steps if step is not None]
            tokens = self._config.tokens_per_reply
            if len(known) < len(steps):
                yield reply.scored(None, tokens=tokens, status="failed: the script says so")
            else:
                yield reply.scored(aggregate(known, self._config.aggregation), known, tokens=tokens)

    def _steps(self, reply: Reply) -> Iterator[float | None]:
        seen = hashlib.sha256(f"{self._config.seed}/{reply.question.id}".encode())
        for line in filter(None, map(str.strip, reply.steps or reply.text.splitlines())):
            seen.update(f"\n{line}".encode("utf-8", "surrogatepass"))
            if line in self._config.scores:
                yield self._config.scores[line]
            else:
                yield int.from_bytes(seen.digest()[:8], "big") / 2**64

    def close(self) -> None:
        """Nothing to free."""
