"""Where a reply states an option: `the answer is`, boxes, `I choose`, `option B is correct`, `答案是`. The last one decides."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ttc.answers import phrases
from ttc.answers.options import AMBIGUOUS, Options
from ttc.answers.reading import Reading, read_letter, read_value

_MARKED = re.compile(r"^[\s\-•·*]*(?:option\s+)?\(?([A-Z])[.):\]\s](.*)$", re.MULTILINE | re.IGNORECASE)
_NEXT_ITEM = re.compile(r"(?<=[.;!,，。；])\s*(?=\(?[A-Z][).:\]]\s|(?:Option|option)\s[A-Z]\b)")
_GOOD = re.compile(r"(?:[✓✔✅☑]|\b(?:correct|right|true|yes)\b)[^\w]*(?:$|[.;,(])", re.IGNORECASE)
_BAD = re.compile(r"[✗✘❌✖×]|\b(?:incorrect|wrong|false|no|not|eliminated|ruled out)\b|n't\b", re.IGNORECASE)
_OR = re.compile(r"[\s,)\].⟧\"']*(?:or|and/or)\s+(?:maybe|possibly|perhaps|else)?\s*(?:that )?(?:the )?", re.IGNORECASE)
_JOINED_BEFORE = re.compile(r"\b(?:or|and|nor|neither)\s*(?:option\s*)?$|[/&]\s*$", re.IGNORECASE)
_DENIAL = re.compile(
    r"(?<![A-Za-z0-9'])([A-Z])\)?\s+(?:is|was)"
    r"(?:(?:n't| not)\s+(?:actually\s+)?(?:correct|right)|\s+(?:actually\s+)?(?:wrong|incorrect))\b"
)
_TICK = re.compile(r"(\[[ xX✓✔]\]|[☐☑☒])\s*\(?([A-Z])\b|(?<![A-Za-z])([A-Z])\)?\s*([☐☑☒])")
_DRAWN = re.compile(r"\b(?:arrow|vector|line|pointer|label|needle|hand|field|force|ray|probe|wire|axis)s?\b", re.IGNORECASE)
"""What points to a letter in a figure, and not to an option."""
_BRACKETS = ("(", "[", "⟦")


@dataclass(frozen=True, slots=True)
class Statement:
    """A place in the reply where an answer is stated."""

    start: int
    reading: Reading
    rule: str
    firm: bool = True
    """False for remarks such as `which is option B`, that count where nothing is stated outright, or as a correction."""


def decide(options: Options, shown: str) -> Statement | None:
    """The statement that the reply ends on; None where it states nothing.

    AMBIGUOUS where it ends on two options, or takes its answer back.
    """
    found = sorted(_all(options, shown), key=lambda statement: statement.start)
    last = _last(shown, found)
    if last is None:
        return None
    earlier = [statement for statement in found if statement.start < last.start]
    contradicted = bool(earlier) and earlier[-1].reading.letter not in (None, AMBIGUOUS, last.reading.letter)
    if contradicted and _OR.fullmatch(shown[earlier[-1].reading.end : last.start]):
        return Statement(last.start, Reading(AMBIGUOUS, "several"), last.rule)
    if phrases.RETRACTED.search(shown, last.reading.end) or _denied(shown, last):
        return Statement(last.start, Reading(AMBIGUOUS, "several"), "retracted")
    return last


def marked(options: Options, shown: str) -> Reading | None:
    """The one option that a list of verdicts marks as right, where it marks others as wrong."""
    good, bad = set(), set()
    for found in _MARKED.finditer(_NEXT_ITEM.sub("\n", shown)):
        letter, verdict = found[1].upper(), found[2]
        if letter not in options.letters:
            continue
        own = options.spoken[letter]
        verdict = options.say(verdict).removeprefix(own) if own else verdict
        if _BAD.search(verdict):
            bad.add(letter)
        elif _GOOD.search(verdict):
            good.add(letter)
    return Reading(good.pop(), "letter") if len(good) == 1 and bad else None


def _last(shown: str, found: list[Statement]) -> Statement | None:
    """The last firm statement, unless a remark after it corrects it; the last remark where nothing is firm."""
    firm = [statement for statement in found if statement.firm]
    if not firm:
        return found[-1] if found else None
    last = firm[-1]
    if last.reading.letter is None and last.rule != "answer-line":
        last = next((statement for statement in reversed(firm) if statement.reading.letter is not None), last)
    for remark in reversed(found):
        if remark.start <= last.start:
            break
        if not remark.firm and phrases.CORRECTS.search(shown[last.reading.end : remark.start + 12]):
            return remark
    return last


def _denied(shown: str, last: Statement) -> bool:
    """Whether the reply goes on to call its own answer wrong."""
    return any(found[1] == last.reading.letter for found in _DENIAL.finditer(shown, last.reading.end))


def _lowered(text: str) -> str:
    """Lower case, with every character at its place."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _all(options: Options, shown: str) -> Iterator[Statement]:
    lowered = _lowered(shown)
    yield from _labels(options, shown, lowered)
    yield from _headings(options, shown, lowered)
    if any(stem in lowered for stem in phrases.FOREIGN_STEMS):
        yield from _foreign(options, shown, lowered)
    if "⟦" in shown:
        yield from _boxes(options, shown)
    if any(stem in lowered for stem in phrases.CHOOSE_STEMS):
        for found in phrases.CHOOSE_LOW.finditer(lowered):
            reading = read_letter(options, shown, found.end())
            if reading and not phrases.DISCOUNTED.search(found[0]) and not _discounted(shown, found.start()):
                yield Statement(found.start(), reading, "chosen")
    if any(stem in lowered for stem in phrases.VERDICT_STEMS):
        yield from _verdicts(options, shown, phrases.VERDICT, firm=True)
    if "[" in shown or "☑" in shown or "☒" in shown:
        yield from _ticks(options, shown)
    if any(stem in lowered for stem in phrases.FITS_STEMS):
        yield from _verdicts(options, shown, phrases.FITS, firm=False)
    yield from _remarks(options, shown, lowered)


