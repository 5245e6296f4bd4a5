"""`ttc verify`: what the verifiers of a finished run are worth.

    run -> evidence -> figures by group, kind, origin -> gains over the vote -> probes with verdicts -> verify.json, verify.html

Steps are judged where their truth is known: by the pocket exam itself, or by a file of labelled chains; answers always. Nothing
is drawn, and what is scored stays in the bank, so a second call only computes.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

from experiments.evidence import Evidence, Gathering
from experiments.freeze import answer_auroc, by_aggregation, freeze
from experiments.probing import probe
from ttc.errors import UserError
from ttc.records import Question
from ttc.statistics import Interval
from verifiers import calibrate
from verifiers import frozen as freezing
from verifiers.calibrate import Method, Quality
from verifiers.card import (
    AnswerRow,
    BaselineRow,
    KindRow,
    StepRow,
    answer_row,
    baseline_rows,
    judged,
    kind_rows,
    mean_of_sources,
    qualities,
    step_row,
)
from verifiers.findings import Finding
from verifiers.frozen import CUT, Frozen, step_cut
from verifiers.gains import Credits, Gain, budgets, credits_of, gains
from verifiers.metrics import ScoredChain, Steps, last_step_lowest

PROBED = 256
"""Replies that each probe changes."""

FIELDS = ("topic_difficulty", "subject")


@dataclass(frozen=True, slots=True)
class AggregationRow:
    """What another aggregation of the same step scores would give."""

    aggregation: str
    chosen: bool
    auroc: float | None
    """On answers."""
    best_of_n: float
    """Accuracy, mean over k."""
    at_last: float
    """Accuracy of best-of-k at the largest k."""
    weighted_vote: float
    """Accuracy at the largest k."""


@dataclass(frozen=True, slots=True)
class GroupGains:
    """Gains over the vote in one group of questions."""

    group: str
    questions: int
    gains: tuple[Gain, ...]


@dataclass(frozen=True, slots=True)
class Card:
    """Everything about one verifier on one run."""

    name: str
    identity: str
    uses_gold: bool
    frozen: str
    """File that the calibration, aggregation and threshold are from; empty where the verifier's own scores are judged."""
    cut: float
    replies: int
    unscored: int
    unmatched: int
    """Replies with labels for other steps than were scored."""
    qualities: Mapping[str, Quality]
    steps: tuple[StepRow, ...]
    sources_macro_f1: float | None
    """Mean over sources, of all chains."""
    kinds: tuple[KindRow, ...]
    last_step_lowest: Interval | None
    answers: tuple[AnswerRow, ...]
    aggregations: tuple[AggregationRow, ...]
    gains: tuple[GroupGains, ...]
    baselines: tuple[BaselineRow, ...]
    findings: tuple[Finding, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Options:
    """What is asked for."""

    only: tuple[str, ...] = ()
    """Verifiers; all where empty."""
    chains: Path | None = None
    """File of labelled chains."""
    frozen: Path | None = None
    """Folder with a frozen file per verifier, to be judged under."""
    freeze: Path | None = None
    """Folder to write frozen files to, chosen on this run."""
    dev: Path | None = None
    """The dev run that the frozen files were made on, to see that they still fit it."""
    method: Method = "temperature"
    held_out: tuple[str, str] | None = None
    """Field and value that the verifier was not trained on."""
    probed: int = PROBED
    seed: int = 0


def verify(run: Path, options: Options) -> list[Card]:
    """Judge the verifiers of a finished run and write what was found into its folder.

    Raises:
        UserError: as `Gathering`, `freeze` and `Frozen.check`; a verifier that the run does not bind; or dev data that changed.
    """
    with Gathering(run, options.chains) as gathering:
        known = gathering.config.verifiers
        if unknown := [name for name in options.only if name not in known]:
            raise UserError(f"run {run}: it binds no verifier {unknown[0]!r}; choose from {', '.join(known)}")
        cards = []
        for name in options.only or known:
            evidence = gathering.of(name)
            cards.append(_card(evidence, gathering, _frozen(evidence, options), options))
            if options.freeze and not evidence.verifier.uses_gold:
                freeze(evidence, method=options.method).write(options.freeze / f"{name}.json")
    _write(run / "verify.json", to_json(cards))
    from experiments.verify_page import page

    _write(run / "verify.html", page(cards, run.name))
    return cards


def to_json(cards: Sequence[Card]) -> str:
    """For other programs."""
    return TypeAdapter(list[Card]).dump_json(list(cards), indent=1).decode()


def read(run: Path) -> list[Card]:
    """What was last found about a run, for the report to show (`experiments.verify_page.section`); [] where nothing was.

    Raises:
        UserError: a file of another version.
    """
    path = run / "verify.json"
    if not path.exists():
        return []
    try:
        return TypeAdapter(list[Card]).validate_json(path.read_bytes())
    except ValidationError as error:
        raise UserError(f"{path}: not what this version of `ttc verify` writes; run `ttc verify {run}` again") from error


def _frozen(evidence: Evidence, options: Options) -> tuple[Frozen | None, str]:
    """The file to judge under, once it has been held against this run and, where given, the dev run."""
    path = options.frozen / f"{evidence.name}.json" if options.frozen else None
    if path is None or evidence.verifier.uses_gold:
        return None, ""
    found = freezing.read(path)
    found.check(evidence.identity, evidence.plan.exam.questions, str(path))
    if options.dev is not None:
        with Gathering(options.dev, options.chains) as dev:
            if evidence.name not in dev.config.verifiers:
                raise UserError(f"run {options.dev}: it binds no verifier {evidence.name!r}; give the run it was frozen on")
            if dev.of(evidence.name).dev() != found.dev:
                raise UserError(
                    f"frozen file {path}: its dev data (hash {found.dev.hash[:12]}) are not those of {options.dev} now; "
                    "freeze it again"
                )
    return found, str(path)


def _card(evidence: Evidence, gathering: Gathering, chosen: tuple[Frozen | None, str], options: Options) -> Card:
    frozen, where = chosen
    cut = step_cut(frozen)
    chains, pools = evidence.under(frozen), evidence.pools(frozen)
    own = chains[: len(evidence.chains)]
    credits = credits_of(pools, evidence.name, budgets(pools))
    questions = [items[0].question for items in evidence.items.values()]
    groups = list(_groups(questions, options.held_out))
    others = chains[len(own) :]
    origins = sorted({chain.origin for chain in chains}) if others else []
    rows = [(name, [chain for chain in own if chain.question in members]) for name, members in groups]
    rows += [(f"origin: {origin}", [c for c in chains if c.origin == origin]) for origin in origins]
    return Card(
        name=evidence.name,
        identity=evidence.identity,
        uses_gold=evidence.verifier.uses_gold,
        frozen=where,
        cut=cut,
        replies=len(own),
        unscored=sum(chain.score is None for chain in own),
        unmatched=evidence.unmatched,
        qualities=qualities(own) | _crossfitted(own, options),
        steps=tuple(step_row(name, some, cut) for name, some in rows if any(_has_labels(chain) for chain in some)),
        sources_macro_f1=mean_of_sources(chains, cut),
        kinds=tuple(kind_rows(chains, cut)),
        last_step_lowest=last_step_lowest(own),
        answers=tuple(answer_row(name, some) for name, some in rows),
        aggregations=tuple(_aggregations(evidence, frozen)),
        gains=tuple(_gains(evidence, credits, groups)),
        baselines=tuple(baseline_rows(chains)),
        findings=tuple(probe(evidence, gathering.scoring, frozen, credits, replies=options.probed, seed=options.seed)),
        notes=tuple(_notes(evidence, frozen, own)),
    )


def _groups(questions: Sequence[Question], held_out: tuple[str, str] | None) -> Iterator[tuple[str, set[str]]]:
    """Name and question ids: all, held out and seen in training, each value of the usual fields that has several."""
    yield "all", {question.id for question in questions}
    if held_out is not None:
        field, value = held_out
        apart = {question.id for question in questions if value in question.values(field)}
        if not apart:
            raise UserError(f"--held-out {field}={value}: no question of this run has it")
        yield f"held out: {value}", apart
        yield f"all but {value}", {question.id for question in questions} - apart
    for field in FIELDS:
        values = dict.fromkeys(value for question in questions for value in question.values(field))
        for value in values if len(values) > 1 else ():
            yield value, {question.id for question in questions if value in question.values(field)}


def _gains(evidence: Evidence, credits: Credits, groups: Sequence[tuple[str, set[str]]]) -> Iterator[GroupGains]:
    ids = list(evidence.items)
    for name, members in groups:
        rows = [row for row, question_id in enumerate(ids) if question_id in members]
        if rows:
            yield GroupGains(name, len(rows), tuple(gains(credits, evidence.units, rows)))


def _aggregations(evidence: Evidence, frozen: Frozen | None) -> Iterator[AggregationRow]:
    """All of them, whichever was chosen."""
    fitted = frozen.steps if frozen else None
    own = frozen.aggregation if frozen else getattr(evidence.verifier, "aggregation", None)
    for how, found in by_aggregation(evidence, fitted).items():
        best_K, weighted_K = (found.method_QK[name].mean(axis=0) for name in ("best_of_n", "weighted_vote"))
        means = float(best_K.mean()), float(best_K[-1]), float(weighted_K[-1])
        yield AggregationRow(how, how == own, answer_auroc(evidence, fitted, how), *means)


def _crossfitted(chains: Sequence[ScoredChain], options: Options) -> dict[str, Quality]:
    """Of a dev run that is about to be frozen: how well calibrated scores fit questions that they were not fitted on.

    Figures that its questions are too few for are left out.
    """
    if options.freeze is None:
        return {}
    steps, (kept, right, scores) = Steps.of(chains), judged(chains)
    columns = {"steps": (steps.scores, steps.right, steps.units), "answers": (scores, right, [c.unit for c in kept])}
    found: dict[str, Quality] = {}
    for (name, (said, truth, units)), method in product(columns.items(), ("temperature", "isotonic")):
        with suppress(UserError):  # too few questions, or a fold of one class: what is frozen does not hang on this figure
            found[f"{name}, {method}"] = calibrate.quality(calibrate.crossfitted(method, said, truth, units), truth)
    return found


def _notes(evidence: Evidence, frozen: Frozen | None, own: Sequence[ScoredChain]) -> Iterator[str]:
    if evidence.verifier.uses_gold:
        yield "it knows the gold: a ceiling, and no method"
    if frozen is None and not evidence.verifier.uses_gold:
        yield f"its own scores and aggregation, steps counted as right from {CUT} on: nothing was chosen on dev (--frozen)"
    if not any(_has_labels(chain) for chain in own):
        yield "no step of this run has a known truth: give --chains with labelled steps"
    if evidence.unmatched:
        yield f"{evidence.unmatched} replies are in no figure on steps: what is known is of other steps than were scored"
    if missing := sum(chain.score is None for chain in own):
        yield f"{missing} of {len(own)} replies have no score; they lose to any, and are in no figure but the gains"


def _has_labels(chain: ScoredChain) -> bool:
    return any(label is not None for label in chain.labels)


def _write(path: Path, text: str) -> None:
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text(text, encoding="utf-8")
    partial.replace(path)
