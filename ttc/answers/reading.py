"""What a few words after `The answer is` stand for: a letter, an option's text, several, or none."""

import re
from dataclasses import dataclass

from ttc.answers.options import AMBIGUOUS, Options
from ttc.answers.phrases import one_of
from ttc.answers.silence import is_blank, silence

_OPENERS = " \t([{<⟦\"'“‘*:-–—=→>$_"
_FILLERS = one_of(
    """is are be the most_likely likely probably definitely clearly therefore thus hence indeed simply just only indicated_by
    represented_by labell?ed(?:_as)? given_by as_follows i_think i_believe i'd_say it_is it's it's_likely that must_be would_be
    should_be option choice letter answer number alternative opci[oó]n r[ée]ponse antwort la le el die der l'option l'opzione
    opzione option[en]* вариант 选项 選項 正确答案 答案"""
)
_FILLER = re.compile(rf"{_FILLERS}(?=[\W_]|(?<=[^\x00-\x7f]))[ \t:,\-–\"'(\[{{⟦]*", re.IGNORECASE)
_LETTER_NOUN = re.compile(r"(?:the\s+)?(?:option|choice|letter|answer|alternative)\s+[(\[\"'⟦]?(?=[A-Z]\b)", re.IGNORECASE)
_LETTER = re.compile(r"([A-Za-z])(?![A-Za-z0-9_]|['’][A-Za-z]|\.[A-Za-z0-9]|-[A-Za-z0-9]|[=+^/]\s*[\d(]|\s*=)")
_CLOSERS = re.compile(r"[)\]}>⟧\"'”’*$_\s]*")
_AND = one_of("and/or and or und oder et ou y o e plus as_well_as versus vs\\.? but_also 和 或者 或 与 及 と 또는")
_NEXT_LETTER = re.compile(
    rf"[)\]}}>⟧\"'”’*]*\s*(?:(?:,|;|/|&|\+|\||-)?\s*(?:\(?\s*{_AND}?\s*))"
    r"(?:also|possibly|maybe|perhaps|even|potentially|rather|else|then)?\s*(?:options?|choices?|answers?)?\s*"
    r"[(\[{<⟦\"'“]*([A-Za-z])(?![A-Za-z0-9_'’]|-[A-Za-z]|\.[A-Za-z])(.{0,24})",
    re.DOTALL,
)
_JOINED = re.compile(r"[^\w\s]|\b(?:and|or|und|oder|et|ou|y|o|e|plus|vs)\b|和|或|与|及|と", re.IGNORECASE)
_PREDICATE = re.compile(
    r"[)\]\"'”’]*\s*"
    + one_of(
        """is was has can would does seems says states refers shows being because as cannot isn't doesn't had might may
        incorrect wrong only"""
    )
    + r"\b",
    re.IGNORECASE,
)
_CONNECTIVE = re.compile(
    one_of(
        """because since as for due with which where when in on at is was given based rather not from that so while but and
        or by if here instead according therefore thus hence this these it we you the there although though considering meaning
        i\\.e e\\.g explanation reason reasoning below above corresponding representing namely would has among of_the
        only to_me"""
    )
    + r"\b",
    re.IGNORECASE,
)
_INLINE_LABEL = re.compile(r"(?<![A-Za-z0-9])\(?([A-Z])[.):]\s*")
_EITHER = re.compile(r"\s*(?:either|both|between|neither|one of|any of|all of|not)\b", re.IGNORECASE)
_RUN = re.compile(r"[A-Z]{2,}(?![A-Za-z0-9])")
_SENTENCE_END = re.compile(
    r"(?<![A-Z])\.(?=\s+[A-Z(\"]|\s*$)|[!?;](?=\s|$)|\n|\s[-–—]\s|⟧|,?\s(?:because|since|as it|which|given that|due to|not)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Reading:
    """What a value stands for."""

    letter: str | None
    """An option's letter; AMBIGUOUS for several; None where the value says that there is no answer."""
    rule: str
    """`letter`, `text`, `several`, `none`."""
    end: int = 0
    """Where the value ends in the text it was read from."""


def read_value(options: Options, text: str, start: int = 0) -> Reading | None:
    """Read the value at `start`, up to the end of its line; None where it names no option and does not say so.

    An option's text, repeated whole, decides before a letter: where option D reads `B cell`, the answer `B cell` is D. Else the
    letter decides, whatever text stands beside it, because a letter is what was asked for.
    """
    stop = text.find("\n", start)
    line = text[start : stop if stop >= 0 else len(text)]
    value = line.lstrip(_OPENERS)
    offset = start + len(line) - len(value)
    if value[:1] in options.letters and not value[1:].strip(" .*)]⟧"):
        return Reading(value[0], "letter", offset + 1) if value else None
    whole = line.lstrip(" \t:*\"'⟦")
    # a minus or bracket belongs to an option's text before it is a mark in front of one
    by_text = (whole[:1] in "-([{" and _by_text(options, whole)) or _by_text(options, value)
    if by_text:
        return Reading(by_text, "text" if by_text != AMBIGUOUS else "several", start + len(line))
    while filler := _FILLER.match(value):
        value, offset = value[filler.end() :], offset + filler.end()
        by_text = _by_text(options, value)
        if by_text:
            return Reading(by_text, "text" if by_text != AMBIGUOUS else "several", start + len(line))
    if _EITHER.match(value):
        return Reading(AMBIGUOUS, "several", start + len(line)) if _names_letters(options, value) else None
    by_letter = _by_letter(options, value, offset)
    if by_letter:
        return by_letter
    opening = options.starts(value)
    if opening:
        return Reading(opening, "text", start + len(line))
    if value and (is_blank(value) or (len(value) < 120 and silence(value))):
        return Reading(None, "none", start + len(line))
    return None


def read_letter(options: Options, text: str, start: int) -> Reading | None:
    """As `read_value`, for places where only a letter that ends its sentence or clause is meant: `so C.`"""
    value = text[start:].lstrip(_OPENERS)
    if noun := _LETTER_NOUN.match(value):
        value = value[noun.end() :]
    found = _by_letter(options, value.split("\n", 1)[0], len(text) - len(value))
    if not found or found.letter is None:
        return None
    rest = text[found.end :].split("\n", 1)[0]
    rest = rest[_CLOSERS.match(rest).end() :]  # pyright: ignore[reportOptionalMemberAccess]
    return found if found.letter == AMBIGUOUS or not rest or rest[0] in ".,;:!)—" or _CONNECTIVE.match(rest) else None


def _by_text(options: Options, value: str) -> str | None:
    """The option whose whole text the value is, read to the end of the line or of its first sentence."""
    if not value:
        return None
    whole = options.letter_of(value)
    if whole:
        return whole
    for end in _SENTENCE_END.finditer(value):
        part = value[: end.start()]
        if part and (letter := options.letter_of(part)):
            return letter
    return None


def _by_letter(options: Options, value: str, offset: int) -> Reading | None:
    """A letter at the very start of the value, or several."""
    run = _RUN.match(value)
    if (
        run
        and set(run[0]) <= set(options.letters)
        and len(set(run[0])) == len(run[0])
        and not value[run.end() :].strip(" .*⟧)]}\"'")
    ):
        return Reading(AMBIGUOUS, "several", offset + run.end())
    found = _LETTER.match(value)
    if not found or found[1].upper() not in options.letters:
        return None
    letter, rest = found[1].upper(), value[found.end() :]
    end = offset + found.end()
    if _several(options, letter, rest):
        return Reading(AMBIGUOUS, "several", end)
    if not _stands(options, found[1], rest) or echoes_list(options, letter, rest):
        return None
    return Reading(letter, "letter", end)


def _several(options: Options, letter: str, rest: str) -> bool:
    """Whether another option's letter is joined to this one: `A or B`, `A, B`, `(A)/(C)`."""
    found = _NEXT_LETTER.match(rest)
    if not found or found[1].upper() not in options.letters or found[1].upper() == letter:
        return False
    if found[1].islower() and found[1] in "aio" and found[2][:1].isspace():
        return False
    joint = rest[: found.start(1)]
    if not _JOINED.search(joint.lstrip(")]}>⟧\"'”’*")) and found[2].strip():
        return False
    if re.fullmatch(r"[)\]]?[.:)]\s+[(\[]?", joint):
        return False
    own = options.spoken[letter]
    if own and len(own) > 1 and options.say(rest.lstrip(" .:)-")).startswith(own):
        return False
    return not _PREDICATE.match(found[2])


def echoes_list(options: Options, letter: str, rest: str) -> bool:
    """Whether what follows a label goes on to label the next option with its own text: an echo of the option list."""
    following = chr(ord(letter) + 1)
    return any(
        label[1] == following and options.say(rest[label.end() :]).startswith(options.spoken[following])
        for label in _INLINE_LABEL.finditer(rest)
        if following in options.letters
    )


def _stands(options: Options, letter: str, rest: str) -> bool:
    """Whether a letter is a label here, and not an article, a pronoun, a unit or the head of a name."""
    closers = _CLOSERS.match(rest)
    after = rest[closers.end() :] if closers else rest
    closed = bool(closers and closers[0].strip())
    if not after or closed or after[0] in ".,;:!?)(—–/" or (after[0] == "-" and rest[:1].isspace()):
        return letter.isupper() or not after or closed or after[0] in ".,;:!)"
    if rest[:1] and not rest[0].isspace():
        return ord(rest[0]) > 0x2E80 or rest[0] in "(（"
    if letter.islower():
        return False
    own = options.spoken[letter]
    if own and options.say(after).startswith(own[:40]):
        return True
    if _CONNECTIVE.match(after):
        return not (
            letter == "I"
            or (
                letter == "A"
                and after[0].islower()
                and not re.match(r"because|since|as |for |is |due|which|and |but |with ", after)
            )
        )
    return letter not in "AI" and after[0].isupper() and bool(re.match(r"[A-Z][a-z']+\s+[a-z]", after))


def _names_letters(options: Options, value: str) -> bool:
    return sum(1 for found in re.finditer(r"(?<![A-Za-z])([A-Z])(?![A-Za-z'])", value) if found[1] in options.letters) > 1
