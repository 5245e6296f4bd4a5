"""The options that a prompt lists, for questions that come as text alone."""

import re

from ttc.records import LETTERS

_OPTION = re.compile(r"\s*(?:[-*]\s+)?(?:\(([A-Z])\)|\[([A-Z])\]|\*{0,2}([A-Z])[.):]\*{0,2})\s+(\S.*)")


def listed_options(text: str) -> tuple[str, ...]:
    """Texts of the options that stand on lines of their own, from A on: "A. text", "(A) text", "A: text" and their like.

    Of several such lists the last counts. Blank lines may stand between them, any other line ends the list. Empty where there
    are not at least two.
    """
    found: tuple[str, ...] = ()
    options: list[str] = []
    for line in filter(str.strip, text.splitlines()):
        match = _OPTION.fullmatch(line.rstrip())
        letter = next(filter(None, match.groups()[:3])) if match else ""
        if match and letter == "A":
            options = [match[4]]
        elif match and options and letter == LETTERS[len(options) : len(options) + 1]:
            options.append(match[4])
        else:
            options = []
        found = tuple(options) if len(options) > 1 else found
    return found
