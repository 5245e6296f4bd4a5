"""How hard is a question, before anybody has answered it: a ladder of predictors, each judged on questions it never saw.

    questions with levels -> feature tables -> folds -> rungs -> quality with intervals -> one table, one frozen file

The finding hangs on one rung named beforehand (`primary`) against the majority of each subject. The best of many rungs, picked
afterwards, would owe part of its lead to luck.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, TypeAdapter, model_validator

from training.difficulty_features import Family, Tried, tables
from training.difficulty_frozen import Frozen, Prediction
from training.difficulty_head import Head
from training.difficulty_metrics import Quality, kappa_difference, quality
from training.difficulty_models import Predicted, majority, predict
from training.splits import groups, key_of
from ttc import statistics
from ttc.benchmarks import AnyBenchmark
from ttc.errors import UserError
from ttc.records import Question
from ttc.settings import checked
from ttc.statistics import Interval

IntArray = NDArray[np.int64]
USUAL_LEVELS = ("Easy", "Medium", "Hard")


class Rung(BaseModel, frozen=True, extra="forbid"):
    """One predictor."""

    name: str
    model: Literal["majority", "ordinal", "boosting", "head"]
    features: tuple[Family, ...] = ()
    head: Head = Head()
    """For the model `head`."""

    @property
    def reads_policy(self) -> bool:
        """Whether it looks at samples of the question: it then knows how hard the question is for a model."""
        return bool({"policy", "pass_rate"} & set(self.features))


TEXT: tuple[Family, ...] = ("embedding", "form", "subject")
LADDER = (
    Rung(name="majority by subject", model="majority"),
    Rung(name="subject", model="ordinal", features=("subject",)),
    Rung(name="form", model="ordinal", features=("form",)),
    Rung(name="subject, form", model="ordinal", features=("form", "subject")),
    Rung(name="embedding", model="ordinal", features=("embedding",)),
    Rung(name="embedding, form, subject", model="ordinal", features=TEXT),
    Rung(name="boosting", model="boosting", features=TEXT),
    Rung(name="policy", model="ordinal", features=("policy",)),
    Rung(name="policy, pass rate", model="ordinal", features=("policy", "pass_rate")),
    Rung(name="boosting, policy", model="boosting", features=(*TEXT, "policy")),
    Rung(name="boosting, policy, pass rate", model="boosting", features=(*TEXT, "policy", "pass_rate")),
)


class Difficulty(BaseModel, frozen=True, extra="forbid"):
    """What `ttc predict-difficulty` reads."""

    benchmark: AnyBenchmark | None = None
    """Whose questions have levels. Without it, the questions of `outputs`."""
    outputs: tuple[Path, ...] = ()
    """Replies of a model to these questions, one file each: what the policy features are made of."""
    run: Path | None = None
    """A finished run on the benchmark, for policy features with a verifier's scores where it has one."""
    learn_from: AnyBenchmark | None = None
    """Another exam with levels to learn from; then all of `benchmark` is judged at once, and no fold is made."""
    level: str = "topic_difficulty"
    """The field that is predicted."""
    levels: tuple[str, ...] | None = None
    """Its values, the easiest first; not needed for numbers, nor for Easy, Medium, Hard."""
    rungs: tuple[Rung, ...] = LADDER
    """Those whose features cannot be had are left out."""
    primary: str = "boosting"
    """The rung that the finding hangs on, and whose predictions are frozen."""
    embedder: Path | None = None
    """Folder of a sentence encoder."""
    folds: int = Field(default=5, ge=2)
    leave_out: str | None = "subject"
    """Field each of whose values is left out once, beside the folds."""
    seed: int = 0

    @model_validator(mode="after")
    def _checked(self) -> "Difficulty":
        if self.benchmark is None and not self.outputs:
            raise ValueError("name a benchmark, or outputs with its questions")
        if self.run is not None and (self.outputs or self.learn_from):
            raise ValueError("run: policy features come from a run or from outputs, and of the questions judged only")
        if self.primary not in [rung.name for rung in self.rungs]:
            raise ValueError(f"primary: there is no rung {self.primary!r}; rungs are {', '.join(r.name for r in self.rungs)}")
        return self


def validate(content: Mapping[str, object], where: str) -> Difficulty:
    """A checked config. Raises UserError with the first thing that is wrong."""
    return checked(Difficulty, content, f"config {where}")


