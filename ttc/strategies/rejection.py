"""Draw until a verifier accepts."""

from typing import Literal

from ttc import estimators, select
from ttc.draw import Draw
from ttc.estimators.rejection import Fallback
from ttc.pool import Outcome, Pool
from ttc.records import Sample, Selection
from ttc.session import Session
from ttc.strategies.parallel import Verified
from ttc.strategies.threshold import Threshold, fixed


class Rejection(Verified, frozen=True, extra="forbid"):
    """Draw one sample at a time, and stand by the first that has an answer and scores at least `threshold`.

    n is the cap, not the cost. A sample without an answer is drawn in vain: it is not accepted, whatever its score.
    """

    kind: Literal["rejection"] = "rejection"
    threshold: Threshold
    """A number, to be chosen on other questions than those it is judged on; or what a run is to choose it for."""
    fallback: Fallback = "abstain"
    """Where none of n is accepted: no answer, the vote over them, the best scored of them, or a greedy reply."""

    @property
    def fallback_draw(self) -> Draw | None:
        """The sample it falls back on, where that is none of the n."""
        return Draw(greedy=True, cap_tokens=self.cap_tokens) if self.fallback == "greedy" else None

    async def solve(self, session: Session) -> Selection:
        """Draw, score, decide; at most n times."""
        threshold = fixed(self.threshold)
        samples: list[Sample] = []
        scores: list[float | None] = []
        for place in range(self.n):
            samples += await session.draw(self.draw.model_copy(update={"n": 1}))
            scored = await session.score(samples[-1:], self.verifier)
            scores += select.eligible(session.classes(session.answers(samples[-1:])), [scored[0].score])
            if (score := scores[-1]) is not None and score >= threshold:
                return session.stand_by(samples, place, "accepted")
        if self.fallback_draw is not None:
            return session.stand_by(await session.draw(self.fallback_draw), 0, "fallback")
        if self.fallback == "vote":
            return session.stand_by(samples, select.plurality(session.classes(session.answers(samples))), "fallback")
        return session.stand_by(samples, select.best(scores) if self.fallback == "best" else None, "fallback")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """Exact for at most k draws: credit, coverage, draws and what they cost. Source: estimators.rejection_at_k."""
        greedy = pool.greedy if self.fallback == "greedy" else None
        found, covered = (
            estimators.rejection_at_k(
                pool.eligible(self.verifier),
                credits,
                fixed(self.threshold),
                k,
                fallback=self.fallback,
                answers=pool.classes,
                greedy_credit=greedy_credit,
            )
            for credits, greedy_credit in (
                (pool.credits, greedy.credits[0] if greedy else 0.0),
                (pool.answered, greedy.answered[0] if greedy else 0.0),
            )
        )
        fallbacks = 1 - found.coverage if greedy else 0.0
        prompt = pool.prompt_tokens + (fallbacks * greedy.prompt_tokens if greedy else 0.0)
        completion = found.cost(pool.completion_tokens, greedy.completion_tokens[0] if greedy else 0.0)
        scoring = found.cost(pool.verifier_tokens[self.verifier])
        return Outcome(
            credit=found.credit,
            coverage=covered.credit,
            samples=found.draws + fallbacks,
            prompt_tokens=prompt,
            completion_tokens=completion,
            flops=self._flops(pool, found, greedy),
            verifier_tokens=scoring,
            reread_tokens=(found.draws - 1) * pool.prompt_tokens,
            # each draw waits for the verdict on the one before, so all of it is on the critical path
            path_prompt_tokens=prompt,
            path_completion_tokens=completion,
            path_verifier_tokens=scoring,
        )

    def _flops(self, pool: Pool, found: estimators.Rejection, greedy: Pool | None) -> float | None:
        each, last = pool.sample_flops(self.verifier), 0.0
        if pool.prefill_flops is None or each is None:
            return None
        if greedy is not None:
            if greedy.prefill_flops is None or greedy.decode_flops is None:
                return None
            last = greedy.prefill_flops + greedy.decode_flops[0]
        return pool.prefill_flops + found.cost(each, last)
