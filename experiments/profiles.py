"""Where runs fail: who solves what others do not, how sure they are, and which errors more samples mend.

runs -> outcomes (who gains, who loses, by group) | samples (overlap, confidence) | kinds of error (shares, what the vote mends)

Q questions, E kinds of error, D draws.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import exp
from pathlib import Path

import numpy as np

from experiments.curves import rows_of
from experiments.folder import read_manifest, read_outcomes
from experiments.mistakes import OpenRun, open_run, read_kinds
from experiments.overlap import Overlap, overlap_of
from training.errors import KINDS
from ttc import statistics
from ttc.errors import UserError
from ttc.estimators import vote_at_k
from ttc.records import Question
from ttc.statistics import Interval, PairedDifference, holm, mcnemar_p, paired_difference
from verifiers.calibrate import Quality, quality

FIELDS = ("topic_difficulty", "subject", "img_type")
LEAST = 10
"""Questions of a group below which it is not shown."""


@dataclass(frozen=True, slots=True)
class Trade:
    """One strategy against another on the questions of one group."""

    field: str
    """Empty for all questions."""
    value: str
    questions: int
    first: float
    other: float
    gained: float
    """Share of questions that the other solves and the first does not; of expected credits, the sum of all rises."""
    lost: float
    difference: PairedDifference
    """Other minus first: gained minus lost."""
    p: float
    """McNemar's exact test where both are 0 or 1 and no questions go together; else sign flips of clusters."""
    adjusted_p: float
    """By Holm over the groups of one field; of all questions, as it is."""
    union: float
    """Share that either solves: the oracle of the two, where both are 0 or 1; else the mean of the larger credit."""


@dataclass(frozen=True, slots=True)
class Trades:
    """What one strategy gains and loses against another."""

    first: str
    other: str
    rows: tuple[Trade, ...]


@dataclass(frozen=True, slots=True)
class Calibration:
    """A policy's own confidence, held against what was right, on one group of questions."""

    run: str
    confidence: str
    """`agreement`: share of the leading answer among a question's samples, against that answer; `log-probability`: of each
    reply, the geometric mean probability of its tokens."""
    group: str
    quality: Quality


@dataclass(frozen=True, slots=True)
class KindShare:
    """How much of what is wrong in one group is of one kind."""

    run: str
    group: str
    """`all`, or `field: value`."""
    wrong: int
    """Wrong replies of the group."""
    shares: Mapping[str, Interval]
    """By kind; intervals resample questions."""


@dataclass(frozen=True, slots=True)
class Mended:
    """What more samples do about one kind of error: for a wrong reply of that kind, what becomes of its question."""

    run: str
    kind: str
    n: int
    """Samples of each question."""
    wrong: int
    mended: Interval
    """The plurality of all n samples is right."""
    selection: Interval
    """It is not, though some sample is: a verifier could help."""
    capability: Interval
    """No sample is right."""


@dataclass(frozen=True, slots=True)
class Profile:
    """All of it."""

    trades: tuple[Trades, ...]
    overlap: Overlap | None
    """Of the samples of several runs, over the questions that all asked; None for one, or where there are none."""
    calibrations: tuple[Calibration, ...]
    shares: tuple[KindShare, ...]
    mended: tuple[Mended, ...]
    notes: tuple[str, ...]


def profile(
    runs: Sequence[Path],
    *,
    fields: Sequence[str] = FIELDS,
    strategies: Sequence[str] = (),
    force: bool = False,
    seed: int = 0,
) -> Profile:
    """Profile runs over the same data. Kinds of error are told of the runs whose folder has them (`ttc errors`).

    Args:
        strategies: to compare, all with the first; where empty, each with its own in the first run (of a single run, with
            its first), but for those that know the truth.
        force: compare runs over different data on the questions that they share.

    Raises:
        UserError: no finished run, different data, or an unknown strategy.
    """
    facts = [read_manifest(run)["benchmark"] for run in runs]
    if len({one["fingerprint"] for one in facts}) > 1 and not force:
        raise UserError(f"runs {', '.join(map(str, runs))} are over different data; pass --force to compare what they share")
    names = _names(runs)
    trades, notes = _all_trades(runs, names, fields, strategies, seed)
    opened = {name: open_run(run) for name, run in zip(names, runs, strict=True)}
    calibrations = [one for name, run in opened.items() for one in calibrated(name, run)]
    shares, mended = [], []
    for name, run in opened.items():
        try:
            kinds = {id: label.kind for id, label in read_kinds(run.path).items()}
        except UserError as error:
            notes.append(str(error))
            continue
        shares += kind_shares(name, run, kinds, fields, seed=seed)
        mended += what_is_mended(name, run, kinds, seed=seed)
    overlap = _overlap(opened, notes) if len(opened) > 1 else None
    return Profile(
        tuple(trades),
        overlap,
        tuple(calibrations),
        tuple(shares),
        tuple(mended),
        tuple(notes),
    )


def _names(runs: Sequence[Path]) -> list[str]:
    """Each run's folder, as short as it can be told from the others."""
    short = [run.resolve().name for run in runs]
    return short if len(set(short)) == len(short) else [str(run) for run in runs]


