"""Reading a reply to a multiple-choice question.

A reply is taken at its word: the last statement of an answer decides (`Answer: B`, a box, `I choose (C)`, `B is correct`), else
the letter or option text that the whole reply, its last or its first line consists of, else the one option that its last
sentence names. Letters in running text are never answers. Two options where one is asked for, or none, give no answer.

Where letter and text disagree (`B. glycolysis`, and glycolysis is A) the letter decides: a letter is what the prompts ask for.
"""

import re
from collections.abc import Iterator
from functools import lru_cache

from ttc.answers import statements
from ttc.answers.markup import plain
from ttc.answers.options import AMBIGUOUS, Options, prepare
from ttc.answers.phrases import (
    EXPLAINS,
    HEDGED,
    NEGATION,
    OPTION_MENTION,
    REJECTED_AFTER,
    REJECTED_BEFORE,
    SENTENCE_END,
    one_of,
)
from ttc.answers.reading import Reading, echoes_list, read_value
from ttc.answers.silence import silence
from ttc.answers.structured import answer_field
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
_LINE_LABEL = re.compile(
    r"^[\s\-•·*]*(?:\d+[.)]\s*)?(?:option\s+)?\(?([A-Za-z])(?:[.):\]]|\s[-–—])(?=\s|$|[A-Z(\"$\d])",
    re.MULTILINE | re.IGNORECASE,
)
_SENTENCES = re.compile(SENTENCE_END + r"|\n+|(?<=[。！？])")
_DANGLING = re.compile(
    r"\b"
    + one_of("the an of and is are was that to with for in on since because which by has have as or from at its be")
    + r"\s*$"
)
"""Ends a sentence that was broken off."""
_PICTURE = re.compile("[\U0001f300-\U0001faff✅✔☑➡\ufe0f]+")
_ALSO = re.compile(r"[)\]\"']*\s*(?:,\s*and|,|and|or|&|/)\s*[(\[\"']*([A-Z])(?![A-Za-z0-9'])")
_DENYING = re.compile(r"(?:no|wait|wrong|not (?:quite|right)|incorrect)\b[\w, ]*[.!]", re.IGNORECASE)
_LETTER_SENTENCE = re.compile(r"[(\[]?[A-Z][)\]]?[.!]")
_PLANS = re.compile(
    r"\W*(?:step \d+\W+)?(?:(?:first|now|next|so|then)\W+)?"
    + one_of(
        """let's let_us let_me we_(?:need|must|have|should|will|can)(?:_first)?_to to_(?:find|determine|answer|solve|decide)
        consider"""
    )
    + r"\b",
    re.IGNORECASE,
)
"""Opens a sentence that says what to look at, and not what was found."""
_LEADING_WORDS = re.compile(
    "^(?:"
    + one_of(
        r"""step_\d+ \d{1,2} the it's it_is its most_likely most_probably clearly obviously
        could_be might_be may_be probably maybe definitely likely certainly perhaps
        surely i_think i_guess i_believe i'd_say
        antwort respuesta r[ée]ponse resposta risposta ответ option choice letter answer number"""
    )
    + r"[\s,:.)]+|(?:选项|選項|答案|答|我选择?|选择?)[\s:：\]]*)+",
    re.IGNORECASE,
)
_TRAILING_WORDS = re.compile(
    r"\s*(?:选项|選項|项)$|[,\s]+"
    + one_of(
        """i_think i_guess i_believe i'd_say i_would_say probably definitely for_sure it_is is_my_(?:answer|choice|guess) please
        final_answer"""
    )
    + r"[\s.!]*$",
    re.IGNORECASE,
)
_CONTINUED = re.compile(
    r"[(\[\"'“⟦]*[A-Z][)\]\"'”⟧]*(?:\s*[,(–—]|\s+(?:rather than|instead of|not|because|since|as|due to|but not|and not|over)\b)"
)
_LINKED_END = re.compile(
    r"(?:\b(?:is|are|was|equals?|be|gives|yields|about|approximately|of|to)\s+|[=≈:]\s*)([^=≈:]{1,50}?)\s*[.!]?\s*$"
)


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
        for reading, rule in _weak(options, shown):
            return _answer(reading, rule, shown)
    elif reading := _first_line(options, shown):
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
    reading = read_value(options, value) or _bare(options, value)
    if reading and not (reading.letter is None and len(value) > 60):
        return _answer(reading, rule, value)
    decided = statements.decide(options, value)
    if decided:
        return _answer(decided.reading, rule, value)
    for weak, _ in _weak(options, value):
        return _answer(weak, rule, value)
    return None


