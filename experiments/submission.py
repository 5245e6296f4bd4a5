"""The answer file for a split whose golds are hidden: what one strategy stands by on every question."""

import asyncio
import json
from pathlib import Path

from experiments.config import strategy_name
from experiments.plan import Plan
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.errors import UserError
from ttc.protocols import Backend, Strategy
from ttc.records import Question, Selection
from ttc.scoring import Scoring
from ttc.session import Session


def submission(plan: Plan, backend: Backend, bank: Bank, name: str) -> dict[str, str]:
    """Question id -> letter or text; the empty string where the strategy abstains. Solved over stored samples.

    Raises:
        UserError: no strategy of that name, or one that needs the gold.
    """
    strategies = {strategy_name(s): s for s in plan.config.strategies if not plan.config.uses_gold(s)}
    if name not in strategies:
        raise UserError(f"strategy {name!r}: this run can submit {', '.join(strategies)}")
    selections = asyncio.run(_solve_all(plan, backend, bank, strategies[name]))
    return {question_id: _stated(selection) for question_id, selection in selections.items()}


def write_submission(path: Path, answers: dict[str, str]) -> None:
    """The JSON file, ids in the exam's order."""
    path.write_text(json.dumps(answers, indent=1, ensure_ascii=False), encoding="utf-8")


def _stated(selection: Selection) -> str:
    return (selection.answer.value or "") if selection.answer else ""


async def _solve_all(plan: Plan, backend: Backend, bank: Bank, strategy: Strategy) -> dict[str, Selection]:
    async with Dispatcher(backend, bank, run_seed=plan.config.seed) as source:
        with Scoring(plan.config.verifiers, bank, source.writer, calibrated=plan.calibrated) as scoring:

            async def solve(question: Question) -> Selection:
                session = Session(question, source, plan.prompt, plan.config.sampling, verification=scoring)
                return await strategy.solve(session)

            found = await asyncio.gather(*(solve(question) for question in plan.exam.questions))
    return dict(zip((question.id for question in plan.exam.questions), found, strict=True))