def _all_trades(
    runs: Sequence[Path], names: Sequence[str], fields: Sequence[str], wanted: Sequence[str], seed: int
) -> tuple[list[Trades], list[str]]:
    """Each at its largest k."""
    found: dict[str, tuple[list[Question], dict[str, float]]] = {}
    keys: dict[str, tuple[Path, str]] = {}
    for run, name in zip(runs, names, strict=True):
        questions, outcomes = read_outcomes(run)
        gold = {key for key, one in read_manifest(run)["strategies"].items() if one["uses_gold"]}
        shown = [one for one in outcomes if (one in wanted if wanted else one not in gold)]
        for strategy in shown:
            k = min(points[-1][0] for points in outcomes[strategy].values())
            label = f"{name} {strategy}@{k}" if len(runs) > 1 else f"{strategy}@{k}"
            found[label] = questions, {id: dict(points)[k].credit for id, points in outcomes[strategy].items()}
            keys[label] = run, strategy
    if not found:
        raise UserError(
            f"runs {', '.join(map(str, runs))}: no strategy {', '.join(wanted) or 'without gold'}; see `ttc curves`"
        )
    first, *others = found
    pairs = [(first, label) for label in others]
    if len(runs) > 1 and not wanted:
        own = {strategy: label for label, (run, strategy) in keys.items() if run == runs[0]}
        same = [(own[strategy], label) for label, (run, strategy) in keys.items() if run != runs[0] and strategy in own]
        pairs = same or pairs
    trades = []
    for one, label in pairs:
        (questions, ours), (_, theirs) = found[one], found[label]
        shared = [question for question in questions if question.id in ours and question.id in theirs]
        if shared:
            trades.append(Trades(one, label, tuple(_trades(shared, ours, theirs, fields, seed))))
    return trades, [] if others else [f"one strategy only ({first}): nothing to compare it with"]


def _trades(
    questions: Sequence[Question], ours: Mapping[str, float], theirs: Mapping[str, float], fields: Sequence[str], seed: int
) -> Iterator[Trade]:
    yield _trade("", "", questions, ours, theirs, seed)
    for field in fields:
        groups = {value: [questions[at] for at in rows] for value, rows in rows_of(questions, field).items()}
        rows = [_trade(field, value, group, ours, theirs, seed) for value, group in groups.items() if len(group) >= LEAST]
        for row, p in zip(rows, holm([row.p for row in rows]), strict=True):
            yield replace(row, adjusted_p=p)


def _trade(
    field: str, value: str, questions: Sequence[Question], ours: Mapping[str, float], theirs: Mapping[str, float], seed: int
) -> Trade:
    first_Q, other_Q = (np.array([credits[q.id] for q in questions]) for credits in (ours, theirs))
    difference = paired_difference(other_Q, first_Q, [q.unit for q in questions], seed=seed)
    exact = bool(np.isin([first_Q, other_Q], (0.0, 1.0)).all()) and not any(q.cluster for q in questions)
    p = mcnemar_p(other_Q, first_Q) if exact else difference.p_value
    rise_Q = other_Q - first_Q
    return Trade(
        field,
        value,
        len(questions),
        float(first_Q.mean()),
        float(other_Q.mean()),
        float(rise_Q.clip(min=0).mean()),
        float((-rise_Q).clip(min=0).mean()),
        difference,
        p,
        p,
        float(np.maximum(first_Q, other_Q).mean()),
    )


def _overlap(opened: Mapping[str, OpenRun], notes: list[str]) -> Overlap | None:
    """Of the samples of each run, over the questions that all asked, with a note where those are not all; None without any."""
    first, *others = opened.values()
    ids = [id for id in first.attempts if all(id in run.attempts for run in others)]
    if any(len(run.attempts) > len(ids) for run in opened.values()):
        notes.append(f"what each solves and what two have in common: over the {len(ids):,} questions that all runs asked")
    if not ids:
        return None
    right_MQ, drawn_MQ = (np.zeros((len(opened), len(ids))) for _ in range(2))
    for row, run in enumerate(opened.values()):
        for column, id in enumerate(ids):
            attempts = run.attempts.get(id, ())
            drawn_MQ[row, column] = len(attempts)
            right_MQ[row, column] = sum(one.credit == 1 for one in attempts)
    return overlap_of(list(opened), right_MQ, drawn_MQ)


def calibrated(name: str, run: OpenRun) -> Iterator[Calibration]:
    """Confidence without a verifier, overall and at each level, as far as the samples tell it."""
    questions = run.exam.questions
    groups = {"all": range(len(questions)), **rows_of(questions, "topic_difficulty")}
    measures: dict[str, Callable[[str], list[tuple[float, float]]]] = {}
    if max(map(len, run.attempts.values()), default=0) > 1:
        measures["agreement"] = lambda id: _agreement(run, id)
    if any(one.sample.logprobs for attempts in run.attempts.values() for one in attempts):
        measures["log-probability"] = lambda id: _log_probability(run, id)
    for confidence, measure in measures.items():
        for group, rows in groups.items():
            if pairs := [pair for row in rows for pair in measure(questions[row].id)]:
                scores, right = zip(*pairs, strict=True)
                yield Calibration(name, confidence, group, quality(scores, right))


