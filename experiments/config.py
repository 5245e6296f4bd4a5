"""The YAML files: what a run is, how it is overridden on the command line, and how a grid becomes runs."""

import itertools
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal, cast

import yaml
from pydantic import BaseModel, Field, model_validator

from experiments.placement import Placement
from experiments.tracking import AnyTracking, NoTracking
from ttc.backends import AnyBackend
from ttc.benchmarks import AnyBenchmark
from ttc.compute.tariff import Costs
from ttc.errors import UserError
from ttc.judges import AnyJudge
from ttc.judges.rules import Rules
from ttc.prompts import PromptConfig
from ttc.protocols import ParallelStrategy
from ttc.records import Sampling
from ttc.settings import checked, read_yaml
from ttc.strategies import AnyStrategy
from verifiers import AnyVerifier, Ensemble

MOST_SAMPLES = 100_000
"""Of one question. A typing error must not keep the estimators busy for ever."""


class RunConfig(BaseModel, frozen=True, extra="forbid"):
    """One experiment: strategies on a benchmark with a model."""

    benchmark: AnyBenchmark
    backend: AnyBackend
    strategies: tuple[AnyStrategy, ...] = Field(min_length=1)
    """Strategies that need the same samples share them."""
    verifiers: Mapping[str, AnyVerifier] = Field(default_factory=dict)
    """The verifiers that strategies name."""
    frozen: Mapping[str, Path] = Field(default_factory=dict)
    """By verifier, the file of `ttc verify --freeze` on dev: scores are calibrated and aggregated as was chosen there."""
    when_useless: Literal["warn", "refuse", "use"] = "warn"
    """A strategy whose verifier gained nothing over the vote on dev is turned off with a warning, refused, or used."""
    sampling: Sampling = Sampling()
    prompt: PromptConfig = PromptConfig()
    judge: AnyJudge = Rules()
    ks: tuple[int, ...] | None = Field(default=None, min_length=1)
    """Budgets of the curves, in samples; powers of two up to each strategy's n where not given."""
    by: tuple[str, ...] | None = None
    """Question fields that get curves of their own; topic_difficulty and subject where not given and the benchmark has them."""
    limit: int | None = Field(default=None, gt=0)
    """Only so many questions, the levels in proportion."""
    prompt_chosen_by: str | None = None
    """On a test split: the validation run that chose the prompt, or `none`."""
    seed: int = 0
    """Another seed gives an independent replicate of every sample."""
    bank: Path = Path("runs/bank")
    """Folder of the sample bank; runs that share it share samples."""
    costs: Costs = Costs()
    """Prices and speeds for curves against money and seconds; no part of what a run is."""
    placement: Placement | None = None
    """Sampling in a process of its own; in this one where not given, with the engine closed before anything is scored."""
    tracking: AnyTracking = NoTracking()
    """Where the results go besides the run's folder; no part of what a run is."""

    @model_validator(mode="after")
    def _checked(self) -> "RunConfig":
        names = [strategy_name(strategy) for strategy in self.strategies]
        # One that is run live has a point for each budget it is listed with; others have all points from their largest.
        points = [(name, None if hasattr(s, "draw") else budget_of(s)) for name, s in zip(names, self.strategies, strict=True)]
        for name, n in zip(names, (getattr(s, "n", 1) for s in self.strategies), strict=True):
            if n > MOST_SAMPLES:
                raise ValueError(f"strategy {name} asks for n={n} samples of each question; {MOST_SAMPLES:,} is the most")
        # The replies of a replay are what they are, and an order of the options of its own makes another prompt of each sample.
        alike = [s for s in self.parallel if s.draw.n > 1 and s.draw.shuffled is None and self.backend.kind != "replay"]
        if self.sampling.temperature == 0 and alike:
            n = alike[0].draw.n
            raise ValueError(
                f"strategy {strategy_name(alike[0])}: at sampling.temperature=0 its n={n} samples would be {n} copies of one; "
                "raise the temperature, or use n=1"
            )
        for name, n in points:
            if points.count((name, n)) > 1:
                raise ValueError(f"strategy {name} is listed {points.count((name, n))} times; keep one")
        if self.benchmark.split == "test" and self.benchmark.kind != "jsonl" and not self.prompt_chosen_by:
            raise ValueError("a run on a test split says which validation run chose its prompt; set prompt_chosen_by, or none")
        live = [strategy.kind for strategy in self.strategies if not hasattr(strategy, "draw")]
        asking = [*live, *(strategy.kind for strategy in self.parallel if strategy.draw.shuffled is not None)]
        if self.backend.kind == "replay" and asking:
            raise ValueError(
                f"{asking[0]} draws as it goes or under prompts of its own, and a replay holds a fixed number of whole replies "
                "to one prompt; leave it out"
            )
        growing = [strategy.kind for strategy in self.strategies if getattr(strategy, "continues", False)]
        if growing and not getattr(self.backend, "continues", True):
            raise ValueError(
                f"{growing[0]} goes on from the tokens of a reply, which backend {self.backend.kind} cannot; "
                "use vllm or transformers, or leave it out"
            )
        appending = [strategy.kind for strategy in self.strategies if getattr(strategy, "appends", False)]
        if appending and not hasattr(self.backend, "encoder"):
            raise ValueError(
                f"{appending[0]} puts words into replies, and backend {self.backend.kind} takes no tokens; "
                "use vllm or transformers, or leave it out"
            )
        if self.placement is not None and live:
            raise ValueError(f"{live[0]} draws as it goes and needs the engine in this process; leave placement out")
        if absent := self.frozen.keys() - self.verifiers.keys():
            bound = ", ".join(self.verifiers) or "none"
            raise ValueError(f"frozen: there is no verifier {min(absent)!r}; bind it under verifiers (bound: {bound})")
        if self.ks is not None:
            largest = max((strategy.draw.n for strategy in self.parallel), default=0)
            wrong = [k for k in self.ks if not 1 <= k <= largest]
            if wrong:
                raise ValueError(f"k={wrong[0]} is outside 1..{largest}, the largest n drawn; lower k or raise n")
        for name, strategy in zip(names, self.strategies, strict=True):
            online = getattr(strategy, "warmup", None) is not None
            self._check_verifier(name, getattr(strategy, "verifier", None), online=online)
            cap = getattr(strategy, "cap_tokens", None)
            if cap is not None and cap > self.sampling.max_tokens:
                raise ValueError(
                    f"strategy {name}: cap_tokens={cap} is above sampling.max_tokens={self.sampling.max_tokens}, where samples "
                    "end anyway; lower it"
                )
        return self

    def _check_verifier(self, strategy: str, verifier: str | None, *, online: bool) -> None:
        if verifier is None:
            return
        if verifier not in self.verifiers:
            bound = ", ".join(self.verifiers) or "none"
            raise ValueError(
                f"strategy {strategy}: there is no verifier {verifier!r}; bind it under verifiers (bound: {bound})"
            )
        if not self.sampling.logprobs and (reader := _reader_of_logprobs(verifier, self.verifiers[verifier])):
            raise ValueError(f"verifier {reader} reads log-probabilities; set sampling.logprobs: true")
        if online and not getattr(self.verifiers[verifier], "running", False):
            raise ValueError(
                f"strategy {strategy}: warmup stops samples while they are drawn, and verifier {verifier!r} scores them whole; "
                "bind {kind: confidence, over: lowest_window, window: N} with N well below the tokens of a reply"
            )

    @property
    def parallel(self) -> list[ParallelStrategy]:
        """The strategies whose curves are computed from samples; the others are run live."""
        return [cast(ParallelStrategy, strategy) for strategy in self.strategies if hasattr(strategy, "draw")]

    def uses_gold(self, strategy: Any) -> bool:
        """Whether a strategy knows the truth, by itself or through its verifier: it is then no method."""
        verifier = getattr(strategy, "verifier", None)
        return strategy.uses_gold or (verifier is not None and self.verifiers[verifier].uses_gold)


