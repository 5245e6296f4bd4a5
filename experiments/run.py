"""The runner: one config, one folder. Draws what the bank lacks, grades, and writes curves and page.

questions -> samples (bank, then engine) -> answers, verdicts -> scores (bank, then verifier) -> outcomes -> curves -> report
"""

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import islice
from typing import Any

from experiments.config import budget_of, strategy_name
from experiments.expectations import expectations
from experiments.plan import Plan, check_archive, draw_label
from experiments.solved import Solved
from experiments.thresholds import Thresholds, choose, folds
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.draw import Draw, together
from ttc.errors import BudgetSpent, UserError
from ttc.grading import Graded, Job, grade_all, verdicts
from ttc.judges.item import Item
from ttc.pool import Outcome, Pool
from ttc.protocols import Backend
from ttc.records import Question, Reply, Sample, Selection, Usage
from ttc.scoring import Scoring
from ttc.session import Session

Live = dict[tuple[str, int | None], dict[str, Solved]]
"""Strategy name and n, where it has one -> question id -> what came of it."""


@dataclass(slots=True)
class Results:
    """What a run found."""

    plan: Plan
    graded: dict[str, dict[str, Graded]] = field(default_factory=dict)
    """Draw label -> question id -> graded samples."""
    live: Live = field(default_factory=dict)
    """Strategy name and budget, where it has one -> question id -> what it stands by and what it cost, if it was run live."""
    outcomes: dict[str, dict[str, list[tuple[int, Outcome]]]] = field(default_factory=dict)
    """Strategies in the config's order."""
    pools: dict[str, dict[str, Pool]] = field(default_factory=dict)
    """Strategy name -> question id -> the samples as it sees them, for parallel strategies."""
    thresholds: dict[str, Thresholds] = field(default_factory=dict)
    """Strategy name -> the numbers that were chosen for it, where its config names a goal."""
    executed: Usage = field(default_factory=Usage)
    """What was drawn from the engine, and scored, this time."""

    @property
    def engines(self) -> dict[str, int]:
        """Engine and version -> samples it drew."""
        return dict(Counter(s.engine for by_id in self.graded.values() for g in by_id.values() for s in g.samples))

    @property
    def ungraded(self) -> int:
        """Samples that the judge failed on: another run may do better."""
        return sum(v.status == "ungraded" for by_id in self.graded.values() for g in by_id.values() for v in g.verdicts)


def execute(
    plan: Plan, backend: Backend, bank: Bank, *, run: str = "", on_sample: Callable[[Sample], None] = lambda sample: None
) -> Results:
    """Draw, grade, score, evaluate.

    Raises:
        BackendUnavailable: the engine gave up or the run was stopped; the same call goes on from the bank.
    """
    results = Results(plan)
    drawn = asyncio.run(_draw(plan, backend, bank, results, run, on_sample))
    _grade(plan, drawn, results, bank)
    if plan.scored:
        _score(results, bank, run)
    _evaluate(results, backend)
    _evaluate_live(results, bank)
    order = [strategy_name(strategy) for strategy in plan.config.strategies]
    results.outcomes = dict(sorted(results.outcomes.items(), key=lambda item: order.index(item[0])))
    return results


Drawn = dict[str, dict[str, list[Sample]]]


def draw_all(plan: Plan, backend: Backend, bank: Bank, *, on_sample: Callable[[Sample], None] = lambda sample: None) -> Drawn:
    """The plan's samples by draw label and question id, without grading. Raises as `execute`."""
    return draw_and_solve(plan, backend, bank, on_sample=on_sample)[0]


def draw_and_solve(
    plan: Plan, backend: Backend, bank: Bank, *, on_sample: Callable[[Sample], None] = lambda sample: None
) -> tuple[Drawn, Live]:
    """The plan's samples, and what came of its live strategies. Raises as `execute`."""
    results = Results(plan)
    drawn = asyncio.run(_draw(plan, backend, bank, results, "", on_sample))
    return drawn, results.live


async def _draw(
    plan: Plan, backend: Backend, bank: Bank, results: Results, run: str, on_sample: Callable[[Sample], None]
) -> Drawn:
    """All samples of all draws, by label and question id; live strategies leave what they found in `results`."""
    check_archive(plan, bank)
    drawn: Drawn = {label: {} for label in plan.draws}
    async with Dispatcher(backend, bank, run_seed=plan.config.seed, run=run, on_sample=on_sample) as dispatcher:
        scoring = Scoring(plan.config.verifiers, bank, dispatcher.writer, calibrated=plan.calibrated)
        shape = backend.shape()
        try:
            with scoring, dispatcher.stopping_on_signals():
                async with asyncio.TaskGroup() as tasks:
                    for label, draw in plan.draws.items():
                        for question in plan.exam.questions:
                            tasks.create_task(_draw_one(plan, dispatcher, question, draw, drawn[label]))
                    for strategy, question in plan.live:
                        session = Session(
                            question,
                            dispatcher,
                            plan.prompt,
                            plan.config.sampling,
                            shape=shape,
                            budget_tokens=getattr(strategy, "budget_tokens", None),
                            verification=scoring,
                        )
                        tasks.create_task(_solve_one(session, strategy, results))
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        results.executed = dispatcher.executed + scoring.executed
    return drawn


