"""The judge by rules: a letter against the key, a value against each accepted text. Free, and the same every time."""

import ast
import re
from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field

from ttc.answers.equivalence import ground_of_equality
from ttc.answers.number import RELATIVE_TOLERANCE
from ttc.judges.item import Item
from ttc.records import Answer, Gold, Question, Verdict

if TYPE_CHECKING:
    from ttc.bank import Bank

_PARTS = re.compile(r"\s*(?:[,;]|\band\b)\s*")


class Rules(BaseModel, frozen=True, extra="forbid"):
    """Compare by rules.

    Multiple choice is by letter, also where two options have the same text: the key names one. Open answers are compared as
    quantities where both are, else as texts with their declared synonyms, else as formulas; never by substring.
    """

    kind: Literal["rules"] = "rules"
    relative_tolerance: float = Field(default=float(RELATIVE_TOLERANCE), ge=0, lt=0.1)
    """Of numbers. A number may also differ by the gold's own rounding, up to 0.5 %. Whole numbers must be equal."""
    formulas: bool = True
    """Ask math-verify where neither quantities nor texts are equal. Its time limit works in a process's main thread only."""

    def judge_many(self, items: Sequence[Item], bank: "Bank") -> list[Verdict]:
        """One verdict per item, in order; the bank is for judges that keep what they drew."""
        return [self.judge(item.question, item.gold, item.answer) for item in items]

    def judge(self, question: Question, gold: Gold, answer: Answer) -> Verdict:
        """Credit 1 or 0, and on what ground, with the tolerance for numbers; ungraded only where the gold is hidden."""
        if not gold.answers:
            return Verdict(0.0, "ungraded", "rules: hidden gold")
        if not answer.values:
            return Verdict(0.0, rule=f"rules: {answer.status}")
        if question.options:
            return Verdict(float(answer.values[0] in gold.answers), rule="rules: letter")
        tolerance = Fraction(str(self.relative_tolerance))
        accepted = accepted_answers(gold)
        for value in answer.values:
            ground = self._ground(accepted, value, tolerance)
            if ground:
                return Verdict(
                    1.0, rule=f"rules: {ground}" + (f" within {self.relative_tolerance:g}" if ground == "number" else "")
                )
            parts = [part for part in _PARTS.split(value) if part]
            if len(accepted) > 1 and len(parts) > 1 and all(self._ground(accepted, part, tolerance) for part in parts):
                return Verdict(1.0, rule="rules: every part")
        return Verdict(0.0, rule="rules: different")

    def _ground(self, accepted: tuple[str, ...], value: str, tolerance: Fraction) -> str | None:
        return next(
            (ground for text in accepted if (ground := ground_of_equality(text, value, tolerance, self.formulas))), None
        )


def accepted_answers(gold: Gold) -> tuple[str, ...]:
    """The accepted texts. A list that a loader left as its repr, as in the hub's files, is read as the list it is."""
    texts: list[str] = []
    for text in gold.answers:
        if text.lstrip().startswith("[") and text.rstrip().endswith("]"):
            try:
                read = ast.literal_eval(text.strip())
            except (ValueError, SyntaxError):
                read = None
            if isinstance(read, list) and read and all(isinstance(item, str | int | float) for item in read):
                texts.extend(str(item) for item in read)
                continue
        texts.append(text)
    return tuple(texts)
