"""Reading a reply to an open question: the value that its last statement stands by, as it stands there.

A statement is a labelled field, a box, `the answer is ...`, else the whole of a short reply, else the blank of the question
filled in, else what the last sentence says that something is. A chain such as `24/7 ≈ 3.429` stands by each of its values;
`4 or 5` by none.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ttc.answers.blanks import filled_blank, fit_blank
from ttc.answers.markup import plain
from ttc.answers.number import parse_quantity
from ttc.answers.phrases import REJECTED_BEFORE, SENTENCE_END, STARTERS, one_of, repeated
from ttc.answers.silence import is_blank, silence
from ttc.answers.structured import answer_field
from ttc.records import Answer

_NAMED = one_of(
    """answers? solution final_(?:result|value) (?:result|value|total|conclusion)(?=\\s*:)
    missing_(?:word|term|value|number) blanks? ans"""
)
_ABOUT = r"(?:\s+(?:to|for|of|in|that|which|here|we|is best|should|can|would|may|could)\b[^.:;=\n⟦]{0,80}?)?"
_FILLED = r"(?:filled\s+(?:in\s+)?(?:with|by)\s*)?"
_LABEL = re.compile(
    rf"(?<![A-Za-z]){repeated('final correct right best my short exact numerical approximate overall required')}{_NAMED}\b"
    rf"(?:\s*\([^()\n]{{0,30}}\))?{_ABOUT}\s*,?\s*(?:(?:would|will|should|must|can|may)\s+be\s+{_FILLED}"
    rf"|(?:is|are)(?![A-Za-z'])\s*{_FILLED}:?|[:：=]+|->|→|⇒|\s[-–—]\s|\n)\s*",
    re.IGNORECASE,
)
_FOREIGN = re.compile(
    r"(?:最终答案|正确答案|答案|结果|答え|正解|回答|정답|답)\s*(?:应该)?(?:是|为|は|은|는|이|：|:)\s*"
    r"|(?<![A-Za-z])(?:respuesta|r[ée]ponse|antwort|resposta|risposta|ответ)\w*(?:\s+\w+)?\s*(?::|\s(?:es|est|ist|é|è)(?=\s))\s*",
    re.IGNORECASE,
)
_CONCLUDES = re.compile(
    r"\b"
    + one_of(
        "therefore thus hence so consequently in_conclusion finally in_summary overall we_(?:get|find|obtain|have|conclude)"
    )
    + r"\b",
    re.IGNORECASE,
)
_LINK = re.compile(
    r"\b"
    + one_of(
        r"""(?:is|are|was|were)_(?:\w+ly_|also_|often_)?(?:known_as|called|termed|named|referred_to_as|an?_example_of)
        (?:is|are|was|were)_(?:\w+ly_)?(?:identified|classified|described)_as
        (?:is|are|was|were)_(?:written|painted|composed|created|made|discovered|developed|caused|produced|designed|given)_by
        (?:giving|resulting_in|yielding)(?=\s+(?:an?\s+\w+\s+of\s+)?[\d-])
        is are was were be (?:it|that|this)'s (?:i|we)_(?:think|believe|guess|would_say) i'd_say equals? equal_to
        (?:rounds|amounts|works_out|evaluates)_to by(?=\s+[\d$]) becomes? remains? gives yields shows? depicts? demonstrates?
        illustrates? represents? indicates? means points?_(?:to|at) called termed known_as named identified_as referred_to_as
        classified_as described_as comes_(?:out_)?to get obtain find have filled_(?:in_)?with"""
    )
    + r"\s*:?\s+(?!not\s+(?!.*\bbut\b))|\s*(?:[=≈≃≅]|\\approx|(?<!\d)(?<!\d ):|:(?! ?\d))\s*",
    re.IGNORECASE,
)
_WRONG = re.compile(
    r"\b"
    + one_of(
        """wrong incorrect false another other initial previous earlier tempting not_the n't_the if_the whether_the
        might_think_the may_think_the suppose_the"""
    )
    + r"\s+(?:\w+\s+)?$",
    re.IGNORECASE,
)
_EXPLAINING = one_of(
    """because since as which due_to given_that so_that not(?!_applicable) rather_than instead_of where when whereas while
    although according_to based_on assuming after making meaning resulting indicating
    but and_(?:not|it|this|so|therefore|thus|hence|is|was) in_this_case in_the_(?:video|image|figure|diagram|picture) shown"""
)
_CUT = re.compile(
    rf"(?<!\b(?:vs|Dr|St|cf|ca|al))(?:[.!?](?=\s*$)|[.!?](?<!\b[A-Z]\.)(?=\s+[A-Z(\"])|\.(?=\s+{STARTERS}\b))"
    r"|[;\n]|\s+[-–—]{1,2}\s+(?=[a-zA-Z]{2})"
    rf"|,?\s+\(?{_EXPLAINING}\b"
)
_MONTH = r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*\s+\d"
_LEAD = re.compile(
    rf"(?:(?:in|on|at)(?=\s+(?:the\s+year\s+)?(?:\d|{_MONTH}))|"
    + one_of(
        """approximately approx\\.? about around roughly nearly exactly precisely simply just clearly likely most_likely
        probably indeed therefore thus hence actually equal_to given_by found_to_be as_follows that the called known_as named
        termed is are was be the_year es_ist c'est it_is it's this_is that_is they_are a_value_of option"""
    )
    + r"(?=[\s:,])\s*[:,]?|[~≈:=])\s*",
    re.IGNORECASE,
)
_BUT = re.compile(r"^not\s+.+?\bbut\s+(?:rather\s+|instead\s+)?", re.IGNORECASE)
_CHAIN = re.compile(
    r"\s*(?:(?<![<>!=≤≥])=(?!=)|≈|≃|≅|\\approx|\\simeq|,? \bor (?:about|approximately|roughly|equivalently)\b|, i\.e\.,?)\s*"
)
_REASONED = re.compile(
    r"[,;]\s+(?:and\s+)?(?:so|therefore|thus|hence|consequently)\b,?\s+(?!that\b)(?=.*(?:\b(?:is|are|equals)\b|=))"
)
_YES_NO = re.compile(r"(yes|no)\b(?=\W*$|,?\s+(?:it|this|that|they|there|he|she|because|since|as)\b|\.\s)", re.IGNORECASE)
_ACTING = re.compile(
    r"^(?:it|this|that|they|he|she|(?:the|this|that) [\w-]+(?: [\w-]+)?)\s+"
    + one_of(
        """rotates? moves? turns? spins? flows? travels? points? costs? weighs? measures? reads? reaches totals? takes lasts?
        (?:occurs?|happens?|starts?|begins?|ends?|leaves?|arrives?|stops?|peaks?|lies|lives?)_(?:at|in|on)
        (?:took_place|happened|occurred|began|ended)_(?:at|in|on)
        belongs_to lies_between goes will would should must"""
    )
    + r"\s+(.+)$|^(?:it|they)\s+(\w+)$",
    re.IGNORECASE,
)
_FOREIGN_LINK = re.compile(r"\b(?:beträgt|ist|sind|es|est|é|è|vale|vaut|lautet|wynosi|равна?о?)\s+(.+)$", re.IGNORECASE)
_AND_NOT = re.compile(r"\s*[,(]\s*(?:and\s+|but\s+)?not\s.*$", re.IGNORECASE | re.DOTALL)
_ALIASED = re.compile(r"[^()]+\((?:also|or|aka|a\.k\.a\.|i\.e\.)[^()]*\)\W*", re.IGNORECASE)
_SENTENCES = re.compile(SENTENCE_END + r"|\n+")
_GIVEN = re.compile(
    r"\W*(?:given|with|for|since|using|substituting|taking|because|from)\b[^;]*?"
    r"(?:\b(?:we (?:get|find|have|obtain)|so|then|therefore|thus|hence)\b(?!.*\b(?:get|so|then|therefore|thus|hence)\b)|,\s)",
    re.IGNORECASE,
)
"""What a sentence starts from, before what it concludes."""
_HEDGE = re.compile(r"\b(?:either\b.+\bor|neither\b.+\bnor|between\b.+\band)\b|^[^a-zA-Z]*\S+\s+or\s+\S+$", re.IGNORECASE)
_EXPLAINED_NUMBER = re.compile(r"^(.+?)\s*[(\[]\s*(?:≈|~|=|about|approximately|approx\.?|or|i\.e\.,?)?\s*([^()]+)[)\]]$")
_CURRENCY = re.compile(r"^([-−]?)\s*[$€£¥]\s*([-−]?\d.*)$")
_SCALED = re.compile(r"\b(?:thousand|million|billion|trillion)s?\b", re.IGNORECASE)
_THOUSANDS = re.compile(r"(?<=\d)(?:[, ]|\{,\})(?=\d{3}(?!\d))")
_MINUS = re.compile(r"−|^[–-]\s*(?=[\d.$])")
_OPENING = re.compile(r"""(?:[\s:*"'⟦•]|-(?=\s))*""")
_AROUND = " \t\n*\"',;:!?"
_ASSIGNMENTS = re.compile(r"\w\s*=\s*[^=,;]+?(?:[,;]|\band\b|\bor\b)\s*\w+\s*=")
_NEGATED = re.compile(r"(?<![,(] )(?<![,(])\b(?:not(?!\s.*\bbut\b)|cannot|never)\b|n't\b", re.IGNORECASE)
_VENTURED = re.compile(r"\b(?:but|however),?\s+(.*)", re.IGNORECASE | re.DOTALL)
_SHOWN = re.compile(
    one_of("shown depicted used seen displayed illustrated demonstrated present visible") + r"\b", re.IGNORECASE
)
_LONGEST_BARE = 12
"""Words of a reply, or of its last line, that may be a bare value."""


@dataclass(frozen=True, slots=True)
class _Found:
    start: int
    text: str
    end: int
    rule: str


def read_open(question: str, text: str, cut: bool = False) -> Answer:
    """The values a reply stands by.

    Args:
        question: the question's text, for the words around its blank.
        text: the reply without its thinking.
        cut: the reply was cut at the token limit: only statements that were finished count.
    """
    field = answer_field(text)
    if field:
        if field.several:
            return Answer((), "unclear", f"{field.rule}-several")
        if not field.text.strip():
            return Answer((), "empty", field.rule)
        inner = plain(field.text).strip()
        stated = _last_statement(inner)
        return _answer(question, stated.text if stated else inner, field.rule, inner)
    shown = plain(text).strip()
    stated = _last_statement(shown)
    if stated and not (cut and stated.rule != "box" and not shown[stated.end :].strip()):
        return _answer(question, stated.text, stated.rule, shown)
    if cut:
        return Answer((), silence(shown) or "truncated", "none")
    quiet = silence(shown)
    if quiet and not parse_quantity(shown):
        ventured = _VENTURED.search(shown)
        if not ventured or silence(ventured[1]) or not (value := _said(ventured[1])):
            return Answer((), quiet, "none")
        return _answer(question, value, "ventured", ventured[1])
    for value, rule in _bare(question, shown):
        return _answer(question, value, rule, shown)
    return Answer((), "unclear", "none")


def _last_statement(shown: str) -> _Found | None:
    """The last labelled value or box that holds anything."""
    found: list[_Found] = []
    for pattern in (_LABEL, _FOREIGN):
        for label in pattern.finditer(shown):
            if _WRONG.search(shown[max(0, label.start() - 40) : label.start()]):
                continue
            line = shown[label.end() :].split("\n", 1)[0]
            value, end = _value(line)
            if value:
                found.append(_Found(label.start(), value, label.end() + end, "answer-line"))
    place = shown.find("⟦")
    while place >= 0:
        end = shown.find("⟧", place)
        inner = shown[place + 1 : end if end >= 0 else len(shown)]
        if inner.strip():
            # a box inside a labelled sentence is the label's value, read without the words around it
            found = [other for other in found if not other.start <= place < other.end]
            found.append(_Found(place, inner.strip(), place + len(inner) + 2, "box"))
        place = shown.find("⟦", place + 1)
    found.sort(key=lambda other: other.start)
    while found and is_blank(found[-1].text) and len(found) > 1 and not found[-1].text.strip("_-.? "):
        found.pop()
    return found[-1] if found else None


def _value(line: str) -> tuple[str, int]:
    """The value at the start of a line, without what explains it; and where it ends in the line."""
    start = _OPENING.match(line).end()  # pyright: ignore[reportOptionalMemberAccess]
    stripped = line[start:]
    if _BUT.match(stripped):
        begin = _BUT.match(stripped).end()  # pyright: ignore[reportOptionalMemberAccess]
        start, stripped = start + begin, stripped[begin:]
    elif re.match(r"not\b", stripped, re.IGNORECASE):
        return "", 0
    end = _CUT.search(stripped)
    if end and end.start() == 0:
        return "", 0
    value = stripped[: end.start()] if end else stripped
    return value.strip(), start + len(value)


def _bare(question: str, shown: str) -> Iterator[tuple[str, str]]:
    """Values of a reply that labels none, the most trustworthy first."""
    lines = [line.strip() for line in shown.split("\n") if line.strip(" -•*.")]
    if not lines:
        return
    filled = filled_blank(question, shown)
    if filled:
        yield filled, "blank-filled"
    if len(lines) == 1 and (_is_bare(shown) or _ALIASED.fullmatch(shown)):
        yield _AND_NOT.sub("", shown), "whole-reply"
    last = lines[-1].strip(" •*")
    if len(lines) > 1 and _is_bare(last) and not last.endswith(":"):
        yield last, "last-line"
    if answered := _YES_NO.match(lines[0]):
        yield answered[1], "first-word"
    sentences = [part for part in _SENTENCES.split(shown) if part.strip(" .-*")]
    concluding = [part for part in sentences if _CONCLUDES.search(part)]
    for sentence in [*concluding[-1:], sentences[-1], sentences[0]]:
        if value := _said(sentence):
            yield value, "last-sentence"
    if len(lines) == 1 and (acting := _ACTING.match(shown.strip(" ."))):
        yield _value(acting[1] or acting[2])[0], "last-sentence"
    if len(lines) == 1 and (foreign := _FOREIGN_LINK.search(shown)) and parse_quantity(foreign[1]):
        yield foreign[1], "last-sentence"
    if len(lines) == 1 and len(shown.split()) <= _LONGEST_BARE and not _NEGATED.search(shown) and (value := _value(shown)[0]):
        yield value, "whole-reply"


def _is_bare(line: str) -> bool:
    """Whether a line is nothing but a value: a quantity, a chain of them, or a few words that say nothing of each other."""
    if all(parse_quantity(part) for part in _CHAIN.split(line)):
        return True
    return len(line.split()) <= 4 and not any(
        (_LINK.search(line), _NEGATED.search(line), _BUT.match(line), _ACTING.match(line))
    )


def _said(sentence: str) -> str | None:
    """What a sentence says that its subject is, or what it says is shown."""
    sentence = _REASONED.split(sentence)[-1]
    if _ASSIGNMENTS.search(sentence):
        given = _GIVEN.match(sentence)
        sentence = sentence[given.end() :] if given else sentence
        if not given or _ASSIGNMENTS.search(sentence):
            return sentence
    links = list(_LINK.finditer(sentence))
    for link in links[-1:] if "=" in sentence else links:
        if REJECTED_BEFORE.search(sentence[: link.start()]):
            continue
        value, _ = _value(sentence[link.end() :])
        if _SHOWN.match(value):
            value = sentence[: link.start()]
        if value and len(value.split()) <= _LONGEST_BARE:
            return value
    return None


def _answer(question: str, text: str, rule: str, shown: str) -> Answer:
    text = text.strip(" \t\n*\"'⟦⟧")
    if is_blank(text) or (len(text) < 120 and silence(text) and not parse_quantity(text)):
        return Answer((), silence(shown) or "abstained", f"{rule}-none")
    values = _values(text)
    if not values:
        return Answer((), "unclear", f"{rule}-several" if text else rule)
    fitted = [fit_blank(question, value) for value in values]
    return Answer(tuple(dict.fromkeys(value for value in (*values, *fitted) if value)), "answered", rule)


def _values(text: str) -> tuple[str, ...]:
    """Each value of a chain such as `x = 24/7 ≈ 3.429`; none where the text hedges."""
    text = _peel(text)
    if parse_quantity(text) and "=" not in text:
        return (_written(text),)
    if _ASSIGNMENTS.search(text):
        return () if re.search(r"\bor\b", text) else (text,)
    parts = [_peel(part) for part in _CHAIN.split(text) if part.strip()]
    if len(parts) > 1:
        quantities = [part for part in parts if parse_quantity(part)]
        parts = quantities or (parts if "i.e." in text else parts[-1:])
    explained = _EXPLAINED_NUMBER.match(parts[-1]) if parts else None
    if explained and parse_quantity(explained[1]):
        parts[-1:] = [explained[1], explained[2]] if parse_quantity(explained[2]) else [explained[1]]
    if any(_HEDGE.search(part) for part in parts):
        return ()
    return tuple(dict.fromkeys(_written(part) for part in parts if part))


def _peel(text: str) -> str:
    """A value without the words that lead to it and the marks around it."""
    text = text.strip(_AROUND)
    while (lead := _LEAD.match(text)) and text[lead.end() :].strip():
        text = text[lead.end() :].strip(_AROUND)
    text = re.sub(r"\s+or so$", "", text)
    # the last dot of `B.C.E.` belongs to it
    return text[:-1].rstrip() if text.endswith(".") and not re.search(r"(?:\b[A-Za-z]\.){2}$", text) else text


def _written(text: str) -> str:
    """One spelling for numbers: ASCII minus, no thousands commas, no currency, scale words worked out."""
    text = _MINUS.sub("-", text.strip())
    quantity = parse_quantity(text)
    if quantity is None:
        return text
    if _SCALED.search(text) and quantity.number.denominator == 1:
        return str(quantity.number)
    text = _THOUSANDS.sub("", text)
    currency = _CURRENCY.match(text)
    return f"{currency[1]}{currency[2]}" if currency else text
