"""When two short texts are the same answer: by normalised equality and declared synonyms, never by substring."""

import re
import unicodedata
from functools import lru_cache

from ttc.answers.markup import plain
from ttc.answers.phrases import one_of, words

_GREEK_NAMES = words(
    """alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho sigma tau upsilon phi chi psi
    omega"""
)
_GREEK = dict(zip("αβγδεζηθικλμνξοπρστυφχψω", _GREEK_NAMES, strict=True))
_COMMAND = re.compile(r"\\([A-Za-z]+)\s*")
_SIGN = re.compile(r"(?<![\w)])-(?=\s?[\d.])|(?<=[A-Za-z\d])-(?=$|[\s,;)])|(?<=[\w)])\s+-\s+(?=[\w(])")
_KEPT = re.compile(r"[^\w+/*=<>%&#°!~|∞√π]|_")
_BETWEEN_DIGITS = re.compile(r"(?<=\d)(?:\s*[-:.,;]\s*|\s+to\s+|\s+)(?=\d)")
_ARTICLE = re.compile(r"(?:(?:an?|the)\s+)+(?=\S)", re.IGNORECASE)
_PARENTHESIS = re.compile(r"\s+[(\[]([^()\[\]]+)[)\]]\s*")
_ALIAS = re.compile(
    r",?\s*\b(?:also (?:known as|called|termed)|a\.?k\.?a\.?|i\.e\.,?|otherwise known as|or simply|abbreviated as)\s+",
    re.IGNORECASE,
)
_NO_ALIAS = re.compile(r"(?:not|or|and|e\.g|for|in|if|see|which|with|than|rather|opposed)\b", re.IGNORECASE)
_LABELLED = re.compile(
    one_of(
        """point region step label option area structure letter figure image graph curve diagram part section line node
        arrow choice picture site position panel location number stage type boy object item component"""
    )
    + r"\s+[(\"']?([A-Za-z]|\d{1,2})[)\"']?",
    re.IGNORECASE,
)
_SPELLINGS = (
    ("ae", "e"),
    ("oe", "e"),
    ("our", "or"),
    ("yse", "yze"),
    ("isation", "ization"),
    ("ising", "izing"),
    ("ised", "ized"),
    ("ise", "ize"),
)
_WORDS = (
    ("aluminium", "aluminum"),
    ("centre", "center"),
    ("fibre", "fiber"),
    ("metre", "meter"),
    ("litre", "liter"),
    ("sulph", "sulf"),
)


@lru_cache(maxsize=65536)
def text_key(text: str) -> str:
    """What spellings of one text share.

    Case, accents, leading articles, blanks, quotes, hyphens, closing marks, a plural or possessive s, and British spelling are
    dropped; signs, digits, operators and what parts two numbers are kept: `-2` is not `2`, `n + k` not `n - k`, `2:1` not `21`.
    """
    text = unicodedata.normalize("NFKC", plain(text).replace("^", "")).replace("−", "-").casefold().strip(" .,;:!?\"'")
    text = _COMMAND.sub(lambda found: f" {found[1]} ", text).replace("{", "").replace("}", "")
    text = "".join(_GREEK.get(char, char) for char in unicodedata.normalize("NFKD", text) if not unicodedata.combining(char))
    text = _ARTICLE.sub("", text, count=1) if _ARTICLE.match(text) else text
    text = _BETWEEN_DIGITS.sub(lambda found: "#" if found[0].strip() in ("", ".", ",", ";") else "|", text.replace("–", "-"))
    kept = [_singular(word) for word in _KEPT.sub(" ", _SIGN.sub(" −", text.replace("'", "")).replace("−", "~")).split()]
    key = "".join(kept)
    for british, american in _WORDS + _SPELLINGS:
        key = key.replace(british, american)
    return key


def _singular(word: str) -> str:
    if len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is", "os", "ies")):
        return word[:-1]
    return word[:-3] + "y" if len(word) > 5 and word.endswith("ies") else word


@lru_cache(maxsize=65536)
def text_forms(text: str) -> frozenset[str]:
    """Keys of all ways in which a text gives its answer: `Depth-First Search (DFS)` is itself, the words, and `DFS`.

    A parenthesis of one word behind three or more stands for the last of them: `center of gravity (mass)` is `center of mass`,
    and not `mass`.
    """
    forms = {text_key(text)}
    for part in _ALIAS.split(text):
        forms.add(text_key(part))
        inner = _PARENTHESIS.search(part)
        if inner and not _NO_ALIAS.match(inner[1]):
            outer = (part[: inner.start()] + " " + part[inner.end() :]).strip()
            outer_words = outer.split()
            forms.add(text_key(outer))
            if len(outer_words) >= 3 and inner[1].islower() and " " not in inner[1].strip():
                forms.add(text_key(" ".join([*outer_words[:-1], inner[1]])))
            elif outer_words and part[: inner.start()].strip():
                forms.add(text_key(inner[1]))
        labelled = _LABELLED.fullmatch(part.strip(" ."))
        if labelled:
            forms.add(text_key(labelled[1]))
    return frozenset(form for form in forms if form)
