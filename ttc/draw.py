"""Which samples a parallel strategy reads: strategies that name the same draw share its samples."""

from dataclasses import replace
from typing import Literal

from pydantic import BaseModel, Field, model_validator

from ttc.errors import UserError
from ttc.records import LETTERS, Answer, Question, Sample

Style = Literal["direct", "cot"]


class Draw(BaseModel, frozen=True, extra="forbid"):
    """n independent samples of a question under one prompt style."""

    style: Style = "cot"
    """Name of the prompt template: answer at once, or reason first."""
    greedy: bool = False
    """Temperature 0, whatever the run's sampling says."""
    n: int = Field(default=1, gt=0)
    cap_tokens: int | None = Field(default=None, gt=0)
    """A length cap replayed over the same samples: a longer one counts as cut there, and has no answer."""
    order: tuple[int, ...] = ()
    """Show the options in this order, given as their places; empty leaves them as they are."""

    @model_validator(mode="after")
    def _one_greedy_sample(self) -> "Draw":
        if self.greedy and self.n > 1:
            raise ValueError(f"n={self.n} greedy samples would be {self.n} copies of one; use n=1 or greedy=false")
        return self

    @property
    def pool(self) -> tuple[str, bool, tuple[int, ...]]:
        """Draws with the same pool take prefixes of the same samples."""
        return self.style, self.greedy, self.order

    def shown(self, question: Question) -> Question:
        """The question as the model meets it."""
        return replace(question, options=tuple(question.options[place] for place in self.order)) if self.order else question

    def meant(self, question: Question, answer: Answer) -> Answer:
        """An answer to the question as shown, in the letters of the question as it is."""
        if not self.order:
            return answer
        return replace(answer, values=tuple(question.letters[self.order[LETTERS.index(value)]] for value in answer.values))

    def capped(self, sample: Sample) -> Sample:
        """The sample as the cap leaves it. Raises UserError where its length is unknown."""
        if self.cap_tokens is not None and not sample.counted:
            raise UserError(
                f"cap_tokens={self.cap_tokens}: how long the replies of {sample.engine} are is unknown; leave the cap out"
            )
        if self.cap_tokens is None or sample.completion_tokens <= self.cap_tokens:
            return sample
        return cut(sample, self.cap_tokens)


def cut(sample: Sample, tokens: int) -> Sample:
    """The sample as if its drawing had ended after so many tokens: it costs those, and says nothing."""
    return replace(sample, text="", finish="length", completion_tokens=tokens, token_ids=(), logprobs=())
