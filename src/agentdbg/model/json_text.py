"""Plain JSON: which values are, how their text is written, and how any JSON text is read without loss.

The text is the same with and without orjson: orjson is used only for trees without floats, whose text differs between
the two.
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
    """What a value needs. 0: the typed encoding; 1: plain JSON; 2: plain JSON with floats."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return PLAIN
    if kind is int:
        return PLAIN if INT_MIN <= cast(int, value) <= INT_MAX else 0
    if kind is float:
        return WITH_FLOATS if math.isfinite(cast(float, value)) else 0
    if depth >= MAX_DEPTH:
        return 0
    children: Iterable[object]
    if kind is dict:
        mapping = cast("dict[object, object]", value)
        if "$" in mapping or not all(type(key) is str for key in mapping):
            return 0
        children = mapping.values()
    elif kind is list:
        children = cast("list[object]", value)
    else:
        return 0
    worst = PLAIN
    for child in children:
        found = PLAIN if type(child) is str else plainness(child, depth + 1)
        if not found:
            return 0
        if found > worst:
            worst = found
    return worst
