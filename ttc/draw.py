"""Which samples a parallel strategy reads: strategies that name the same draw share its samples."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Literal, TypeVar

from pydantic import BaseModel, Field, model_validator

from ttc.errors import UserError
from ttc.records import LETTERS, Answer, Question, Sample

Style = Literal["direct", "cot"]
T = TypeVar("T")


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
    shuffled: int | None = None
    """Seed by which every sample sees the options in an order of its own; None shows all of them the same."""

    @model_validator(mode="after")
    def _one_greedy_sample(self) -> "Draw":
        if self.greedy and self.n > 1:
            raise ValueError(f"n={self.n} greedy samples would be {self.n} copies of one; use n=1 or greedy=false")
        return self

    @property
    def pool(self) -> tuple[str, bool, tuple[int, ...], int | None]:
        """Draws with the same pool take prefixes of the same samples."""
        return self.style, self.greedy, self.order, self.shuffled

    def orders(self, question: Question) -> list[tuple[int, ...]]:
        """The order in which each sample sees the options; that of sample i is the same whatever n is."""
        if self.shuffled is None:
            return [self.order] * self.n
        found = [list(range(len(question.options))) for _ in range(self.n)]
        for index, places in enumerate(found):
            Random(f"{self.shuffled}/{question.id}/{index}").shuffle(places)
        return list(map(tuple, found))

    def parts(self, question: Question) -> dict["Draw", list[int]]:
        """Draws of one prompt each that together are this one, and the places of their samples among its own."""
        places: dict[tuple[int, ...], list[int]] = defaultdict(list)
        for place, order in enumerate(self.orders(question)):
            places[order].append(place)
        plain = {"shuffled": None}
        return {self.model_copy(update=plain | {"order": order, "n": len(at)}): at for order, at in places.items()}

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


def together(parts: Mapping[Draw, Sequence[int]], columns: Iterable[Sequence[T]]) -> list[T]:
    """What there is for each sample of each part, in the order of the whole draw."""
    found = {
        place: value
        for places, column in zip(parts.values(), columns, strict=True)
        for place, value in zip(places, column, strict=True)
    }
    return [found[place] for place in sorted(found)]


def cut(sample: Sample, tokens: int) -> Sample:
    """The sample as if its drawing had ended after so many tokens: it costs those, and says nothing."""
    return replace(sample, text="", finish="length", completion_tokens=tokens, token_ids=(), logprobs=())