def _labels(options: Options, shown: str, lowered: str) -> Iterator[Statement]:
    for found in phrases.LABEL_LOW.finditer(lowered):
        if _another_answer(shown, found.start()):
            continue
        reading = read_value(options, shown, found.end())
        # `one is` and `guess:` occur in any prose, so that what they label may be no answer at all
        if reading and (reading.letter is not None or found[0].startswith(("answer", "option", "choice"))):
            yield Statement(found.start(), reading, "answer-line")


def _headings(options: Options, shown: str, lowered: str) -> Iterator[Statement]:
    for found in phrases.HEADING_LOW.finditer(lowered):
        if _another_answer(shown, found.start()):
            continue
        weak = not found[0].strip().endswith((":", "=")) or found[0].strip() == "key:"
        reading = (read_letter if weak else read_value)(options, shown, found.end())
        rest = shown[found.end() :]
        if (
            reading is None
            and "\n" not in rest
            and rest.strip(" *._⟧")
            and phrases.ANSWER_LABEL_LOW.search(lowered, 0, found.end())
        ):
            # the last line is labelled as the answer, so that nothing before it is the answer
            reading = Reading(AMBIGUOUS, "unreadable", len(shown))
        if reading and reading.letter is not None:
            yield Statement(found.start(), reading, "answer-line")


def _foreign(options: Options, shown: str, lowered: str) -> Iterator[Statement]:
    for found in phrases.FOREIGN_LOW.finditer(lowered):
        if not phrases.NOT_FOREIGN.search(shown[max(0, found.start() - 10) : found.start()]):
            reading = read_value(options, shown, found.end())
            if reading and reading.letter is not None:
                yield Statement(found.start(), reading, "answer-line")
    for found in (*phrases.FOREIGN_VERDICT.finditer(shown), *phrases.EUROPEAN_VERDICT.finditer(shown)):
        if found[1] in options.letters and not phrases.NOT_FOREIGN.search(shown[max(0, found.start() - 10) : found.start()]):
            yield Statement(found.start(), Reading(found[1], "letter", found.end()), "verdict")


def _boxes(options: Options, shown: str) -> Iterator[Statement]:
    for found in re.finditer(r"⟦([^⟧]*)", shown):
        reading = read_value(options, found[1])
        if reading and not _discounted(shown, found.start()):
            yield Statement(found.start(), Reading(reading.letter, reading.rule, found.end()), "box")


def _ticks(options: Options, shown: str) -> Iterator[Statement]:
    """The options that are ticked in a list of boxes."""
    ticked = {}
    for found in _TICK.finditer(shown):
        letter, box = found[2] or found[3], found[1] or found[4]
        if letter in options.letters and box.strip("[] ☐"):
            ticked[letter] = found
    if ticked:
        letter = next(iter(ticked)) if len(ticked) == 1 else AMBIGUOUS
        last = list(ticked.values())[-1]
        yield Statement(last.start(), Reading(letter, "letter" if len(ticked) == 1 else "several", last.end()), "ticked")


def _verdicts(options: Options, shown: str, pattern: re.Pattern[str], firm: bool) -> Iterator[Statement]:
    """Letters that are called right, where they label an option: introduced, in brackets, or at the head of a clause."""
    for found in pattern.finditer(shown):
        letter, start = found["letter"], found.start()
        bracketed = found[0].startswith(_BRACKETS)
        if letter.upper() not in options.letters or (letter.islower() and not found["intro"]):
            continue
        bare = not found["intro"] and not bracketed
        if bare and (letter == "I" or not phrases.LEADS_A_LETTER.search(shown[max(0, start - 16) : start])):
            continue
        if not _discounted(shown, start) and not _JOINED_BEFORE.search(shown[max(0, start - 24) : start]):
            yield Statement(start, Reading(letter.upper(), "letter", found.end()), "verdict", firm)


def _remarks(options: Options, shown: str, lowered: str) -> Iterator[Statement]:
    for pattern, rule in ((phrases.INFER_LOW, "inferred"), (phrases.POINTS_LOW, "pointed-at")):
        for found in pattern.finditer(lowered):
            reading = read_letter(options, shown, found.end())
            if not reading or _discounted(shown, found.start()) or _JOINED_BEFORE.search(lowered[: found.start()][-24:]):
                continue
            if rule == "pointed-at" and _DRAWN.search(phrases.CLAUSE_BREAK.split(shown[: found.start()])[-1]):
                continue
            if shown[reading.end : reading.end + 2].strip(" )⟧\"'")[:1] != "?":
                yield Statement(found.start(), reading, rule, firm=False)


def _another_answer(shown: str, start: int) -> bool:
    """Whether the answer that is labelled here is a wrong, a former or a supposed one."""
    return bool(phrases.WRONG_NOUN.search(shown[max(0, start - 40) : start])) or _discounted(shown, start)


def _discounted(shown: str, start: int) -> bool:
    """Whether the clause before a statement makes it a condition, a denial or somebody else's opinion."""
    clause = phrases.CLAUSE_BREAK.split(shown[max(0, start - 90) : start])[-1]
    return bool(phrases.DISCOUNTED.search(clause))
