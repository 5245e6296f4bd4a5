"""Sentences that state an answer: `the answer is`, boxes, `I choose`, `option B is correct`, `答案是`. The last one decides."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ttc.answers.options import AMBIGUOUS, Options, spoken
from ttc.answers.reading import Reading, read_letter, read_value

_COPULA = (
    r"(?:\s*,?\s*(?:then|therefore|thus|so|hence|here|again|clearly)\s*,?)?\s*"
    r"(?:(?:is|are|(?:would|will|should|must|has to|have to|can only|could only)(?:\s+\w+ly|\s+then|\s+thus|\s+therefore)?\s+be|remains|becomes"
    r"|seems(?: to be)?|appears(?: to be)?|has been determined to be|turns out to be|comes out (?:as|to be)|comes to)(?![a-z'])(?:\s*:)?|[:：=]+|->|=>|→|⇒|\s[-–—]+(?=\s))"
)
_ABOUT = r"(?:\s+(?:to|for|of|from|among|amongst|in|that|which|here|we|i|according|based|given|provided|among|supported)\b[^.:;\n⟦]{0,80}?)?"
LABEL = re.compile(
    rf"(?<![a-z])(?:answers?|option|choice|selection|pick|response|solution|letter|conclusion|prediction|guess|alternative|one"
    rf"|candidate|match)\b(?:\s*\([^()\n]{{0,30}}\))?{_ABOUT}{_COPULA}\s*",
)
_HEADING = re.compile(
    r"(?<![a-z])(?:(?:final |correct |right |best |my )?(?:answer|choice)|ans|final|verdict|conclusion|result|correct(?:ion|ed)?|updated?|edit|revised|"
    r"solution|output|key|pick)(?:\s*[:=]|\s*->|\s*→|\.(?=\s*[(\[]?[a-z]\b)|\)(?=\s*[a-z]\b)|(?<=answer)\s*\n|(?<=choice)\s*\n|(?<=answer)(?=\s*[(⟦\"']|\s+[a-z]\b)"
    r"|(?<=correct)\s+is\b|(?<=right)\s+is\b)\s*",
)
_CHOOSE = re.compile(
    r"(?:(?<![a-z])(?:i|we|i'd|i'll|i'm|we'd|we'll|let's|let us|let me|one|must|should|would|will|can|to|and|so|thus|hence|therefore)\s+(?:\w+\s+){0,3}?"
    r"|(?:^|[.!:;,]\s+|\n\s*))(?:choos(?:e|ing)|chose|select(?:ing|ed)?|pick(?:ing|ed)?|go(?:ing)? (?:with|for)|opt(?:ing)? for|settl(?:e|ing) (?:on|for)|vot(?:e|ing) for|"
    r"stick(?:ing)? with|lean(?:ing)? towards?|mark|guess|conclude|say|bet on|believe|think|argue|deduce|infer)\s+(?:that\s+)?(?:it\s+is\s+|it's\s+|for\s+)?",
)
_INFER = re.compile(
    r"(?<![a-z])(?:so|thus|therefore|hence|consequently|accordingly|ergo|actually|instead|rather|no|wait|correction|finally|overall|in conclusion|"
    r"in summary|to conclude|in short|leaving|leaves|which leaves|leaving us with|leaves us with|make that|i mean|i meant|should be|must be|has to be|namely|i\.e\.|scratch that|make it|change (?:it|that) to|second thought|maybe|perhaps|probably|possibly)[,:]?\s+"
    r"(?:(?:it|this|that|which)\s*(?:is|'s|must be|has to be|should be)\s+)?(?:only\s+)?",
)
_POINTS = re.compile(
    r"(?<![a-z])(?:(?:it|that|this|which|what)'s|is|are|would be|will be|must be|has to be|should be|correspond(?:s|ing)? (?:to|with)|match(?:es)?|lead(?:s)? (?:us )?to"
    r"|point(?:s)? (?:us )?to|leaves?(?: us with)?|indicates?|suggests?|supports?|agrees? with|aligns? (?:most )?(?:closely )?with|fits?|makes?)[:,]?\s+"
    r"(?:(?:most|best|closely|only|exactly|clearly|probably|likely|definitely)\s+)*(?:with )?[:,]?\s*",
)
_FOREIGN = re.compile(
    r"(?:正确答案|正確答案|最终答案|最終答案|参考答案|答案|正确选项|正確選項|正确的选项|正确的|正確的|结论|而是|应选择?|應選擇?|故选择?|故選擇?|应该选择?|因此选择?|所以选择?|我选择?|选择|選擇|选|選)\]?(?:应该|应当|應該|应|就|只能)?(?:是|为|為|：|:|\s)*"
    r"|(?:答え|正解|回答|解答|こたえ)\s*(?:は|：|:)\s*|(?:정답|답)\s*(?:은|는|이|:)?\s*"
    r"|(?<![a-z])(?:respuesta|opci[oó]n|alternativa|r[ée]ponse|antwort|l[öo]sung|resposta|risposta|opzione|antwoord|svar(?:et)?|odpowied[źz]|cevap|jawaban|"
    r"ответ|вариант|đáp án|الإجابة|الجواب|उत्तर)(?:\s+(?:correcta|correcte|finale?|correta|corretta|richtige|juste|final|benar|đúng|ответа|الصحيحة|है))*\s*"
    r"(?::|=|-|—|–|\s(?:es|est|ist|é|è|er|är|is|adalah|là|هي|हो|to|lautet)(?=\s))\s*(?:la\s+|le\s+|die\s+|el\s+|a\s+|option\s+|opci[oó]n\s+)?",
)
_FOREIGN_VERDICT = re.compile(
    r"(?:只有|唯有|选项|選項|選択肢)?\s*(?<![A-Za-z])[(\[]?([A-Z])[)\]]?\s*(?:选项|選項|项|項|が|는|가|번이)?\s*(?:是|才是|为|為)?(?:唯一|最)?\s*(?:正确|正確|对的|符合|最佳|最合适|合适|成立|正しい|正解|정답)"
)
_NOT_FOREIGN = re.compile(r"(?:不|非|没|未|排除|不能|不应|错误)[^。，,；;\n]{0,3}$")
_ANSWER_LABEL = re.compile(r"(?:^|\n)\W*(?:final |correct )*answer\s*:\W*\Z")
_BOX = re.compile(r"⟦")
_VERDICT = re.compile(
    r"(?P<intro>(?<![A-Za-z])(?:options?|choices?|answers?|letter|alternative)\s+)?(?<![A-Za-z0-9'’.\-])[(\[\"'“⟦]*(?P<letter>[A-Za-z])[)\]\"'”⟧]*(?![A-Za-z0-9'’])"
    r"(?P<own>[.:)]?\s*(?:[(\"“,–—-][^\n()\"”]{0,80}[)\"”,–—-])?)\s*"
    r"(?:is|must be|would be|should be|has to be|seems(?: to be)?|appears(?: to be)?|looks|remains|[:–—-])\s+(?:\w+ly\s+|also |still |thus |therefore |the |our |my |indeed |most |only |best |single |"
    r"logically |one |that is |which is |in fact )*(?P<verdict>correct|right|answer|best|better|closest|accurate|appropriate|choice|option|suitable|valid|most|what (?:[Ii]|we)|more (?:accurate|likely|appropriate|suitable|plausible|correct|precise|consistent))\b(?!\s+(?:if|only if|when|unless|in that|about|to say))",
)
_FITS = re.compile(
    r"(?P<intro>(?<![A-Za-z])(?i:(?:only\s+)?(?:option|choice|answer)|only)\s+)?(?<![A-Za-z0-9'’.\-])[(\[\"'“⟦]*(?P<letter>[A-Z])[)\]\"'”⟧]*(?![A-Za-z0-9'’])\s*(?:\([^()\n]{0,80}\)\s*)?"
    r"(?:therefore |best |clearly |correctly |most \w+ |also |accurately |alone )*"
    r"(?:fits|matches|satisfies|works|agrees|holds|applies|remains|is left|is the only|wins|answers|aligns|completes|describes|corresponds|meets|makes sense|stands)\b"
)
OPTION_MENTION = re.compile(r"(?<![A-Za-z])(?i:options?|choices?|answer)\s+[(\[\"'“⟦]*([A-Z])(?![A-Za-z0-9'’])")
_JOINS = re.compile(r"\b(?:and|or)\s*\Z")
_LEADS = re.compile(
    r"(?:^|[.,;:!?\n(\-–—>⟦\"]|\b(?:so|thus|therefore|hence|that|because|since|only|and|but|then|think|believe|conclude|say|overall|clearly))\s*$",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.,;:!?\n—]|\b(?:so|but|therefore|thus|hence|then|however|and)\b", re.IGNORECASE)
_DISCOUNTED = re.compile(
    r"\b(?:if|whether|suppos\w+|assum\w+|unless|had|not|never|doubt\w*|deny|might|may|could|tempt\w*|at first|initially|mistak\w*|misread\w*|thought|"
    r"false|untrue|don't|doesn't|isn't|wouldn't|can't|cannot|seem as if|someone|some people|students?|many|why|confus\w+)\b",
    re.IGNORECASE,
)
_WRONG_NOUN = re.compile(
    r"\b(?:wrong|incorrect|false|eliminated|rejected|second|alternative|another|other|initial|first|original|previous|earlier|tempting|excluded|bad|worst|"
    r"common|next best|least likely|discarded|not an?|not the(?: \w+)?|old|naive|unlikely)\s+(?:\w+\s+)?$",
    re.IGNORECASE,
)
_CORRECTS = re.compile(
    r"\b(?:actually|wait|correction|corrected|instead|reconsider\w*|reflection|mistake|oops|no,|scratch that|hmm|revis\w+|sorry|rather|second thought|i mean)\b",
    re.IGNORECASE,
)
_RETRACTED = re.compile(
    r"\b(?:no,?|wait,?|oops,?|hmm,?|actually,?|but)\s[^.\n]{0,30}\b(?:(?:that|this|it)(?:'s| is| was| can't be| cannot be| seems)|i was|i made|i am|i'm)\s+(?:\w+\s+)?"
    r"(?:wrong|incorrect|not right|not correct|mistake|error|right)\b|\bscratch that\b|\b(?:strike|ignore|disregard) (?:that|this|my)\b",
    re.IGNORECASE,
)
_HEDGED = re.compile(
    r"\b(?:either|might|maybe|possibly|perhaps|could be|may be|not sure|unsure|uncertain|unclear)\b", re.IGNORECASE
)
EXPLAINS = re.compile(
    r"(?:the|this|it|because|since|as|in|based|given|according|from|to|by|explanation|reason|we|there|here|these|that)\b",
    re.IGNORECASE,
)
_MARKED = re.compile(r"^[\s\-•·*]*(?:option\s+)?\(?([A-Z])[.):\]\s](.*)$", re.MULTILINE | re.IGNORECASE)
_NEXT_ITEM = re.compile(r"(?<=[.;!,，。；])\s*(?=\(?[A-Z][).:\]]\s|(?:Option|option)\s[A-Z]\b)")
_GOOD = re.compile(r"(?:[✓✔✅☑]|\b(?:correct|right|true|yes)\b)[^\w]*(?:$|[.;,(])", re.IGNORECASE)
_BAD = re.compile(r"[✗✘❌✖×]|\b(?:incorrect|wrong|false|no|not|eliminated|ruled out)\b|n't\b", re.IGNORECASE)

# one of these must occur for a pattern to match: looking for words is far cheaper than trying patterns
_FOREIGN_WORDS = (
    "respuesta",
    "opci",
    "alternativa",
    "reponse",
    "antwo",
    "respost",
    "rispost",
    "opzione",
    "svar",
    "odpowied",
    "cevap",
    "jawaban",
)
_CHOOSE_STEMS = tuple(
    "choos chose select pick go opt settl vot stick lean mark guess conclude say bet believe think argue deduce infer".split()
)
_VERDICT_WORDS = tuple(
    "correct right answer best better closest accurate appropriate choice option suitable valid most what more".split()
)
_FITS_WORDS = (
    "fits matches satisfies works agrees holds applies remains left only wins answers aligns completes describes corresponds meets makes stands"
).split()


@dataclass(frozen=True, slots=True)
class Statement:
    """A place in the reply where an answer is stated."""

    start: int
    reading: Reading
    rule: str
    firm: bool = True
    """False for remarks such as `which is option B`, that count where nothing is stated outright, or as a correction."""


def decide(options: Options, shown: str) -> Statement | None:
    """The statement that the reply ends on; None where it states nothing. AMBIGUOUS where it hedges or takes its answer back."""
    found = sorted(_all(options, shown), key=lambda statement: statement.start)
    firm = [statement for statement in found if statement.firm]
    last = next((statement for statement in reversed(firm) if statement.reading.letter is not None), firm[-1] if firm else None)
    if firm and firm[-1].reading.letter is None and last is not firm[-1] and firm[-1].rule == "answer-line":
        last = firm[-1]
    corrections = [
        statement
        for statement in found
        if last
        and not statement.firm
        and statement.start > last.start
        and _CORRECTS.search(shown[last.reading.end : statement.start + 12])
    ]
    if corrections:
        last = corrections[-1]
    if last is None:
        last = found[-1] if found else None
    if last is None:
        return None
    earlier = [statement for statement in found if statement.start < last.start]
    if earlier and earlier[-1].reading.letter not in (None, AMBIGUOUS, last.reading.letter):
        between = shown[earlier[-1].reading.end : last.start]
        if re.fullmatch(
            r"[\s,)\].⟧\"']*(?:or|and/or)\s+(?:maybe|possibly|perhaps|else)?\s*(?:that )?(?:the )?", between, re.IGNORECASE
        ):
            return Statement(last.start, Reading(AMBIGUOUS, "several"), last.rule)
    if _RETRACTED.search(shown, last.reading.end) or _denied(options, shown, last):
        return Statement(last.start, Reading(AMBIGUOUS, "several"), "retracted")
    return last


def _denied(options: Options, shown: str, last: Statement) -> bool:
    letter = last.reading.letter
    if letter in (None, AMBIGUOUS):
        return False
    denial = rf"(?<![A-Za-z0-9'])(?:option |choice |answer )?\(?{letter}\)?\s+(?:is|was)(?:n't| not|\s+actually)?\s*(?:actually\s+)?(?:correct|right|wrong|incorrect)\b"
    found = re.search(denial, shown[last.reading.end :])
    return bool(found and re.search(r"not|n't|wrong|incorrect", found[0]))


def hedged(sentence: str) -> bool:
    """Whether a sentence leaves its own claim open."""
    return bool(_HEDGED.search(sentence))


def marked(options: Options, shown: str) -> Reading | None:
    """The one option that a list of verdicts marks as right, where it marks others as wrong."""
    good, bad = set(), set()
    for found in _MARKED.finditer(_NEXT_ITEM.sub("\n", shown)):
        letter, verdict = found[1].upper(), found[2]
        if letter not in options.letters:
            continue
        own = options.spoken[letter]
        verdict = spoken(verdict).removeprefix(own) if own else verdict
        if _BAD.search(verdict):
            bad.add(letter)
        elif _GOOD.search(verdict):
            good.add(letter)
    return Reading(good.pop(), "letter") if len(good) == 1 and bad else None


def _lowered(text: str) -> str:
    """Lower case, every character at its place: patterns without case are searched several times as fast as with it."""
    lowered = text.lower()
    return lowered if len(lowered) == len(text) else "".join(low if len(low := char.lower()) == 1 else char for char in text)


def _all(options: Options, shown: str) -> Iterator[Statement]:
    lowered = _lowered(shown)
    for found in LABEL.finditer(lowered):
        if not _WRONG_NOUN.search(shown[max(0, found.start() - 40) : found.start()]) and not _discounted(shown, found.start()):
            reading = read_value(options, shown, found.end())
            if reading and _worth(found[0], reading):
                yield Statement(found.start(), reading, "answer-line")
    for pattern, rule in ((_HEADING, "heading"), (_FOREIGN, "answer-line")):
        if pattern is _FOREIGN and shown.isascii() and not any(word in lowered for word in _FOREIGN_WORDS):
            continue
        for found in pattern.finditer(lowered):
            if rule == "answer-line" and _NOT_FOREIGN.search(shown[max(0, found.start() - 10) : found.start()]):
                continue
            if _WRONG_NOUN.search(shown[max(0, found.start() - 40) : found.start()]) or _discounted(shown, found.start()):
                continue
            strict = found[0].strip().lower() in ("final", "key:", "no") or not found[0].strip(" \n").endswith((":", "：", "="))
            reading = (read_letter if strict and rule == "heading" else read_value)(options, shown, found.end())
            if reading is None and _ANSWER_LABEL.search(lowered, 0, found.end()) and "\n" not in shown[found.end() :]:
                # the last line is labelled as the answer, so nothing before it is the answer
                reading = Reading(AMBIGUOUS, "unreadable", len(shown)) if shown[found.end() :].strip(" *._⟧") else None
            if reading and reading.letter is not None:
                yield Statement(found.start(), reading, rule)
    for found in _BOX.finditer(shown):
        end = shown.find("⟧", found.end())
        inner = shown[found.end() : end if end >= 0 else len(shown)]
        reading = read_value(options, inner)
        if reading and not _discounted(shown, found.start()):
            yield Statement(found.start(), Reading(reading.letter, reading.rule, found.end() + len(inner)), "box")
    for found in _CHOOSE.finditer(lowered) if any(stem in lowered for stem in _CHOOSE_STEMS) else ():
        if not _DISCOUNTED.search(found[0]) and not _discounted(shown, found.start()):
            reading = read_letter(options, shown, found.end())
            if reading:
                yield Statement(found.start(), reading, "chosen")
    yield from _verdicts(options, shown)
    for pattern, rule in ((_INFER, "inferred"), (_POINTS, "pointed-at")):
        for found in pattern.finditer(lowered):
            reading = (
                None
                if _JOINS.search(lowered, max(0, found.start() - 6), found.start())
                else read_letter(options, shown, found.end())
            )
            if (
                reading
                and not _discounted(shown, found.start())
                and shown[reading.end : reading.end + 2].strip(" )⟧\"'")[:1] != "?"
            ):
                yield Statement(found.start(), reading, rule, firm=False)


def _worth(label: str, reading: Reading) -> bool:
    """`one is`, `match is` and `guess:` introduce letters only, not option texts: they occur in any prose."""
    noun = label.split()[0].rstrip(":").lower()
    return reading.letter is not None or noun.startswith(("answer", "option", "choice"))


def _verdicts(options: Options, shown: str) -> Iterator[Statement]:
    lowered = shown.lower()
    for pattern, firm, words in ((_VERDICT, True, _VERDICT_WORDS), (_FITS, False, _FITS_WORDS)):
        for found in pattern.finditer(shown) if any(word in lowered for word in words) else ():
            letter = found["letter"]
            if letter.upper() not in options.letters or (letter.islower() and not found["intro"]):
                continue
            if (
                not found["intro"]
                and not found[0].lstrip().startswith(("(", "[", "⟦"))
                and not _LEADS.search(shown[max(0, found.start() - 16) : found.start()])
            ):
                continue
            before = shown[max(0, found.start() - 24) : found.start()]
            if _discounted(shown, found.start()) or re.search(
                r"\b(?:or|and|nor|neither)\s*(?:option\s*)?$|[/&]\s*$", before, re.IGNORECASE
            ):
                continue
            if not found["intro"] and letter == "I" and not found[0].startswith(("(", "[", "⟦")):
                continue
            yield Statement(found.start(), Reading(letter.upper(), "letter", found.end()), "verdict", firm)
    for found in () if shown.isascii() else _FOREIGN_VERDICT.finditer(shown):
        if found[1] in options.letters and not _NOT_FOREIGN.search(shown[max(0, found.start() - 10) : found.start()]):
            yield Statement(found.start(), Reading(found[1], "letter", found.end()), "verdict")


def _discounted(shown: str, start: int) -> bool:
    """Whether the clause before a statement makes it a condition, a denial or somebody else's opinion."""
    before = shown[max(0, start - 90) : start]
    clause = _CLAUSE.split(before)[-1]
    return bool(_DISCOUNTED.search(clause))
