"""A run's folder: what it was, what it found, and enough to draw every curve again without the bank.

config.yaml     the checked config
run.json        name, data, model, engines, versions, compute of the last execution
questions.json  fields and clusters, no golds
outcomes.parquet  strategy, question, k -> credit, coverage, costs
pools.parquet     the samples as parallel strategies see them
halves.parquet    outcomes from each half of the samples, made of the pools when first asked for
samples.parquet   sample -> answer, rule, verdict
curves.json, report.html
"""

import json
import os
from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import asdict, dataclass, fields
from importlib.metadata import version
from math import isnan, nan
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import yaml
from pydantic import TypeAdapter

from experiments.config import RunConfig, budget_field, read_yaml, strategy_name, validate
from experiments.halves import Halves, halved
from experiments.panel import Outcomes
from experiments.pools import pool_rows, pools_of
from experiments.risk import Risk
from experiments.run import Results
from experiments.tariffs import tariffs
from experiments.thresholds import Thresholds, folds
from experiments.yardsticks import yardsticks
from ttc.compute import ModelShape
from ttc.errors import UserError
from ttc.judges.model import decided
from ttc.pool import Outcome
from ttc.protocols import Backend, Engine
from ttc.records import Question

Manifest = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stored:
    """The backend of a finished run: knows what the samples depend on, but cannot draw."""

    manifest: Manifest
    folder: Path

    def identity(self) -> Mapping[str, object]:
        """As recorded when the run was executed."""
        return self.manifest["identity"]

    def shape(self) -> ModelShape | None:
        """As recorded."""
        shape = self.manifest["shape"]
        return None if shape is None else TypeAdapter(ModelShape).validate_python(shape)

    def open(self) -> Engine:
        """Refused: a report reads, it does not draw."""
        bank = self.manifest["config"]["bank"]
        raise UserError(f"run {self.folder}: the bank {bank} no longer holds all its samples; run `ttc run` again to draw them")


def claim(folder: Path, config: RunConfig, *, replace: bool) -> None:
    """Make the folder this config's own.

    Raises:
        UserError: it belongs to another config, whose results would be lost.
    """
    path = folder / "config.yaml"
    content = config.model_dump(mode="json")
    if path.exists() and not replace:
        changed = _changed(path, content)
        if changed:
            raise UserError(
                f"folder {folder} holds a run with other settings ({', '.join(changed)}); "
                "choose another --out, or pass --replace (its samples stay in the bank)"
            )
    folder.mkdir(parents=True, exist_ok=True)
    _write(path, yaml.safe_dump(content, sort_keys=False, allow_unicode=True))


def _changed(path: Path, content: Mapping[str, Any]) -> list[str]:
    """Settings in which the config there differs."""
    there = validate(read_yaml(path), str(path)).model_dump(mode="json")
    return sorted(key for key in content.keys() - {"tracking", "costs"} if content[key] != there[key])


def holds(folder: Path, config: RunConfig) -> bool | None:
    """Whether the folder has the results of this config; None where it has no results, but may be this config's own."""
    path = folder / "config.yaml"
    if not path.exists():
        return None
    if _changed(path, config.model_dump(mode="json")):
        return False
    return True if (folder / "curves.json").exists() else None


def manifest(results: Results, backend: Backend, name: str) -> Manifest:
    """What a reader of the results needs to know of where they come from."""
    config, exam, shape = results.plan.config, results.plan.exam, backend.shape()
    used = ("ttc-lab", "torch", "transformers", "numpy", "pyarrow")
    return {
        "name": name,
        "benchmark": {
            "name": exam.name,
            "split": exam.split,
            "revision": exam.revision,
            "fingerprint": exam.fingerprint,
            "questions": len(exam.questions),
            "problems": list(exam.problems),
        },
        "config": config.model_dump(mode="json"),
        "identity": dict(backend.identity()),
        "shape": None if shape is None else asdict(shape),
        "strategies": _all_facts(config),
        "thresholds": {name: one.by_k for name, one in results.thresholds.items()},
        "engines": results.engines,
        "judged": decided(v for by_id in results.graded.values() for one in by_id.values() for v in one.verdicts),
        "executed": asdict(results.executed),
        "tariffs": asdict(tariffs(config, results.graded)),
        "yardsticks": yardsticks(exam),
        "versions": {package: version(package) for package in used},
    }


