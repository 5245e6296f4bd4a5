"""`ttc show`, `ttc list`, `ttc doctor`: look at questions, at the parts there are, and at the machine."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from experiments.plan import Plan
    from ttc.records import Prompt, Question


def show(
    source: Annotated[str, typer.Argument(help="Folder of a run, or the name of a benchmark.")],
    question: Annotated[str, typer.Argument(help="Id of the question.")],
    samples: Annotated[int, typer.Option(min=0, help="Replies shown per draw.")] = 4,
) -> None:
    """What was asked, with the place of each image, and what came."""
    from rich.console import Console

    from experiments import folder
    from experiments.plan import plan

    console = Console()
    path = Path(source)
    if not (path / "config.yaml").exists():
        _show_question(console, _find(_benchmark(source).questions, question, source))
        return
    planned = plan(folder.read_config(path))
    asked = _find(planned.exam.questions, question, source)
    _show_question(console, asked)
    for style in dict.fromkeys(draw.style for draw in planned.draws.values()):
        console.rule(f"prompt: {style}")
        console.print(_plain_prompt(planned.prompt(asked, style)), markup=False, highlight=False)
    _show_samples(console, path, planned, asked, samples)


def _benchmark(name: str) -> Any:
    from ttc.benchmarks import AnyBenchmark
    from ttc.settings import checked

    return checked(AnyBenchmark, {"kind": name}, f"{name}: neither a run nor a benchmark that loads by name").load()


def _find(questions: "tuple[Question, ...]", wanted: str, source: str) -> "Question":
    import difflib

    from ttc.errors import UserError

    by_id = {question.id: question for question in questions}
    if wanted not in by_id:
        close = difflib.get_close_matches(wanted, by_id, n=3) or list(by_id)[:3]
        raise UserError(f"{source} has no question {wanted!r} among its {len(by_id):,}; there are {', '.join(close)}")
    return by_id[wanted]


def _show_question(console: "Console", question: "Question") -> None:
    console.rule(question.id)
    console.print(question.text, markup=False, highlight=False)
    for letter, option in zip(question.letters, question.options, strict=True):
        console.print(f"  {letter}. {option}", markup=False, highlight=False)
    for item in question.media:
        name = f"image {item.marker}" if item.marker else item.kind
        where = item.problem or item.path or f"{len(item.data or ()):,} bytes"
        console.print(f"{name}: {where}", style="dim")
    console.print(", ".join(f"{name}: {value}" for name, value in question.fields.items()), style="dim", markup=False)


def _plain_prompt(prompt: "Prompt") -> str:
    from ttc.records import Text

    lines = []
    for message in prompt.messages:
        parts = [p.text if isinstance(p, Text) else f"[{p.media.kind} {p.media.marker or ''}]" for p in message.parts]
        lines.append(f"{message.role}: {''.join(parts)}")
    return prompt.problem or "\n".join(lines)


def _show_samples(console: "Console", folder: Path, planned: "Plan", question: "Question", limit: int) -> None:
    import pyarrow.parquet as pq

    from ttc.bank import Bank

    graded = pq.read_table(folder / "samples.parquet", filters=[("question_id", "=", question.id)]).to_pylist()
    stored = Bank(planned.config.bank).samples({row["key"] for row in graded})
    for label in planned.draws:
        rows = [row for row in graded if row["draw"] == label]
        console.rule(f"{label}: {len(rows)} samples, {sum(row['credit'] for row in rows):g} credited")
        orders = planned.draws[label].orders(question)
        for place, (row, order) in enumerate(zip(rows[:limit], orders, strict=False)):
            sample = stored[row["key"]][row["index"]]
            answer = ", ".join(row["answer"]) or f"none ({row['answer_status']})"
            tokens = sample.completion_tokens if sample.counted else "uncounted"
            head = f"#{place}  answer {answer}  credit {row['credit']:g}  {tokens} tokens"
            head += f"  options seen as {' '.join(question.letters[at] for at in order)}" if order else ""
            console.print(f"{head}  {sample.finish or sample.status}  rule {row['answer_rule']}", style="bold", markup=False)
            console.print(sample.text or sample.reason, markup=False, highlight=False)


def list_parts(
    kind: Annotated[str | None, typer.Argument(help="benchmarks, backends, strategies, verifiers, judges or run.")] = None,
) -> None:
    """The parts a config can name, each with its settings."""
    from rich.console import Console

    from experiments.config import RunConfig
    from ttc import plugins
    from ttc.backends import AnyBackend
    from ttc.benchmarks import AnyBenchmark
    from ttc.errors import UserError
    from ttc.judges import AnyJudge
    from ttc.strategies import AnyStrategy
    from verifiers import AnyVerifier

    unions = {
        "benchmarks": AnyBenchmark,
        "backends": AnyBackend,
        "strategies": AnyStrategy,
        "verifiers": AnyVerifier,
        "judges": AnyJudge,
        "run": RunConfig,
    }
    if kind is not None and kind not in unions:
        raise UserError(f"list {kind}: there is no such kind of part; there are {', '.join(unions)}")
    console = Console()
    for name, union in unions.items():
        if kind in (None, name):
            console.rule(name)
            for model in [*_members(union), *plugins.parts(f"ttc.{name}")]:
                _show_settings(console, model)


def _members(annotation: Any) -> list[Any]:
    """The models of a discriminated union, or the one model."""
    import typing

    union = typing.get_args(annotation)[0] if hasattr(annotation, "__metadata__") else annotation
    return list(typing.get_args(union)) or [union]


def _show_settings(console: "Console", model: Any) -> None:
    kind = model.model_fields.get("kind")
    summary = (model.__doc__ or "").strip().splitlines()[0]
    console.print(f"[bold]{kind.default if kind else model.__name__}[/bold]  {summary}")
    for name, field in model.model_fields.items():
        if name != "kind":
            default = "required" if field.is_required() else repr(field.get_default(call_default_factory=True))
            console.print(f"    {name} = {default}", style="dim", markup=False, highlight=False)


def doctor() -> None:
    """Versions, devices, what is missing for which feature, and names that clash."""
    from experiments.doctor import examine

    examine()
