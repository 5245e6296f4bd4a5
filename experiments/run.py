"""The runner: one config, one folder. Draws what the bank lacks, grades, and writes curves and page.

questions -> samples (bank, then engine) -> answers, verdicts -> outcomes -> curves -> report
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, get_args

from experiments.config import RunConfig, strategy_name
from experiments.limit import limited
from ttc import keys, prompts
from ttc.bank import Bank
from ttc.benchmarks.opened import opened
from ttc.dispatcher import Dispatcher
from ttc.draw import Draw
from ttc.errors import BudgetSpent, UserError
from ttc.grading import Graded, Job, grade_all, verdicts
from ttc.judges.item import Item
from ttc.pool import Outcome
from ttc.prompts import Example
from ttc.protocols import Backend
from ttc.records import Exam, Prompt, Question, Sample, Sampling, Selection, Usage
from ttc.session import Session

Outcomes = Mapping[str, Mapping[str, list[tuple[int, Outcome]]]]
"""Strategy name -> question id -> (k, outcome) in rising k."""


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run needs, before anything is drawn."""

    config: RunConfig
    exam: Exam
    draws: Mapping[str, Draw]
    """Label -> the largest draw of each pool that parallel strategies read."""
    examples: Sequence[Example] = ()
    """Questions of the dev split for few-shot prompts; empty where the prompt asks for none."""

    def prompt(self, question: Question, style: str) -> Prompt:
        """The prompt of one style under this run's prompt settings."""
        return prompts.render(question, style=style, config=self.config.prompt, examples=self.examples)

    def sampling(self, draw: Draw) -> Sampling:
        """The run's sampling, at temperature 0 for a greedy draw."""
        return self.config.sampling.model_copy(update={"temperature": 0.0}) if draw.greedy else self.config.sampling

    def wanted(self, identity: Mapping[str, object]) -> dict[str, int]:
        """Key -> samples, over all questions and draws. Two questions that are the same to the model share a key."""
        return {
            keys.request_key(q, self.prompt(q, draw.style), identity, self.sampling(draw), self.config.seed): draw.n
            for q in self.exam.questions
            for draw in self.draws.values()
        }


@dataclass(slots=True)
class Results:
    """What a run found."""

    plan: Plan
    graded: dict[str, dict[str, Graded]] = field(default_factory=dict)
    """Draw label -> question id -> graded samples."""
    live: dict[str, dict[str, tuple[Selection, Usage]]] = field(default_factory=dict)
    """Strategy name -> question id -> what it stands by and what it cost, for strategies that were run live."""
    outcomes: dict[str, dict[str, list[tuple[int, Outcome]]]] = field(default_factory=dict)
    executed: Usage = field(default_factory=Usage)
    """What was drawn from the engine this time."""

    @property
    def engines(self) -> dict[str, int]:
        """Engine and version -> samples it drew."""
        return dict(Counter(s.engine for by_id in self.graded.values() for g in by_id.values() for s in g.samples))


def plan(config: RunConfig) -> Plan:
    """Load the questions and find out which samples the strategies share."""
    draws: dict[str, Draw] = {}
    for strategy in config.strategies:
        draw: Draw | None = getattr(strategy, "draw", None)
        if draw is not None:
            label = draw_label(draw)
            draws[label] = max(draws.get(label, draw), draw, key=lambda d: d.n)
    exam = limited(config.benchmark.load(), config.limit)
    return Plan(config, opened(exam) if config.prompt.options == "none" else exam, draws, _examples(config))


def _examples(config: RunConfig) -> list[Example]:
    if not config.prompt.shots:
        return []
    if "dev" not in get_args(type(config.benchmark).model_fields["split"].annotation):
        raise UserError(f"prompt.shots={config.prompt.shots}: {config.benchmark.kind} has no dev split; set 0")
    dev = config.benchmark.model_copy(update={"split": "dev"}).load()
    return [Example(question, dev.golds[question.id]) for question in dev.questions]


def lacking(bank: Bank, wanted: Mapping[str, int]) -> int:
    """How many of these samples the bank does not hold."""
    return sum(len(gap) for key, n in wanted.items() for gap in bank.missing(key, n))


def draw_label(draw: Draw) -> str:
    """Name of a pool of samples: `cot`, or `direct, greedy`."""
    return f"{draw.style}, greedy" if draw.greedy else draw.style


def execute(
    plan: Plan, backend: Backend, bank: Bank, *, run: str = "", on_sample: Callable[[Sample], None] = lambda sample: None
) -> Results:
    """Draw, grade, evaluate.

    Raises:
        BackendUnavailable: the engine gave up or the run was stopped; the same call goes on from the bank.
    """
    results = Results(plan)
    drawn = asyncio.run(_draw(plan, backend, bank, results, run, on_sample))
    _grade(plan, drawn, results, bank)
    _evaluate(results, backend)
    _evaluate_live(results, bank)
    return results


