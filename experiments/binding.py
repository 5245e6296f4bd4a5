"""Verifiers as a run uses them: under what was frozen on dev, and not at all where dev showed that they are of no use."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from ttc.errors import UserError
from ttc.protocols import Verifier
from ttc.records import Question, StepScores
from ttc.scoring import verifier_id
from verifiers import frozen as freezing
from verifiers.ensemble import Ensemble
from verifiers.frozen import DevGain, Frozen

if TYPE_CHECKING:
    from experiments.config import RunConfig


@dataclass(frozen=True, slots=True)
class Bound:
    """A config as it can be run."""

    config: "RunConfig"
    """Without the strategies that were turned off."""
    calibrated: Mapping[str, Callable[[StepScores], float | None]]
    """By verifier with a frozen file, what makes a reply's score of what is stored."""
    notes: tuple[str, ...]
    """What was turned off and why, and whose gain on dev may be chance."""


def bind(config: "RunConfig", questions: Iterable[Question]) -> Bound:
    """Read the frozen files of a run and hold them against what it is.

    Raises:
        UserError: a file, be it of an ensemble's weights, that was changed, is another verifier's, or knows a question of this
            run; with `when_useless: refuse`, a strategy that dev showed no gain for; or nothing is left to run.
    """
    read: dict[str, Frozen] = {}
    asked = tuple(questions)
    for verifier in config.verifiers.values():
        if isinstance(verifier, Ensemble):
            verifier.refuse_dev(asked)
    for name, path in config.frozen.items():
        read[name] = freezing.read(path)
        read[name].check(verifier_id(config.verifiers[name]), asked, str(path))
    kept, notes = [], []
    for strategy in config.strategies:
        reason = _useless(strategy, read)
        if reason and config.when_useless == "refuse":
            raise UserError(f"{reason}; use vote, or set when_useless: warn or use")
        if reason and config.when_useless == "warn":
            notes.append(f"turned off: {reason}")
            continue
        kept.append(strategy)
        if doubt := reason or _uncertain(strategy, read):
            notes.append(doubt)
    if not kept:
        raise UserError(f"no strategy is left to run ({notes[0]}); add vote, or set when_useless: use")
    calibrated = {name: _calibrated(config.verifiers[name], one) for name, one in read.items()}
    return Bound(config.model_copy(update={"strategies": tuple(kept)}), calibrated, tuple(notes))


def _calibrated(verifier: Verifier, frozen: Frozen) -> Callable[[StepScores], float | None]:
    return lambda scores: frozen.response_score(replace(scores, score=verifier.response_score(scores)))


def _useless(strategy: Any, read: Mapping[str, Frozen]) -> str:
    """Why a strategy had better not be run; empty where there is no reason."""
    name = getattr(strategy, "verifier", None)
    if name is None or name not in read or read[name].is_useful(strategy.kind):
        return ""
    seen = _seen(read[name].gain(strategy.kind))
    return f"{strategy.kind} with verifier {name}: its frozen file shows no gain over the vote on dev ({seen})"


def _uncertain(strategy: Any, read: Mapping[str, Frozen]) -> str:
    """That a gain may be chance; empty where it is not, or where none was frozen."""
    name = getattr(strategy, "verifier", None)
    gain = read[name].gain(strategy.kind) if name is not None and name in read else None
    if gain is None or gain.low > 0:
        return ""
    return f"{strategy.kind} with verifier {name}: its gain over the vote on dev may be chance ({_seen(gain)})"


def _seen(gain: DevGain | None) -> str:
    if gain is None:
        return "never measured"
    mean, low, high = (f"{100 * value:+.1f}" for value in (gain.mean, gain.low, gain.high))
    return f"{mean} points [{low}, {high}] at k = {gain.k}"
