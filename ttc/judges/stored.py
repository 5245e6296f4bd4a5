"""The verdicts that outputs of another program already hold."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel

from ttc.errors import UserError
from ttc.judges.item import Item
from ttc.records import Answer, Sample, Verdict

if TYPE_CHECKING:
    from ttc.bank import Bank
    from ttc.outputs import Reply


class StoredVerdicts(BaseModel, frozen=True, extra="forbid"):
    """Takes answer and credit of each sample from the outputs that are replayed, instead of reading the reply.

    For results of an evaluator that cannot be had here. Equal answers, to the letter, are one vote; nothing else is.
    """

    kind: Literal["stored"] = "stored"
    outputs: Path
    """As in the backend `replay`."""
    benchmark: Literal["mmmu", "mmmu_pro", "mmvu", "jsonl"] = "jsonl"
    form: str | None = None

    def by_question(self) -> dict[str, list["Reply"]]:
        """Question id -> its replies in the outputs. Raises UserError as `ttc.outputs.read` does."""
        from ttc.outputs import read

        found: dict[str, list[Reply]] = {}
        for reply in read(self.outputs.expanduser(), self.benchmark, form=self.form).replies:
            found.setdefault(reply.id, []).append(reply)
        return found

    def read(self, sample: Sample, replies: Sequence["Reply"]) -> tuple[Answer, Verdict]:
        """Answer and verdict of one sample of a question, from its replies in the outputs.

        Raises:
            UserError: the outputs hold another reply in this place.
        """
        reply = replies[sample.index] if sample.index < len(replies) else None
        if reply is None or reply.text != sample.text:
            raise UserError(
                f"judge stored: {self.outputs} does not hold sample {sample.index} of question {sample.question_id}; "
                "name the outputs that the backend replays"
            )
        said = reply.stored
        if said is None:
            return Answer((), "failed", "stored"), Verdict(0.0, "ungraded", "stored: nothing")
        # Whoever gave no answer gets no credit, as everywhere.
        if said.prediction is None:
            return Answer((), "unclear", "stored"), Verdict(0.0, rule="stored: no answer")
        credit = float(bool(said.correct)) if said.credit is None else said.credit
        return Answer((said.prediction,), "answered", "stored"), Verdict(credit, rule="stored: credit")

    def judge_many(self, items: Sequence[Item], bank: "Bank") -> list[Verdict]:
        """Refused: a reply that is not among the outputs has no verdict there."""
        raise UserError(
            f"judge stored: the outputs {self.outputs} have no verdict on what a strategy that is run live stands by; use "
            "another judge, or parallel strategies"
        )