def _answer(reading: Reading, rule: str, shown: str) -> Answer:
    if reading.letter == AMBIGUOUS:
        return Answer((), "unclear", f"{rule}-several")
    if reading.letter is None:
        return Answer((), silence(shown) or "abstained", f"{rule}-none")
    return Answer((reading.letter,), "answered", f"{rule}" if reading.rule == "letter" else f"{rule}-text")


def _weak(options: Options, shown: str) -> Iterator[tuple[Reading, str]]:
    """Readings of a reply that states no answer, the most trustworthy first."""
    if reading := _last_line(options, shown):
        yield reading, "last-line"
    if reading := _first_line(options, shown):
        yield reading, "first-line"
    if reading := _own_line(options, shown):
        yield reading, "own-line"
    if reading := statements.marked(options, shown):
        yield reading, "marked"
    if reading := _mentioned(options, shown):
        yield reading, "last-sentence"


def _bare(options: Options, line: str) -> Reading | None:
    """A line that is nothing but a letter, or a letter and its option's text."""
    if "[ ]" in line or "☐" in line:
        return None
    stripped = _PICTURE.sub("", line).strip(" \t-•·:=>→")
    stripped = _TRAILING_WORDS.sub("", _LEADING_WORDS.sub("", stripped, count=1))
    core = stripped.strip(" .,:;!?()[]{}<>⟦⟧\"'")
    if len(core) == 1:
        return Reading(core.upper(), "letter") if core.upper() in options.letters else None
    return _labelled(options, stripped)


def _labelled(options: Options, line: str) -> Reading | None:
    """`B. text`, `(B) text`, `B: text`, where the text is the option's own or reads as an explanation."""
    found = re.match(r"[(\[⟦\"']*([A-Za-z])(?:[)\]⟧\"']+[.:]?|[.:])\s*(?=\S)|([A-Z])\s+[-–—]?\s*(?=\S)", line)
    if not found:
        return None
    letter = (found[1] or found[2]).upper()
    if letter not in options.letters:
        return None
    by_text = options.letter_of(line)
    if by_text and by_text != AMBIGUOUS:
        return Reading(by_text, "text")
    rest = line[found.end() :]
    own = options.spoken[letter]
    said = options.say(rest)
    if REJECTED_AFTER.match(said[len(own) :] if len(own) > 1 and said.startswith(own) else rest):
        return None
    if options.letter_of(rest) or (
        own and (said.startswith(own.strip(" .")) or (len(said) > 3 and own.startswith(said.strip(" ."))))
    ):
        # a letter with a text of another option is the letter, but `A photosynthesis` is a text with its article
        return Reading(letter, "letter") if found[1] or options.letter_of(rest) in (letter, None) else None
    if found[2] or echoes_list(options, letter, rest):
        return None
    if rest.strip(" ().[]").upper() in set(options.letters) - {letter}:
        return Reading(AMBIGUOUS, "several")
    if ")" in found[0] or "]" in found[0]:
        return Reading(letter, "letter")
    formula = not rest[0].isalpha() or not rest[0].isascii()
    if options.is_image(letter) or formula or _overlap(own, said) >= 0.5 or _overlap(said, own) == 1 or EXPLAINS.match(rest):
        return Reading(letter, "letter")
    return None


def _overlap(own: str, said: str) -> float:
    """Share of the words in an option's text that the line repeats."""
    words = set(re.findall(r"\w+", own))
    return len(words & set(re.findall(r"\w+", said))) / len(words) if words else 0.0


def _run(options: Options, shown: str) -> list[tuple[str, int]]:
    """The letters that lines begin with, and where: several in order are an option list."""
    return [(found[1].upper(), found.start(1)) for found in _LINE_LABEL.finditer(shown) if found[1].upper() in options.letters]


