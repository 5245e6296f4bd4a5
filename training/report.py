"""What a trained verifier is worth on its dev chains, scored as every user will score, and the card that says so."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from training.chains import LabelledChain
from training.config import AnyTraining
from training.labels import is_right
from ttc.protocols import Verifier
from ttc.records import Reply, Sample, StepScores
from ttc.statistics import Interval
from verifiers import metrics
from verifiers.calibrate import quality, threshold
from verifiers.metrics import ScoredChain, Steps
from verifiers.prm import StepVerifier

METRICS = "metrics.json"
_ABOUT = {
    "step_verifier": (
        "Step verifier",
        "Says after each step of a reply how likely that step is right; all steps in one forward pass. Trained by\n"
        "`ttc train`, used as `kind: step_verifier`; `step_verifier.json` says how replies are shown to it.",
    ),
    "outcome_verifier": (
        "Outcome verifier",
        "One score of a whole reply, learned from pairs of a right and a wrong one. Trained by `ttc train`, used as\n"
        "`kind: outcome_verifier`; `step_verifier.json` says how replies are shown to it.",
    ),
    "generative_verifier": (
        "Generative verifier",
        "Goes through a reply step by step in words, and rules on it. Trained by `ttc train`, used as the backend's model of\n"
        "`kind: generative`; `verifier.yaml` is its entry in a run's config.",
    ),
}
"""By kind of training: what the card calls the verifier, and how it is used."""


def served(verifier: StepVerifier, chains: Sequence[LabelledChain]) -> list[ScoredChain]:
    """The chains with what the saved verifier says of them, asked through its public door.

    A chain that scoring splits into other steps than its labels were made for is left out.
    """
    found = _asked(verifier, chains)
    return [
        ScoredChain(
            chain.question.id,
            chain.steps,
            found[place].steps,
            chain.labels,
            chain.kinds,
            found[place].score,
            chain.is_right,
            chain.origin,
            chain.source,
            chain.question.cluster,
            chain.question.fields,
        )
        for place, chain in enumerate(chains)
        if len(found[place].steps) == len(chain.steps)
    ]


def _asked(verifier: Verifier, chains: Sequence[LabelledChain]) -> dict[int, StepScores]:
    """What a verifier says of each chain, by its place."""
    replies = [
        Reply(chain.question, Sample("", place, chain.question.id, "".join(chain.steps))) for place, chain in enumerate(chains)
    ]
    with closing(verifier.open()) as scorer:
        return {scores.index: scores for scores in scorer.score(replies)}


def figures(chains: Sequence[ScoredChain]) -> dict[str, Any]:
    """Of the dev chains: how well steps are told apart, errors are found, and probabilities mean what they say.

    The threshold is the best on these same chains, and every figure under it is flattered by that. Of right steps only, or
    wrong ones only, no more than their number is told.
    """
    steps = Steps.of(chains)
    if len(set(steps.right.tolist())) < 2:
        return {"chains": len(chains), "steps": len(steps.right), "auroc": None}
    cut = threshold(steps.scores, steps.right)
    of_kind = {
        kind: metrics.auroc(part.right, part.scores)
        for kind in sorted({kind for kind in steps.kinds if kind})
        for part in [steps.against(lambda found, kind=kind: found == kind)]
    }
    calibrated = quality(steps.scores, steps.right)
    return {
        "chains": len(chains),
        "steps": len(steps.right),
        "wrong": 1 - float(steps.right.mean()),
        "auroc": _interval(metrics.auroc_interval(steps.right, steps.scores, steps.units)),
        "auprc_errors": metrics.auprc_errors(steps.right, steps.scores),
        "auroc_by_kind": of_kind,
        "threshold": cut,
        "first_error_accuracy": _interval(metrics.first_error_accuracy(chains, cut)),
        "process_f1": _interval(metrics.process_f1(chains, cut)),
        "brier": calibrated.brier,
        "ece": calibrated.ece,
        "ece_floor": calibrated.ece_floor,
    }


def outcome_figures(verifier: Verifier, chains: Sequence[LabelledChain]) -> dict[str, Any]:
    """Of the dev chains: how well right replies are told from wrong ones, and how many have no score."""
    scored = [(chains[place], one.score) for place, one in _asked(verifier, chains).items()]
    units = [chain.question.unit for chain, _ in scored]
    known = [(is_right(chain), score, unit) for (chain, score), unit in zip(scored, units, strict=True) if score is not None]
    right, scores, units = (list(column) for column in zip(*known, strict=True)) if known else ([], [], [])
    both = len(set(right)) == 2
    return {
        "chains": len(chains),
        "without_score": len(chains) - len(known),
        "right": sum(bool(is_right(chain)) for chain in chains) / len(chains),
        "auroc": _interval(metrics.auroc_interval(right, scores, units)) if both else None,
    }


def write_card(
    folder: Path, config: AnyTraining, train: Sequence[LabelledChain], found: Mapping[str, Any], digest: str
) -> None:
    """`metrics.json` and README.md of a verifier's folder."""
    (folder / METRICS).write_text(json.dumps({"data": digest, "dev": found}, indent=2) + "\n", encoding="utf-8")
    labels = Counter(label for chain in train for label in chain.labels)
    sources = Counter(f"{chain.source} ({chain.origin})" for chain in train)
    kinds = Counter(kind for chain in train for kind in chain.kinds if kind)
    rows = [f"| {name.replace('_', ' ')} | {_shown(value)} |" for name, value in found.items() if name != "auroc_by_kind"]
    rows += [f"| AUROC, {kind} errors | {_shown(value)} |" for kind, value in found.get("auroc_by_kind", {}).items()]
    name, says = _ABOUT[config.kind]
    lines = [
        "---",
        "library_name: transformers" if config.lora is None else "library_name: peft",
        f"tags: [reward-model, {name.lower().replace(' ', '-')}]",
        "---",
        f"# {name} from `{config.base.model}`",
        "",
        says,
        "",
        "## Data",
        "",
        f"{len(train)} chains: {_counts(sources)}. Steps: {labels[True]} right, {labels[False]} wrong, {labels[None]} not",
        "labelled" + (f"; kinds of error: {_counts(kinds)}." if kinds else "."),
        "",
        f"Hash of settings and chains: `{digest}`.",
        "",
        "## On the dev chains",
        "",
        "The best checkpoint and the threshold were chosen on these chains; they are no test.",
        "",
        "| | |",
        "|---|---|",
        *rows,
        "",
        "## Settings",
        "",
        "```json",
        config.model_dump_json(indent=2, exclude={"tracking", "hub"}),
        "```",
    ]
    (folder / "README.md").write_text("\n".join(lines) + "\n", encoding="utf-8")


def _interval(found: Interval | None) -> tuple[float, float, float] | None:
    return None if found is None else (found.mean, found.low, found.high)


def _shown(value: Any) -> str:
    if isinstance(value, tuple):
        return f"{value[0]:.3f} ({value[1]:.3f} to {value[2]:.3f})"
    return f"{value:.3f}" if isinstance(value, float) else str(value)


def _counts(found: Counter[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in found.most_common())