@dataclass(frozen=True, slots=True)
class Labelled:
    """Questions with levels, and all that predictors may look at."""

    questions: tuple[Question, ...]
    level_Q: IntArray
    levels: tuple[str, ...]
    clusters: tuple[str, ...]
    """Questions that share an image, a source or their wording have one name, and are on one side of every fold."""
    tables: Mapping[Family, NDArray[np.float64]]

    @property
    def subjects(self) -> list[str]:
        """The subject of each question, empty where it has none."""
        return [str(question.fields.get("subject", "")) for question in self.questions]


@dataclass(frozen=True, slots=True)
class Scheme:
    """A way to divide questions into those to learn from and those to judge."""

    name: str
    folds: tuple[tuple[IntArray, IntArray], ...]
    """Rows to learn from and rows to judge; no row is judged twice."""

    @property
    def judged(self) -> IntArray:
        """All rows that are judged."""
        return np.sort(np.concatenate([judged for _, judged in self.folds]))


@dataclass(frozen=True, slots=True)
class Entry:
    """One rung under one scheme."""

    rung: str
    scheme: str
    reads_policy: bool
    quality: Quality
    gain: Interval
    """Weighted kappa above the majority of each subject, paired."""
    over_subject: Interval
    """The same above what the subject alone gives under the same cuts: the majority rarely names a rare level, which costs it
    kappa whatever is known."""


@dataclass(frozen=True, slots=True)
class Ladder:
    """All rungs under all schemes."""

    level: str
    levels: tuple[str, ...]
    counts: tuple[int, ...]
    """Judged questions of each level."""
    primary: str
    entries: tuple[Entry, ...]
    left_out: tuple[str, ...]
    """Rungs without their features."""

    def entry(self, rung: str, scheme: str) -> Entry:
        """One of them by name."""
        return next(one for one in self.entries if (one.rung, one.scheme) == (rung, scheme))

    def to_json(self) -> str:
        """For `--json`."""
        return TypeAdapter(Ladder).dump_json(self, indent=1).decode()


def label(
    questions: Sequence[Question],
    config: Difficulty,
    *,
    embeddings: NDArray[np.float64] | None = None,
    tried: Mapping[str, Tried] | None = None,
) -> Labelled:
    """The questions that have a level, with their features.

    Raises:
        UserError: no question has the field, or the order of its values is not known.
    """
    rows = [row for row, question in enumerate(questions) if isinstance(question.fields.get(config.level), str)]
    kept = tuple(questions[row] for row in rows)
    values = [str(question.fields[config.level]) for question in kept]
    levels = _ordered(values, config)
    names = groups(kept)
    return Labelled(
        kept,
        np.array([levels.index(value) for value in values]),
        levels,
        tuple(names[key_of(question)] for question in kept),
        tables(kept, embeddings=None if embeddings is None else embeddings[rows], tried=tried),
    )


def _ordered(values: Sequence[str], config: Difficulty) -> tuple[str, ...]:
    found = set(values)
    if len(found) < 2:
        raise UserError(f"level {config.level!r}: the questions have {len(found)} values of it; name a field with several")
    if config.levels is not None:
        if absent := found - set(config.levels):
            raise UserError(
                f"levels {list(config.levels)}: a question has {config.level} {min(absent)!r}; add it, in its place"
            )
        return config.levels
    if all(value.replace(".", "", 1).isdecimal() for value in found):
        return tuple(sorted(found, key=float))
    if found <= set(USUAL_LEVELS):
        return tuple(level for level in USUAL_LEVELS if level in found)
    raise UserError(f"level {config.level!r}: which of {', '.join(sorted(found)[:9])} is easier? Set levels, the easiest first")


def schemes(data: Labelled, config: Difficulty, learning: int = 0) -> list[Scheme]:
    """The ways to divide the questions.

    Args:
        learning: how many of the questions, the first ones, are only learned from; 0 for cross-validation.
    """
    from sklearn.model_selection import GroupKFold

    rows = np.arange(len(data.questions))
    if learning:
        shared = set(data.clusters[learning:])
        return [Scheme("other questions", ((_unshared(data, rows[:learning], shared), rows[learning:]),))]
    if len(set(data.clusters)) < config.folds:
        raise UserError(f"folds={config.folds}: the questions form {len(set(data.clusters))} groups; lower folds")
    split = GroupKFold(config.folds, shuffle=True, random_state=config.seed).split(rows, groups=np.array(data.clusters))
    found = [Scheme(f"grouped {config.folds}-fold", tuple((train, test) for train, test in split))]
    values = np.array([str(question.fields.get(config.leave_out or "", "")) for question in data.questions])
    if config.leave_out and len(set(values)) > 1:
        folds = []
        for value in np.unique(values):
            judged = rows[values == value]
            left = _unshared(data, rows[values != value], {data.clusters[row] for row in judged})
            if not len(left):
                raise UserError(
                    f"leave_out={config.leave_out}: all other questions share a source or an image with those of {value}; set "
                    "leave_out=null"
                )
            folds.append((left, judged))
        found.append(Scheme(f"leave one {config.leave_out} out", tuple(folds)))
    return found


