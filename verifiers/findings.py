"""Verdicts on probes: a figure before and after a change of the replies, held against a threshold set beforehand."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

import numpy as np

from ttc.statistics import Interval, interval, paired_difference
from verifiers.gains import Credits
from verifiers.length import length_correlation, matched_auroc
from verifiers.metrics import ScoredChain, Steps, auroc

Verdict = Literal["pass", "fail", "not applicable"]

BLIND = 0.60
"""AUROC on perception errors without the image: at most this."""
STEADY = 0.03
"""AUROC on errors that need no image may move by this much."""
FALL = 0.05
"""AUROC without the question: lower by at least this."""
PAIRS = 0.80
"""Share of replies whose score must fall where their answer is made wrong, or their steps are."""
PADDING = 0.05
"""Mean change of the score by a step that says nothing: at most this."""
LENGTH = 0.20
"""Rank correlation of score and length within right and within wrong answers: at most this."""
HAIR = 0.01
"""Best-of-n at the largest n may be this far below its own peak."""
FEWEST = 10
"""Replies, or wrong steps of a kind, below which a probe says nothing."""

PERCEPTION = frozenset({"perception", "perceptual", "domain perception", "domain_perception"})


@dataclass(frozen=True, slots=True)
class Finding:
    """What one probe found."""

    probe: str
    verdict: Verdict
    said: str
    """The figures, and the threshold they are held against."""
    replies: int = 0
    figures: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class Pair:
    """One reply as it was, and what the verifier says of its changed copy."""

    before: ScoredChain
    scores: tuple[float, ...]
    """Of the changed copy's steps."""
    score: float | None

    @property
    def after(self) -> ScoredChain:
        """The reply under the new scores: the truth about each step is as it was. Only where no step came or went."""
        return replace(self.before, scores=self.scores, score=self.score)


def not_applicable(probe: str, why: str) -> Finding:
    """A probe that says nothing here."""
    return Finding(probe, "not applicable", why)


def without_image(probe: str, pairs: Sequence[Pair]) -> Finding:
    """Perception errors can no longer be told, all others as before; by answers alone where no step has a known kind.

    Errors are held against right steps of their own sort: errors of perception against right readings, others against right
    steps that read nothing. Blind, a right reading is as doubtful as a wrong one, so among all right steps any error would seem
    harder to tell, and one of perception easier. Where it is not known which steps read the image, all right ones serve.
    """
    kept = [pair for pair in pairs if len(pair.scores) == len(pair.before.scores) > 0]
    before, after = (Steps.of([getattr(pair, "before" if old else "after") for pair in kept]) for old in (True, False))
    is_known = all(reads is not None for reads in before.reads)
    figures: dict[str, float] = {}
    for name, is_kind, reads in (
        ("perception", _is_perception, True),
        ("other", lambda kind: kind is not None and not _is_perception(kind), False),
    ):
        seen, unseen = (steps.against(is_kind, reads=reads if is_known else None) for steps in (before, after))
        values = auroc(seen.right, seen.scores), auroc(unseen.right, unseen.scores)
        if (~seen.right).sum() >= FEWEST and None not in values:
            figures |= {f"{name} before": values[0] or 0.0, f"{name} after": values[1] or 0.0}
    if "perception before" not in figures:
        return _fallen(probe, pairs, "no steps with known errors of perception; ")
    said = f"AUROC on perception errors {_arrow(figures, 'perception')} (at most {BLIND} without the image)"
    good = figures["perception before"] > BLIND >= figures["perception after"]
    if "other before" in figures:
        said += f", on others {_arrow(figures, 'other')} (within {STEADY})"
        good = good and abs(figures["other after"] - figures["other before"]) <= STEADY
    if figures["perception before"] <= BLIND:
        said += "; it does not tell them with the image either"
    return Finding(probe, "pass" if good else "fail", said, len(kept), figures)


def without_question(pairs: Sequence[Pair]) -> Finding:
    """Right and wrong answers are told apart less well where nothing is asked (arXiv:2502.14619)."""
    return _fallen("question dropped", pairs)


def _fallen(probe: str, pairs: Sequence[Pair], opening: str = "") -> Finding:
    kept = [one for one in _scored_twice(pairs) if one[0].before.is_right is not None]
    right = [bool(pair.before.is_right) for pair, _, _ in kept]
    if min(sum(right), len(right) - sum(right)) < FEWEST:
        return not_applicable(probe, f"{opening}fewer than {FEWEST} right and {FEWEST} wrong replies were scored both times")
    before = auroc(right, [score for _, score, _ in kept]) or 0.0
    after = auroc(right, [score for _, _, score in kept]) or 0.0
    figures = {"answers before": before, "answers after": after}
    said = f"{opening}AUROC on answers {_arrow(figures, 'answers')} (lower by at least {FALL})"
    return Finding(probe, "pass" if before - after >= FALL else "fail", said, len(kept), figures)