def _all_facts(config: RunConfig) -> dict[str, dict[str, Any]]:
    """By name of the curve; the budget of one that has several is their list."""
    found: dict[str, dict[str, Any]] = {}
    for strategy in config.strategies:
        facts, field = _strategy_facts(strategy, config), budget_field(strategy)
        if before := found.get(strategy_name(strategy)):
            facts[field] = sorted([facts[field], *([before[field]] if isinstance(before[field], int) else before[field])])
        found[strategy_name(strategy)] = facts
    return found


def _strategy_facts(strategy: Any, config: RunConfig) -> dict[str, Any]:
    """Settings, and the oracle over the same samples: an oracle over others is no ceiling of this strategy."""
    read = strategy in config.parallel
    oracles = [other for other in config.parallel if other.uses_gold and read and other.draw.pool == strategy.draw.pool]
    oracle = strategy_name(oracles[0]) if oracles else ""
    return {"uses_gold": config.uses_gold(strategy), "oracle": oracle, **strategy.model_dump(mode="json")}


def save(folder: Path, results: Results, facts: Manifest) -> None:
    """Write the folder, each file whole or not at all."""
    _write(folder / "run.json", json.dumps(facts, indent=1, default=str))
    questions = [_question_row(question) for question in results.plan.exam.questions]
    _write(folder / "questions.json", json.dumps(questions))
    _write_parquet(folder / "outcomes.parquet", _outcome_rows(results.outcomes))
    _write_parquet(folder / "pools.parquet", pool_rows(results.pools))
    (folder / "halves.parquet").unlink(missing_ok=True)
    _write_parquet(folder / "samples.parquet", _sample_rows(results))


def read_manifest(folder: Path) -> Manifest:
    """The run's own account of itself.

    Raises:
        UserError: not the folder of a finished run.
    """
    try:
        return json.loads((folder / "run.json").read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"run {folder}: no finished run here ({error.strerror}); name the folder of one") from error
    except json.JSONDecodeError as error:
        raise UserError(f"run {folder}: run.json is damaged ({error}); run `ttc run` again") from error


def read_config(folder: Path) -> RunConfig:
    """The config the run was made from."""
    return validate(read_yaml(folder / "config.yaml"), str(folder / "config.yaml"))


def read_outcomes(folder: Path) -> tuple[list[Question], dict[str, dict[str, list[tuple[int, Outcome]]]]]:
    """Questions (without text) and outcomes: what curves are made of."""
    read_manifest(folder)
    questions = [_question(row) for row in json.loads((folder / "questions.json").read_text(encoding="utf-8"))]
    return questions, _outcomes(pq.read_table(folder / "outcomes.parquet").to_pylist())


def read_halves(folder: Path) -> Halves:
    """Outcomes from each half of the samples, made where they were not asked for before.

    Raises:
        UserError: a run of an earlier version, which kept no pools.
    """
    path = folder / "halves.parquet"
    if not path.exists():
        found = _halve(folder)
        with suppress(PermissionError):  # the run of somebody else can be read all the same
            _write_parquet(path, _half_rows(found))
        return found
    rows = pq.read_table(path).to_pylist()
    whole = frozenset(row["strategy"] for row in rows if row["half"] is None)
    first, second = (_outcomes([row for row in rows if row["half"] in (which, None)]) for which in (0, 1))
    return Halves((first, second), whole)


def _halve(folder: Path) -> Halves:
    path = folder / "pools.parquet"
    if not path.exists():
        raise UserError(f"run {folder}: it has no pools.parquet; `ttc report {folder}` writes it anew from the bank")
    facts, (questions, outcomes) = read_manifest(folder), read_outcomes(folder)
    pools = pools_of(pq.read_table(path).to_pylist())
    config = validate(facts["config"], str(folder / "run.json"))
    strategies = {name: strategy for strategy in config.strategies if (name := strategy_name(strategy)) in pools}
    ks = {name: sorted({k for points in outcomes[name].values() for k, _ in points}) for name in strategies}
    sides = folds(questions)
    chosen = {
        name: Thresholds(sides, {int(k): (first, second) for k, (first, second) in by_k.items()})
        for name, by_k in facts["thresholds"].items()
    }
    return halved(strategies, pools, ks, chosen)


