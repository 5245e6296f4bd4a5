"""`ttc`, also `python -m experiments`: the command line. A user's mistake ends in one line and exit code 2."""

import gc
import sys

import typer

from experiments.commands import (
    allocation,
    analysis,
    annotate,
    bank,
    chains,
    cost,
    curriculum,
    difficulty_model,
    ensemble,
    errors,
    imports,
    look,
    overlap,
    processbench,
    profile,
    results,
    run,
    score,
    serve,
    subset,
    sweep,
    train,
    verify,
)
from ttc.errors import BackendUnavailable, UserError

app = typer.Typer(
    name="ttc",
    help="Test-time compute and verifiers on multimodal exams: draw samples once, answer every question from the bank.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.command("run")(run.run)
app.command("draw")(run.draw)
app.command("cost")(cost.cost)
app.command("serve")(serve.serve)
app.command("curves")(results.curves)
app.command("report")(results.report)
app.command("compare")(results.compare)
app.command("difficulty")(analysis.difficulty)
app.command("predict-difficulty")(difficulty_model.predict_difficulty)
app.command("allocate")(allocation.allocate)
app.command("power")(analysis.power)
app.command("overlap")(overlap.overlap)
app.command("annotate")(annotate.annotate)
app.command("errors")(errors.errors)
app.command("profile")(profile.profile)
app.command("chains")(chains.chains)
app.command("train")(train.train)
app.command("curriculum")(curriculum.curriculum)
app.command("score")(score.score)
app.command("audit")(score.audit)
app.command("import")(imports.import_outputs)
app.command("subset")(subset.subset)
app.command("submission")(results.submission)
app.command("verify")(verify.verify)
app.command("processbench")(processbench.processbench)
app.command("ensemble")(ensemble.ensemble)
app.command("show")(look.show)
app.command("list")(look.list_parts)
app.command("doctor")(look.doctor)
app.add_typer(bank.app, name="bank")
app.add_typer(sweep.app, name="sweep")


def main() -> None:
    """Entry point. Exit codes: 0 done; 2 wrong input; 3 the engine gave up or was stopped, and the same command resumes."""
    # a run makes millions of records and hardly a cycle: to look for them as often as usual takes a sixth of its time
    gc.set_threshold(50_000, 20, 10)
    try:
        app()
    except BackendUnavailable as error:
        print(f"stopped: {error}", file=sys.stderr)
        sys.exit(3)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except OSError as error:
        if error.filename is None:  # no path of the user's
            raise
        print(f"error: {error.filename}: {error.strerror}; choose a place that can be read and written", file=sys.stderr)
        sys.exit(2)


if __name__ == "__main__":
    main()
