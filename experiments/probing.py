"""Probes of a verifier on a run's own replies: changed, scored through the bank as other content, judged."""

from collections.abc import Mapping, Sequence
from itertools import chain as chained
from itertools import zip_longest
from typing import get_args

from experiments.evidence import Evidence, Item
from ttc.records import Reply, StepScores
from ttc.scoring import Scoring
from verifiers import findings
from verifiers.findings import Finding, Pair
from verifiers.frozen import Frozen
from verifiers.gains import Credits
from verifiers.metrics import ScoredChain
from verifiers.probes import Case, Changes, Name

WHY_NOT: Mapping[str, str] = {
    "blank image": "no reply is to a question that shows anything readable",
    "shuffled image": "no two questions show as much of the same kind",
    "question dropped": "no reply",
    "answer swapped": "no right reply states its answer in its last step",
    "junk steps": "no right reply has two steps or more",
    "neutral padding": "no reply has two steps, or the exam has no step that says nothing, as the pocket exam has none",
}


def probe(
    evidence: Evidence, scoring: Scoring, frozen: Frozen | None, credits: Credits, *, replies: int, seed: int = 0
) -> list[Finding]:
    """All probes, in one order always.

    Args:
        credits: of best-of-n and vote, for the fall at large n.
        replies: at most so many are changed by each probe; 0 leaves out the probes that score anything.
    """
    calibrated = evidence.under(frozen)
    own = calibrated[: len(evidence.chains)]
    found = [findings.length_alike(own), findings.holds_at_large_n(credits, evidence.units)]
    if evidence.verifier.uses_gold:
        return [findings.not_applicable(name, "it knows the gold") for name in get_args(Name)] + found
    by_place = dict(zip([id(item) for items in evidence.items.values() for item in items], own, strict=True))
    chosen = chosen_items(evidence, replies)
    cases = [(_case(item), by_place[id(item)]) for item in chosen]
    changes = Changes([case for case, _ in cases], seed=seed)
    return [_probe_one(name, cases, changes, evidence, scoring, frozen) for name in (get_args(Name) if replies else ())] + found


def chosen_items(evidence: Evidence, replies: int) -> list[Item]:
    """Right and wrong replies in turn from every question in turn, until there are as many as wanted."""

    def mixed(items: Sequence[Item]) -> list[Item]:
        kept = [item for item in items if item.sample.text.strip() and item.chain.is_right is not None]
        right, wrong = ([item for item in kept if item.chain.is_right is which] for which in (True, False))
        return [item for pair in zip_longest(right, wrong) for item in pair if item is not None]

    rounds = zip_longest(*(mixed(items) for items in evidence.items.values()))
    return [item for item in chained.from_iterable(rounds) if item is not None][:replies]


def _probe_one(
    name: Name,
    cases: Sequence[tuple[Case, ScoredChain]],
    changes: Changes,
    evidence: Evidence,
    scoring: Scoring,
    frozen: Frozen | None,
) -> Finding:
    changed = [(reply, chain) for case, chain in cases if (reply := changes.changed(name, case)) is not None]
    if not changed:
        return findings.not_applicable(name, WHY_NOT[name])
    scores = scoring.score_all(evidence.name, [reply for reply, _ in changed])
    if all(one.score is None for one in scores):
        return findings.not_applicable(name, f"it gives a changed reply no score ({scores[0].status})")
    pairs = [_pair(chain, one, frozen) for (_, chain), one in zip(changed, scores, strict=True)]
    match name:
        case "blank image" | "shuffled image":
            return findings.without_image(name, pairs)
        case "question dropped":
            return findings.without_question(pairs)
        case "answer swapped" | "junk steps":
            return findings.lower_scored(name, pairs)
        case "neutral padding":
            return findings.padded_alike(pairs)


def _pair(chain: ScoredChain, scores: StepScores, frozen: Frozen | None) -> Pair:
    if frozen is None:
        return Pair(chain, scores.steps, scores.score)
    return Pair(chain, frozen.step_scores(scores.steps), frozen.response_score(scores))


def _case(item: Item) -> Case:
    return Case(Reply(item.question, item.sample), bool(item.chain.is_right), item.answer)
