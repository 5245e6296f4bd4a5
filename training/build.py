"""From explained exams to files a training run reads: right chains, chains with planted errors, split, with a manifest.

    exams -> right chains -> folds -> per side: planted errors, natural errors -> <fold>/{train,dev,test}.jsonl, manifest.json

Errors are planted in each side by itself, so that no value of the test stands in a training chain because of a trade.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, Field

from training.artefacts import edit_auroc, neighbour_auroc, style_auroc
from training.chain_files import write_chains
from training.chains import LabelledChain
from training.corpora import gold_chains
from training.natural import NaturalErrors
from training.perturb import Perturbed, perturb
from training.perturb.model import ModelEdits
from training.splits import Fold, groups, leave_one_out, manifest, random_fold, regrouped, write_manifest
from ttc.bank import Bank
from ttc.benchmarks import AnyBenchmark
from ttc.errors import UserError
from ttc.records import Exam, Gold, Question
from ttc.settings import checked

SIDES = ("train", "dev", "test")
TRACED = 0.6
"""AUROC up to which text alone is taken to tell nothing."""
FEWEST_TRACED = 50
"""Questions with a planted error below which that AUROC is noise."""


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
        sides = {}
        for side in SIDES:
            explained, told = _side(corpus, fold.chains(side, right), golds, f"{fold.name}, {side}")
            sides[side] = [*explained, *fold.chains(side, natural)]
            write_chains(folder / f"{side}.jsonl", sides[side])
            lines += [f"{fold.name}, {side}: {_summary(sides[side])}", *told]
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


def _side(
    corpus: Corpus, right: list[LabelledChain], golds: Mapping[str, Gold], where: str
) -> tuple[list[LabelledChain], list[str]]:
    """The right chains of one side and those with an error made of them, and what there is to tell of these."""
    wanted = {"seed": corpus.seed, "share": corpus.share, "most": corpus.most}
    if isinstance(corpus.errors, ModelEdits):
        planted, failed = corpus.errors.perturb(right, Bank(corpus.bank), **wanted)
    else:
        planted, failed = perturb(right, golds, **wanted), Counter[str]()
    chains = [*right, *(one.chain for one in planted)]
    return chains, _failures(f"{where}, edits", failed) + _traces(where, chains, planted)


def _traces(where: str, chains: Sequence[LabelledChain], planted: Sequence[Perturbed]) -> list[str]:
    """One line on whether planted errors show without the question, where there are enough of them to tell."""
    if len({one.chain.group for one in planted}) < FEWEST_TRACED:
        return []
    style, edit, neighbour = style_auroc(chains), edit_auroc(planted), neighbour_auroc(planted)
    doubt = "; a verifier can learn these traces in place of the errors" if max(style, edit, neighbour) > TRACED else ""
    return [
        f"{where}, errors told by text alone: AUROC {style:.3f} by style, {edit:.3f} from the same step before the edit, "
        f"{neighbour:.3f} from the step beside it (at most {TRACED}){doubt}"
    ]


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
