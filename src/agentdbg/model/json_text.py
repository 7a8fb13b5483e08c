"""Plain JSON: which values are, how their text is written, and how any JSON text is read without loss.

The text is the same with and without orjson: orjson is used only for trees whose floats the two write alike.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import cast

from agentdbg.model.records import Json

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]  # the agent's environment may lack it

MAX_DEPTH = 96
"""Levels of nesting written as JSON; deeper values are flattened, so that no reader needs a deep stack."""
INT_MIN, INT_MAX = -(2**63), 2**64 - 1
PLAIN, WITH_FLOATS = 1, 2


def loads_json(raw: bytes | str) -> Json:
    """Parse any JSON text without loss: big integers stay integers, NaN and lone surrogates are accepted.

    Raises:
        ValueError: ``raw`` is not JSON, or nests too deeply to be read.
    """
    data = raw.encode("utf-8", "surrogatepass") if isinstance(raw, str) else raw
    if orjson is not None and _NINETEEN not in data.translate(_DIGITS):
        try:
            return cast(Json, orjson.loads(data))
        except ValueError:
            pass  # NaN, lone surrogates and the like: the tolerant reader decides
    try:
        return cast(Json, json.loads(data.decode("utf-8", "surrogatepass")))
    except RecursionError as problem:
        raise ValueError("nested too deeply") from problem


_NINETEEN = b"0" * 19
_DIGITS = bytes(ord("0") if chr(byte).isdigit() and byte < 128 else ord(" ") for byte in range(256))
"""Every digit becomes ``0``: a run of nineteen may be an integer that orjson would turn into a float."""


def dumps_json(tree: Json) -> str:
    """Write parsed JSON compactly, as the SDKs do: key order kept, non-ASCII as it is."""
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"))


def json_bytes(tree: Json) -> bytes:
    """The text of ``dumps_json`` in UTF-8, lone surrogates passed on; quicker where orjson can write the same."""
    if orjson is not None and plainness(tree, 0) == PLAIN:
        try:
            return orjson.dumps(tree)
        except TypeError:
            pass  # a lone surrogate somewhere
    return dumps_json(tree).encode("utf-8", "surrogatepass")


def text_of(tree: object, *, sort: bool, floats: bool) -> bytes:
    """Write a JSON tree. ``floats``: it may hold some; ``sort``: keys in order."""
    if orjson is not None and not floats:
        return orjson.dumps(tree, option=orjson.OPT_SORT_KEYS if sort else 0)
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":"), sort_keys=sort).encode()


def plainness(value: object, depth: int) -> int:
    """What a value needs. 0: the typed encoding; 1: plain JSON; 2: plain JSON with floats spelled differently."""
    kind = type(value)
    children: Iterable[object]
    if kind is dict:
        mapping: dict[object, object] = value  # type: ignore[assignment]  # what kind says; cast would take its time
        if depth >= MAX_DEPTH or "$" in mapping or not _TEXT.issuperset(map(type, mapping)):
            return 0
        children = mapping.values()
    elif kind is list and depth < MAX_DEPTH:
        children = value  # type: ignore[assignment]  # the same
    else:
        return PLAIN if kind in _ALWAYS_PLAIN else _number(value)
    worst = PLAIN
    for child in children:
        kind = type(child)
        if kind is str:
            continue
        if kind is dict or kind is list:
            found = plainness(child, depth + 1)
        elif kind in _ALWAYS_PLAIN or (kind is float and 1e-4 <= child < 1e16):  # type: ignore[operator]  # the same
            continue
        else:
            found = _number(child)
        if found != PLAIN:
            if not found:
                return 0
            worst = found
    return worst


_TEXT = frozenset((str,))
_ALWAYS_PLAIN = frozenset((str, bool, type(None)))


def _number(value: object) -> int:
    """What a number needs; nothing else is plain. From 1e-4 up to 1e16 both writers spell floats alike."""
    if type(value) is float:
        if 1e-4 <= value < 1e16 or -1e16 < value <= -1e-4 or value == 0.0:
            return PLAIN
        return WITH_FLOATS if math.isfinite(value) else 0
    return PLAIN if type(value) is int and INT_MIN <= value <= INT_MAX else 0
