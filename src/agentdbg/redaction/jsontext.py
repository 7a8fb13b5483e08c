"""Texts that hold JSON: where a number stands bare, outside of any string."""

from __future__ import annotations

import re
from functools import cache


@cache
def _quote() -> re.Pattern[str]:
    return re.compile(r'\\.|"', re.DOTALL)


def is_json(text: str) -> bool:
    """Return whether the text begins like a JSON object or array."""
    head = text[:64].lstrip()
    return head[:1] in {"{", "["} and head[1:2] not in {"%", "{"}


def inside_after(text: str, inside: bool) -> bool:
    """Return whether the end of the text is inside a JSON string, given whether its beginning was."""
    if '"' not in text:
        return inside
    return inside ^ bool(sum(m.group() == '"' for m in _quote().finditer(text)) & 1)


def is_bare(text: str, start: int, end: int, inside: bool) -> bool:
    """Return whether ``text[start:end]`` is a whole JSON number and not a part of a string."""
    before = text[max(0, start - 32) : start].rstrip()[-1:]
    after = text[end : end + 32].lstrip()[:1]
    if before not in {":", ",", "[", "-"} or after not in {",", "]", "}", "", "."}:
        return False
    return not inside_after(text[:start], inside)
