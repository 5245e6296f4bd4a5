"""A language model as judge: it reads the reply and the gold, and says what was answered and whether it is right.

items -> prompts -> samples (bank first, so that a judged reply is never paid for twice) -> verdicts
"""

import asyncio
import json
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ValidationError

from ttc.answers.thinking import final_part
from ttc.backends import AnyBackend
from ttc.backends.openai import OpenAI
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.errors import UserError
from ttc.judges.item import Item
from ttc.judges.rules import Rules
from ttc.prompts.templates import fill
from ttc.protocols import Backend
from ttc.records import Answer, Message, Prompt, Question, QuestionType, Sample, Sampling, Text, Verdict


class _Ruling(BaseModel):
    """What the judge must write."""

    extracted_answer: str | float | None
    correct: bool

    @property
    def credit(self) -> float:
        """1 for a right answer. Right about nothing is how an empty reply once got credit on every question of a benchmark."""
        return float(self.correct and bool(str(self.extracted_answer or "").strip()))


RULING_FORMAT = {
    "type": "json_schema",
    "json_schema": {
        "name": "ruling",
        "strict": True,
        "schema": {
            "type": "object",
            "properties": {"extracted_answer": {"type": "string"}, "correct": {"type": "boolean"}},
            "required": ["extracted_answer", "correct"],
            "additionalProperties": False,
        },
    },
}
_LONE_BACKSLASH = re.compile(r'(?<!\\)\\(?!["\\/n]|u[0-9a-fA-F]{4})')
"""Of LaTeX that a judge did not escape: in JSON `\\frac` begins with a form feed, and `\\sqrt` is an error."""


class ModelJudge(BaseModel, frozen=True, extra="forbid"):
    """A language model reads reply and gold. A ruling that cannot be read is `ungraded`, never wrong and never guessed."""

    kind: Literal["model"] = "model"
    backend: AnyBackend
    """Who judges."""
    sampling: Sampling = Sampling(temperature=0.0, max_tokens=512)
    structured: bool = True
    """Hold an OpenAI-compatible server to the form of a ruling; false for one that cannot."""
    official: Path | None = None
    """MMVU's prompt file, to judge by its own instructions; our own words otherwise."""

    def judge_many(self, items: Sequence[Item], bank: Bank) -> list[Verdict]:
        """One verdict per item, in order. Replies that answer nothing get 0 without asking."""
        verdicts = [_unasked(item) for item in items]
        asked = [index for index, verdict in enumerate(verdicts) if verdict is None]
        rulings = asyncio.run(self._ask([items[index] for index in asked], bank)) if asked else []
        found = dict(zip(asked, map(verdict_of, rulings), strict=True))
        return [verdict or found[index] for index, verdict in enumerate(verdicts)]

    async def _ask(self, items: Sequence[Item], bank: Bank) -> list[Sample]:
        async with Dispatcher(self._backend(), bank, run="judge") as source:
            with source.stopping_on_signals():
                draws = (source.samples(_bare(item.question), self._prompt(item), self.sampling, 1) for item in items)
                return [samples[0] for samples in await asyncio.gather(*draws)]

    def _backend(self) -> Backend:
        if self.structured and isinstance(self.backend, OpenAI):
            return self.backend.model_copy(update={"extra": {"response_format": RULING_FORMAT, **self.backend.extra}})
        return self.backend

    def _prompt(self, item: Item) -> Prompt:
        system = _official(self.official, item.question) if self.official else _own().system[item.question.question_type]
        options = "\n".join(f"{letter}. {o}" for letter, o in zip(item.question.letters, item.question.options, strict=True))
        fields = {
            "question": item.question.text,
            "options": options,
            "gold": _gold(item),
            "reply": final_part(item.reply).text.strip(),
        }
        user = fill(_own().user, fields, where="ttc/prompts/judge.yaml")
        return Prompt((Message("system", (Text(system),)), Message("user", (Text(user),))), style="judge")