def read_risks(folder: Path, fields: Collection[str]) -> tuple[Risk, ...]:
    """Risk against coverage over all questions, and by those of these fields that the run was grouped by."""
    path = folder / "curves.json"
    found = json.loads(path.read_text(encoding="utf-8")).get("risks", []) if path.exists() else []
    risks = TypeAdapter(tuple[Risk, ...]).validate_python(found)
    return tuple(risk for risk in risks if not risk.field or risk.field in fields)


def read_credits(folder: Path) -> dict[str, list[float]]:
    """Question id -> credits of its samples in their order, from the draw with most samples."""
    rows = pq.read_table(folder / "samples.parquet", columns=["draw", "question_id", "credit"]).to_pylist()
    draw = Counter(row["draw"] for row in rows).most_common(1)[0][0]
    credits: dict[str, list[float]] = {}
    for row in (row for row in rows if row["draw"] == draw):
        credits.setdefault(row["question_id"], []).append(row["credit"])
    return credits


def _outcomes(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, list[tuple[int, Outcome]]]]:
    outcomes: dict[str, dict[str, list[tuple[int, Outcome]]]] = {}
    names = [field.name for field in fields(Outcome)]
    for row in rows:
        points = outcomes.setdefault(row["strategy"], {}).setdefault(row["question_id"], [])
        points.append((row["k"], Outcome(**{name: _counted(name, row[name]) for name in names if name in row})))
    return outcomes


def _outcome_rows(outcomes: Outcomes) -> list[dict[str, Any]]:
    names = [field.name for field in fields(Outcome)]
    return [
        {"strategy": strategy, "question_id": question_id, "k": k} | {name: _stored(getattr(outcome, name)) for name in names}
        for strategy, by_id in outcomes.items()
        for question_id, points in by_id.items()
        for k, outcome in points
    ]


def _stored(value: float | None) -> float | None:
    """Null where it is unknown: not every reader of Parquet knows NaN."""
    return None if value is None or isnan(value) else value


def _counted(name: str, value: Any) -> Any:
    """NaN for numbers of tokens that are unknown, as in an outcome."""
    return nan if value is None and name in ("prompt_tokens", "completion_tokens") else value


def _half_rows(found: Halves) -> list[dict[str, Any]]:
    """A strategy that reads one sample has its rows once, and no half."""
    rows = [{"half": which, **row} for which in (0, 1) for row in _outcome_rows(found.outcomes[which])]
    return [
        {**row, "half": None if row["strategy"] in found.indivisible else row["half"]}
        for row in rows
        if row["half"] == 0 or row["strategy"] not in found.indivisible
    ]


def _question_row(question: Question) -> dict[str, Any]:
    row = {"id": question.id, "benchmark": question.benchmark, "question_type": question.question_type}
    return {**row, "cluster": question.cluster, "fields": dict(question.fields)}


def _question(row: Mapping[str, Any]) -> Question:
    values = {name: tuple(value) if isinstance(value, list) else value for name, value in row["fields"].items()}
    return Question(row["id"], row["benchmark"], row["question_type"], "", fields=values, cluster=row["cluster"])


def _sample_rows(results: Results) -> list[dict[str, Any]]:
    return [
        {
            "draw": label,
            "question_id": question_id,
            "key": sample.key,
            "index": sample.index,
            "prompt_tokens": sample.prompt_tokens if sample.counted else None,
            "completion_tokens": sample.completion_tokens if sample.counted else None,
            "answer": list(answer.values),
            "class": answer_class,
            "answer_status": answer.status,
            "answer_rule": answer.rule,
            "credit": verdict.credit,
            "verdict_status": verdict.status,
            "verdict_rule": verdict.rule,
        }
        for label, by_id in results.graded.items()
        for question_id, graded in by_id.items()
        for sample, answer, answer_class, verdict in zip(
            graded.samples, graded.answers, graded.classes, graded.verdicts, strict=True
        )
    ]


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)


def _write_parquet(path: Path, rows: list[dict[str, Any]]) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    pq.write_table(pa.Table.from_pylist(rows), partial)
    partial.replace(path)
