"""Does the order of training matter? One config under several orders and seeds, on subjects that no run has seen.

    runs = compare(config, ("random", "easy_first"), seeds=3, folder)
    rows = summary(runs)

Every run makes the same number of steps over the same chains and is measured after its last one; the base is measured as it
is, beside them, since orders can differ only where training does something. Each has a folder of its own, and a killed
comparison goes on under the same call.

Source: curriculum learning, Bengio et al. 2009, doi:10.1145/1553374.1553380.
"""

import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, cast, get_args

import numpy as np

from training import data
from training.chains import LabelledChain
from training.config import AnyChains, StepVerifierTraining
from training.order import Order
from ttc.errors import UserError
from ttc.pocket.exam import SUBJECTS
from ttc.statistics import Interval
from verifiers.metrics import FloatArray, Ranks, auroc, resampled

RESULT = "held_out.json"
UNTRAINED = "untrained"
Way = Order | Literal["untrained"]
"""What made a verifier: training in an order, or nothing."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one run's verifier says of the held-out steps; every run's rows are the same steps."""

    order: Way
    seed: int
    steps: int
    """Of the optimiser."""
    scores: list[float]
    """Log-odds that each step is right."""
    right: list[bool]
    units: list[str]
    """Cluster of each step's question."""


@dataclass(frozen=True, slots=True)
class Row:
    """One order, over its seeds."""

    order: Way
    steps: int
    aurocs: tuple[float, ...]
    """Of each seed."""
    auroc: Interval
    """The mean over seeds; the interval is over questions, and the seeds are taken as they are."""
    difference: Interval | None
    """To the first order, on the same resampled questions; None for the first itself."""


def orders(names: Sequence[str]) -> list[Order]:
    """The orders of these names, each once. Raises UserError for another name."""
    for name in names:
        if name not in get_args(Order):
            raise UserError(f"order {name!r} is none of {', '.join(get_args(Order))}; choose from these")
    return cast("list[Order]", list(dict.fromkeys(names)))


def compare(config: StepVerifierTraining, orders: Sequence[Order], seeds: int, folder: Path) -> list[Measured]:
    """Train and measure under each order with seeds 0 to seeds - 1, and the base last, but for what the folder has already.

    Raises:
        UserError: nothing is held out, an order does not fit the data, or the folder holds another comparison.
    """
    if config.optimisation.epochs % 1:
        raise UserError(
            f"optimisation.epochs={config.optimisation.epochs:g}: in a part of an epoch each order shows other chains; give a "
            "whole number, and fewer chains for a shorter run"
        )
    wanted = {folder / f"{order}-{seed}": _ordered(config, order, seed) for seed in range(seeds) for order in orders}
    wanted[folder / UNTRAINED] = _ordered(config, "random", 0)
    found = {place: _read(place, one) for place, one in wanted.items()}
    if missing := [place for place, one in found.items() if one is None]:
        train, dev = data.load(config.data)
        unseen = held_out(config.data, train, dev)
        for place in missing:
            found[place] = one = _run(wanted[place], train, unseen, place)
            print(f"{place.name}: AUROC {auroc(one.right, one.scores):.3f} after {one.steps} steps", flush=True)
    runs = [one for one in found.values() if one is not None]
    if any((one.right, one.units) != (runs[0].right, runs[0].units) for one in runs):
        raise UserError(f"{folder}: its runs were measured on different chains; give another --out, or remove it")
    return runs


def held_out(asked: AnyChains, train: Sequence[LabelledChain], dev: Sequence[LabelledChain]) -> list[LabelledChain]:
    """The dev chains about subjects that are not trained on; of the pocket exam, those of `leave_out`.

    Raises:
        UserError: there are none, or all their steps have the same label.
    """
    unseen = list(dev)
    if asked.kind == "pocket":
        others = tuple(subject for subject in SUBJECTS if subject not in asked.leave_out)
        unseen = data.load(asked.model_copy(update={"leave_out": others, "planted": 0, "blind": 0.0}))[1]
    known = {chain.question.fields.get("subject") for chain in train}
    unseen = [chain for chain in unseen if chain.question.fields.get("subject") not in known]
    labels = {label for chain in unseen for label in chain.labels} - {None}
    if len(labels) < 2:
        raise UserError(
            f"{len(unseen)} dev chains of subjects that are not trained on, with {len(labels)} kinds of labels: an order is "
            "judged by right and wrong steps of such a subject; hold one out, as data.leave_out=[Dials] does"
        )
    return unseen