class Cascade(BaseModel, frozen=True, extra="forbid"):
    """Rules where they are sure, a language model where they are not. A verdict's rule says which of the two decided."""

    kind: Literal["cascade"] = "cascade"
    rules: Rules = Rules()
    model: ModelJudge

    def judge_many(self, items: Sequence[Item], bank: Bank) -> list[Verdict]:
        """One verdict per item, in order. Equal answers to one question are compared once, and asked about reply by reply."""
        known: dict[tuple[str, Answer], Verdict] = {}
        for item in items:
            if (item.question.id, item.answer) not in known:
                known[item.question.id, item.answer] = self.rules.judge(item.question, item.gold, item.answer)
        verdicts = [known[item.question.id, item.answer] for item in items]
        unsure = [index for index, (item, verdict) in enumerate(zip(items, verdicts, strict=True)) if not sure(item, verdict)]
        second = self.model.judge_many([items[index] for index in unsure], bank)
        for index, verdict in zip(unsure, second, strict=True):
            verdicts[index] = verdict
        return verdicts


def sure(item: Item, verdict: Verdict) -> bool:
    """Whether the rules' verdict stands without a second reading.

    Sure: an option was named, an open answer matched, or the reply answers nothing. Not sure: a reply of which the rules can
    make nothing, and an open answer that matched no gold, since it may say the same in other words.
    """
    if verdict.status == "ungraded" or item.answer.status not in ("answered", "unclear"):
        return True
    return verdict.credit > 0 or (item.answer.status == "answered" and bool(item.question.options))


def decided(verdicts: Iterable[Verdict]) -> dict[str, int]:
    """How many verdicts each judge gave, `rules` or `model`, and how many are `ungraded`."""
    return dict(Counter("ungraded" if v.status == "ungraded" else v.rule.partition(":")[0] for v in verdicts))


def verdict_of(sample: Sample) -> Verdict:
    """The verdict in a judge's reply; `ungraded` where there is none to read."""
    if sample.status != "ok":
        return Verdict(0.0, "ungraded", f"model: {sample.status}: {sample.reason}")
    ruling = _ruling(final_part(sample.text).text)
    if ruling is None:
        why = "cut at its token limit" if sample.finish == "length" else "not a ruling in JSON"
        return Verdict(0.0, "ungraded", f"model: {why}")
    return Verdict(ruling.credit, rule=f"model: read {ruling.extracted_answer!r}")


def _ruling(text: str) -> _Ruling | None:
    """The last ruling in a text that may hold fences, prose and braces of other kinds."""
    decoder = json.JSONDecoder(strict=False)
    text = _LONE_BACKSLASH.sub(r"\\\\", text)
    for match in reversed(list(re.finditer(r"\{", text))):
        try:
            return _Ruling.model_validate(decoder.raw_decode(text, match.start())[0])
        except (json.JSONDecodeError, ValidationError):
            continue
    return None


def _unasked(item: Item) -> Verdict | None:
    """The verdict where there is nothing to compare: the gold is hidden, or the reply answers nothing; else None."""
    if not item.gold.answers:
        return Verdict(0.0, "ungraded", "rules: hidden gold")
    if item.answer.status in ("empty", "failed") or not final_part(item.reply).text.strip():
        return Verdict(0.0, rule=f"rules: {item.answer.status}")
    return None


def _bare(question: Question) -> Question:
    """The question without its media: the judge reads text, and its key must not depend on pictures it never sees."""
    return Question(question.id, question.benchmark, question.question_type, question.text, question.options)


def _gold(item: Item) -> str:
    answers = item.gold.answers
    if item.question.question_type == "multiple-choice":
        shown = [f"{a}. {item.question.options[item.question.letters.index(a)]}" for a in answers if a in item.question.letters]
        return " or ".join(shown or answers)
    return " or ".join(answers)


class _Words(BaseModel, frozen=True, extra="forbid"):
    """The judge's prompt in our own words."""

    source: str
    system: dict[QuestionType, str]
    user: str


@cache
def _own() -> _Words:
    text = resources.files("ttc.prompts").joinpath("judge.yaml").read_text(encoding="utf-8")
    return _Words.model_validate(yaml.safe_load(text))


@cache
def _file(path: Path) -> dict[str, str]:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, json.JSONDecodeError) as error:
        raise UserError(f"judge.official {path}: {error}; give MMVU's prompt file") from error


def _official(path: Path, question: Question) -> str:
    name = "judge_multi_choice_system" if question.question_type == "multiple-choice" else "judge_open_ended_system"
    try:
        return _file(path)[name]
    except KeyError as error:
        raise UserError(f"judge.official {path}: it has no {name}; give MMVU's prompt file") from error
