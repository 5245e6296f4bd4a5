"""Readings of a reply to a multiple-choice question that states no answer: its last line, its first line, its last sentence."""

import re
from collections.abc import Iterator

from ttc.answers import statements
from ttc.answers.options import AMBIGUOUS, Options
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
_CONCLUDED = re.compile(r"[,;]\s+(?:and\s+)?(?:so|therefore|thus|hence|consequently)\b")
_LETTER_SENTENCE = re.compile(r"[(\[]?[A-Z](?:[)\]][.!]?|[.!])")
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


def weak_readings(options: Options, shown: str) -> Iterator[tuple[Reading, str]]:
    """Readings of a reply that states no answer, the most trustworthy first."""
    if reading := _last_line(options, shown):
        yield reading, "last-line"
    if reading := first_line(options, shown):
        yield reading, "first-line"
    if reading := _own_line(options, shown):
        yield reading, "own-line"
    if reading := statements.marked(options, shown):
        yield reading, "marked"
    if reading := _mentioned(options, shown):
        yield reading, "last-sentence"


def bare(options: Options, line: str) -> Reading | None:
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
    reading = bare(options, line)
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


def first_line(options: Options, shown: str) -> Reading | None:
    """The option that the first line, or its first sentence, consists of."""
    line, _, rest = shown.partition("\n")
    reading = bare(options, line.strip())
    if not reading:
        sentence = _SENTENCES.split(line, maxsplit=1)[0]
        letter = options.letter_of(sentence)
        if sentence != line and _LETTER_SENTENCE.fullmatch(sentence) and (reading := bare(options, sentence)):
            return reading
        if letter or not _CONTINUED.match(line):
            return Reading(letter, "text") if letter else None
        return read_value(options, line)
    labels = [letter for letter, _ in _run(options, rest)]
    listed = bool(labels) and reading.letter is not None and labels[0] == chr(ord(reading.letter) + 1)
    return None if listed else reading


def _own_line(options: Options, shown: str) -> Reading | None:
    """The one option that stands alone on a line, as a letter or as a letter with its text, outside an option list."""
    lines = [(line, bare(options, line)) for line in shown.split("\n") if line.strip(" -•*")]
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
    if len(sentences) > 1 and _LETTER_SENTENCE.fullmatch(last) and (reading := bare(options, last)):
        before = sentences[-2].strip()
        if _DENYING.fullmatch(before) or (last[0] in "([" and named(options, before) <= {reading.letter}):
            return reading
    letters = named(options, last)
    if len(letters) > 1:
        letters = named(options, _CONCLUDED.split(last)[-1])
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
