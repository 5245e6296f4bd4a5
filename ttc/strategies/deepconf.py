"""A weighted vote among the samples that the model is surest of."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import Field, model_validator

from ttc import estimators, select
from ttc import pool as pools
from ttc.draw import cut
from ttc.pool import Fall, Outcome, Pool
from ttc.records import Sample, Selection
from ttc.session import Session
from ttc.strategies.parallel import Verified, orders
from ttc.strategies.weighted_vote import MOST_SUBSETS


class DeepConf(Verified, frozen=True, extra="forbid"):
    """Keep the best scored share of the samples, and add up their scores by answer (Fu et al. 2025, arXiv:2508.15260).

    Meant for a `confidence` verifier, over the whole reply, its tail or its least sure window; any verifier will do. A sample
    without an answer may take a place among those kept; it does not vote.
    """

    kind: Literal["deepconf"] = "deepconf"
    top_percent: int = Field(default=10, gt=0, le=100)
    """Of k samples this share is kept, rounded up; 10 trusts the scores, 90 drops the worst only."""
    warmup: int | None = Field(default=None, gt=0)
    """Online: the first so many are drawn whole, and the worst kept of them sets what the running score of a later sample must
    not fall below; it is stopped there, and does not vote. Replayed over whole samples of the bank. None: all are whole."""

    @model_validator(mode="after")
    def _one_way_to_stop(self) -> "DeepConf":
        if self.warmup is not None and self.cap_tokens is not None:
            raise ValueError("warmup and cap_tokens both end samples early, and a capped one has no score; leave one out")
        return self

    def kept(self, k: int) -> int:
        """How many of k samples may vote."""
        return -(-k * self.top_percent // 100)

    async def solve(self, session: Session) -> Selection:
        """Draw n, score all, keep the best, and add up."""
        if self.warmup is not None:
            return await self._solve_online(session, min(self.warmup, self.n))
        samples = await session.draw(self.draw)
        scores = [one.score for one in await session.score(samples, self.verifier)]
        weights = select.top(scores, self.kept(self.n))
        winner = select.weighted(session.classes(session.answers(samples)), weights)
        return session.stand_by(samples, winner, "weighted")

    async def _solve_online(self, session: Session, warm: int) -> Selection:
        def low(sample: Sample) -> float:
            return min((score for _, score in session.falls(sample, self.verifier)), default=-np.inf)

        def ended(sample: Sample) -> Sample:
            falls = session.falls(sample, self.verifier)
            tokens = next((tokens for tokens, score in falls if score < threshold), None)
            return sample if tokens is None else cut(sample, tokens)

        samples = await session.draw(self.draw.model_copy(update={"n": warm}))
        threshold = sorted(map(low, samples), reverse=True)[self.kept(warm) - 1]
        if warm < self.n:
            samples += await session.draw(self.draw.model_copy(update={"n": self.n - warm}), ended)
        scores = [one.score for one in await session.score(samples, self.verifier)]
        weights = [score if low(sample) >= threshold else None for sample, score in zip(samples, scores, strict=True)]
        winner = select.weighted(session.classes(session.answers(samples)), weights)
        return session.stand_by(samples, winner, "weighted")

    def expected(self, pool: Pool, k: int) -> Outcome:
        """Over all sets that can be the best of k where they are few, else over permutations that all strategies share.

        Source: estimators.best_sets.
        """
        if self.warmup is not None:
            return self._expected_online(pool, k, min(self.warmup, k))
        scores, m = pool.scores[self.verifier], self.kept(k)
        if estimators.sets_of_best(scores, k, m) <= MOST_SUBSETS:
            member_SN, chance_S = estimators.best_sets(scores, k, m)
        else:
            member_SN = estimators.best_of_orders(scores, orders(pool.n, pool.question_id), k, m)
            chance_S = np.full(len(member_SN), 1 / len(member_SN))
        credit, coverage = self._voted(pool, member_SN, chance_S)
        return pools.outcome(pool, k, credit=credit, coverage=coverage, verifier=self.verifier)

    def _voted(self, pool: Pool, member_SN: NDArray[np.bool_], chance_S: NDArray[np.float64]) -> tuple[float, float]:
        """Credit and coverage of the vote of some sets."""
        scores = pool.scores[self.verifier]
        weighted = estimators.WeightedPool(pool.classes, pool.credits, scores)
        votes_N = [answer is not None and score is not None for answer, score in zip(pool.classes, scores, strict=True)]
        return float(weighted.subset_credits(member_SN) @ chance_S), float(member_SN[:, votes_N].any(axis=1) @ chance_S)

    def _expected_online(self, pool: Pool, k: int, warm: int) -> Outcome:
        """Over the permutations that all strategies share: the first `warm` set the threshold, the others may be stopped."""
        falls, orders_MN = pool.falls[self.verifier], orders(pool.n, pool.question_id)
        low_N = np.array([one[-1].score if one else -np.inf for one in falls])
        threshold_M = np.sort(low_N[orders_MN[:, :warm]], axis=1)[:, -self.kept(warm)]
        warm_MN = estimators.first_of_orders(orders_MN, warm)
        drawn_MN = estimators.first_of_orders(orders_MN, k)
        late_MN, kept_MN = drawn_MN & ~warm_MN, drawn_MN & (low_N >= threshold_M[:, None])
        credit, coverage = self._voted(pool, kept_MN, np.full(len(orders_MN), 1 / len(orders_MN)))
        tokens_N = np.array(pool.completion_tokens, dtype=float)
        spent_MN = _spent([[fall.tokens for fall in one] for one in falls], tokens_N, falls, threshold_M)
        flops = None
        if pool.prefill_flops is not None and pool.decode_flops is not None:
            flops_N = np.array(pool.decode_flops, dtype=float)
            late = _spent([[fall.flops or 0.0 for fall in one] for one in falls], flops_N, falls, threshold_M)
            flops = pool.prefill_flops + float((flops_N * warm_MN + late * late_MN).sum(axis=1).mean())
        whole = pools.outcome(pool, k, credit=credit, coverage=coverage, verifier=self.verifier)
        path_M = (tokens_N * warm_MN).max(axis=1) + (spent_MN * late_MN).max(axis=1)
        return replace(
            whole,
            completion_tokens=float((tokens_N * warm_MN + spent_MN * late_MN).sum(axis=1).mean()),
            flops=flops,
            path_completion_tokens=float(path_M.mean()),
        )


def _spent(
    costs: Sequence[Sequence[float]],
    whole_N: NDArray[np.float64],
    falls: Sequence[Sequence[Fall]],
    threshold_M: NDArray[np.float64],
) -> NDArray[np.float64]:
    """spent_MN: what each sample costs until its running score falls below each threshold; the whole where it does not.

    Args:
        costs: of each sample up to each of its lows.
    """
    cuts_T, which_M = np.unique(threshold_M, return_inverse=True)
    spent_TN = np.empty((len(cuts_T), len(whole_N)))
    for column, (one, cost) in enumerate(zip(falls, costs, strict=True)):
        rising = [-fall.score for fall in one]
        spent_TN[:, column] = np.append(cost, whole_N[column])[np.searchsorted(rising, -cuts_T, side="right")]
    return spent_TN[which_M]
