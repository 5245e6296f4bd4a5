"""A verifier that reasons before it rules: a rationale, then a verdict, several times over."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from pydantic import Field

from ttc.answers.thinking import final_part
from ttc.records import Reply, Sample, Sampling, StepScores
from verifiers.asking import Asked
from verifiers.instructions import SHIPPED
from verifiers.llm import why_unread

_VERDICT = re.compile(r"\bverdict\b\W+(right|correct|wrong|incorrect)\b", re.IGNORECASE)


class Generative(Asked, frozen=True, extra="forbid"):
    """The share of rationales that end in a verdict for the reply; one without a verdict does not vote.

    Source: GenRM, Zhang et al. 2024, arXiv:2408.15240; ThinkPRM, Khalifa et al. 2025, arXiv:2504.16828.
    """

    kind: Literal["generative"] = "generative"
    sampling: Sampling = Sampling(temperature=0.7, max_tokens=2048)
    votes: int = Field(default=8, gt=0)
    instructions: Path = SHIPPED / "generative.yaml"

    def response_score(self, scores: StepScores) -> float | None:
        """As stored."""
        return scores.score

    def read(self, reply: Reply, steps: int, samples: Sequence[Sample]) -> StepScores:
        """See `Asked.read`."""
        votes = [vote for sample in samples if (vote := verdict(sample.text)) is not None]
        if not votes:
            return reply.scored(None, status=f"failed: {why_unread(samples[0])}")
        return reply.scored(sum(votes) / len(votes))


def verdict(text: str) -> bool | None:
    """Whether a rationale ends in calling the reply right; None where it does not say. Thinking is not read."""
    said = _VERDICT.findall(final_part(text).text)
    return said[-1].lower() in ("right", "correct") if said else None
