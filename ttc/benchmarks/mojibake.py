"""UTF-8 text that was read as Windows-1251: put right where all bytes are there, and told where they are not."""

import re

# byte 0x98 has no character in Windows-1251 and is passed through as a control character
_BYTE = {bytes([byte]).decode("cp1251") if byte != 0x98 else "\x98": byte for byte in range(0x80, 0x100)}


def _characters(first: int, last: int) -> str:
    return "[" + re.escape("".join(character for character, byte in _BYTE.items() if first <= byte <= last)) + "]"


_TAIL = _characters(0x80, 0xBF)
_SEQUENCE = re.compile(
    f"{_characters(0xC2, 0xDF)}{_TAIL}|{_characters(0xE0, 0xEF)}{_TAIL}{{2}}|{_characters(0xF0, 0xF4)}{_TAIL}{{3}}"
)
# a three-byte character of which the last byte, and the character after it, became one question mark
_LOST = re.compile(f"{_characters(0xE0, 0xEF)}{_TAIL}[?\ufffd]|\ufffd")


def repaired(text: str) -> str:
    """The text with every whole sequence read as the character that it was; the rest, real Cyrillic too, as it is."""

    def character(match: re.Match[str]) -> str:
        try:
            return bytes(_BYTE[item] for item in match[0]).decode("utf-8")
        except UnicodeDecodeError:
            return match[0]

    return _SEQUENCE.sub(character, text)


def is_lossy(text: str) -> bool:
    """Whether characters are gone for good: `NaHCO` followed by two letters and a question mark was `NaHCO3` and a bracket."""
    return _LOST.search(text) is not None
