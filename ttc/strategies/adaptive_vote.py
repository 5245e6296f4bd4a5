"""Self-consistency that stops when the vote is clear."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Literal

from pydantic import Field

from ttc import estimators, select
from ttc.estimators.stopping import StoppingRule, fewest_to_stop, tally
from ttc.pool import Outcome, Pool
from ttc.records import Sample, Selection
from ttc.session import Session
from ttc.strategies.parallel import Parallel, orders


class AdaptiveVote(Parallel, frozen=True, extra="forbid"):
    """Plurality over as many samples as it takes; n is the cap, not the cost.

    Samples come in waves that hold the fewest that could settle the vote, so none is drawn that a decision after every `window`
    samples would have saved.
    """

    kind: Literal["adaptive_vote"] = "adaptive_vote"
    rule: Literal["lossless", "beta", "esc"] = "lossless"
    """`lossless`: until the runner-up cannot even tie, so always the answer of the full vote; `beta`: until the leader is the
    more likely of the two with `confidence` (Aggarwal et al. 2023, arXiv:2305.11860); `esc`: until all of one window agree
    (Li et al. 2024, arXiv:2401.10480)."""
    confidence: float = Field(default=0.95, gt=0.5, lt=1)
    """For `beta`."""
    window: int = Field(default=4, gt=0)
    """For `esc`."""

    @property
    def stopping(self) -> StoppingRule:
        """The rule, as the replay takes it too."""
        match self.rule:
            case "lossless":
                return estimators.LosslessStop()
            case "beta":
                return estimators.BetaStop(self.confidence)
            case "esc":
                return estimators.EarlyStop(self.window)

    async def solve(self, session: Session) -> Selection:
        """Draw waves until the rule stops or n are drawn, and stand by the most common answer."""
        rule = self.stopping
        samples: list[Sample] = []
        classes: Sequence[int | None] = ()
        votes = tally((), self.n, rule.window)
        while votes.left and not rule.stops(votes):
            samples += await session.draw(self.draw.model_copy(update={"n": int(fewest_to_stop(rule, votes))}))
            # Replies may merge classes that stood apart, so all are classed anew.
            classes = session.classes(session.answers(samples))
            votes = tally(classes, self.n, rule.window)
        return session.stand_by(samples, select.plurality(classes), "plurality")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """With at most k draws, over the permutations that all strategies share. Source: estimators.Course."""
        course, rule = _course(pool.classes, pool.question_id), self.stopping
        found = course.replay(pool.credits, rule, k)
        flops = None
        if pool.prefill_flops is not None and pool.decode_flops is not None:
            flops = pool.prefill_flops + found.expected_cost(pool.decode_flops)
        return Outcome(
            credit=float(found.credits_M.mean()),
            # No rule stops before there is a vote, so stopping never leaves a question without one.
            coverage=estimators.vote_coverage_at_k(pool.classes, k),
            samples=float(found.draws_M.mean()),
            prompt_tokens=float(pool.prompt_tokens),
            completion_tokens=found.expected_cost(pool.completion_tokens),
            flops=flops,
            reread_tokens=float((found.draws_M.mean() - 1) * pool.prompt_tokens),
            path_prompt_tokens=float(pool.prompt_tokens),
            path_completion_tokens=float(course.critical_path(found.draws_M, rule, k, pool.completion_tokens).mean()),
            path_verifier_tokens=0.0,
        )


@lru_cache(maxsize=8)
def _course(classes: Sequence[int | None], question_id: str) -> estimators.Course:
    """What all rules and budgets of a question replay."""
    return estimators.Course.of(classes, orders(len(classes), question_id))