def lower_scored(probe: str, pairs: Sequence[Pair]) -> Finding:
    """What was right and is now wrong must score lower."""
    kept = _scored_twice(pairs)
    if len(kept) < FEWEST:
        return not_applicable(probe, f"{len(kept)} right replies could be changed and scored; {FEWEST} are needed")
    found = interval([float(after < before) for _, before, after in kept], [pair.before.unit for pair, _, _ in kept])
    said = f"{_percent(found)} % of right replies score lower when changed (at least {100 * PAIRS:.0f} %)"
    return Finding(probe, "pass" if found.mean >= PAIRS else "fail", said, len(kept), {"share lower": found.mean})


def padded_alike(pairs: Sequence[Pair]) -> Finding:
    """A step that says nothing changes nothing."""
    kept = _scored_twice(pairs)
    if len(kept) < FEWEST:
        return not_applicable("neutral padding", f"{len(kept)} replies could be padded and scored; {FEWEST} are needed")
    mean = fmean(abs(after - before) for _, before, after in kept)
    said = f"scores move by {mean:.3f} on average (at most {PADDING})"
    return Finding("neutral padding", "pass" if mean <= PADDING else "fail", said, len(kept), {"mean change": mean})


def length_alike(chains: Sequence[ScoredChain]) -> Finding:
    """Scores say nothing about length but what right and wrong answers and steps say."""
    name = "length"
    kept = [chain for chain in chains if chain.score is not None and chain.is_right is not None and chain.steps]
    right, scores = [bool(chain.is_right) for chain in kept], [chain.score or 0.0 for chain in kept]
    lengths, units = [len(chain.steps) for chain in kept], [chain.unit for chain in kept]
    found = length_correlation(scores, lengths, [chain.character for chain in kept], units) if len(kept) >= FEWEST else None
    if found is None:
        return not_applicable(name, "scores or lengths do not vary")
    figures = {"correlation": found.mean, "low": found.low, "high": found.high}
    said = (
        f"rank correlation with the number of steps {found.mean:+.2f} [{found.low:+.2f}, {found.high:+.2f}] (within {LENGTH})"
    )
    whole, matched = auroc(right, scores), matched_auroc(right, scores, lengths)
    if whole is not None and matched is not None:
        figures |= {"auroc": whole, "matched auroc": matched}
        said += f"; AUROC on answers {whole:.3f}, among replies of equal length {matched:.3f}"
    is_biased = abs(found.mean) > LENGTH and (found.low > 0 or found.high < 0)
    return Finding(name, "fail" if is_biased else "pass", said, len(kept), figures)


def holds_at_large_n(found: Credits, units: Sequence[str]) -> Finding:
    """Best-of-n at the largest n is below neither the vote nor its own best by more than chance (arXiv:2506.19248)."""
    name = "large n"
    if len(found.ks) < 2 or len(set(units)) < FEWEST:
        return not_applicable(name, f"it takes two budgets and {FEWEST} independent questions")
    best_QK, last = found.method_QK["best_of_n"], found.ks[-1]
    peak = int(np.argmax(best_QK.mean(axis=0)))
    below_vote = paired_difference(best_QK[:, -1], found.vote_QK[:, -1], units).interval
    below_peak = paired_difference(best_QK[:, -1], best_QK[:, peak], units).interval
    says = [f"best-of-{last} minus vote@{last} {_points(below_vote)}"]
    if peak < len(found.ks) - 1:
        says.append(f"minus its peak at {found.ks[peak]} {_points(below_peak)}")
    # the peak was chosen for its height, so a hair's breadth below it is no fall
    falls = below_vote.high < 0 or (below_peak.high < 0 and below_peak.mean < -HAIR)
    figures = {"against vote": below_vote.mean, "against peak": below_peak.mean, "peak k": float(found.ks[peak])}
    said = f"{', '.join(says)} (fails only where an interval lies wholly below 0)"
    return Finding(name, "fail" if falls else "pass", said, len(units), figures)


def _scored_twice(pairs: Sequence[Pair]) -> list[tuple[Pair, float, float]]:
    """With the score before and after the change."""
    return [(pair, pair.before.score, pair.score) for pair in pairs if pair.before.score is not None and pair.score is not None]


def _is_perception(kind: str | None) -> bool:
    return kind in PERCEPTION


def _arrow(figures: Mapping[str, float], name: str) -> str:
    return f"{figures[f'{name} before']:.3f} -> {figures[f'{name} after']:.3f}"


def _percent(found: Interval) -> str:
    return f"{100 * found.mean:.0f} [{100 * found.low:.0f}, {100 * found.high:.0f}]"


def _points(found: Interval) -> str:
    return f"{100 * found.mean:+.1f} points [{100 * found.low:+.1f}, {100 * found.high:+.1f}]"
