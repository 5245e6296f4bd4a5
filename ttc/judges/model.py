"""A language model as judge: it reads the reply and the gold, and says what was answered and whether it is right.

items -> prompts -> samples (bank first, so that a judged reply is never paid for twice) -> verdicts
"""

import asyncio
import json
from collections.abc import Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Literal

import yaml
from pydantic import BaseModel, ValidationError

from ttc.backends import AnyBackend
from ttc.bank import Bank
from ttc.dispatcher import Dispatcher
from ttc.errors import UserError
from ttc.judges.item import Item
from ttc.judges.rules import Rules
from ttc.records import Message, Prompt, Question, Sample, Sampling, Text, Verdict


class _Ruling(BaseModel):
    """What the judge must write."""

    extracted_answer: str
    correct: bool


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
"""For `backend.extra.response_format`: holds a server that can to the form of a ruling."""


class ModelJudge(BaseModel, frozen=True, extra="forbid"):
    """A language model reads reply and gold. A ruling that cannot be read is `ungraded`, never wrong and never guessed."""

    kind: Literal["model"] = "model"
    backend: AnyBackend
    """Who judges; for a server that can, set `extra: {response_format: ...}` to hold it to JSON."""
    sampling: Sampling = Sampling(temperature=0.0, max_tokens=512)
    official: Path | None = None
    """MMVU's prompt file, to judge by its own instructions; our own words otherwise."""

    def judge_many(self, items: Sequence[Item], bank: Bank) -> list[Verdict]:
        """One verdict per item, in order. Replies without any answer get 0 without asking."""
        asked = [index for index, item in enumerate(items) if item.answer.status not in ("empty", "failed")]
        verdicts = [Verdict(0.0, rule=f"no reply: {item.answer.status}") for item in items]
        rulings = asyncio.run(self._ask([items[index] for index in asked], bank)) if asked else []
        for index, sample in zip(asked, rulings, strict=True):
            verdicts[index] = verdict_of(sample)
        return verdicts

    async def _ask(self, items: Sequence[Item], bank: Bank) -> list[Sample]:
        async with Dispatcher(self.backend, bank, run="judge") as source:
            draws = (source.samples(_bare(item.question), self._prompt(item), self.sampling, 1) for item in items)
            return [samples[0] for samples in await asyncio.gather(*draws)]

    def _prompt(self, item: Item) -> Prompt:
        system = _official(self.official, item.question) if self.official else _own()["system"][item.question.question_type]
        options = "\n".join(f"{letter}. {o}" for letter, o in zip(item.question.letters, item.question.options, strict=True))
        fields = {
            "{question}": item.question.text,
            "{options}": options,
            "{gold}": _gold(item),
            "{reply}": item.reply,
        }
        user = "".join(fields.get(piece, piece) for piece in _pieces(_own()["user"]))
        return Prompt((Message("system", (Text(system),)), Message("user", (Text(user),))), style="judge")


class Cascade(BaseModel, frozen=True, extra="forbid"):
    """Rules where they are sure, a language model where they are not. A verdict's rule says which of the two decided."""

    kind: Literal["cascade"] = "cascade"
    rules: Rules = Rules()
    model: ModelJudge

    def judge_many(self, items: Sequence[Item], bank: Bank) -> list[Verdict]:
        """One verdict per item, in order."""
        first = [self.rules.judge(item.question, item.gold, item.answer) for item in items]
        verdicts = [Verdict(v.credit, v.status, f"rules: {v.rule}") for v in first]
        unsure = [index for index, (item, v) in enumerate(zip(items, first, strict=True)) if not sure(item, v)]
        second = self.model.judge_many([items[index] for index in unsure], bank)
        for index, verdict in zip(unsure, second, strict=True):
            verdicts[index] = verdict
        return verdicts


def sure(item: Item, verdict: Verdict) -> bool:
    """Whether the rules' verdict stands without a second reading.

    Sure: an option was named, an open answer matched, or there is nothing to read. Not sure: a reply from which nothing could
    be read, and an open answer that matched no gold, since it may say the same in other words.
    """
    if item.answer.status in ("empty", "failed", "refused", "truncated"):
        return True
    if item.question.question_type == "multiple-choice":
        return item.answer.status == "answered"
    return verdict.credit > 0


def verdict_of(sample: Sample) -> Verdict:
    """The verdict in a judge's reply; `ungraded` where there is none to read."""
    if sample.status != "ok":
        return Verdict(0.0, "ungraded", f"model: {sample.status}: {sample.reason}")
    text = sample.text.rsplit("</think>", 1)[-1]
    start, end = text.find("{"), text.rfind("}")
    try:
        ruling = _Ruling.model_validate(json.loads(text[start : end + 1]))
    except (json.JSONDecodeError, ValidationError):
        why = "cut at its token limit" if sample.finish == "length" else "not a ruling in JSON"
        return Verdict(0.0, "ungraded", f"model: {why}")
    # "Correct" about nothing is how an empty reply once got credit on every open question of a benchmark.
    credit = float(ruling.correct and bool(ruling.extracted_answer.strip()))
    return Verdict(credit, rule=f"model: read {ruling.extracted_answer!r}")


def _bare(question: Question) -> Question:
    """The question without its media: the judge reads text, and its key must not depend on pictures it never sees."""
    return Question(question.id, question.benchmark, question.question_type, question.text, question.options)


def _gold(item: Item) -> str:
    answers = item.gold.answers
    if item.question.question_type == "multiple-choice":
        shown = [f"{a}. {item.question.options[item.question.letters.index(a)]}" for a in answers if a in item.question.letters]
        return " or ".join(shown or answers)
    return " or ".join(answers)


def _pieces(template: str) -> list[str]:
    """The template cut at its placeholders, so that braces in a question or a reply are left alone."""
    pieces = [template]
    for name in ("{question}", "{options}", "{gold}", "{reply}"):
        pieces = [part for piece in pieces for part in _cut(piece, name)]
    return pieces


def _cut(piece: str, name: str) -> list[str]:
    before, found, after = piece.partition(name)
    return [before, name, after] if found else [piece]


@cache
def _own() -> dict[str, dict[str, str]]:
    return yaml.safe_load(resources.files("ttc.prompts").joinpath("judge.yaml").read_text(encoding="utf-8"))


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