def _reader_of_logprobs(name: str, verifier: Any) -> str:
    """The verifier, or the member of an ensemble, that needs log-probabilities; empty where none does."""
    if isinstance(verifier, Ensemble):
        readers = (_reader_of_logprobs(f"{name}.members.{member}", one) for member, one in verifier.members.items())
        return next(filter(None, readers), "")
    return name if verifier.kind == "confidence" else ""


def budget_field(strategy: Any) -> str:
    """The setting in which the points of one curve differ: a budget of tokens where one is given, else n or its own `size`."""
    limited = getattr(strategy, "budget_tokens", None) is not None
    return "budget_tokens" if limited else getattr(strategy, "size", "n")


def budget_of(strategy: Any) -> int | None:
    """Its value; None for a strategy without such a setting."""
    return getattr(strategy, budget_field(strategy), None)


def strategy_name(strategy: Any) -> str:
    """Name of a strategy's curve: its kind, and every setting that is not the default, but for its budget."""
    settings = strategy.model_dump(exclude_defaults=True, exclude={"kind", "n", budget_field(strategy)})
    inside = ",".join(f"{key}={value}" for key, value in settings.items())
    return f"{strategy.kind}({inside})" if inside else strategy.kind


def override(content: Mapping[str, Any], assignments: Iterable[str]) -> dict[str, Any]:
    """The mapping with `a.b.0.c=value` assignments applied; values are read as YAML.

    Raises:
        UserError: no `=`, or a path through something that is neither a mapping nor a list.
    """
    result: dict[str, Any] = yaml.safe_load(yaml.safe_dump(dict(content)))
    for assignment in assignments:
        path, equals, value = assignment.partition("=")
        if not equals or not path:
            raise UserError(f"override {assignment!r}: expected key=value, such as sampling.temperature=0.7")
        try:
            _assign(result, path.split("."), yaml.safe_load(value))
        except (KeyError, IndexError, TypeError, ValueError) as error:
            raise UserError(f"override {assignment!r}: there is no place {path!r} in this config") from error
        except yaml.YAMLError as error:
            raise UserError(f"override {assignment!r}: {value!r} is not a YAML value") from error
    return result


