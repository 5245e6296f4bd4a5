"""Fewer questions that still tell models apart: chosen by what each question is worth, stratified by subject.

    runs to learn from -> success rates -> ability, difficulty, discrimination -> information -> the best of each subject
    runs to judge by   -> order and accuracy from the subset against those from all questions, beside random subsets

The two-parameter logistic model (Birnbaum 1968; for benchmarks Polo et al. 2024, arXiv:2402.14992): a model of ability t is
right on a question with probability sigmoid(a (t - b)). Informative questions are no fair sample, so a model's accuracy on all
of them is read off its ability, and not off its mean on the subset.

V runs, Q questions, G grid points of ability.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import TypeAdapter

from experiments import folder
from ttc.errors import UserError
from ttc.records import Question

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]

RANDOM = 200
"""Random subsets."""
GRID = np.linspace(-5, 5, 401)
SPREAD_DISCRIMINATION, SPREAD_DIFFICULTY = 0.5, 2.0
"""Standard deviations of log a and of b beforehand: what few runs do not show stays near the mean."""


@dataclass(frozen=True, slots=True)
class Results:
    """Right samples of every run on every question."""

    questions: tuple[Question, ...]
    names: tuple[str, ...]
    """Folders of the runs, each spelt in one way."""
    right_VQ: FloatArray
    n_VQ: FloatArray

    @classmethod
    def read(cls, runs: Sequence[Path], questions: Sequence[Question] | None = None) -> "Results":
        """From the folders of finished runs.

        Raises:
            UserError: not a finished run, or one with other questions than the first.
        """
        asked, credits = _credits(runs, questions)
        return cls._of(asked, runs, credits)

    @classmethod
    def halves(cls, runs: Sequence[Path]) -> "tuple[Results, Results]":
        """From the samples with an even and with an odd index; twice all of them where a question has one only.

        Raises:
            UserError: as `read`.
        """
        asked, credits = _credits(runs, None)
        single = any(len(one) < 2 for row in credits for one in row)
        first, second = (
            cls._of(asked, runs, credits if single else [[one[which::2] for one in row] for row in credits]) for which in (0, 1)
        )
        return first, second

    @classmethod
    def _of(cls, asked: tuple[Question, ...], runs: Sequence[Path], credits: Sequence[Sequence[Sequence[float]]]) -> "Results":
        right, n = (np.array([[count(one) for one in row] for row in credits], dtype=float) for count in (sum, len))
        # runs of several sweeps share the names of their folders
        return cls(asked, tuple(os.path.relpath(run.resolve()) for run in runs), right, n)

    @property
    def accuracy_V(self) -> FloatArray:
        """Over all questions."""
        return (self.right_VQ / self.n_VQ).mean(axis=1)


def _credits(
    runs: Sequence[Path], questions: Sequence[Question] | None
) -> tuple[tuple[Question, ...], list[list[list[float]]]]:
    """The questions, and of every run the credits of each question's samples."""
    for run in runs:
        folder.read_manifest(run)
    asked, found = tuple(questions or folder.read_outcomes(runs[0])[0]), []
    for run in runs:
        by_id = folder.read_credits(run)
        if by_id.keys() != {question.id for question in asked}:
            raise UserError(f"run {run}: it has other questions than {runs[0]}; a subset needs runs on the same exam")
        found.append([by_id[question.id] for question in asked])
    return asked, found