def summary(runs: Sequence[Measured]) -> list[Row]:
    """Each order's AUROC over its seeds, and how far it is from that of the first order; all on the same steps."""
    units = runs[0].units
    by_order: dict[Way, list[Measured]] = {}
    for run in runs:
        by_order.setdefault(run.order, []).append(run)
    ranks = {order: [Ranks(run.right, run.scores) for run in group] for order, group in by_order.items()}
    first = next(iter(by_order))

    def mean(order: Way, weight_N: FloatArray | None = None) -> float:
        return float(np.mean([one.auroc(weight_N) for one in ranks[order]]))

    def gap(order: Way, weight_N: FloatArray | None = None) -> float:
        return mean(order, weight_N) - mean(first, weight_N)

    return [
        Row(
            order,
            group[0].steps,
            tuple(one.auroc() for one in ranks[order]),
            resampled(mean(order), lambda weight_N, order=order: mean(order, weight_N), units),
            None
            if order == first
            else resampled(gap(order), lambda weight_N, order=order: gap(order, weight_N), units, bounds=(-1.0, 1.0)),
        )
        for order, group in by_order.items()
    ]


def write(rows: Sequence[Row], path: Path) -> None:
    """The summary as JSON."""
    path.write_text(json.dumps([asdict(row) for row in rows], indent=1) + "\n", encoding="utf-8")


def _ordered(config: StepVerifierTraining, order: Order, seed: int) -> StepVerifierTraining:
    """The config of one run. Only its last step is measured: the best of several would be at another step in each run."""
    ours = {"order": order, "seed": seed, "by_length": False, "evaluations": 1, "patience": None}
    return config.model_copy(update={"optimisation": config.optimisation.model_copy(update=ours)})


def _run(
    config: StepVerifierTraining, train: Sequence[LabelledChain], unseen: Sequence[LabelledChain], folder: Path
) -> Measured:
    """Train one verifier into its folder, or take the base as it is, and keep what it says of the held-out steps beside it."""
    from training.step_trainer import IGNORED
    from training.step_verifier import Course

    course = Course(config, train, unseen, folder)  # nothing is chosen by what is held out: there is one evaluation
    way: Way = UNTRAINED if folder.name == UNTRAINED else config.optimisation.order
    if way != UNTRAINED:
        course.run()
    predicted = course.trainer.predict(course.trainer.eval_dataset)  # pyright: ignore[reportArgumentType]
    z_NS, labels_NS = np.asarray(predicted.predictions), np.asarray(predicted.label_ids)
    known_NS = labels_NS != IGNORED
    units = [chain.question.unit for chain in course.dev.chains]
    found = Measured(
        way,
        config.optimisation.seed,
        course.trainer.state.global_step,
        z_NS[known_NS].tolist(),
        (labels_NS[known_NS] == 1).tolist(),
        [units[row] for row in np.nonzero(known_NS)[0]],
    )
    folder.mkdir(parents=True, exist_ok=True)
    part = folder / f"{RESULT}.part"
    part.write_text(json.dumps({"config": _identity(config), "found": asdict(found)}), encoding="utf-8")
    os.replace(part, folder / RESULT)
    return found


def _identity(config: StepVerifierTraining) -> dict[str, Any]:
    return config.model_dump(mode="json", exclude={"tracking", "hub", "threads", "questions_kept"})


def _read(folder: Path, config: StepVerifierTraining) -> Measured | None:
    """What a finished run found; None where there is none."""
    try:
        content = json.loads((folder / RESULT).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    if content["config"] != _identity(config):
        raise UserError(f"{folder} holds a run with other settings; give another --out, or remove it")
    return Measured(**content["found"])
