"""Reading a reply to a multiple-choice question.

A reply is taken at its word: the last statement of an answer decides (`Answer: B`, a box, `I choose (C)`, `option B is correct`),
else the letter or option text that the whole reply, its last or its first line consists of, else the one option that its last
sentence names. Letters in running text are never answers. Two options where one is asked for, or none, give no answer.

Where letter and text disagree (`B. glycolysis`, and glycolysis is A) the letter decides: a letter is what the prompts ask for.
"""

import re
from collections.abc import Iterator

from ttc.answers import statements
from ttc.answers.markup import plain
from ttc.answers.options import AMBIGUOUS, Options, prepare, spoken
from ttc.answers.reading import Reading, read_value
from ttc.answers.silence import silence
from ttc.answers.structured import answer_field
from ttc.records import Answer

_FAST = re.compile(
    r"[ \t>#*_]*(?:the |my |so,? |thus,? |therefore,? )*(?:final |correct |best )*answer(?:[ \t]+is)?[ \t]*[:*_]*[ \t]*(?:option )?"
    r"[*_$(\[]*(?:\\boxed\{)?\(?([A-Z])(?:[)\]}.*_$ \t]*|[.):]+[ \t*]+(.+?))",
    re.IGNORECASE,
)
_LINE_LABEL = re.compile(r"^[\s\-•·*]*(?:option\s+)?\(?([A-Za-z])(?:[.):\]]|\s[-–—])(?=\s|$|[A-Z(\"$\d])", re.MULTILINE | re.IGNORECASE)
_INLINE_LABEL = re.compile(r"(?<![A-Za-z0-9])\(?([A-Z])[.):]\s")
_SENTENCES = re.compile(r"(?<=[.!?])\s+(?=[A-Z\"(])|\n+|(?<=[。！？])")
_REJECTED = re.compile(
    r"(?:\bnot\b|n't\b|\bnever\b|\brather than\b|\binstead of\b|\bexcept\b|\bneither\b|\bnor\b|\bexclud\w+|\beliminat\w+|\brul\w+ out|\bwithout\b"
    r"|\bunlike\b|\bno\b|\bthan\b|不是|而非)\s*(?:\w+\s+){0,3}[\"'(]*$",
    re.IGNORECASE,
)


def read_choice(texts: tuple[str, ...], text: str, cut: bool = False) -> Answer:
    """The option a reply stands by.

    Args:
        texts: option texts in order.
        text: the reply without its thinking.
        cut: the reply was cut at the token limit: only statements count, because its end is not its last word.
    """
    fast = _closing_line(texts, text)
    if fast:
        return fast
    options = prepare(texts)
    field = answer_field(text)
    if field:
        answer = _from_field(options, field.text, field.several, field.rule)
        if answer:
            return answer
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


def _closing_line(texts: tuple[str, ...], text: str) -> Answer | None:
    """Fast path: the last line is `Answer: X`, perhaps with X's own text. No earlier word can change what it says."""
    text = text.rstrip()
    line = text[text.rfind("\n") + 1 :]
    if len(line) > 300:
        return None
    found = _FAST.fullmatch(line)
    if not found:
        return None
    place = ord(found[1].upper()) - 65
    if place >= len(texts) or not (found[1].isupper() or found[2] is None):
        return None
    if found[2] is None:
        # an option may read like a label, such as `A and B`, but a lone letter is always the label
        return Answer((found[1].upper(),), "answered", "answer-line")
    if found[2].strip(" .*") == texts[place].strip(" ."):
        return Answer((found[1],), "answered", "answer-line")
    return None


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
        return Answer((), silence(shown) or "unclear", f"{rule}-several")
    if reading.letter is None:
        return Answer((), silence(shown) or "abstained", f"{rule}-none")
    return Answer((reading.letter,), "answered", f"{rule}" if reading.rule == "letter" else f"{rule}-text")


def _weak(options: Options, shown: str) -> Iterator[tuple[Reading, str]]:
    """Readings of a reply that states no answer, the most trustworthy first."""
    if reading := _last_line(options, shown):
        yield reading, "last-line"
    if reading := _first_line(options, shown):
        yield reading, "first-line"
    if reading := statements.marked(options, shown):
        yield reading, "marked"
    if reading := _mentioned(options, shown):
        yield reading, "last-sentence"


def _bare(options: Options, line: str) -> Reading | None:
    """A line that is nothing but a letter, or a letter and its option's text."""
    stripped = line.strip(" \t-•·:")
    stripped = re.sub(r"^(?:option|choice|letter|answer)\s+", "", stripped, flags=re.IGNORECASE)
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
    own = spoken(options.texts[options.letters.index(letter)])
    said = spoken(rest)
    if options.letter_of(rest) or (own and (said.startswith(own.strip(" .")) or (len(said) > 3 and own.startswith(said.strip(" ."))))):
        # a letter with a text of another option is the letter, but `A photosynthesis` is a text with its article
        return Reading(letter, "letter") if found[1] or options.letter_of(rest) in (letter, None) else None
    if found[2] or _is_list(options, line, letter):
        return None
    if options.is_image(letter) or _overlap(own, said) >= 0.5 or statements.EXPLAINS.match(rest):
        return Reading(letter, "letter")
    return None


def _is_list(options: Options, line: str, letter: str) -> bool:
    """Whether the line goes on to label the next option: an echo of the option list."""
    following = chr(ord(letter) + 1)
    return any(found[1] == following for found in _INLINE_LABEL.finditer(line, 1)) and following in options.letters


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
    listed = bool(labels) and reading.letter is not None and labels[-1] == chr(ord(reading.letter) - 1)
    return None if listed else reading


def _first_line(options: Options, shown: str) -> Reading | None:
    line, _, rest = shown.partition("\n")
    reading = _bare(options, line.strip())
    if not reading:
        sentence = _SENTENCES.split(line, maxsplit=1)[0]
        letter = options.letter_of(sentence)
        return Reading(letter, "text") if letter else None
    labels = [letter for letter, _ in _run(options, rest)]
    listed = bool(labels) and reading.letter is not None and labels[0] == chr(ord(reading.letter) + 1)
    return None if listed else reading


def _mentioned(options: Options, shown: str) -> Reading | None:
    """The one option that the last sentence names, by `option X` or by its text, and does not reject."""
    if silence(shown) == "refused":
        return None
    sentences = [part for part in _SENTENCES.split(shown) if part and part.strip(" .*-⟦⟧")]
    if not sentences:
        return None
    letters = named(options, sentences[-1])
    if len(letters) == 1 and not statements.hedged(sentences[-1]):
        return Reading(letters.pop(), "text")
    return None


def named(options: Options, sentence: str) -> set[str]:
    """Options a sentence names and does not reject. A text inside a longer option's text does not count."""
    letters = {
        found[1].upper()
        for found in statements.OPTION_MENTION.finditer(sentence)
        if found[1].upper() in options.letters and not _REJECTED.search(sentence[: found.start()])
    }
    said = spoken(sentence)
    for pattern, letter in options.mentions:
        kept, position = [], 0
        for found in pattern.finditer(said):
            if not _REJECTED.search(said[: found.start()]):
                letters.add(letter if sum(1 for other in options.mentions if other[0].pattern == pattern.pattern) == 1 else AMBIGUOUS)
            kept.append(said[position : found.start()])
            position = found.end()
        # what a longer text covered is blanked, so that a shorter one inside it is not found
        said = " ¦ ".join([*kept, said[position:]])
    return letters

