"""One place in a JSON value: ``messages[0].content``; read from text, and set."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import cast

from agentdbg.model.records import Json

Path = tuple[str | int, ...]

_PART = re.compile(r"""\[(-?\d+)\]|\.?\[("(?:[^"\\]|\\.)*")\]|\.?([^.\[\]="\s][^.\[\]=]*)""")


class BadPath(ValueError):
    """A path that says nothing, or leads nowhere; the message says which and why."""


def split_edit(text: str) -> tuple[Path, Json]:
    """``PATH=JSON``, taken apart.

    Raises:
        BadPath: It is none.
    """
    path, end = _read(text)
    if not path or text[end : end + 1] != "=":
        raise BadPath(
            f"'{text[:80]}' is no edit; use PATH=JSON, as in temperature=0 or messages[0].content='\"Hello\"'"
        )
    raw = text[end + 1 :]
    try:
        return path, cast(Json, json.loads(raw))
    except ValueError as error:
        raise BadPath(f"{words(path)}: {raw[:60]!r} is no JSON ({error}); a text needs its quotes: '\"…\"'") from error


def split_place(text: str) -> tuple[str, str]:
    """``PATH=VALUE``: the path as it is written, and the value's text.

    Raises:
        BadPath: It does not begin with a path and ``=``.
    """
    path, end = _read(text)
    if not path or text[end : end + 1] != "=":
        raise BadPath(f"'{text[:80]}' is no PATH=JSON")
    return text[:end].strip(), text[end + 1 :]


def parse_path(text: str) -> Path:
    """A path.

    Raises:
        BadPath: It is none.
    """
    path, end = _read(text)
    if not path or end != len(text):
        raise BadPath(f"'{text[:80]}' is no path; use MEMBER.MEMBER[INDEX]")
    return path


def replaced(value: Json, path: Path, new: Json) -> Json:
    """A copy of ``value`` with ``new`` at ``path``: a member may be new, an item may follow the last one.

    Raises:
        BadPath: There is no such place.
    """
    return _replaced(value, path, 0, new)


def words(path: Sequence[str | int]) -> str:
    """A path as people write it."""
    parts = (f"[{part}]" if isinstance(part, int) else _member(part) for part in path)
    return "".join(parts).lstrip(".")


def _read(text: str) -> tuple[Path, int]:
    at = 1 if text[:2] in ("$.", "$[") else 0
    found: list[str | int] = []
    while match := _PART.match(text, at):
        index, quoted, name = match.groups()
        found.append(int(index) if index is not None else str(json.loads(quoted)) if quoted is not None else name)
        at = match.end()
    return tuple(found), at


def _replaced(value: Json, path: Path, depth: int, new: Json) -> Json:
    if depth == len(path):
        return new
    part, here = path[depth], words(path[: depth + 1])
    if isinstance(value, dict) and isinstance(part, str):
        if part not in value and depth + 1 < len(path):
            raise BadPath(f"{here}: there is no such member")
        return {**value, part: _replaced(value.get(part), path, depth + 1, new)}
    if isinstance(value, list) and isinstance(part, int):
        at = part + len(value) if part < 0 else part
        if not 0 <= at <= len(value) or (at == len(value) and depth + 1 < len(path)):
            raise BadPath(f"{here}: the list has {len(value)} items")
        inner = value[at] if at < len(value) else None
        return [*value[:at], _replaced(inner, path, depth + 1, new), *value[at + 1 :]]
    raise BadPath(f"{here}: what stands before it is {_kind(value)}")


def _kind(value: Json) -> str:
    names = {dict: "an object", list: "a list", str: "a text", bool: "true or false", type(None): "null"}
    return names.get(type(value), "a number")


def _member(name: str) -> str:
    plain = _PART.fullmatch(name)
    return f".{name}" if plain is not None and plain[3] == name else f"[{json.dumps(name, ensure_ascii=False)}]"
