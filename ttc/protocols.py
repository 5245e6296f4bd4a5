"""The seams: what backends, verifiers, judges, benchmarks and strategies must offer. Each is a frozen config with one verb."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, Protocol, runtime_checkable

from ttc.records import Answer, Exam, Gold, Question, Reply, Request, Sample, Selection, StepScores, Verdict

if TYPE_CHECKING:
    from ttc.bank import Bank, Writer
    from ttc.compute import ModelShape
    from ttc.draw import Draw
    from ttc.judges.item import Item
    from ttc.pool import Outcome, Pool
    from ttc.session import Session


class Inbox(Protocol):
    """Where a backend takes its work from. Media are decoded as a request is taken, so only what is in flight is in memory."""

    @property
    def stopped(self) -> bool:
        """The run is to end: what is in flight is finished, and what was taken but not begun need not be."""
        ...

    def take(self, *, wait: bool) -> Request | None:
        """The next request.

        Args:
            wait: block until there is one. None then means that the run is over; without `wait`, that nothing waits now.
        """
        ...


class Engine(Protocol):
    """An opened backend. Lives on one thread."""

    name: str
    """Engine and version, recorded beside each sample: `transformers 5.24.0`."""

    def serve(self, inbox: Inbox) -> Iterator[Sample]:
        """Take requests until the inbox is over, and yield each sample as soon as it is finished, in any order.

        A request that can never succeed yields samples with a status. Raises BackendUnavailable where the engine cannot go on.
        """
        ...

    def close(self) -> None:
        """Free the device."""
        ...


class Backend(Protocol):
    """Config of an engine: cheap to hold, heavy to open. One whose `reads_media` is False is given no images, and one whose
    `continues` is False no strategy whose `continues` is True: it cannot go on from the tokens of a reply.
    One without `encoder`, which opens its tokenizer, is given no strategy whose `appends` is True.

    One that works on devices of ours has `devices`, their number: its device time is then kept with its samples.
    """

    def identity(self) -> Mapping[str, object]:
        """What determines the samples: model, revision or content hash, adapter, dtype, pixels, template arguments.

        Goes into every key as JSON, so two engines over the same weights share samples. Must not load the model.
        Raises UserError where the model cannot be found.
        """
        ...

    def shape(self) -> ModelShape | None:
        """The model's shape for FLOPs, read from its config file; None where unknown (an API)."""
        ...

    def open(self) -> Engine:
        """Load the model. Raises UserError with the way out where it cannot."""
        ...


class Benchmark(Protocol):
    """Config of a data set."""

    def load(self) -> Exam:
        """Read and check the data. Raises UserError for a missing file or a wrong name."""
        ...


class Verifier(Protocol):
    """Config of what scores replies without gold: cheap to hold, heavy to open."""

    uses_gold: ClassVar[bool]
    """True for what knows the truth: strategies that use it are kept out of tables of methods."""

    @property
    def kind(self) -> str:
        """Its name in configs."""
        ...

    def identity(self) -> Mapping[str, object]:
        """What determines the stored scores, as JSON: weights by content, template, version. Must not load a model."""
        ...

    def response_score(self, scores: StepScores) -> float | None:
        """The whole reply's score from what is stored, so that another aggregation of steps needs no new pass.

        None where scoring failed.
        """
        ...

    def flops(self, scores: StepScores) -> float | None:
        """FLOPs of scoring that reply; None where the model's shape is unknown."""
        ...

    def open(self) -> Scorer:
        """Load the model. Raises UserError with the way out where it cannot."""
        ...


@runtime_checkable
class KeepingVerifier(Verifier, Protocol):
    """A verifier that keeps more in the bank than its scores: what a model said of a reply, or what its members say."""

    def open_in(self, bank: Bank, writer: Writer) -> Scorer:
        """As `open`, with the bank to look in, and the writer of the samples that are scored."""
        ...


@runtime_checkable
class RunningVerifier(Verifier, Protocol):
    """A verifier that can score a sample while it is drawn."""

    @property
    def running(self) -> bool:
        """Whether it does, as configured."""
        ...

    def falls(self, sample: Sample) -> Sequence[tuple[int, float]]:
        """Tokens drawn and score of each new low of the running score, in order; empty for a sample that it cannot score."""
        ...


class Scorer(Protocol):
    """An opened verifier. Lives on one thread."""

    def score(self, replies: Sequence[Reply]) -> Iterator[StepScores]:
        """One record per reply (`Reply.scored`), in any order, each as soon as it is known; a failure is a status."""
        ...

    def close(self) -> None:
        """Free the device."""
        ...


class Judge(Protocol):
    """Compares an answer with the gold. Costs nothing on the x axis."""

    def judge(self, question: Question, gold: Gold, answer: Answer) -> Verdict:
        """Credit for one extracted answer; 0 wherever there is none."""
        ...


class ReadingJudge(Protocol):
    """A judge that reads replies, many at a time, and keeps what it found in the bank."""

    def judge_many(self, items: Sequence[Item], bank: Bank) -> list[Verdict]:
        """One verdict per item, in order. Raises BackendUnavailable where the model behind it cannot be asked."""
        ...


class Strategy(Protocol):
    """Spends samples on one question and stands by an answer."""

    @property
    def kind(self) -> str:
        """Its name in configs."""
        ...

    uses_gold: ClassVar[bool]
    """True for what needs the truth, such as the oracle: kept out of tables of methods."""

    async def solve(self, session: Session) -> Selection:
        """Run live on one question, all compute through the session.

        A strategy listed several times becomes one curve over its n, or over the setting that its `size: ClassVar[str]` names.
        """
        ...


class ParallelStrategy(Strategy, Protocol):
    """A strategy that is a pure function of independent samples: its curve at every budget is computed, not run."""

    @property
    def draw(self) -> Draw:
        """The samples it needs."""
        ...

    def expected(self, pool: Pool, k: int) -> Outcome:
        """Exact expectation over a fresh run of k samples. Raises ValueError for k above the pool's size."""
        ...
