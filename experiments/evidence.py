"""What a finished run holds for and against a verifier: its samples as scored and labelled replies. Nothing is drawn.

run folder -> samples (bank) -> verdicts -> scores (bank, then verifier) -> step labels -> evidence
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from experiments import folder
from experiments.config import RunConfig
from experiments.plan import Plan, draw_label, plan
from experiments.run import draw_all
from ttc.bank import Bank
from ttc.errors import UserError
from ttc.grading import Graded, Job, grade_all
from ttc.pool import Pool
from ttc.protocols import Verifier
from ttc.records import Question, Reply, Sample, StepScores
from ttc.scoring import Scoring, verifier_id
from verifiers.frozen import Dev, Frozen, dev_hash, question_hash
from verifiers.gains import rescored
from verifiers.metrics import ScoredChain
from verifiers.probes import rewritten
from verifiers.steps import split, texts_of

if TYPE_CHECKING:
    from training.chains import LabelledChain

Labels = Mapping[str, "LabelledChain"]
"""By `key/index` of the sample."""


@dataclass(frozen=True, slots=True)
class Item:
    """One sample under one verifier."""

    question: Question
    sample: Sample
    answer: str | None
    scores: StepScores
    chain: ScoredChain
    """With the verifier's own scores."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that is known about one verifier from one run."""

    name: str
    verifier: Verifier
    identity: str
    plan: Plan
    items: Mapping[str, Sequence[Item]]
    """By question id, in index order."""
    graded: Mapping[str, Graded]
    others: tuple[tuple[StepScores, ScoredChain], ...]
    """Chains that are no samples of this run: explanations, and those with an error put in."""
    unmatched: int
    """Replies whose labels are for other steps than were scored."""

    @property
    def chains(self) -> list[ScoredChain]:
        """The model's own replies."""
        return [item.chain for items in self.items.values() for item in items]

    @property
    def units(self) -> list[str]:
        """Cluster of each question."""
        return [items[0].chain.unit for items in self.items.values()]

    def pools(self, frozen: Frozen | None = None) -> list[Pool]:
        """One per question, under the verifier's own scores or the frozen ones."""
        found = []
        for question_id, items in self.items.items():
            scores = [item.scores.score if frozen is None else frozen.response_score(item.scores) for item in items]
            one = self.graded[question_id]
            found.append(rescored(one.pool(None), self.name, scores))
        return found

    def under(self, frozen: Frozen | None) -> list[ScoredChain]:
        """The model's own replies and all others, their scores calibrated."""
        pairs = [(item.scores, item.chain) for items in self.items.values() for item in items] + list(self.others)
        if frozen is None:
            return [chain for _, chain in pairs]
        return [
            replace(chain, scores=frozen.step_scores(chain.scores), score=frozen.response_score(scores))
            for scores, chain in pairs
        ]

    def dev(self) -> Dev:
        """What a frozen file says of the split it was made on."""
        exam = self.plan.exam
        asked = {question_id: question_hash(items[0].question) for question_id, items in self.items.items()}
        rows = [
            # Step scores are what is chosen on: the config's own aggregation of them plays no part.
            [asked[i], item.sample.text, item.scores.steps or item.scores.score, item.chain.labels, item.chain.is_right]
            for i, items in self.items.items()
            for item in items
        ]
        count = sum(map(len, self.items.values()))
        return Dev(
            benchmark=exam.name,
            split=exam.split,
            fingerprint=exam.fingerprint,
            questions=tuple(sorted(asked.values())),
            replies=count,
            hash=dev_hash(rows),
        )


