"""What a run needs, before anything is drawn: questions, prompts, and the samples that its strategies share."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any, get_args

from experiments.binding import bind
from experiments.config import RunConfig
from experiments.curves import check_fields
from experiments.limit import limited
from experiments.thresholds import check_folds
from ttc import keys, prompts
from ttc.backends.archive import Archive
from ttc.bank import Bank
from ttc.benchmarks.opened import opened
from ttc.draw import Draw
from ttc.errors import UserError
from ttc.prompts import Example
from ttc.records import Exam, Prompt, Question, Sampling, StepScores


@dataclass(frozen=True, slots=True)
class Plan:
    """What a run needs, before anything is drawn."""

    config: RunConfig
    exam: Exam
    draws: Mapping[str, Draw]
    """Label -> the largest draw of each pool that parallel strategies read."""
    examples: Sequence[Example] = ()
    """Questions of the dev split for few-shot prompts; empty where the prompt asks for none."""
    calibrated: Mapping[str, Callable[[StepScores], float | None]] = field(default_factory=dict)
    """By verifier, a reply's score as frozen on dev, where the config names a file."""
    notes: tuple[str, ...] = ()
    """Strategies of the config that were turned off and why, or whose verifier's gain on dev may be chance."""
    live: Sequence[tuple[Any, Question]] = ()
    """What is run as it goes: each such strategy on each question."""

    def prompt(self, question: Question, style: str) -> Prompt:
        """The prompt of one style under this run's prompt settings."""
        return prompts.render(question, style=style, config=self.config.prompt, examples=self.examples)

    def sampling(self, draw: Draw) -> Sampling:
        """The run's sampling, at temperature 0 for a greedy draw."""
        return self.config.sampling.model_copy(update={"temperature": 0.0}) if draw.greedy else self.config.sampling

    def requests(self, question: Question, draw: Draw, identity: Mapping[str, object]) -> dict[str, int]:
        """Description of a request (`ttc.keys.description`) -> samples: one for each order of options that the draw shows."""
        shown = {part: part.shown(question) for part in draw.parts(question)}
        return {
            keys.description(one, self.prompt(one, part.style), identity, self.sampling(part), self.config.seed): part.n
            for part, one in shown.items()
        }

    @property
    def scored(self) -> dict[tuple[str, str], int]:
        """Draw label and verifier -> of how many samples of each question parallel strategies read the scores."""
        read: dict[tuple[str, str], int] = {}
        for strategy in self.config.parallel:
            if verifier := getattr(strategy, "verifier", None):
                place = draw_label(strategy.draw), verifier
                read[place] = max(read.get(place, 0), strategy.draw.n)
        return read

    def wanted(self, identity: Mapping[str, object]) -> dict[str, int]:
        """Key -> samples, over all questions and draws. Two questions that are the same to the model share a key."""
        found: dict[str, int] = {}
        for draw, question in product(self.draws.values(), self.exam.questions):
            for described, n in self.requests(question, draw, identity).items():
                key = keys.key_of(described)
                found[key] = max(found.get(key, 0), n)  # at temperature 0 a greedy draw has the key of the others
        return found


def plan(config: RunConfig) -> Plan:
    """Load the questions and find out which samples the strategies share.

    Raises:
        UserError: as the benchmark's `load` and `bind`, or no question has a field that the config groups by.
    """
    exam = limited(config.benchmark.load(), config.limit)
    check_fields(exam.questions, config.by or ())
    check_folds(exam.questions, config.strategies)
    bound = bind(config, exam.questions)
    config, draws = bound.config, {}
    for strategy in config.parallel:
        for draw in filter(None, (strategy.draw, getattr(strategy, "fallback_draw", None))):
            label, whole = draw_label(draw), draw.model_copy(update={"cap_tokens": None})
            draws[label] = max(draws.get(label, whole), whole, key=lambda d: d.n)
    asked = opened(exam) if config.prompt.options == "none" else exam
    live = [
        (strategy, question) for strategy in config.strategies if not hasattr(strategy, "draw") for question in asked.questions
    ]
    return Plan(config, asked, draws, _examples(config), bound.calibrated, bound.notes, live)


def _examples(config: RunConfig) -> list[Example]:
    if not config.prompt.shots:
        return []
    if "dev" not in get_args(type(config.benchmark).model_fields["split"].annotation):
        raise UserError(f"prompt.shots={config.prompt.shots}: {config.benchmark.kind} has no dev split; set 0")
    dev = config.benchmark.model_copy(update={"split": "dev"}).load()
    return [Example(question, dev.golds[question.id]) for question in dev.questions]


def lacking(bank: Bank, wanted: Mapping[str, int]) -> int:
    """How many of these samples the bank does not hold."""
    return sum(len(gap) for key, n in wanted.items() for gap in bank.missing(key, n))


def check_archive(plan: Plan, bank: Bank) -> None:
    """Where another bank is the engine, see that it holds what parallel strategies read and `bank` lacks.

    Raises:
        UserError: it does not; says how many samples of which draw are missing, and what is there.
    """
    backend = plan.config.backend
    if not isinstance(backend, Archive):
        return
    identity = backend.identity()
    for label, draw in plan.draws.items():
        requests = (plan.requests(question, draw, identity) for question in plan.exam.questions)
        backend.check(label, {described: n for one in requests for described, n in one.items()}, bank)


def draw_label(draw: Draw) -> str:
    """Name of a pool of samples: `cot`, `direct, greedy`, or `cot, shuffled by 0`."""
    shuffled = "" if draw.shuffled is None else f", shuffled by {draw.shuffled}"
    return draw.style + (", greedy" if draw.greedy else "") + shuffled