@dataclass(frozen=True)
class Items:
    """What the runs learned from say of each question."""

    discrimination_Q: FloatArray
    difficulty_Q: FloatArray
    ability_V: FloatArray

    @classmethod
    def fit(cls, results: Results, prior_Q: FloatArray | None = None) -> "Items":
        """Penalised maximum likelihood.

        Args:
            prior_Q: difficulty predicted beforehand, on any scale: a question's own is drawn toward it.
        """
        from scipy.optimize import minimize

        V, Q = results.right_VQ.shape
        rate_Q = (results.right_VQ.sum(axis=0) + 1) / (results.n_VQ.sum(axis=0) + 2)
        start_Q = np.log((1 - rate_Q) / rate_Q)
        center_Q = np.full(Q, start_Q.mean())
        if prior_Q is not None and prior_Q.std() > 0:
            standard_Q = (prior_Q - prior_Q.mean()) / prior_Q.std()
            center_Q = center_Q + standard_Q * float(np.mean(standard_Q * start_Q))
        start = np.concatenate([np.zeros(V), np.zeros(Q), start_Q])
        found = minimize(
            _loss, start, (results.right_VQ, results.n_VQ, center_Q), jac=True, method="L-BFGS-B", options={"maxiter": 400}
        ).x
        return cls(np.exp(found[V : V + Q]), found[V + Q :], found[:V])

    def probability_GQ(self, ability_G: FloatArray) -> FloatArray:
        """Of a right sample at each ability."""
        from scipy.special import expit

        return expit(self.discrimination_Q * (ability_G[:, None] - self.difficulty_Q))

    def information_Q(self) -> FloatArray:
        """Fisher information about an ability, the mean over the range in which the runs lie."""
        low, high = self.ability_V.min(), self.ability_V.max()
        probability_GQ = self.probability_GQ(np.linspace(low, high, 21))
        return (self.discrimination_Q**2 * probability_GQ * (1 - probability_GQ)).mean(axis=0)

    def accuracy(self, right_Q: FloatArray, n_Q: FloatArray, rows: IntArray) -> float:
        """Expected accuracy over all questions of a run that is known on some of them only."""
        right_GQ, wrong_GQ, accuracy_G = self._on_grid
        likelihood_G = right_GQ[:, rows] @ right_Q[rows] + wrong_GQ[:, rows] @ (n_Q[rows] - right_Q[rows]) - GRID**2 / 2
        return float(accuracy_G[likelihood_G.argmax()])

    @cached_property
    def _on_grid(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Log-probabilities of a right and of a wrong sample, and the accuracy over all questions, at each ability."""
        probability_GQ = np.clip(self.probability_GQ(GRID), 1e-9, 1 - 1e-9)
        return np.log(probability_GQ), np.log1p(-probability_GQ), probability_GQ.mean(axis=1)


def _loss(x: FloatArray, right_VQ: FloatArray, n_VQ: FloatArray, center_Q: FloatArray) -> tuple[float, FloatArray]:
    """Negative log posterior of abilities, log discriminations and difficulties, and its gradient."""
    from scipy.special import expit

    V, Q = right_VQ.shape
    ability_V, log_a_Q, b_Q = x[:V], x[V : V + Q], x[V + Q :]
    a_Q = np.exp(log_a_Q)
    logit_VQ = a_Q * (ability_V[:, None] - b_Q)
    value = (n_VQ * np.logaddexp(0, logit_VQ) - right_VQ * logit_VQ).sum()
    off_Q = b_Q - center_Q
    value += (ability_V**2).sum() / 2 + (log_a_Q**2).sum() / 2 / SPREAD_DISCRIMINATION**2
    value += (off_Q**2).sum() / 2 / SPREAD_DIFFICULTY**2
    residual_VQ = n_VQ * expit(logit_VQ) - right_VQ
    by_ability = residual_VQ @ a_Q + ability_V
    by_log_a = (residual_VQ * logit_VQ).sum(axis=0) + log_a_Q / SPREAD_DISCRIMINATION**2
    by_b = -a_Q * residual_VQ.sum(axis=0) + off_Q / SPREAD_DIFFICULTY**2
    return float(value), np.concatenate([by_ability, by_log_a, by_b])


def quotas(strata: Sequence[str], count: int) -> dict[str, int]:
    """Questions of each stratum, in proportion, by largest remainders."""
    names = sorted(set(strata))
    shares = {name: count * sum(one == name for one in strata) / len(strata) for name in names}
    found = {name: int(share) for name, share in shares.items()}
    for name in sorted(names, key=lambda name: found[name] - shares[name])[: count - sum(found.values())]:
        found[name] += 1
    return found


def choose(items: Items, strata: Sequence[str], count: int) -> IntArray:
    """Rows of the most informative questions of each stratum.

    Raises:
        UserError: there are not so many.
    """
    if not 0 < count < len(strata):
        raise UserError(f"--questions {count}: the exam has {len(strata)}; choose fewer, and at least one")
    worth_Q, names = items.information_Q(), np.array(strata)
    picks = []
    for name, quota in quotas(strata, count).items():
        rows = np.flatnonzero(names == name)
        picks.append(rows[np.argsort(-worth_Q[rows], kind="stable")[:quota]])
    return np.sort(np.concatenate(picks))


@dataclass(frozen=True, slots=True)
class Judged:
    """What a subset says of runs, against all questions."""

    accuracies: tuple[float, ...]
    """Of each run over all questions, as the subset has it."""
    ordered: float
    """Share of the pairs of runs in the order of the full set."""
    kendall: float
    """Tau-b of both orders."""
    error: float
    """Mean absolute error of the accuracies."""
    is_same_order: float
    """1 where all runs stand in the order of the full set; the share of draws for random subsets."""


@dataclass(frozen=True, slots=True)
class Subset:
    """The questions chosen, and what they are worth beside random ones."""

    questions: tuple[str, ...]
    learned_from: tuple[str, ...]
    judged_by: tuple[str, ...]
    is_apart: bool
    """No run that is judged took part in the choice."""
    full: tuple[float, ...]
    """Accuracy of each judged run over all questions."""
    chosen: Judged
    chance: Judged
    """Means over random subsets, stratified alike, with plain accuracies."""
    chance_fitted: Judged
    """The same subsets with accuracies read off the abilities."""

    def to_json(self) -> str:
        """For `--json`."""
        return TypeAdapter(Subset).dump_json(self, indent=1).decode()


def judge(items: Items, results: Results, rows: IntArray, *, fitted: bool) -> Judged:
    """One subset against the full set.

    Args:
        fitted: read accuracies off abilities; else take the mean over the subset.
    """
    from scipy.stats import kendalltau

    if fitted:
        seen = [items.accuracy(right, n, rows) for right, n in zip(results.right_VQ, results.n_VQ, strict=True)]
    else:
        seen = (results.right_VQ[:, rows] / results.n_VQ[:, rows]).mean(axis=1).tolist()
    full, found = results.accuracy_V, np.array(seen)
    above, below = np.triu_indices(len(full), 1)
    agrees = np.sign(full[above] - full[below]) * np.sign(found[above] - found[below])
    tau = float(kendalltau(full, found).statistic)  # pyright: ignore[reportAttributeAccessIssue]
    return Judged(
        tuple(seen),
        float((agrees + 1).mean() / 2),
        0.0 if np.isnan(tau) else tau,
        float(np.abs(found - full).mean()),
        float((agrees > 0).all()),
    )


def subset(
    learning: tuple[Results, Results],
    judging: Results,
    count: int,
    *,
    prior: Mapping[str, float] | None = None,
    seed: int = 0,
) -> Subset:
    """Choose by some runs, and judge by others.

    Args:
        learning: of the same runs, two independent sets of samples: the first chooses and the second measures. Measured by what
            chose them, the questions that looked best by luck would seem to tell more than they do.
        prior: predicted difficulty by question id.

    Raises:
        UserError: too few runs, or too many questions asked for.
    """
    if len(learning[0].names) < 2 or len(judging.names) < 2:
        raise UserError("subset: two runs or more are needed to learn from, and two or more to judge by")
    asked = judging.questions
    prior_Q = np.array([prior[question.id] for question in asked]) if prior else None
    chooses, measures = (Items.fit(one, prior_Q) for one in learning)
    strata = [str(question.fields.get("subject", "")) for question in asked]
    rows = choose(chooses, strata, count)
    drawn = [_at_random(strata, count, np.random.default_rng([seed, draw])) for draw in range(RANDOM)]
    plain, fitted = ([judge(measures, judging, one, fitted=how) for one in drawn] for how in (False, True))
    return Subset(
        tuple(asked[row].id for row in rows),
        learning[0].names,
        judging.names,
        not set(learning[0].names) & set(judging.names),
        tuple(judging.accuracy_V.tolist()),
        judge(measures, judging, rows, fitted=True),
        _mean(plain),
        _mean(fitted),
    )


def _at_random(strata: Sequence[str], count: int, rng: np.random.Generator) -> IntArray:
    names = np.array(strata)
    parts = [rng.choice(np.flatnonzero(names == name), quota, replace=False) for name, quota in quotas(strata, count).items()]
    return np.concatenate(parts)


def _mean(judged: Sequence[Judged]) -> Judged:
    accuracies = np.mean([one.accuracies for one in judged], axis=0)
    columns = [[getattr(one, name) for one in judged] for name in ("ordered", "kendall", "error", "is_same_order")]
    return Judged(tuple(accuracies.tolist()), *(float(np.mean(column)) for column in columns))