def _last_line(options: Options, shown: str) -> Reading | None:
    start = shown.rfind("\n") + 1
    line = shown[start:].strip()
    reading = _bare(options, line)
    if not reading:
        letter = options.letter_of(line)
        return Reading(letter, "text") if letter and start else None
    if len(line.strip(" .,:;!?()[]{}⟦⟧\"'")) == 1:
        return reading
    # the last item of an option list, echoed or discussed, is no answer
    labels = [letter for letter, place in _run(options, shown) if place < start]
    if not labels or reading.letter is None:
        return reading
    follows = labels[-1] == chr(ord(reading.letter) - 1)
    one_more = len(set(labels)) > 1 and reading.letter not in labels and not shown[:start].endswith("\n\n")
    return None if follows or one_more else reading


def _first_line(options: Options, shown: str) -> Reading | None:
    line, _, rest = shown.partition("\n")
    reading = _bare(options, line.strip())
    if not reading:
        sentence = _SENTENCES.split(line, maxsplit=1)[0]
        letter = options.letter_of(sentence)
        if sentence != line and _LETTER_SENTENCE.fullmatch(sentence) and (reading := _bare(options, sentence)):
            return reading
        if letter or not _CONTINUED.match(line):
            return Reading(letter, "text") if letter else None
        return read_value(options, line)
    labels = [letter for letter, _ in _run(options, rest)]
    listed = bool(labels) and reading.letter is not None and labels[0] == chr(ord(reading.letter) + 1)
    return None if listed else reading


def _own_line(options: Options, shown: str) -> Reading | None:
    """The one option that stands alone on a line, as a letter or as a letter with its text, outside an option list."""
    lines = [(line, _bare(options, line)) for line in shown.split("\n") if line.strip(" -•*")]
    readings = [(reading.letter or "") if reading else "" for _, reading in lines]
    alone = set()
    for place, letter in enumerate(readings):
        neighbours = "".join(readings[max(0, place - 1) : place] + readings[place + 1 : place + 2])
        if letter and not any(abs(ord(letter) - ord(other)) == 1 for other in neighbours):
            alone.add(letter)
    return Reading(alone.pop(), "letter") if len(alone) == 1 else None


def _mentioned(options: Options, shown: str) -> Reading | None:
    """The one option that the last sentence names, by `option X` or by its text, and does not reject."""
    if silence(shown) == "refused":
        return None
    sentences = [part for part in _SENTENCES.split(shown) if part and part.strip(" .*-⟦⟧")]
    if not sentences:
        return None
    last = sentences[-1].strip()
    discussed = [sentence for sentence in sentences if OPTION_MENTION.match(sentence)]
    if _PLANS.match(last) or _DANGLING.search(last) or (len(discussed) > 1 and discussed[-1] == sentences[-1]):
        return None
    label = _LINE_LABEL.match(last)
    labels = [letter for letter, _ in _run(options, shown)]
    if label and len(labels) > 1 and labels[-1] == label[1].upper():
        return None
    if len(sentences) > 1 and _LETTER_SENTENCE.fullmatch(last) and _DENYING.fullmatch(sentences[-2].strip()):
        return _bare(options, last)
    letters = named(options, last)
    if (
        not letters
        and (linked := _LINKED_END.search(last))
        and (letter := options.letter_of(linked[1]))
        and not NEGATION.search(last[: linked.start(1)])
    ):
        letters = {letter}
    return Reading(letters.pop(), "text") if len(letters) == 1 and not HEDGED.search(last) else None


def named(options: Options, sentence: str) -> set[str]:
    """Options a sentence names and does not reject. A text inside a longer option's text does not count."""
    letters = set()
    for found in OPTION_MENTION.finditer(sentence):
        if found[1].upper() in options.letters and not _rejected(sentence, found.start(), found.end()):
            letters.add(found[1].upper())
            if (also := _ALSO.match(sentence, found.end())) and also[1] in options.letters:
                letters.add(also[1])
    said = options.say(sentence)
    return letters | {letter for letter, start, end in options.mentioned_in(said) if not _rejected(said, start, end)}


def _rejected(sentence: str, start: int, end: int) -> bool:
    return bool(REJECTED_BEFORE.search(sentence[max(0, start - 60) : start]) or REJECTED_AFTER.match(sentence, end))
