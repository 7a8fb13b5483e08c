"""Walking a value of any depth without recursion; nothing is copied until something changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple, cast

_DEEPEST = 20_000
_CONTAINERS = (dict, list, tuple, set, frozenset)


class TooDeep(Exception):
    """The value is nested too deeply, or it contains itself."""


class Visitor(NamedTuple):
    """What to do with the scalars; each function gets the scalar and the name of the field it stands under."""

    string: Callable[[str, str], str]
    integer: Callable[[int, str], int]
    floating: Callable[[float, str], float]
    binary: Callable[[bytes], bytes]


class _Frame:
    __slots__ = ("changed", "items", "name", "out", "slot", "source")

    def __init__(self, source: object, name: str, slot: object) -> None:
        self.source = source
        self.name = name
        self.slot = slot
        self.items: Iterator[object] = iter(source.items() if isinstance(source, dict) else source)  # type: ignore[call-overload]
        self.out: list[object] = []
        self.changed = False


def walk(value: object, visit: Visitor) -> object:
    """Return the value with its scalars visited: the same object when no scalar changed."""
    if not isinstance(value, _CONTAINERS):
        return _scalar(value, "", visit)
    stack = [_Frame(value, "", None)]
    while True:
        frame = stack[-1]
        deeper = _advance(frame, visit)
        if deeper is not None:
            if len(stack) >= _DEEPEST:
                raise TooDeep
            stack.append(deeper)
            continue
        result = _built(frame) if frame.changed else frame.source
        stack.pop()
        if not stack:
            return result
        parent = stack[-1]
        parent.changed = parent.changed or frame.changed
        parent.out.append((frame.slot, result) if isinstance(parent.source, dict) else result)


def _advance(frame: _Frame, visit: Visitor) -> _Frame | None:
    """Go on in a container; return a frame for the next container inside it, None at its end."""
    if isinstance(frame.source, dict):
        return _advance_dict(frame, visit)
    string, name, out = visit.string, frame.name, frame.out
    for child in frame.items:
        if type(child) is str:
            seen: object = string(child, name)
        elif isinstance(child, _CONTAINERS):
            return _Frame(child, "" if isinstance(child, dict) else name, None)
        else:
            seen = _scalar(child, name, visit)
        if seen is not child:
            frame.changed = True
        out.append(seen)
    return None


def _advance_dict(frame: _Frame, visit: Visitor) -> _Frame | None:
    string, out = visit.string, frame.out
    for key, child in cast("Iterator[tuple[object, object]]", frame.items):
        if type(key) is str:
            name = key
            slot: object = string(key, "")
        else:
            name = ""
            slot = walk(key, visit)
        if slot is not key:
            frame.changed = True
        if type(child) is str:
            seen: object = string(child, name)
        elif isinstance(child, _CONTAINERS):
            return _Frame(child, name, slot)
        else:
            seen = _scalar(child, name, visit)
        if seen is not child:
            frame.changed = True
        out.append((slot, seen))
    return None


def _scalar(value: object, name: str, visit: Visitor) -> object:
    if isinstance(value, str):
        return visit.string(value, name)
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return visit.integer(value, name)
    if isinstance(value, float):
        return visit.floating(value, name)
    if isinstance(value, (bytes, bytearray)):
        seen = visit.binary(bytes(value))
        return value if seen == value else seen
    return value


def _built(frame: _Frame) -> object:
    source = frame.source
    if isinstance(source, dict):
        out: dict[object, object] = {}
        for item in frame.out:
            assert isinstance(item, tuple)
            key, child = item
            while key in out:
                key = f"{key}'"
            out[key] = child
        return out
    if isinstance(source, tuple):
        make = getattr(type(source), "_make", None)
        return make(frame.out) if make is not None else tuple(frame.out)
    if isinstance(source, frozenset):
        return frozenset(frame.out)
    return set(frame.out) if isinstance(source, set) else frame.out
