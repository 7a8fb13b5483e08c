"""Reading one setting's value from TOML or from text; what cannot be read is said in words."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from types import MappingProxyType

from agentdbg.config.table import Setting, Value

_YES = frozenset({"1", "true", "yes", "on"})
_NO = frozenset({"0", "false", "no", "off"})


class BadValue(Exception):
    """A value that a setting cannot take; the message says what it takes."""


def read_value(setting: Setting, raw: object) -> Value:
    """The value that ``raw``, from a TOML file or an environment variable, stands for.

    Raises:
        BadValue: It is none of the setting's type.
    """
    match setting.type:
        case "text":
            return _text(raw)
        case "flag":
            return _flag(raw)
        case "count":
            return _count(raw)
        case "seconds":
            return _seconds(raw)
        case "choice":
            return _choice(setting.choices, raw)
        case "list":
            return _list(raw)
        case "table":
            return _table(setting.choices, raw)


def _text(raw: object) -> str:
    if not isinstance(raw, str):
        raise BadValue("use a text")
    return raw


def _flag(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    word = raw.strip().lower() if isinstance(raw, str) else None
    if word in _YES:
        return True
    if word in _NO:
        return False
    raise BadValue("use on or off")


def _count(raw: object) -> int:
    number: int | None = None
    if isinstance(raw, int) and not isinstance(raw, bool):
        number = raw
    elif isinstance(raw, str):
        digits = raw.strip().replace("_", "")
        number = int(digits) if digits.isascii() and digits.isdigit() and len(digits) < 19 else None
    if number is None or number < 0:
        raise BadValue("use a whole number from 0 up")
    return number


def _seconds(raw: object) -> float:
    number = math.nan
    if isinstance(raw, int | float) and not isinstance(raw, bool):
        number = raw if isinstance(raw, float) else float(min(raw, 10**15))
    elif isinstance(raw, str):
        try:
            number = float(raw)
        except ValueError:
            number = math.nan
    if not (math.isfinite(number) and number > 0):
        raise BadValue("use a number of seconds above 0")
    return number


def _choice(choices: Sequence[str], raw: object) -> str:
    if not isinstance(raw, str) or raw not in choices:
        raise BadValue(f"use one of {', '.join(choices)}")
    return raw


def _list(raw: object) -> tuple[str, ...]:
    if isinstance(raw, str):
        return tuple(part for part in (part.strip() for part in raw.split(",")) if part)
    if isinstance(raw, list) and all(isinstance(part, str) for part in raw):
        return tuple(raw)
    raise BadValue("use a list of texts")


def _table(choices: Sequence[str], raw: object) -> Mapping[str, str]:
    raw = _table_text(raw) if isinstance(raw, str) else raw
    if not isinstance(raw, Mapping):
        raise BadValue("use a table of NAME = VALUE")
    read: dict[str, str] = {}
    for name, entry in raw.items():
        text = ",".join(entry) if isinstance(entry, list) and all(isinstance(x, str) for x in entry) else entry
        if not isinstance(text, str):
            raise BadValue(f"{name}: use a text")
        if choices and text not in choices:
            raise BadValue(f"{name}: use one of {', '.join(choices)}")
        read[str(name)] = text
    return MappingProxyType(read)


def _table_text(raw: str) -> Mapping[str, object]:
    """A table in an environment variable."""
    if raw.lstrip().startswith("{"):
        import json  # only where a name has a comma or an equals sign in it

        try:
            found: Mapping[str, object] = json.loads(raw)
        except ValueError as error:
            raise BadValue("use NAME=VALUE,… or a JSON object") from error
        return found
    read: dict[str, object] = {}
    for part in filter(None, map(str.strip, raw.split(","))):
        name, sign, value = part.partition("=")
        if not name.strip() or not sign:
            raise BadValue("use NAME=VALUE,…")
        read[name.strip()] = value.strip()
    return read
