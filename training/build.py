"""From explained exams to files a training run reads: right chains, chains with planted errors, split, with a manifest.

    exams -> right chains -> folds -> per side: planted errors, natural errors -> <fold>/{train,dev,test}.jsonl, manifest.json

Errors are planted in each side by itself, so that no value of the test stands in a training chain because of a trade.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from training.chain_files import write_chains
from training.chains import LabelledChain
from training.corpora import gold_chains
from training.natural import NaturalErrors
from training.perturb import perturb
from training.perturb.model import ModelEdits
from training.splits import Fold, groups, leave_one_out, manifest, random_fold, regrouped, write_manifest
from ttc.bank import Bank
from ttc.benchmarks import AnyBenchmark
from ttc.errors import UserError
from ttc.records import Exam, Gold, Question
from ttc.settings import checked

SIDES = ("train", "dev", "test")


class ByRules(BaseModel, frozen=True, extra="forbid"):
    """Errors by rules: values trade places (`training.perturb`)."""

    kind: Literal["rules"] = "rules"


class RandomFold(BaseModel, frozen=True, extra="forbid"):
    """Groups of questions at random."""

    kind: Literal["random"] = "random"
    dev: float = Field(default=0.1, ge=0, lt=1)
    test: float = Field(default=0.2, gt=0, lt=1)


class LeaveOneOut(BaseModel, frozen=True, extra="forbid"):
    """One fold for each value of a field, which is its test."""

    kind: Literal["leave_one_out"] = "leave_one_out"
    by: str = "discipline"
    dev: float = Field(default=0.1, ge=0, lt=1)


class Corpus(BaseModel, frozen=True, extra="forbid"):
    """What `ttc chains` reads."""

    benchmarks: tuple[AnyBenchmark, ...] = Field(min_length=1)
    """Whose explanations become chains."""
    split: Annotated[RandomFold | LeaveOneOut, Field(discriminator="kind")] = RandomFold()
    errors: Annotated[ByRules | ModelEdits, Field(discriminator="kind")] = ByRules()
    """Who plants them. A model rewrites the explanations first, and plants errors in its own rewrites."""
    share: float = Field(default=0.3, gt=0, lt=1)
    """Of wrong steps among the labelled ones."""
    most: int = Field(default=6, gt=0)
    """Chains with an error made of one."""
    natural: NaturalErrors | None = None
    """A model's own replies besides."""
    bank: Path = Path("runs/bank")
    """Where a model's replies are kept."""
    seed: int = 0


def build(corpus: Corpus, out: Path) -> list[str]:
    """Write all folds below a folder; tell one line about each side.

    Raises:
        UserError: an exam cannot be read, two give one question other answers, or none has an explanation and no natural errors
            are asked for.
        BackendUnavailable: the model cannot be asked; the same call goes on.
    """
    exams = [benchmark.load() for benchmark in corpus.benchmarks]
    golds = _golds(exams)
    right = [chain for exam in exams for chain in gold_chains(exam)]
    if not (right or corpus.natural):
        names = ", ".join(exam.name for exam in exams)
        raise UserError(f"benchmarks: no question of {names} has an explanation; name an exam that has")
    every = [question for exam in exams for question in exam.questions]
    questions = every if corpus.natural else [chain.question for chain in right]
    questions = list({(question.benchmark, question.id): question for question in questions}.values())
    names = groups(questions)
    right, bank = regrouped(right, names), Bank(corpus.bank)
    lines, manifests, natural = [], [], []
    if isinstance(corpus.errors, ModelEdits):
        right, failed = corpus.errors.rewrite(right, golds, bank)
        lines += _failures("rewrites", failed)
    if corpus.natural:
        natural, failed = corpus.natural.chains(questions, golds, bank)
        natural = regrouped(natural, names)
        lines += _failures("replies", failed)
    folds = _folds(corpus, questions, golds)
    for fold in folds:
        folder = out if len(folds) == 1 else out / fold.name.replace(" ", "_").replace(",", "")
        made = {side: _side(corpus, fold.chains(side, right), golds) for side in SIDES}
        sides = {side: [*chains, *fold.chains(side, natural)] for side, (chains, _) in made.items()}
        for side, chains in sides.items():
            write_chains(folder / f"{side}.jsonl", chains)
            lines.append(f"{fold.name}, {side}: {_summary(chains)}")
            lines += _failures(f"{fold.name}, {side}, edits", made[side][1])
        lines += [
            f"{fold.name}, left out of training: {count} questions, for each {reason}"
            for reason, count in fold.dropped.items()
            if count
        ]
        manifests.append(manifest(fold, sides))
    write_manifest(out / "manifest.json", manifests)
    return lines


def _golds(exams: Sequence[Exam]) -> dict[str, Gold]:
    """By question id. Raises UserError where two exams have other answers under one id, as MMMU and MMMU-Pro may."""
    found: dict[str, Gold] = {}
    for exam in exams:
        for id, gold in exam.golds.items():
            if found.setdefault(id, gold).answers != gold.answers:
                raise UserError(
                    f"benchmarks: question {id} of {exam.name} has another answer in an exam before it; leave one out"
                )
    return found


def _folds(corpus: Corpus, questions: Sequence[Question], golds: Mapping[str, Gold]) -> list[Fold]:
    split = corpus.split
    if split.kind == "random":
        return [random_fold(questions, golds, seed=corpus.seed, dev=split.dev, test=split.test)]
    return leave_one_out(questions, golds, by=split.by, seed=corpus.seed, dev=split.dev)


def _side(corpus: Corpus, right: list[LabelledChain], golds: Mapping[str, Gold]) -> tuple[list[LabelledChain], Counter[str]]:
    """The right chains of one side and those with an error made of them, and how often each check failed."""
    wanted = {"seed": corpus.seed, "share": corpus.share, "most": corpus.most}
    if isinstance(corpus.errors, ModelEdits):
        made, failed = corpus.errors.perturb(right, Bank(corpus.bank), **wanted)
    else:
        made, failed = perturb(right, golds, **wanted), Counter[str]()
    return [*right, *(one.chain for one in made)], failed


def _failures(of: str, failed: Counter[str]) -> list[str]:
    """One line where any check failed; one reply can fail several."""
    counts = ", ".join(f"{name} {count}" for name, count in failed.most_common() if count)
    return [f"{of} that failed a check: {counts}"] if counts else []


def _summary(chains: Sequence[LabelledChain]) -> str:
    origins = Counter(chain.origin for chain in chains)
    kinds = Counter(kind for chain in chains if chain.origin == "perturbed" for kind in chain.kinds if kind)
    counts = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    told = f"{origins['gold']} right chains, {origins['perturbed']} with an error ({counts or 'none'})"
    if not origins["natural"]:
        return told
    wrong = sum(chain.origin == "natural" and chain.first_error is not None for chain in chains)
    return f"{told}, {origins['natural']} natural, {wrong} of them with an error"


def validate(content: Mapping[str, Any], where: str) -> Corpus:
    """A checked config. Raises UserError with the first thing that is wrong."""
    return checked(Corpus, content, f"config {where}")
