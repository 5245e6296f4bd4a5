"""Reading a reply to a multiple-choice question.

A reply is taken at its word: the last statement of an answer decides (`Answer: B`, a box, `I choose (C)`, `B is correct`), else
the letter or option text that the whole reply, its last or its first line consists of, else the one option that its last
sentence names. Letters in running text are never answers. Two options where one is asked for, or none, give no answer.

Where letter and text disagree (`B. glycolysis`, and glycolysis is A) the letter decides: a letter is what the prompts ask for.
"""

import re
from functools import lru_cache

from ttc.answers import statements
from ttc.answers.markup import plain
from ttc.answers.options import AMBIGUOUS, Options, prepare
from ttc.answers.phrases import one_of
from ttc.answers.reading import Reading, read_value
from ttc.answers.silence import silence
from ttc.answers.structured import answer_field
from ttc.answers.unstated import bare, first_line, weak_readings
from ttc.records import LETTERS, Answer

_CLOSING = re.compile(
    r"answer(?:[ \t]+is)?[ \t]*:?[*_ \t]*:?[\s*_$`\\(\[{]*(?:text|boxed|mathrm|mathbf|textbf)?[{(\s]*(?:text\{)?([A-Z])"
    r"(?:[\s*_$`\\)\]}.]*"
    r"|\s\((?!(?:or|and|also|not|maybe|perhaps|possibly|alternatively|if|but|[A-Z][),])\b)[^()\n]*\)[\s.*]*"
    r"|[.):][ \t*]+(.+))",
    re.IGNORECASE,
)
_UNSURE = re.compile(
    r"\b"
    + one_of("if whether not never n't wrong incorrect another other initial original previous might may could think thought")
    + r"\b",
    re.IGNORECASE,
)
_WINDOW = 300
"""Characters at the end of a reply in which its last statement is looked for first."""


def read_choice(texts: tuple[str, ...], text: str, cut: bool = False) -> Answer:
    """The option a reply stands by.

    Args:
        texts: option texts in order.
        text: the reply without its thinking.
        cut: the reply was cut at the token limit: only statements count, because its end is not its last word.
    """
    if fast := closing_line(texts, text):
        return fast
    return _read(texts, text, cut)


@lru_cache(maxsize=8192)
def _read(texts: tuple[str, ...], text: str, cut: bool) -> Answer:
    """Cached, because the samples of one question repeat each other, and a grading pass is often repeated."""
    options = prepare(texts)
    field = answer_field(text)
    if field:
        answer = _from_field(options, field.text, field.several, field.rule)
        if answer:
            return answer
    if len(text) > _WINDOW + 100:
        # no earlier statement can decide against a firm one near the end
        start = text.find("\n", len(text) - _WINDOW)
        decided = statements.decide(options, plain(text[start if start >= 0 else text.rfind("\n") :]).strip())
        if decided and decided.firm and decided.reading.letter:
            return _answer(decided.reading, decided.rule, text)
    shown = plain(text).strip()
    whole = options.letter_of(shown) if len(shown) < 400 else None
    if whole:
        return _answer(Reading(whole, "text"), "whole-reply", shown)
    decided = statements.decide(options, shown)
    if decided:
        return _answer(decided.reading, decided.rule, shown)
    if not cut:
        for reading, rule in weak_readings(options, shown):
            return _answer(reading, rule, shown)
    elif reading := first_line(options, shown):
        return _answer(reading, "first-line", shown)
    return Answer((), silence(shown) or ("truncated" if cut else "unclear"), "none")


_READ = {(letter, rule): Answer((letter,), "answered", rule) for letter in LETTERS for rule in ("answer-line", "whole-reply")}


def closing_line(texts: tuple[str, ...], text: str) -> Answer | None:
    """Fast path: the reply ends in `Answer: X` or is `X. <X's text>`. No earlier word can change what it says."""
    if text[-10:-1] == "\nAnswer: " and LETTERS.find(text[-1]) < len(texts):
        return _READ.get((text[-1], "answer-line"))
    if len(text) < 8 and len(bare := text.strip(" .()*\n\t")) == 1 and -1 < LETTERS.find(bare) < len(texts):
        return _READ[bare, "whole-reply"]
    if text[1:3] == ". " and -1 < (place := LETTERS.find(text[0])) < len(texts) and text[3:].strip() == texts[place].strip():
        return _READ[text[0], "whole-reply"]
    tail = text[-160:].rstrip()
    start = max(tail.rfind("nswer:"), tail.rfind("nswer is"), tail.rfind("nswer**:"))
    found = _CLOSING.fullmatch(tail, start - 1) if start > 0 else None
    if not found or not found[1].isupper() or ord(found[1]) - 65 >= len(texts):
        return None
    if found[2] is not None and found[2].strip(" .*") != texts[ord(found[1]) - 65].strip(" ."):
        return None
    return None if _UNSURE.search(tail, tail.rfind("\n", 0, start) + 1, start) else _READ[found[1], "answer-line"]


def _from_field(options: Options, value: str, several: bool, rule: str) -> Answer | None:
    """A structured answer; None where the field is prose that names no option, so that the reply is read as a whole."""
    if several:
        return Answer((), "unclear", f"{rule}-several")
    value = plain(value).strip()
    if not value:
        return Answer((), "empty", rule)
    reading = read_value(options, value) or bare(options, value)
    if reading and not (reading.letter is None and len(value) > 60):
        return _answer(reading, rule, value)
    decided = statements.decide(options, value)
    if decided:
        return _answer(decided.reading, rule, value)
    for weak, _ in weak_readings(options, value):
        return _answer(weak, rule, value)
    return None


def _answer(reading: Reading, rule: str, shown: str) -> Answer:
    if reading.letter == AMBIGUOUS:
        return Answer((), "unclear", f"{rule}-several")
    if reading.letter is None:
        return Answer((), silence(shown) or "abstained", f"{rule}-none")
    return Answer((reading.letter,), "answered", f"{rule}" if reading.rule == "letter" else f"{rule}-text")
