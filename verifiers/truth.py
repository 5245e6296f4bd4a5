"""The pocket exam's own truth about each step, as a verifier that is always right: the ceiling of every step verifier."""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from typing import ClassVar, Literal

from pydantic import BaseModel

from ttc.errors import UserError
from ttc.records import Reply, StepScores
from verifiers.aggregate import Aggregation, aggregate


class Truth(BaseModel, frozen=True, extra="forbid"):
    """1 for each right line of a reply to a pocket question, 0 for each wrong one. Knows the gold, so it is no method."""

    kind: Literal["truth"] = "truth"
    aggregation: Aggregation = "min"
    """How the steps make up the reply's score."""
    uses_gold: ClassVar[bool] = True

    def identity(self) -> Mapping[str, object]:
        """Hash of the exam's own code, so that a mended checker is asked again; it takes no time."""
        sources = sorted((file.name, file.read_bytes()) for file in files("ttc.pocket").iterdir() if file.name.endswith(".py"))
        return {"pocket": hashlib.sha256(repr(sources).encode()).hexdigest()}

    def response_score(self, scores: StepScores) -> float | None:
        """The aggregate of its steps."""
        return aggregate(scores.steps, self.aggregation)

    def flops(self, scores: StepScores) -> float | None:
        """None are spent."""
        return 0.0

    def open(self) -> "TruthScorer":
        """Never fails."""
        return TruthScorer()


class TruthScorer:
    """See `ttc.protocols.Scorer`."""

    def score(self, replies: Sequence[Reply]) -> Iterator[StepScores]:
        """See `ttc.protocols.Scorer`. Raises UserError for questions of another exam."""
        from ttc.pocket.checker import check
        from ttc.pocket.exam import find

        problems = {}
        for reply in replies:
            asked = reply.question
            if asked.benchmark != "pocket":
                raise UserError(
                    f"verifier truth: question {asked.id} is of {asked.benchmark}, and the truth of each step is known only "
                    "of pocket questions; use another verifier"
                )
            if asked.id not in problems:
                problems[asked.id] = find(asked.id)
            steps = [float(step.kind == "right") for step in check(problems[asked.id], reply.text)]
            yield reply.scored(min(steps), steps)

    def close(self) -> None:
        """Nothing to free."""