Drawn = dict[str, dict[str, list[Sample]]]


def draw_all(plan: Plan, backend: Backend, bank: Bank, *, on_sample: Callable[[Sample], None] = lambda sample: None) -> Drawn:
    """The plan's samples by draw label and question id, without grading. Raises as `execute`."""
    return asyncio.run(_draw(plan, backend, bank, Results(plan), "", on_sample))


async def _draw(
    plan: Plan, backend: Backend, bank: Bank, results: Results, run: str, on_sample: Callable[[Sample], None]
) -> Drawn:
    """All samples of all draws, by label and question id; live strategies leave what they found in `results`."""
    drawn: Drawn = {label: {} for label in plan.draws}
    async with Dispatcher(backend, bank, run_seed=plan.config.seed, run=run, on_sample=on_sample) as dispatcher:
        try:
            with dispatcher.stopping_on_signals():
                async with asyncio.TaskGroup() as tasks:
                    for label, draw in plan.draws.items():
                        for question in plan.exam.questions:
                            tasks.create_task(_draw_one(plan, dispatcher, question, draw, drawn[label]))
                    for strategy in plan.config.strategies:
                        if not hasattr(strategy, "draw"):
                            for question in plan.exam.questions:
                                tasks.create_task(_solve_one(plan, dispatcher, backend, question, strategy, results))
        except BaseExceptionGroup as group:
            raise group.exceptions[0] from None
        results.executed = dispatcher.executed
    return drawn


async def _draw_one(plan: Plan, dispatcher: Dispatcher, question: Question, draw: Draw, into: dict[str, list[Sample]]) -> None:
    into[question.id] = await dispatcher.samples(question, plan.prompt(question, draw.style), plan.sampling(draw), draw.n)


async def _solve_one(
    plan: Plan, dispatcher: Dispatcher, backend: Backend, question: Question, strategy: Any, results: Results
) -> None:
    """Run one strategy live on one question."""
    session = Session(question, dispatcher, plan.prompt, plan.config.sampling, shape=backend.shape())
    try:
        selection = await strategy.solve(session)
    except BudgetSpent as spent:
        selection = Selection(None, reason=str(spent))
    results.live.setdefault(strategy_name(strategy), {})[question.id] = (selection, session.usage)


def _grade(plan: Plan, drawn: Drawn, results: Results, bank: Bank) -> None:
    jobs = [
        Job(question, plan.exam.golds[question.id], tuple(drawn[label][question.id]))
        for label in plan.draws
        for question in plan.exam.questions
    ]
    graded = iter(grade_all(jobs, plan.config.judge, bank))
    for label in plan.draws:
        results.graded[label] = {question.id: next(graded) for question in plan.exam.questions}


def _evaluate(results: Results, backend: Backend) -> None:
    """The exact curve of every parallel strategy on every question."""
    shape = backend.shape()
    config = results.plan.config
    pools = {label: {i: graded.pool(shape) for i, graded in by_id.items()} for label, by_id in results.graded.items()}
    for strategy in config.strategies:
        draw: Draw | None = getattr(strategy, "draw", None)
        if draw is not None:
            budgets = [k for k in config.ks or powers_of_two(draw.n) if k <= draw.n]
            results.outcomes[strategy_name(strategy)] = {
                question_id: [(k, strategy.expected(pool, k)) for k in budgets]
                for question_id, pool in pools[draw_label(draw)].items()
            }


def _evaluate_live(results: Results, bank: Bank) -> None:
    """The one outcome of every strategy that was run live; its budget is the most samples it took on any question."""
    plan = results.plan
    by_id = {question.id: question for question in plan.exam.questions}
    for name, found in results.live.items():
        answered = {i: selection.answer for i, (selection, _) in found.items() if selection.answer is not None}
        items = [Item(by_id[i], plan.exam.golds[i], answer, answer.value or "") for i, answer in answered.items()]
        judged = dict(zip(answered, verdicts(items, plan.config.judge, bank), strict=True))
        most = max(usage.samples for _, usage in found.values())
        results.outcomes[name] = {
            i: [(most, _live_outcome(usage, judged[i].credit if i in judged else 0.0, i in judged))]
            for i, (_, usage) in found.items()
        }


def _live_outcome(usage: Usage, credit: float, answered: bool) -> Outcome:
    return Outcome(credit, float(answered), usage.samples, usage.prompt_tokens, usage.completion_tokens, usage.flops)


def powers_of_two(n: int) -> list[int]:
    """1, 2, 4 ... up to n, and n itself."""
    return sorted({*(2**i for i in range(n.bit_length()) if 2**i <= n), n})
