"""The first place where two JSON values differ, as a path."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeGuard

from agentdbg.model.records import Json

SHOWN = 200
ABSENT = "(absent)"


@dataclass(frozen=True, slots=True)
class Difference:
    """Attributes:
    path: JSON path, ``$`` for the whole value.
    expected: The recorded side as text, cut to ``SHOWN`` characters around the difference.
    got: The other side.
    """

    path: str
    expected: str
    got: str


def first_difference(expected: Json, got: Json, path: str = "$") -> Difference | None:
    """Walk two values together; ``None`` when they are equal. ``1``, ``1.0`` and ``True`` are three values."""
    stack: list[tuple[Json, Json, str]] = [(expected, got, path)]
    while stack:
        left, right, at = stack.pop()
        if _is_typed(left) and _is_typed(right):
            if left["$"] != right["$"]:
                return Difference(at, _shown(left), _shown(right))
            stack.append((*_inside(left, right), at))
        elif isinstance(left, dict) and isinstance(right, dict):
            pairs = _members(left, right, at)
            if isinstance(pairs, Difference):
                return pairs
            stack.extend(reversed(pairs))
        elif isinstance(left, list) and isinstance(right, list):
            stack.extend(reversed(_items(left, right, at)))
        elif left is _MISSING or right is _MISSING:
            return Difference(at, _shown(left), _shown(right))
        elif not _same_scalar(left, right):
            return _scalar(left, right, at)
    return None


_MISSING: Json = ABSENT + "\0"


def _same_scalar(left: Json, right: Json) -> bool:
    if isinstance(left, float) and isinstance(right, float):
        return repr(left) == repr(right)  # a minus before zero is a difference, nan is none to itself
    return type(left) is type(right) and left == right


def _inside(left: dict[str, Json], right: dict[str, Json]) -> tuple[Json, Json]:
    """What two values of one type wrap; of objects of one class, their members."""
    a, b = left["v"], right["v"]
    if left["$"] == "object" and isinstance(a, list) and isinstance(b, list) and len(a) == len(b) == 2 and a[0] == b[0]:
        return a[1], b[1]
    return a, b


def _is_typed(value: Json) -> TypeGuard[dict[str, Json]]:
    """Whether a value stands for something that JSON lacks (a tuple, a date); its wrapping is no part of a path."""
    return isinstance(value, dict) and value.keys() == {"$", "v"}


def _members(left: dict[str, Json], right: dict[str, Json], at: str) -> list[tuple[Json, Json, str]] | Difference:
    if list(left) != list(right) and set(left) == set(right):
        order = next((a, b) for a, b in zip(left, right, strict=True) if a != b)
        if all(left[key] == right[key] for key in left):
            return Difference(at, f"member {order[0]!r} first", f"member {order[1]!r} first")
    keys = [*left, *(key for key in right if key not in left)]
    return [(left.get(key, _MISSING), right.get(key, _MISSING), f"{at}{_step(key)}") for key in keys]


def _items(left: list[Json], right: list[Json], at: str) -> list[tuple[Json, Json, str]]:
    count = max(len(left), len(right))
    padded = [(side + [_MISSING] * (count - len(side))) for side in (left, right)]
    return [(a, b, f"{at}[{i}]") for i, (a, b) in enumerate(zip(*padded, strict=True))]


def _step(key: str) -> str:
    return f".{key}" if key.isidentifier() else f"[{key!r}]"


def _scalar(left: Json, right: Json, at: str) -> Difference:
    if isinstance(left, str) and isinstance(right, str):
        shorter = min(len(left), len(right))
        start = next((i for i in range(shorter) if left[i] != right[i]), shorter)
        begin = max(0, start - SHOWN // 4)
        return Difference(at, _around(left, begin), _around(right, begin))
    return Difference(at, _shown(left), _shown(right))


def _around(text: str, begin: int) -> str:
    cut = text[begin : begin + SHOWN]
    return ("…" if begin else "") + cut + ("…" if begin + SHOWN < len(text) else "")


def _shown(value: Json) -> str:
    if value is _MISSING:
        return ABSENT
    from agentdbg.model.canonical import dumps_json

    text = dumps_json(value)
    return text if len(text) <= SHOWN else text[:SHOWN] + "…"
