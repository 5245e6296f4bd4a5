"""A finished run's samples once more, graded from the bank: nothing is drawn."""

from pathlib import Path

from experiments import folder
from experiments.plan import draw_label, plan
from experiments.run import Results, execute
from training.difficulty_features import Tried
from ttc.bank import Bank
from ttc.errors import UserError
from ttc.grading import Graded
from ttc.pool import Pool


def reopen(run: Path) -> Results:
    """The run's results, computed again.

    Raises:
        UserError: not a finished run, or its bank lost samples.
    """
    config = folder.read_config(run)
    stored = folder.Stored(folder.read_manifest(run), run)
    return execute(plan(config), stored, Bank(config.bank))


def pools_of(run: Path) -> tuple[Results, dict[str, Pool]]:
    """The pools of the parallel strategy that has most samples and needs no verifier; by question id, in the exam's order.

    Raises:
        UserError: the run has no such strategy.
    """
    results = reopen(run)
    plain = [s for s in results.plan.config.parallel if not getattr(s, "verifier", None) and not s.draw.greedy]
    plain = [strategy for strategy in plain if strategy.draw.shuffled is None]
    if not plain:
        raise UserError(f"run {run}: no strategy draws samples at temperature; name a run with vote")
    label = draw_label(max(plain, key=lambda strategy: strategy.draw.n).draw)
    shape = folder.Stored(folder.read_manifest(run), run).shape()
    graded = results.graded[label]
    return results, {question.id: graded[question.id].pool(shape) for question in results.plan.exam.questions}


def tried_of_run(run: Path, samples: int | None = None) -> dict[str, Tried]:
    """What the first samples of each question show, those of the draw with most of them, with the first verifier's scores."""
    results = reopen(run)
    draws = results.plan.draws
    label = max(draws, key=lambda name: (draws[name].shuffled is None, draws[name].n))
    return {id: _tried(graded, samples) for id, graded in results.graded[label].items()}


def _tried(graded: Graded, samples: int | None) -> Tried:
    columns = [column for name, column in sorted(graded.scores.items())]
    scores = tuple(one.score for one in columns[0][:samples] if one.score is not None) if columns else ()
    return Tried(
        graded.classes[:samples],
        tuple(verdict.credit for verdict in graded.verdicts[:samples]),
        tuple(float(sample.completion_tokens) for sample in graded.samples[:samples]),
        scores,
    )
