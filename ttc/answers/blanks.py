"""Fill-in questions: what a reply puts in the blank, and which of its words the question has already."""

import re

from ttc.answers.markup import plain

_BLANK = re.compile(r"\**_{2,}\**|\[\s*blank\s*\]|\.{4,}")


def filled_blank(question: str, shown: str) -> str | None:
    """What the reply puts in the question's blank, where it repeats the words around it."""
    blank = _BLANK.search(question)
    if not blank:
        return None
    before = re.findall(r"\w+", plain(question[: blank.start()]))[-3:]
    after = re.findall(r"\w+", plain(question[blank.end() :]))[:2]
    if not before or len(before) + len(after) < 3:
        return None
    gap = r"\W+"
    pattern = rf"\b{gap.join(map(re.escape, before))}\s+[\"'_*]*(.{{1,80}}?)[\"'_*]*" + (
        rf"\s+{gap.join(map(re.escape, after))}\b" if after else r"\s*\.?\s*$"
    )
    found = list(re.finditer(pattern, shown, re.IGNORECASE | re.MULTILINE))
    value = found[-1][1].strip() if found else ""
    return value if value and not _BLANK.search(value) and not re.match(r"not\b", value, re.IGNORECASE) else None


def fit_blank(question: str, value: str) -> str | None:
    """The value without the words that the question has around its blank: `Doppler` for `Doppler effect` in `a ___ effect`."""
    blank = _BLANK.search(question)
    if not blank or len(value.split()) < 2:
        return None
    after = re.findall(r"[\w'-]+", question[blank.end() : blank.end() + 80].split(".")[0])
    before = re.findall(r"[\w'-]+", question[max(0, blank.start() - 80) : blank.start()])
    words = value.split()
    for count in range(min(len(words) - 1, len(after)), 0, -1):
        if [word.lower().strip(".,") for word in words[-count:]] == [word.lower() for word in after[:count]]:
            words = words[:-count]
            break
    for count in range(min(len(words) - 1, len(before)), 0, -1):
        if [word.lower() for word in words[:count]] == [word.lower() for word in before[-count:]]:
            words = words[count:]
            break
    fitted = " ".join(words)
    return fitted if fitted != value else None