async def _draw_one(plan: Plan, dispatcher: Dispatcher, question: Question, draw: Draw, into: dict[str, list[Sample]]) -> None:
    parts = draw.parts(question)
    shown = {part: part.shown(question) for part in parts}
    drawing = (dispatcher.samples(one, plan.prompt(one, p.style), plan.sampling(p), p.n) for p, one in shown.items())
    into[question.id] = together(parts, await asyncio.gather(*drawing))


async def _solve_one(session: Session, strategy: Any, results: Results) -> None:
    """Run one strategy live on one question."""
    try:
        selection = await strategy.solve(session)
    except BudgetSpent as spent:
        selection = Selection(None, reason=str(spent))
    place = strategy_name(strategy), budget_of(strategy)
    results.live.setdefault(place, {})[session.question.id] = Solved(
        selection, session.usage, session.path, session.reread_tokens, session.counted
    )


def _grade(plan: Plan, drawn: Drawn, results: Results, bank: Bank) -> None:
    jobs = [
        Job(question, plan.exam.golds[question.id], tuple(drawn[label][question.id]), None if draw.shuffled is None else draw)
        for label, draw in plan.draws.items()
        for question in plan.exam.questions
    ]
    graded = iter(grade_all(jobs, plan.config.judge, bank))
    for label in plan.draws:
        results.graded[label] = {question.id: next(graded) for question in plan.exam.questions}


def _score(results: Results, bank: Bank, run: str) -> None:
    """All scores that parallel strategies read, in one pass per draw and verifier, after the engine is closed."""
    plan, verifiers = results.plan, results.plan.config.verifiers
    with bank.writer(run=run) as writer, Scoring(verifiers, bank, writer, calibrated=plan.calibrated) as scoring:
        for (label, name), n in plan.scored.items():
            graded = results.graded[label]
            replies = [Reply(one.question, sample) for one in graded.values() for sample in one.samples[:n]]
            found = iter(scoring.score_all(name, replies))
            for question_id, one in graded.items():
                graded[question_id] = replace(one, scores={**one.scores, name: tuple(islice(found, n))})
        results.executed += scoring.executed


def _evaluate(results: Results, backend: Backend) -> None:
    """The exact curve of every parallel strategy on every question."""
    shape = backend.shape()
    plan, config = results.plan, results.plan.config

    @cache
    def pools(draw: Draw, verifier: str | None) -> dict[str, Pool]:
        """All samples there are for a draw, or all that this verifier has scored: more than n make a better estimate."""
        label = draw_label(draw)
        n = plan.scored[label, verifier] if verifier else plan.draws[label].n
        verifiers = {verifier: config.verifiers[verifier]} if verifier else {}
        return {i: graded.seen(draw, n).pool(shape, verifiers) for i, graded in results.graded[label].items()}

    budgets: dict[str, list[int]] = {}
    for strategy in config.parallel:
        found = pools(strategy.draw, getattr(strategy, "verifier", None))
        if last := getattr(strategy, "fallback_draw", None):
            found = {i: replace(pool, greedy=pools(last, None)[i]) for i, pool in found.items()}
        results.pools[strategy_name(strategy)] = found
        budgets[strategy_name(strategy)] = [k for k in config.ks or powers_of_two(strategy.draw.n) if k <= strategy.draw.n]
    strategies, sides = {strategy_name(s): s for s in config.parallel}, folds(plan.exam.questions)
    for name, strategy in strategies.items():
        if chosen := choose(strategy, results.pools[name], budgets[name], sides):
            results.thresholds[name] = chosen
    results.outcomes = expectations(strategies, results.pools, budgets, results.thresholds)


def _evaluate_live(results: Results, bank: Bank) -> None:
    """A point for each budget of every strategy that was run live; without one, the most samples it took on any question.

    Raises:
        UserError: two budgets of a strategy are the same point; what was drawn stays.
    """
    plan = results.plan
    by_id = {question.id: question for question in plan.exam.questions}
    for (name, n), found in sorted(results.live.items(), key=lambda item: item[0][1] or 0):
        answered = {i: one.selection.answer for i, one in found.items() if one.selection.answer is not None}
        items = [Item(by_id[i], plan.exam.golds[i], answer, answer.value or "") for i, answer in answered.items()]
        judged = dict(zip(answered, verdicts(items, plan.config.judge, bank), strict=True))
        k = n or max(one.usage.samples for one in found.values())
        if not n and (name, k) in results.live:
            raise UserError(
                f"strategy {name}: its setting of 0 took {k} samples, and its setting of {k} has that place; drop one"
            )
        points = results.outcomes.setdefault(name, {})
        for i in by_id:
            outcome = found[i].outcome(judged[i].credit if i in judged else 0.0, answered=i in judged)
            points.setdefault(i, []).append((k, outcome))


def powers_of_two(n: int) -> list[int]:
    """1, 2, 4 ... up to n, and n itself."""
    return sorted({*(2**i for i in range(n.bit_length()) if 2**i <= n), n})