def _agreement(run: OpenRun, id: str) -> list[tuple[float, float]]:
    """Share of the leading answer, and its credit; the mean credit of several that lead. Nothing where nobody answers."""
    answered = [(one.answer_class, one.credit) for one in run.attempts[id] if one.answer_class is not None]
    if not answered:
        return []
    votes = Counter(answer for answer, _ in answered)
    most = max(votes.values())
    credits = [credit for answer, credit in answered if votes[answer] == most]
    return [(most / len(run.attempts[id]), sum(credits) / len(credits))]


def _log_probability(run: OpenRun, id: str) -> list[tuple[float, float]]:
    """Of each reply that has one, as `verifiers.confidence` reads it."""
    kept = [one for one in run.attempts[id] if one.sample.logprobs]
    return [(exp(sum(one.sample.logprobs) / len(one.sample.logprobs)), one.credit) for one in kept]


def kind_shares(
    name: str, run: OpenRun, kinds: Mapping[str, str], fields: Sequence[str], *, seed: int = 0, draws: int = 2000
) -> list[KindShare]:
    """The share of each kind among the wrong replies, of all and of every group."""
    counts = _counts(run, kinds)
    questions = [question for question in run.exam.questions if question.id in counts]
    groups = {"all": questions}
    for field in fields:
        groups |= {f"{field}: {value}": [questions[at] for at in rows] for value, rows in rows_of(questions, field).items()}
    found = []
    for group, kept in groups.items():
        if len(kept) < LEAST:
            continue
        count_QE = np.array([[counts[q.id][kind] for kind in KINDS] for q in kept], dtype=float)
        total_Q = count_QE.sum(axis=1)
        clusters = [q.unit for q in kept]
        ratios = _ratios(count_QE, total_Q, clusters, seed, draws)
        shares = {kind: one for kind, one in zip(KINDS, ratios, strict=True) if one.mean > 0}
        found.append(KindShare(name, group, int(total_Q.sum()), shares))
    return found


def _counts(run: OpenRun, kinds: Mapping[str, str]) -> dict[str, Counter[str]]:
    """Question id -> wrong replies of each kind, for questions that have any."""
    found = {id: Counter(kinds[one.id] for one in attempts if one.id in kinds) for id, attempts in run.attempts.items()}
    return {id: count for id, count in found.items() if count}


def _ratios(part_QE: np.ndarray, whole_Q: np.ndarray, clusters: Sequence[str], seed: int, draws: int) -> list[Interval]:
    """sum(part) / sum(whole) of each column with its interval over resampled clusters of questions."""
    table_QX = np.column_stack([part_QE, whole_Q])
    count = len(statistics.cluster_sums(table_QX, clusters)[1])
    mean_X = table_QX.mean(axis=0)
    drawn_DX = statistics.bootstrap_means(table_QX, clusters, draws=draws, seed=seed)
    low_E, high_E = np.percentile(drawn_DX[:, :-1] / drawn_DX[:, -1:], [2.5, 97.5], axis=0)
    value_E = mean_X[:-1] / mean_X[-1]
    bounds = zip(value_E.tolist(), low_E.tolist(), high_E.tolist(), strict=True)
    return [Interval(value, low, high, count, "bootstrap") for value, low, high in bounds]


def what_is_mended(name: str, run: OpenRun, kinds: Mapping[str, str], *, seed: int = 0, draws: int = 2000) -> list[Mended]:
    """For each kind, what the vote of all samples and the oracle over them make of the questions where it occurs.

    Questions weigh by their wrong replies of that kind. Nothing is told of runs with one sample a question.
    """
    n = min(map(len, run.attempts.values()), default=0)
    if n < 2:
        return []
    counts = _counts(run, kinds)
    questions = [question for question in run.exam.questions if question.id in counts]
    vote_Q = np.array([_vote(run, question.id, n) for question in questions])
    reached_Q = np.array([float(any(one.credit == 1 for one in run.attempts[q.id][:n])) for q in questions])
    clusters = [question.unit for question in questions]
    found = []
    for kind in KINDS:
        weight_Q = np.array([counts[question.id][kind] for question in questions], dtype=float)
        if np.count_nonzero(weight_Q) < LEAST:
            continue
        fates_QE = weight_Q[:, None] * np.column_stack([vote_Q, reached_Q - vote_Q, 1 - reached_Q])
        held = weight_Q > 0
        kept = [cluster for cluster, is_held in zip(clusters, held, strict=True) if is_held]
        spreads = _ratios(fates_QE[held], weight_Q[held], kept, seed, draws)
        found.append(Mended(name, kind, n, int(weight_Q.sum()), *spreads))
    return found


def _vote(run: OpenRun, id: str, n: int) -> float:
    attempts = run.attempts[id][:n]
    return vote_at_k([one.answer_class for one in attempts], [one.credit for one in attempts], n)
