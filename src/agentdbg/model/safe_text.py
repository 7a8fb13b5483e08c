"""Recorded text made harmless: what a terminal would obey, hide or reorder becomes visible.

Sequences are not parsed. The characters that introduce, hide or reorder are replaced one by one, so nothing that a
parser might overlook gets through. Hashing, comparing and copying use the raw text; only display goes through here.
"""

from __future__ import annotations

import functools
import re
import sys
import unicodedata
from typing import Final, NewType

SafeText = NewType("SafeText", str)
"""Text that has been through :func:`safe_line` or :func:`safe_block`."""

_REPLACEMENT: Final = "\ufffd"
_MAX_MARKS: Final = 4
_ZWJ: Final = "\u200d"
_VS16: Final = "\ufe0f"

_INVISIBLE: Final = (
    (0x00AD, 0x00AD),  # soft hyphen
    (0x034F, 0x034F),  # combining grapheme joiner
    (0x0600, 0x0605),
    (0x061C, 0x061C),  # Arabic letter mark
    (0x06DD, 0x06DD),
    (0x070F, 0x070F),
    (0x0890, 0x0891),
    (0x08E2, 0x08E2),
    (0x115F, 0x1160),  # Hangul fillers
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),  # Mongolian selectors
    (0x200B, 0x200F),  # zero width, direction marks
    (0x2028, 0x202E),  # line and paragraph separator, bidi embeddings
    (0x2060, 0x206F),  # word joiner, bidi isolates
    (0x3164, 0x3164),  # Hangul filler
    (0xFE00, 0xFE0F),  # variation selectors
    (0xFEFF, 0xFEFF),  # byte order mark
    (0xFFA0, 0xFFA0),
    (0xFFF0, 0xFFFB),
    (0x110BD, 0x110BD),
    (0x110CD, 0x110CD),
    (0x13430, 0x1343F),
    (0x1BCA0, 0x1BCA3),
    (0x1D173, 0x1D17A),
    (0xE0000, 0xE0FFF),  # tags, variation selectors supplement
)
_UNDECODABLE: Final = ((0x80, 0x9F), (0xD800, 0xDFFF), (0xFDD0, 0xFDEF), (0xFFFE, 0xFFFF))


def _char_class(ranges: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"{re.escape(chr(low))}-{re.escape(chr(high))}" for low, high in ranges)


_HIDDEN: Final = _char_class(_INVISIBLE)
_BROKEN: Final = _char_class(_UNDECODABLE)
_BLOCK_PROBE: Final = re.compile(f"[\x00-\x08\x0b-\x1f\x7f{_BROKEN}{_HIDDEN}]")
_LINE_PROBE: Final = re.compile(f"[\x00-\x1f\x7f{_BROKEN}{_HIDDEN}]")
_BASE: Final = f"[^\x00-\x7f{_BROKEN}{_HIDDEN}]"
_STRAY_JOINER: Final = re.compile(f"(?<!{_BASE})(?<!{_BASE}{_VS16}){_ZWJ}|(?<!{_BASE}){_VS16}")
_KEPT_JOINERS: Final = frozenset((_ZWJ, _VS16))
_MAY_BE_MARK: Final = re.compile(
    "[\u0300-\u1fff\u20d0-\u20ff\u2cef-\u2cf1\u2d7f\u2de0-\u2dff\u302a-\u302f\u3099\u309a\ua66f-\uabff\ufb1e\ufe00-\ufe2f"
    "\U00010000-\U0001efff]"
)


def safe_line(text: str) -> SafeText:
    """Text for one line: nothing in it moves the cursor, and it holds no line break or tab.

    Args:
        text: Any recorded text.

    Returns:
        The text itself when it is clean.
    """
    return _safe(text, _LINE_PROBE)


def safe_block(text: str) -> SafeText:
    """Text for several lines: as :func:`safe_line`, but line feeds and tabs stay.

    Args:
        text: Any recorded text.

    Returns:
        The text itself when it is clean.
    """
    return _safe(text, _BLOCK_PROBE)


def _safe(text: str, probe: re.Pattern[str]) -> SafeText:
    if text.isascii() and (text.isprintable() or probe.search(text) is None):
        return SafeText(text)
    if _MAY_BE_MARK.search(text) is not None:
        leading, piled = _mark_patterns()
        text = piled.sub(_cut_marks, leading.sub("\u25cc", text))
    if probe.search(text) is not None:
        text = probe.sub(_visible, _STRAY_JOINER.sub(_mark, text))
    return SafeText(text)


def _visible(match: re.Match[str]) -> str:
    char = match.group()
    code = ord(char)
    if code < 0x20:
        return chr(0x2400 + code)
    if code == 0x7F:
        return "\u2421"
    if char in _KEPT_JOINERS:
        return char
    if any(low <= code <= high for low, high in _UNDECODABLE):
        return _REPLACEMENT
    return f"<U+{code:04X}>"


def _mark(match: re.Match[str]) -> str:
    return f"<U+{ord(match.group()):04X}>"


def _cut_marks(match: re.Match[str]) -> str:
    marks = match.group()
    return f"{marks[:_MAX_MARKS]}<+{len(marks) - _MAX_MARKS} marks>"


@functools.cache
def _mark_patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Patterns for a mark without a base character, and for more marks than a cell can bear.

    Built when a script that has marks is first seen: finding all marks takes longer than importing this module.
    """
    ranges: list[tuple[int, int]] = []
    for code in range(0x300, min(sys.maxunicode, 0x1FFFF) + 1):
        if unicodedata.category(chr(code)) in ("Mn", "Me") and not _hidden(code):
            if ranges and ranges[-1][1] == code - 1:
                ranges[-1] = (ranges[-1][0], code)
            else:
                ranges.append((code, code))
    marks = _char_class(tuple(ranges))
    return re.compile(f"(?m)^(?=[{marks}])"), re.compile(f"[{marks}{_ZWJ}{_VS16}]{{{_MAX_MARKS + 1},}}")


def _hidden(code: int) -> bool:
    return any(low <= code <= high for low, high in _INVISIBLE)
