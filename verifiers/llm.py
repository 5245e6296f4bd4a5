"""A language model that is told to judge a reply step by step."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from ttc.answers.thinking import final_part
from ttc.records import Reply, Sample, Sampling, StepScores
from verifiers.aggregate import Aggregation, aggregate
from verifiers.asking import Asked
from verifiers.instructions import SHIPPED

_STEP = re.compile(r"^\W*Step\s+(\d+)\W+(right|correct|wrong|incorrect)\b", re.IGNORECASE | re.MULTILINE)


class LanguageModel(Asked, frozen=True, extra="forbid"):
    """Each step's score is the share of votes that call it right. A vote that leaves a step out cannot be read, and is none."""

    kind: Literal["language_model"] = "language_model"
    sampling: Sampling = Sampling(temperature=0.0, max_tokens=1024)
    votes: int = Field(default=1, gt=0)
    instructions: Path = SHIPPED / "language_model.yaml"
    aggregation: Aggregation = "mean"
    """How the steps make up the reply's score."""

    def response_score(self, scores: StepScores) -> float | None:
        """The aggregate of its steps."""
        return aggregate(scores.steps, self.aggregation)

    def read(self, reply: Reply, steps: int, samples: Sequence[Sample]) -> StepScores:
        """See `Asked.read`."""
        votes = [vote for sample in samples if (vote := _vote(sample.text, steps)) is not None]
        if not votes:
            return reply.scored(None, status=f"failed: {why_unread(samples[0])}")
        shares = [sum(column) / len(votes) for column in zip(*votes, strict=True)]
        return reply.scored(aggregate(shares, self.aggregation), shares)


def _vote(text: str, steps: int) -> tuple[bool, ...] | None:
    """What a vote says of each step; None where it leaves one out. What it says last of a step stands."""
    said: Mapping[int, bool] = {
        int(number): word.lower() in ("right", "correct") for number, word in _STEP.findall(final_part(text).text)
    }
    wanted = range(1, steps + 1)
    return tuple(said[number] for number in wanted) if all(number in said for number in wanted) else None


def why_unread(sample: Sample) -> str:
    """Why there is no verdict in what a model said."""
    if sample.status != "ok":
        return f"{sample.status}: {sample.reason}"
    return "cut at its token limit" if sample.finish == "length" else "no verdict in its form"