class Gathering:
    """A run opened for its verifiers; use in a `with` block. Scores that the bank lacks are made and kept."""

    def __init__(self, run: Path, chains: Path | None = None) -> None:
        """Raises UserError: no finished run, no verifier in its config, a bank without its samples, a file of other chains."""
        config = folder.read_config(run)
        if not config.verifiers:
            raise UserError(f"run {run}: its config binds no verifier; add one under verifiers and run it again")
        facts = folder.read_manifest(run)
        stored = folder.Stored(facts, run)
        self.config = _plain(config, run)
        self.plan, self._bank = plan(self.config), Bank(config.bank)
        if self.plan.exam.fingerprint != facts["benchmark"]["fingerprint"]:
            raise UserError(f"run {run}: the data of {self.plan.exam.name} have changed since; run `ttc run` again")
        drawn = draw_all(self.plan, stored, self._bank)
        self._graded = self._grade(drawn)
        self._labels, self._chains = self._read(chains)
        self._stack = ExitStack()

    def __enter__(self) -> "Gathering":
        writer = self._stack.enter_context(self._bank.writer(run="verify"))
        self.scoring = self._stack.enter_context(Scoring(self.config.verifiers, self._bank, writer))
        return self

    def __exit__(self, *error) -> None:
        self._stack.close()

    def _grade(self, drawn) -> dict[str, dict[str, Graded]]:
        questions, golds = self.plan.exam.questions, self.plan.exam.golds
        jobs = [Job(q, golds[q.id], tuple(by_id[q.id])) for by_id in drawn.values() for q in questions]
        graded = iter(grade_all(jobs, self.config.judge, self._bank))
        return {label: {question.id: next(graded) for question in questions} for label in drawn}

    def _read(self, path: Path | None) -> tuple[Labels, list["LabelledChain"]]:
        if path is None:
            return {}, []
        from training.chain_files import read_chains

        found = read_chains(path, self.plan.exam.questions)
        return {c.sample_id: c for c in found if c.sample_id}, [c for c in found if not c.sample_id]

    def of(self, name: str) -> Evidence:
        """Score and label the samples that strategies read under this verifier; the largest draw where none does."""
        scored = {label: n for (label, verifier), n in self.plan.scored.items() if verifier == name}
        largest = max(self.plan.draws.values(), key=lambda draw: (not draw.greedy, draw.n))
        label, n = max(scored.items(), key=lambda item: item[1]) if scored else (draw_label(largest), largest.n)
        graded = {i: _first(one, n) for i, one in self._graded[label].items()}
        replies = [Reply(one.question, sample) for one in graded.values() for sample in one.samples]
        found = iter(self.scoring.score_all(name, replies))
        unmatched, items = 0, {}
        for question_id, one in graded.items():
            items[question_id] = list(self._items(one, found))
            unmatched += sum(len(i.scores.steps) > 0 and not i.chain.labels for i in items[question_id])
        verifier = self.config.verifiers[name]
        others = tuple(self._others(name))
        return Evidence(name, verifier, verifier_id(verifier), self.plan, items, graded, others, unmatched)

    def _items(self, one: Graded, found: Iterator[StepScores]) -> Iterator[Item]:
        for sample, answer, verdict in zip(one.samples, one.answers, one.verdicts, strict=True):
            scores = next(found)
            is_right = None if verdict.status == "ungraded" else verdict.credit == 1
            chain = labelled(one.question, sample.text, scores, self._labels.get(f"{sample.key}/{sample.index}"))
            yield Item(one.question, sample, answer.value, scores, replace(chain, is_right=is_right))

    def _others(self, name: str) -> Iterator[tuple[StepScores, ScoredChain]]:
        """Chains that are no samples, scored under keys of their own content."""
        unkeyed = [Sample("", 0, one.question.id, "".join(one.steps), finish="stop") for one in self._chains]
        replies = [
            rewritten(Reply(chain.question, sample), f"chain: {chain.origin}", chain.question, sample.text)
            for chain, sample in zip(self._chains, unkeyed, strict=True)
        ]
        for chain, scores in zip(self._chains, self.scoring.score_all(name, replies), strict=True):
            made = labelled(chain.question, "".join(chain.steps), scores, chain)
            yield scores, replace(made, is_right=chain.is_right, origin=chain.origin, source=chain.source)


def labelled(question: Question, text: str, scores: StepScores, known: "LabelledChain | None") -> ScoredChain:
    """A scored reply with what is known of its steps: by a file, by the pocket exam itself, or nothing.

    Its labels are left out where they are for other steps than those that were scored.
    """
    steps = texts_of(text, len(scores.steps))
    labels: tuple[bool | None, ...] = (None,) * len(scores.steps)
    kinds: tuple[str | None, ...] = ()
    reads: tuple[bool, ...] = ()
    fits = steps is not None
    if known is not None:
        fits = len(known.steps) == len(scores.steps) and "".join(known.steps) == text
        steps, labels, kinds = known.steps, known.labels, known.kinds
    elif steps and scores.steps and question.benchmark == "pocket":
        from training.corpora import pocket_labels

        labels, kinds, reads = pocket_labels(question, steps)
    return ScoredChain(
        question=question.id,
        steps=steps if steps is not None and fits else tuple(step.text for step in split(text)),
        scores=scores.steps if fits else (),
        labels=labels if fits else (),
        kinds=kinds if fits else (),
        reads_image=reads if fits else (),
        score=scores.score,
        source=question.benchmark,
        cluster=question.cluster,
        fields=question.fields,
    )


def _first(one: Graded, n: int) -> Graded:
    columns = {name: getattr(one, name)[:n] for name in ("samples", "answers", "verdicts", "classes")}
    return replace(one, **columns, scores={})


def _plain(config: RunConfig, run: Path) -> RunConfig:
    """Strategies that draw as they go would draw, and a verifier reads no replies to options in another order."""
    plain = tuple(strategy for strategy in config.parallel if strategy.draw.shuffled is None)
    if not plain:
        raise UserError(f"run {run}: no strategy of it has plain samples; add a parallel one, such as vote, and run it again")
    return config.model_copy(update={"strategies": plain, "frozen": {}})
