"""Replies without their typography: Markdown, LaTeX, full-width forms. Boxes stay visible as ⟦...⟧."""

import html
import re
import unicodedata

# full-width forms, mathematical letters, circled and bracketed letters
_STYLED = re.compile(
    "[\uff01-\uff5e\u3000\U0001d400-\U0001d7ff\u24b6-\u24e9\u249c-\u24b5\U0001f110-\U0001f12b\U0001f130-\U0001f149]"
)
_ENCLOSED = re.compile("[\U0001f150-\U0001f169\U0001f170-\U0001f189]\ufe0f?")
_MARKS = str.maketrans(
    {
        "。": ". ",
        "，": ", ",
        "、": ", ",
        "「": '"',
        "」": '"',
        "『": '"',
        "』": '"',
        "【": "[",
        "】": "]",
        "《": '"',
        "》": '"',
        "〈": "[",
        "〉": "]",
        "⟨": "[",
        "⟩": "]",
        "“": '"',
        "”": '"',
        "„": '"',
        "«": '"',
        "»": '"',
        "‘": "'",
        "’": "'",
        "´": "'",
        "−": "-",
        "∴": " therefore ",
        "‐": "-",
        "‑": "-",
        "\u00a0": " ",
        "\u202f": " ",
        "\u2009": " ",
        "\u200b": "",
        "\ufeff": "",
        "\r": "\n",
    }
)
_BOX = re.compile(r"\\(?:boxed|fbox|framebox)\s*(?=[{A-Za-z0-9])|<\|begin_of_box\|>")
_WRAPPER = re.compile(
    r"\\(?:text(?:bf|it|rm|sf|tt|up|normal)?|math(?:bf|rm|it|sf|tt|bb|cal|normal)|mbox|hbox|bm|boldsymbol|operatorname|emph|underline"
    r"|pmb|textnormal)\s*\{((?:[^{}]|\{[^{}]*\})*)\}"
)
_LATEX_NOISE = re.compile(
    r"\\[()\[\],;:! ]|\\(?:left|right|quad|qquad|displaystyle|large|Large|huge|bf|rm|it)(?![A-Za-z])|\$|(?<!\\)~"
)
_EMPHASIS = re.compile(
    r"\*{2,}|(?<![\w*)\]])\*(?=[^\s*][^*\n]*\*(?![\w*]))|(?<=[^\s*])\*(?![\w*(\s]|$)|__+|`+|(?<![A-Za-z0-9])_(?=[A-Za-z(])|(?<=[A-Za-z).])_(?![A-Za-z0-9])"
)
_STRUCK = re.compile(r"~~[^~\n]+~~|<(del|s|strike)>[^<>\n]*</\1>")
_ENTITY = re.compile(r"&(?:nbsp|amp|lt|gt|quot|apos|#\d{1,6});")
_LINE_MARK = re.compile(r"^[ \t]*(?:#{1,6}[ \t]*|>[ \t]*)+", re.MULTILINE)
_HTML = re.compile(r"</?(?:b|i|u|p|strong|em|mark|code|span|div|br|sub|sup|h\d)(?:\s[^<>]*)?/?>")


def plain(text: str) -> str:
    """The reply as a reader sees it: nothing struck out, no emphasis, no wrappers; a box is ⟦its content⟧."""
    if "&" in text:
        text = _ENTITY.sub(lambda found: html.unescape(found[0]), text)
    if not text.isascii():
        text = _STYLED.sub(lambda found: unicodedata.normalize("NFKC", found[0]), text)
        text = _ENCLOSED.sub(lambda found: chr((ord(found[0][0]) - 0x1F150) % 32 + 65), text).translate(_MARKS)
    if "<" in text or "~~" in text:
        text = _STRUCK.sub("", text)
    if "<" in text:
        text = _HTML.sub("", text)
    if "\\" in text or "<|" in text:
        while (opened := _WRAPPER.sub(r"\1", text)) != text:
            text = opened
        text = _boxes(text.replace("\\therefore", " therefore "))
    if "\\" in text or "$" in text or "~" in text:
        text = _LATEX_NOISE.sub("", text)
    if "*" in text or "_" in text or "`" in text:
        text = _EMPHASIS.sub("", text)
    return _LINE_MARK.sub("", text) if "#" in text or ">" in text else text


def _boxes(text: str) -> str:
    """Put ⟦ ⟧ around the content of every box, braces inside it balanced; a box cut by the token limit is left open."""
    pieces, position = [], 0
    while found := _BOX.search(text, position):
        start = found.end()
        pieces.append(text[position : found.start()])
        if found[0].startswith("<"):
            end = text.find("<|end_of_box|>", start)
            inner, position = (text[start:], len(text)) if end < 0 else (text[start:end], end + len("<|end_of_box|>"))
        elif text[start] == "{":
            end = _closing_brace(text, start)
            if end < 0:
                pieces.append(text[start + 1 :])
                return "".join(pieces)
            inner, position = text[start + 1 : end], end + 1
        else:
            inner, position = text[start], start + 1
        pieces.append(f"⟦{inner.strip()}⟧")
    return "".join([*pieces, text[position:]])


def _closing_brace(text: str, start: int) -> int:
    depth = 0
    for place in range(start, len(text)):
        depth += (text[place] == "{") - (text[place] == "}")
        if depth == 0:
            return place
    return -1