def _assign(node: Any, path: list[str], value: Any) -> None:
    head, *rest = path
    key: Any = int(head) if isinstance(node, list) else head
    if not rest:
        node[key] = value
        return
    if isinstance(node, dict) and node.get(key) is None:
        node[key] = {}
    _assign(node[key], rest, value)


def validate(content: Mapping[str, Any], where: str) -> RunConfig:
    """A checked config.

    Raises:
        UserError: the first thing that is wrong, with its place, its value and the way out.
    """
    return checked(RunConfig, content, f"config {where}")


def points(path: Path, assignments: Iterable[str]) -> dict[str, RunConfig]:
    """Every run of a config file by name: one without `grid`, else one per combination, all checked before any is used.

    A grid is a mapping from dotted keys to lists of values.

    Raises:
        UserError: as `read_yaml`, `override` and `validate`, or an empty grid.
    """
    content = override(read_yaml(path), assignments)
    grid = content.pop("grid", None)
    if grid is None:
        return {path.stem: validate(content, str(path))}
    if not isinstance(grid, dict) or not grid or not all(isinstance(v, list) and v for v in grid.values()):
        raise UserError(f"config {path}: grid must map dotted keys to lists, such as sampling.temperature: [0.6, 1.0]")
    runs: dict[str, RunConfig] = {}
    for values in itertools.product(*grid.values()):
        chosen = dict(zip(grid, values, strict=True))
        point = override(content, [f"{key}={yaml.safe_dump(value, default_flow_style=True)}" for key, value in chosen.items()])
        name = ",".join(f"{key.rsplit('.', 1)[-1]}={_plain(value)}" for key, value in chosen.items())
        if name in runs:
            raise UserError(f"config {path}: the grid gives two points the name {name!r}; make its values differ")
        runs[name] = validate(point, f"{path} at {name}")
    return runs


def _plain(value: Any) -> str:
    text = str(value.get("kind", value)) if isinstance(value, dict) else str(value)
    return re.sub(r"[^\w.+-]+", "_", text).strip("_")[:60]
