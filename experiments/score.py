"""Scores of outputs that other programs wrote: by the benchmark's official rules, by the careful ones, and where they differ.

    Outputs -> rows (one reply read and judged by each rule) -> tallies, overall and by field -> table, JSON, audit

Every reply counts: one that failed, was refused or names no answer is wrong and stays in the denominator.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from experiments.curves import level_order
from ttc import answers as reading
from ttc.errors import UserError
from ttc.judges.rules import Rules
from ttc.official import OfficialRules
from ttc.outputs import Outputs, Reply
from ttc.records import Answer, Exam
from ttc.statistics import clopper_pearson, interval

Rule = Literal["official", "careful"]
LEVEL = "topic_difficulty"

_OFFICIAL: Mapping[str, Literal["mmmu", "mmmu_pro"] | None] = {
    "mmmu": "mmmu",
    "mmmu_pro": "mmmu_pro",
    "jsonl": "mmmu_pro",
    "mmvu": None,
}
"""Whose official rules a benchmark is scored by. MMVU's official judge is a language model. Plain rows name no benchmark and
get MMMU-Pro's; `ttc score mmmu` on the same file gives MMMU's.
"""


@dataclass(frozen=True, slots=True)
class Reading:
    """One reply under one rule set."""

    prediction: str | tuple[str, ...] | None
    """The letter, the values an open reply stands by, or None."""
    correct: bool
    status: str
    """As in `Answer`; the official rules only know `answered`, and `failed` where there was no reply."""
    rule: str
    """What decided."""


@dataclass(frozen=True, slots=True)
class Row:
    """One reply and its readings."""

    reply: Reply
    readings: Mapping[Rule, Reading]

    @property
    def differs(self) -> bool:
        """The two rule sets read another letter, or come to another verdict."""
        official, careful = self.readings["official"], self.readings["careful"]
        same_letter = not self.reply.question.options or official.prediction == careful.prediction
        return official.correct != careful.correct or not same_letter


@dataclass(frozen=True, slots=True)
class Tally:
    """A group of rows under one rule set."""

    n: int
    correct: int
    interval: tuple[float, float]
    """95 % interval of the accuracy."""
    statuses: Mapping[str, int]
    """Rows by status."""
    none: int
    """Rows without a prediction."""

    @property
    def accuracy(self) -> float:
        """Correct over all rows."""
        return self.correct / self.n


@dataclass(frozen=True, slots=True)
class Scores:
    """All rows of one scored set and their tallies."""

    benchmark: str
    exam: Exam
    """The questions of the rows and their golds."""
    rows: tuple[Row, ...]
    overall: Mapping[Rule, Tally]
    by: Mapping[Rule, Mapping[str, Mapping[str, Tally]]]
    """Field -> value -> tally, levels and names in order."""
    notes: tuple[str, ...]
    """What a reader of the numbers has to know, one line each."""


def score(
    outputs: Outputs,
    benchmark: str,
    *,
    rules: Sequence[Rule] = ("official", "careful"),
    by: Sequence[str] = (),
    split: str | None = None,
) -> Scores:
    """Score outputs.

    Args:
        by: question fields; a row with several values counts under each.
        split: score this split alone; where a file holds dev and validation rows, validation is taken unless told otherwise.

    Raises:
        UserError: an unknown benchmark, field or split; official rules for MMVU; no row with a gold answer.
    """
    replies, set_aside = _one_split(outputs.replies, split)
    if not any(reply.gold.answers for reply in replies):
        raise UserError(f"{benchmark}: none of the {len(replies)} rows has a gold answer; a hidden split cannot be scored here")
    rows = _read(replies, benchmark, rules)
    fields = sorted({name for reply in replies for name in reply.question.fields})
    for name in by:
        if name not in fields:
            raise UserError(f"--by {name}: no row has this field; there are {', '.join(fields) or 'none'}")
    overall: dict[Rule, Tally] = {rule: _tally(rows, rule) for rule in rules}
    groups: dict[Rule, dict[str, dict[str, Tally]]] = {
        rule: {name: dict(_groups(rows, rule, name)) for name in by} for rule in rules
    }
    notes = (*outputs.problems, *set_aside, *_notes(rows, rules, by))
    exam = replace(outputs, replies=tuple(replies)).exam(benchmark)
    return Scores(benchmark, exam, rows, overall, groups, notes)


def with_levels(outputs: Outputs, levels: Outputs) -> Outputs:
    """The outputs with the difficulty that another file names for the same id; ids that it lacks keep their own."""
    named = {reply.id: reply.question.fields[LEVEL] for reply in levels.replies if LEVEL in reply.question.fields}
    found = sum(reply.id in named for reply in outputs.replies)
    if not found:
        raise UserError(
            f"--levels: none of the {len(outputs.replies)} ids has a {LEVEL} there; are they ids of the same questions?"
        )

    def levelled(reply: Reply) -> Reply:
        fields = dict(reply.question.fields) | ({LEVEL: named[reply.id]} if reply.id in named else {})
        return replace(reply, question=replace(reply.question, fields=fields))

    note = f"levels of {found} of {len(outputs.replies)} rows come from the other file"
    return replace(outputs, replies=tuple(map(levelled, outputs.replies)), problems=(*outputs.problems, note))


def _one_split(replies: Sequence[Reply], split: str | None) -> tuple[Sequence[Reply], list[str]]:
    found = Counter(str(reply.question.fields.get("split", "")) for reply in replies)
    if split is None and not ("dev" in found and "validation" in found):
        return replies, []
    chosen = split or "validation"
    kept = [reply for reply in replies if reply.question.fields.get("split") == chosen]
    if not kept:
        raise UserError(
            f"--split {chosen}: no row is of this split; there are {', '.join(filter(None, found)) or 'none named'}"
        )
    aside = len(replies) - len(kept)
    return kept, [f"split {chosen} alone is scored; {aside} rows of other splits are set aside"] if aside else []


def _read(replies: Sequence[Reply], benchmark: str, rules: Sequence[Rule]) -> tuple[Row, ...]:
    if benchmark not in _OFFICIAL:
        raise UserError(f"benchmark {benchmark!r}: no such benchmark to score; use one of {', '.join(_OFFICIAL)}")
    name = _OFFICIAL[benchmark]
    if "official" in rules and name is None:
        raise UserError(f"{benchmark}: its official judge is a language model, not a rule; use --rules careful")
    official = OfficialRules(name) if name else None
    judge = Rules()
    rows = []
    for reply in replies:
        readings: dict[Rule, Reading] = {}
        if official and "official" in rules:
            readings["official"] = _official(reply, official)
        if "careful" in rules:
            readings["careful"] = _careful(reply, judge)
        rows.append(Row(reply, readings))
    return tuple(rows)


def _official(reply: Reply, rules: OfficialRules) -> Reading:
    """As the released evaluator does it: a row without a reply is an empty one, so a letter is drawn."""
    status = "answered" if reply.sample else "failed"
    golds = reply.gold.answers
    if not reply.question.options:
        values = rules.open_values(reply.text)
        return Reading(tuple(map(str, values)), rules.open_correct(golds, values), status, f"{rules.rules}/open")
    if reply.extracted:
        return Reading(reply.text or None, reply.text in golds, status, f"{rules.rules}/as given")
    letter, rule = rules.choice(reply.text, reply.released_options or reply.question.options)
    return Reading(letter, letter in golds, status, f"{rules.rules}/{rule}")


def _careful(reply: Reply, judge: Rules) -> Reading:
    if reply.sample is None:
        return Reading(None, False, "failed", "no reply")
    answer: Answer = reading.extract(reply.question, reply.sample)
    verdict = judge.judge(reply.question, reply.gold, answer)
    prediction = (answer.value if reply.question.options else answer.values) if answer.values else None
    return Reading(prediction, verdict.credit == 1, answer.status, answer.rule)


def _tally(rows: Sequence[Row], rule: Rule) -> Tally:
    readings = [row.readings[rule] for row in rows]
    clusters = [row.reply.question.cluster or row.reply.id for row in rows]
    return Tally(
        n=len(rows),
        correct=sum(reading.correct for reading in readings),
        interval=_interval([reading.correct for reading in readings], clusters),
        statuses=Counter(reading.status for reading in readings),
        none=sum(not reading.prediction for reading in readings),
    )


def _interval(correct: Sequence[bool], clusters: Sequence[str]) -> tuple[float, float]:
    """Exact where every reply stands alone, else from resampled clusters of questions."""
    if len(set(clusters)) == len(clusters):
        return clopper_pearson(sum(correct), len(correct))
    found = interval(correct, clusters)
    return found.low, found.high


def _groups(rows: Sequence[Row], rule: Rule, field: str) -> Iterator[tuple[str, Tally]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        for value in row.reply.question.values(field):
            groups.setdefault(value, []).append(row)
    for value in sorted(groups, key=level_order):
        yield value, _tally(groups[value], rule)


def _notes(rows: Sequence[Row], rules: Sequence[Rule], by: Sequence[str]) -> Iterator[str]:
    if "official" in rules:
        drawn = [row for row in rows if row.readings["official"].rule.endswith("/random")]
        if drawn:
            right = sum(row.readings["official"].correct for row in drawn)
            yield f"official: {len(drawn)} rows were not understood and got a random letter (seed 42), {right} of them credited"
    if len(rules) == 2 and (differing := sum(row.differs for row in rows)):
        yield f"{differing} rows are read differently by the two rule sets; `ttc audit` shows them"
    failed = sum(row.reply.sample is None for row in rows)
    if failed:
        yield f"{failed} rows have no reply; they count as wrong"
    hidden = sum(not row.reply.gold.answers for row in rows)
    if hidden:
        yield f"{hidden} rows have no gold answer; they count as wrong"
    for name in by:
        values = [row.reply.question.values(name) for row in rows]
        if several := sum(len(found) > 1 for found in values):
            yield f"by {name}: {several} rows have several values and count under each"
        if without := sum(not found for found in values):
            yield f"by {name}: {without} rows have no value and are in no group"
    questions = {row.reply.id for row in rows}
    if len(questions) < len(rows):
        yield f"{len(rows)} replies to {len(questions)} questions; n counts replies, intervals resample questions"


def as_json(scores: Scores) -> dict[str, object]:
    """The scores in the shape of `ttc score --json`."""
    return {
        "rules": {
            rule: {
                "overall": _tally_json(tally),
                "by": {
                    name: {value: _tally_json(group) for value, group in groups.items()}
                    for name, groups in scores.by[rule].items()
                },
            }
            for rule, tally in scores.overall.items()
        },
        "rows": [
            {"id": row.reply.id, **{rule: _reading_json(found) for rule, found in row.readings.items()}} for row in scores.rows
        ],
    }


def _tally_json(tally: Tally) -> dict[str, object]:
    return {
        "correct": tally.correct,
        "n": tally.n,
        "accuracy": tally.accuracy,
        "interval": list(tally.interval),
        "none": tally.none,
    }


def _reading_json(found: Reading) -> dict[str, object]:
    prediction = list(found.prediction) if isinstance(found.prediction, tuple) else found.prediction
    return {"prediction": prediction, "correct": found.correct, "status": found.status, "rule": found.rule}