def _unshared(data: Labelled, rows: IntArray, clusters: set[str]) -> IntArray:
    return np.array([row for row in rows if data.clusters[row] not in clusters], dtype=int)


def climb(
    data: Labelled, config: Difficulty, *, learning: int = 0, on_rung: Callable[[str], None] = lambda name: None
) -> tuple[Ladder, Frozen]:
    """Every rung under every scheme, and the primary one's predictions under the first.

    Args:
        learning: see `schemes`.
        on_rung: told the name of each before it starts.
    """
    usable = [rung for rung in config.rungs if set(rung.features) <= data.tables.keys()]
    if config.primary not in [rung.name for rung in usable]:
        raise UserError(f"primary {config.primary!r}: its features cannot be had here; give an embedder, or name another rung")
    entries, frozen = [], None
    divided = schemes(data, config, learning)
    for scheme in divided:
        rows = scheme.judged
        clusters, true_Q = [data.clusters[row] for row in rows], data.level_Q[rows]
        base = _out_of_fold(Rung(name="", model="majority"), data, scheme, config.seed)
        subject = _out_of_fold(Rung(name="", model="ordinal", features=("subject",)), data, scheme, config.seed)
        for rung in usable:
            on_rung(f"{scheme.name}: {rung.name}")
            found = _out_of_fold(rung, data, scheme, config.seed)
            shared = {"levels": len(data.levels), "seed": config.seed, "draws": statistics.DRAWS}
            measured = quality(true_Q, found.levels_Q, found.scores_Q, clusters, **shared)
            above = (kappa_difference(true_Q, found.levels_Q, one.levels_Q, clusters, **shared) for one in (base, subject))
            entries.append(Entry(rung.name, scheme.name, rung.reads_policy, measured, *above))
            if rung.name == config.primary and scheme is divided[0]:
                frozen = _freeze(rung, data, rows, found, scheme)
    assert frozen is not None
    counts = np.bincount(data.level_Q[divided[0].judged], minlength=len(data.levels))
    left_out = tuple(rung.name for rung in config.rungs if rung not in usable)
    return Ladder(config.level, data.levels, tuple(counts.tolist()), config.primary, tuple(entries), left_out), frozen


def _out_of_fold(rung: Rung, data: Labelled, scheme: Scheme, seed: int) -> Predicted:
    """Predictions for `scheme.judged`, in its order."""
    scores_Q, levels_Q = np.zeros(len(data.questions)), np.zeros(len(data.questions), dtype=int)
    for train, test in scheme.folds:
        found = _predicted(rung, data, train, test, seed)
        scores_Q[test], levels_Q[test] = found.scores_Q, found.levels_Q
    return Predicted(scores_Q[scheme.judged], levels_Q[scheme.judged])


def _predicted(rung: Rung, data: Labelled, train: IntArray, test: IntArray, seed: int) -> Predicted:
    level_Q, clusters = data.level_Q[train], [data.clusters[row] for row in train]
    if rung.model == "majority":
        subjects = data.subjects
        return majority([subjects[row] for row in train], level_Q, [subjects[row] for row in test])
    if rung.model == "head":
        from training.difficulty_head import predict as by_head

        seen, judged = ([data.questions[row] for row in rows] for rows in (train, test))
        return by_head(rung.head, seen, level_Q, clusters, judged, levels=len(data.levels), seed=seed)
    families = sorted(rung.features, key=lambda family: family != "embedding")  # the embedding stands first
    table = np.hstack([data.tables[family] for family in families])
    wide = data.tables["embedding"].shape[1] if "embedding" in families else 0
    return predict(rung.model, table[train], level_Q, clusters, table[test], levels=len(data.levels), wide=wide, seed=seed)


def _freeze(rung: Rung, data: Labelled, rows: IntArray, found: Predicted, scheme: Scheme) -> Frozen:
    predictions = {
        data.questions[row].id: Prediction(level=data.levels[level], score=round(float(score), 6))
        for row, level, score in zip(rows, found.levels_Q, found.scores_Q, strict=True)
    }
    return Frozen(
        levels=data.levels, rung=rung.name, scheme=scheme.name, reads_policy=rung.reads_policy, questions=predictions
    ).sealed()
