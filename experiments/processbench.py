"""`ttc processbench`: what verifiers are worth on replies whose steps people labelled (ProcessBench, VisualProcessBench).

files -> labelled chains -> those not trained on -> scores (bank, then verifier) -> figures by file, verifier and source
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field, TypeAdapter

from training.chains import LabelledChain
from training.processbench import bench_chains
from training.splits import apart_from
from ttc.bank import Bank
from ttc.errors import UserError
from ttc.records import Question, Reply, Sample, StepScores
from ttc.scoring import Scoring, verifier_id
from ttc.settings import checked, read_yaml
from ttc.statistics import Interval
from verifiers import AnyVerifier, frozen
from verifiers.card import ALL, BaselineRow, StepRow, baseline_rows, mean_of_sources, step_row
from verifiers.frozen import CUT, Frozen, question_hash, step_cut
from verifiers.metrics import ScoredChain, share
from verifiers.probes import rewritten


class Verifiers(BaseModel, frozen=True):
    """What is read of a config; a run's config has more, which is passed over."""

    verifiers: Mapping[str, AnyVerifier] = Field(min_length=1)
    bank: Path = Path("runs/bank")
    """Where scores are kept."""


@dataclass(frozen=True, slots=True)
class Row:
    """A verifier on the chains of a file, or on those of one source."""

    verifier: str
    erroneous: float
    """Share of chains with an error."""
    passed: Interval | None
    """Of chains without one, in how many no step is flagged. `steps.first_error` is its counterpart."""
    sources_macro_f1: float | None
    """Mean over the file's sources; `steps.macro_f1` pools them."""
    cut: float
    frozen: str
    """File that the threshold is from; empty where it is 0.5."""
    unscored: int
    """Chains in no figure."""
    why: str
    """What stood in the way most often."""
    steps: StepRow


@dataclass(frozen=True, slots=True)
class Bench:
    """One file."""

    file: str
    chains: int
    dropped: int
    """Chains besides, whose questions were trained on."""
    baselines: tuple[BaselineRow, ...]
    rows: tuple[Row, ...]


def judge(config: Path, files: Sequence[Path], *, trained: Path | None = None, chosen: Path | None = None) -> list[Bench]:
    """Score the chains of all files by all verifiers of a config.

    Args:
        trained: config of the training run whose questions are left out.
        chosen: folder with a frozen file per verifier.

    Raises:
        UserError: a config or a file of another form, nothing left of a file, or as `Frozen.check`.
    """
    found = _read(config)
    bank = Bank(found.bank)
    taken = _trained_on(trained)
    every = {file: bench_chains(file) for file in files}
    kept = {file: apart_from(chains, taken) if taken else chains for file, chains in every.items()}
    if empty := [file for file, chains in kept.items() if not chains]:
        raise UserError(f"{empty[0]}: the questions of all {len(every[empty[0]])} chains were trained on; give another file")
    rows: dict[Path, list[Row]] = {file: [] for file in files}
    for name, verifier in found.verifiers.items():
        questions = [chain.question for chains in kept.values() for chain in chains]
        told = _frozen(chosen, name, verifier_id(verifier), questions)
        # one model at a time
        with bank.writer(run="processbench") as writer, Scoring({name: verifier}, bank, writer) as scoring:
            for file, chains in kept.items():
                rows[file] += _rows(name, chains, scoring.score_all(name, list(map(_reply, chains))), *told)
    return [
        Bench(
            file=str(file),
            chains=len(chains),
            dropped=len(every[file]) - len(chains),
            baselines=tuple(baseline_rows([_judged(chain, (CUT,) * len(chain.steps)) for chain in chains])),
            rows=tuple(rows[file]),
        )
        for file, chains in kept.items()
    ]


def mean_of_files(benches: Sequence[Bench]) -> dict[str, float]:
    """By verifier, the mean of its process F1 over files, as ProcessBench is told; of those that have one in each file."""
    found: dict[str, list[float]] = {}
    for bench in benches:
        for row in bench.rows:
            if row.steps.group == ALL and row.steps.process_f1 is not None:
                found.setdefault(row.verifier, []).append(row.steps.process_f1.mean)
    return {name: sum(values) / len(values) for name, values in found.items() if len(values) == len(benches)}


def to_json(benches: Sequence[Bench]) -> str:
    """For other programs."""
    return TypeAdapter(list[Bench]).dump_json(list(benches), indent=1).decode()


def _read(path: Path) -> Verifiers:
    return checked(Verifiers, read_yaml(path), f"config {path}")


def _trained_on(path: Path | None) -> list[Question]:
    if path is None:
        return []
    from training.config import validate
    from training.data import questions

    return questions(validate(read_yaml(path), str(path)).data)


def _frozen(folder: Path | None, name: str, identity: str, questions: Sequence[Question]) -> tuple[Frozen | None, str]:
    if folder is None:
        return None, ""
    path = folder / f"{name}.json"
    found = frozen.read(path)
    found.check(identity, questions, str(path))
    return found, str(path)


def _reply(chain: LabelledChain) -> Reply:
    """The chain as a verifier reads it: in the steps that have labels, under a key of its content."""
    text, question = "".join(chain.steps), chain.question
    unkeyed = Reply(question, Sample("", 0, question.id, text, finish="stop"))
    return rewritten(unkeyed, "processbench", question, text, steps=chain.steps)


def _judged(chain: LabelledChain, scores: tuple[float, ...]) -> ScoredChain:
    return ScoredChain(
        question=question_hash(chain.question),  # replies of several models to one question have an id each
        steps=chain.steps,
        scores=scores,
        labels=chain.labels,
        is_right=chain.is_right,
        source=str(chain.question.fields["subset"]),
    )


def _rows(
    name: str, chains: Sequence[LabelledChain], scores: Sequence[StepScores], chosen: Frozen | None, where: str
) -> Iterator[Row]:
    """Of all chains, and of each source where there are several."""
    cut = step_cut(chosen)
    failed = [_why(chain, one) for chain, one in zip(chains, scores, strict=True)]
    judged = [
        (chain, None if why else _judged(chain, chosen.step_scores(one.steps) if chosen else one.steps))
        for chain, one, why in zip(chains, scores, failed, strict=True)
    ]
    sources = sorted({str(chain.question.fields["subset"]) for chain in chains})
    for source in [ALL, *(sources if len(sources) > 1 else ())]:
        mine = [one for chain, one in judged if source in (ALL, chain.question.fields["subset"])]
        known = [one for one in mine if one is not None]
        if source != ALL and not known:
            continue
        yield Row(
            verifier=name,
            erroneous=sum(False in one.labels for one in known) / len(known) if known else 0.0,
            passed=share([(one.first_flagged(cut) < 0, one.unit) for one in known if one.first_error == -1]),
            sources_macro_f1=mean_of_sources(known, cut) if source == ALL and len(sources) > 1 else None,
            cut=cut,
            frozen=where,
            unscored=len(mine) - len(known),
            why=max(Counter(filter(None, failed)).items(), key=lambda item: item[1], default=("", 0))[0],
            steps=step_row(source, known, cut),
        )


def _why(chain: LabelledChain, scores: StepScores) -> str:
    """Why a chain has no scores of its steps; empty where it has."""
    if len(scores.steps) == len(chain.steps):
        return ""
    return scores.status if scores.status != "ok" else "it scores no steps" if not scores.steps else "it scores other steps"
