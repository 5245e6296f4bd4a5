"""What came of a strategy that was run live on one question."""

from dataclasses import dataclass, replace
from math import nan

from ttc.pool import Outcome
from ttc.records import CriticalPath, Selection, Usage


@dataclass(frozen=True, slots=True)
class Solved:
    """What a strategy that was run live stands by on one question, and what it took."""

    selection: Selection
    usage: Usage
    path: CriticalPath
    reread_tokens: int
    counted: bool = True
    """Whether it is known how many tokens that were."""

    def outcome(self, credit: float, *, answered: bool) -> Outcome:
        """As curves read it."""
        used, path = self.usage, self.path
        outcome = Outcome(
            credit,
            float(answered),
            samples=used.samples,
            prompt_tokens=used.prompt_tokens,
            completion_tokens=used.completion_tokens,
            flops=used.flops,
            verifier_tokens=used.verifier_tokens,
            reread_tokens=self.reread_tokens,
            path_prompt_tokens=path.prompt_tokens,
            path_completion_tokens=path.completion_tokens,
            path_verifier_tokens=path.verifier_tokens,
        )
        if self.counted:
            return outcome
        unknown = ("prompt_tokens", "completion_tokens", "reread_tokens", "path_prompt_tokens", "path_completion_tokens")
        return replace(outcome, flops=None, **dict.fromkeys(unknown, nan))
