"""`ttc ensemble`: several verifiers of a dev run as one, with weights that fit what they said there."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from rich.table import Table

    from experiments.evidence import Evidence, Gathering, Item
    from ttc.records import Exam
    from verifiers.ensemble import Weights
    from verifiers.frozen import Dev


def ensemble(
    run: Annotated[Path, typer.Argument(help="Folder of a finished dev run whose config binds the members.")],
    members: Annotated[str, typer.Option(help="Verifiers of the run, comma-separated.")],
    out: Annotated[Path, typer.Option(help="File to write, which `weights` of an ensemble names.")],
    label_free: Annotated[
        bool, typer.Option("--label-free", help="Learn from how members agree, the vote among them; read no verdict.")
    ] = False,
) -> None:
    """Fit an ensemble's weights on a dev run; what was fitted on a question is then refused where that is asked."""
    from rich.console import Console

    names = list(dict.fromkeys(name.strip() for name in members.split(",") if name.strip()))
    weights = fit(run, names, label_free=label_free)
    weights.save(out)
    Console().print(_table(weights))
    print(f"weights: {out}; in the config of another run:\n\n{_binding(run, names, out)}", end="")


def _binding(run: Path, names: Sequence[str], out: Path) -> str:
    """The YAML that binds the ensemble in another run."""
    import yaml

    from experiments.folder import read_config

    known = read_config(run).verifiers
    bound = {"kind": "ensemble", "members": {name: _settings(known[name]) for name in names}, "weights": str(out)}
    return yaml.safe_dump({"verifiers": {"both": bound}}, sort_keys=False, allow_unicode=True, width=120)


def _settings(part: object) -> object:
    """A part of a config as one would write it: its kinds, and what is not the default."""
    from pydantic import BaseModel

    if isinstance(part, BaseModel):
        usual = {name: field.get_default(call_default_factory=True) for name, field in type(part).model_fields.items()}
        return {name: _settings(value) for name, value in part if name == "kind" or value != usual[name]}
    if isinstance(part, Mapping):
        return {name: _settings(value) for name, value in part.items()}
    if isinstance(part, tuple | list):
        return [_settings(value) for value in part]
    return str(part) if isinstance(part, Path) else part


def fit(run: Path, names: Sequence[str], *, label_free: bool) -> "Weights":
    """The weights of these verifiers of a run, from the replies that all of them scored. Scores that the bank lacks are made.

    Raises:
        UserError: a test split, a verifier that the run does not bind or that knows the gold, no reply in common, or as
            `verifiers.ensemble_fit`.
    """
    from experiments.evidence import Gathering
    from ttc.errors import UserError
    from verifiers.ensemble import scored_by
    from verifiers.ensemble_fit import fit_label_free, fit_labelled
    from verifiers.latent import vote_shares

    with Gathering(run) as gathering:
        _check(gathering, run, names)
        found = {name: gathering.of(name) for name in names}
        scored = {name: _by_sample(evidence) for name, evidence in found.items()}
        plan, verifiers = gathering.plan, gathering.config.verifiers
    first = found[names[0]]
    shared = [
        (item, share)
        for question_id, items in first.items.items()
        for item, share in zip(items, vote_shares(first.graded[question_id].classes), strict=True)
        if all(_place(item) in by_sample for by_sample in scored.values()) and (label_free or item.chain.is_right is not None)
    ]
    items = [item for item, _ in shared]
    if not items:
        raise UserError(
            f"run {run}: no judged reply has scores of all of {', '.join(names)}; let strategies draw alike for them"
        )
    columns = {name: [by_sample[_place(item)].scores.score for item in items] for name, by_sample in scored.items()}
    right = None if label_free else [bool(item.chain.is_right) for item in items]
    dev = _dev(plan.exam, items, columns, right)
    if right is None:
        weights = fit_label_free(columns, [share for _, share in shared], data=dev.hash)
    else:
        weights = fit_labelled(columns, right, data=dev.hash)
    return weights.bound({name: scored_by(verifiers[name]) for name in names}, dev)


def _check(gathering: "Gathering", run: Path, names: Sequence[str]) -> None:
    from ttc.errors import UserError
    from verifiers.ensemble import VOTE

    exam, known = gathering.plan.exam, gathering.config.verifiers
    if exam.split == "test" and gathering.config.benchmark.kind != "jsonl":
        raise UserError(f"ensemble: {exam.name} test is a test split; fit on validation or dev")
    if not names:
        raise UserError(f"--members: name verifiers of {run}; it binds {', '.join(known)}")
    for name in names:
        if name not in known:
            raise UserError(f"run {run}: it binds no verifier {name!r}; choose from {', '.join(known)}")
        if known[name].uses_gold:
            raise UserError(f"--members: {name} knows the gold answers, and the ensemble would; leave it out")
        if name == VOTE:
            raise UserError(f"--members: {VOTE} is the samples' own vote; give the verifier of that name another one")


def _place(item: "Item") -> tuple[str, int]:
    return item.sample.key, item.sample.index


def _by_sample(evidence: "Evidence") -> "dict[tuple[str, int], Item]":
    return {_place(item): item for items in evidence.items.values() for item in items}


def _dev(
    exam: "Exam", items: "Sequence[Item]", columns: Mapping[str, Sequence[float | None]], right: Sequence[bool] | None
) -> "Dev":
    """What the weights' file says of the split they were fitted on."""
    from verifiers.frozen import Dev, dev_hash, question_hash

    asked = {item.question.id: question_hash(item.question) for item in items}
    rows = [
        [
            asked[item.question.id],
            item.sample.text,
            {name: scores[row] for name, scores in columns.items()},
            right and right[row],
        ]
        for row, item in enumerate(items)
    ]
    return Dev(
        benchmark=exam.name,
        split=exam.split,
        fingerprint=exam.fingerprint,
        questions=tuple(sorted(asked.values())),
        replies=len(items),
        hash=dev_hash(rows),
    )


def _table(weights: "Weights") -> "Table":
    from rich import box
    from rich.markup import escape
    from rich.table import Table

    told = "labels of" if weights.fitted == "labels" else "no label, but the agreement on"
    share = f"{100 * weights.prevalence:.1f} % of them {'right' if weights.fitted == 'labels' else 'estimated to be right'}"
    shown = Table(title=f"from {told} {weights.replies:,} replies", caption=share, box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    shown.add_column("member")
    shown.add_column("weight", justify="right")
    members = weights.members
    accuracies = ["" if one.accuracy is None else f"{one.accuracy:.3f}" for one in members.values()]
    reasons = [escape(one.left_out) for one in members.values()]
    more = [(name, column) for name, column in (("accuracy", accuracies), ("left out", reasons)) if any(column)]
    for heading, _ in more:
        shown.add_column(heading, justify="right" if heading == "accuracy" else "left", overflow="fold")
    for row, (name, member) in enumerate(members.items()):
        shown.add_row(escape(name), f"{member.weight:+.3f}", *(column[row] for _, column in more))
    return shown
