"""What readers of foreign outputs return: one record per reply, with question and gold as far as the file has them."""

from collections.abc import Mapping
from dataclasses import dataclass

from ttc.benchmarks.exams import seal
from ttc.records import Exam, Gold, Question, Sample

Known = Mapping[str, tuple[Question, Gold]]
"""Questions by id from a loaded benchmark, for files that leave out options, golds or fields."""


@dataclass(frozen=True, slots=True)
class Stored:
    """What the file itself says of a reply."""

    prediction: str | None
    """The answer its evaluator read."""
    correct: bool | None
    """Its evaluator's verdict."""
    credit: float | None = None
    """The same in [0, 1], where the evaluator knows more than right and wrong."""


@dataclass(frozen=True, slots=True)
class Reply:
    """One reply to one question."""

    question: Question
    gold: Gold
    sample: Sample | None
    """The reply; None where the run that wrote the file got none."""
    failure: str = ""
    """Why there is none."""
    stored: Stored | None = None
    """None where the file holds replies only."""
    extracted: bool = False
    """The text is an answer that somebody else extracted; the official rules then compare a letter as it stands."""
    model: str = ""
    """Who answered, where the outputs hold replies of several."""
    released_options: tuple[str, ...] | None = None
    """The options as the released evaluator counts them, where it counts otherwise than people do."""

    @property
    def id(self) -> str:
        """The question's id; repeated samples share it."""
        return self.question.id

    @property
    def text(self) -> str:
        """The reply's text, empty where there is none."""
        return self.sample.text if self.sample else ""


@dataclass(frozen=True, slots=True)
class Outputs:
    """A file or folder of outputs, read."""

    form: str
    """Name of the form it was read as."""
    replies: tuple[Reply, ...]
    """In file order."""
    problems: tuple[str, ...] = ()
    """What was wrong with single rows, one line each."""

    def exam(self, benchmark: str) -> Exam:
        """The questions and golds that these are replies to, each once, without media."""
        pairs = {reply.id: reply for reply in self.replies}.values()
        split = str(next((reply.question.fields.get("split") for reply in pairs), None) or "test")
        return seal(benchmark, split, [reply.question for reply in pairs], [reply.gold for reply in pairs])
