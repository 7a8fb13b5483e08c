"""JSON that is safe to look at: laid out over lines, and nothing in it that a terminal would obey or hide."""

from __future__ import annotations

import json
import math
import re
from typing import Final

from agentdbg.model.records import Json

_HIDDEN: Final = re.compile(
    r"[\x7f-\x9f\xad\u0600-\u0605\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ud800-\udfff\ufeff\ufff0-\uffff"
    r"\ufdd0-\ufdef\U000e0000-\U000e0fff]"
)
_DEEP: Final = 200


def pretty(value: Json) -> str:
    """A value as JSON text that any reader takes, ending with a newline."""
    dumped = json.dumps(_plain(value, 0), ensure_ascii=False, indent=2)
    return _HIDDEN.sub(_escape, dumped) + "\n"


def _escape(match: re.Match[str]) -> str:
    return json.dumps(match[0])[1:-1]


def _plain(value: Json, depth: int) -> Json:
    """The value with numbers that JSON lacks as their names, cut where it is nested too deeply for other readers."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if not isinstance(value, dict | list):
        return value
    if depth > _DEEP:
        return "…"
    if isinstance(value, dict):
        return {key: _plain(item, depth + 1) for key, item in value.items()}
    return [_plain(item, depth + 1) for item in value]
