"""What differs between two JSON values, field by field: also where Python takes two values for equal.

Equal parts are pruned, list elements aligned by their exact bytes, so that one inserted element is one change.
Two sides whose bytes differ never give an empty answer.
"""

from __future__ import annotations

import marshal
import time
import unicodedata
from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Final, cast

from agentdbg.compare.alignment import ADDED, CHANGED, REMOVED, Finder, Stop, Stopped, changed_rows, never
from agentdbg.compare.first_difference import ABSENT
from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.records import Json

MAX_CHANGES: Final = 2_000
SECONDS: Final = 1.0
SHOWN: Final = 200
DEPTH: Final = 100
"""Levels that are opened; what lies deeper is shown as a whole."""
ORDER, NORMALISATION, TEXT, TYPE, BYTES = "order", "normalisation", "text", "type", "bytes"
CAPPED: Final = f"only the first {MAX_CHANGES:,} changes are listed"
OUT_OF_TIME: Final = "took too long: what is left is shown as whole values"
INSIDE: Final = "→$"
"""Stands in a path where it goes on inside a text that is JSON."""
_OPENING: Final = ("{", "[")
_NAMING: Final = ("id", "name", "role", "type", "key", "tool_call_id")


class Missing:
    """Stands for a field that one side does not have."""

    def __repr__(self) -> str:
        return ABSENT


MISSING: Final = Missing()


@dataclass(frozen=True, slots=True)
class FieldChange:
    """One field that differs.

    Attributes:
        sign: ``~`` changed, ``+`` only on the second side, ``-`` only on the first.
        path: Path on the first side; on the second for an added field.
        before: The first side's value, or ``MISSING``.
        after: The second side's.
        path_after: Path on the second side where it differs from ``path``.
        note: What kind of difference it is where the values may look alike: ``order`` of members, Unicode
            ``normalisation``, ``type``, ``text`` of a body that is no JSON, ``bytes`` of equal values.
    """

    sign: str
    path: str
    before: Json | Missing
    after: Json | Missing
    path_after: str = ""
    note: str = ""

    def before_text(self, limit: int = SHOWN) -> str:
        """The first side's value as text, cut around the first difference."""
        return _shown(self, 0, limit)

    def after_text(self, limit: int = SHOWN) -> str:
        """The second side's value as text, cut around the first difference."""
        return _shown(self, 1, limit)


@dataclass(frozen=True, slots=True)
class FieldDiff:
    """Attributes:
    changes: What differs, in document order.
    note: Empty, or how the answer falls short: capped, out of time.
    """

    changes: tuple[FieldChange, ...]
    note: str = ""


def diff_bodies(
    a: bytes, b: bytes, *, should_stop: Stop = never, seconds: float = SECONDS, limit: int = MAX_CHANGES
) -> FieldDiff:
    """Compare two stored bodies; empty only when their bytes are equal.

    Raises:
        Stopped: ``should_stop`` said so.
    """
    if a == b:
        return FieldDiff(())
    try:
        before, after = loads_json(a), loads_json(b)
    except ValueError:
        return FieldDiff((_as_text(a, b, TEXT),))
    found = diff_values(before, after, should_stop=should_stop, seconds=seconds, limit=limit)
    if found.changes:
        return found
    return FieldDiff((_as_text(a, b, BYTES),))


def diff_values(
    before: Json, after: Json, *, should_stop: Stop = never, seconds: float = SECONDS, limit: int = MAX_CHANGES
) -> FieldDiff:
    """Compare two parsed values. ``1``, ``1.0`` and ``True`` are three values, so are ``0.0`` and ``-0.0``.

    Raises:
        Stopped: ``should_stop`` said so.
    """
    walk = _Walk(should_stop, time.monotonic() + seconds, limit)
    walk.value(before, after, "$", "$")
    return FieldDiff(tuple(walk.changes[:limit]), walk.note)


def exact(value: Json) -> bytes:
    """Bytes that are equal for the same value of the same types in the same order, and no other; never read back."""
    try:
        return marshal.dumps(value, 2)
    except ValueError:  # nested deeper than it goes
        return dumps_json(value).encode("utf-8", "surrogatepass")


def _all_exact(items: list[Json]) -> list[bytes]:
    try:
        return [marshal.dumps(item, 2) for item in items]
    except ValueError:
        return [exact(item) for item in items]


def _as_text(a: bytes, b: bytes, note: str) -> FieldChange:
    before, after = (side.decode("utf-8", "backslashreplace") for side in (a, b))
    return FieldChange(CHANGED, "$", before, after, note=note)


def step_path(key: str) -> str:
    """One member's part of a path."""
    return f".{key}" if key.isidentifier() else f"[{key!r}]"


class _Walk:
    """Walks two values together and notes where they differ."""

    def __init__(self, should_stop: Stop, deadline: float, limit: int) -> None:
        self.changes: list[FieldChange] = []
        self.note = ""
        self._stop, self._deadline, self._limit = should_stop, deadline, limit
        self._depth = 0

    def value(self, a: Json, b: Json, at: str, at_b: str) -> None:
        """Note what differs between two values."""
        if type(a) is type(b) and isinstance(a, dict | list):
            self._depth += 1
            if self._full() or self._depth > DEPTH or self._late():
                self._whole(a, b, at, at_b)
            elif isinstance(a, dict) and isinstance(b, dict):
                self._objects(a, b, at, at_b)
            elif isinstance(a, list) and isinstance(b, list):
                self._items(a, b, at, at_b)
            self._depth -= 1
        elif isinstance(a, str) and isinstance(b, str) and a != b and self._inside(a, b, at, at_b):
            return
        elif type(a) is not type(b) or (a != b if type(a) is str else exact(a) != exact(b)):
            self._note(FieldChange(CHANGED, at, a, b, _other(at, at_b), _kind(a, b)))

    def _inside(self, a: str, b: str, at: str, at_b: str) -> bool:
        """Look into two texts that are JSON objects or lists; whether that shows in what they differ."""
        if a[:1] not in _OPENING or b[:1] != a[:1] or self._depth > DEPTH:
            return False
        try:
            left, right = loads_json(a), loads_json(b)
        except ValueError:
            return False
        before = len(self.changes)
        self.value(left, right, at + INSIDE, at_b + INSIDE)
        return len(self.changes) > before

    def _objects(self, a: dict[str, Json], b: dict[str, Json], at: str, at_b: str) -> None:
        tag_a, tag_b = _tag(a), _tag(b)
        if tag_a is None and tag_b is None:
            self._members(a, b, at, at_b)
        elif tag_a is None or tag_a != tag_b:
            self._note(FieldChange(CHANGED, at, a, b, _other(at, at_b), TYPE))
        else:
            self._typed(tag_a, a, b, at, at_b)

    def _typed(self, tag: str, a: dict[str, Json], b: dict[str, Json], at: str, at_b: str) -> None:
        inner_a, inner_b = a["v"], b["v"]
        keyed_a, keyed_b = (_keyed(side) if tag == "map" else None for side in (inner_a, inner_b))
        if keyed_a is not None and keyed_b is not None:
            self._members(keyed_a, keyed_b, at, at_b, lambda key: f"[{key}]")
        elif tag == "object" and (members := _members_of_one_class(inner_a, inner_b)) is not None:
            self._members(*members, at, at_b)
        elif tag in ("tuple", "set", "frozenset") and isinstance(inner_a, list) and isinstance(inner_b, list):
            self._items(inner_a, inner_b, at, at_b)
        elif exact(inner_a) != exact(inner_b):
            self._note(FieldChange(CHANGED, at, a, b, _other(at, at_b)))

    def _members(
        self, a: dict[str, Json], b: dict[str, Json], at: str, at_b: str, step: Callable[[str], str] = step_path
    ) -> None:
        for key, value in a.items():
            if key not in b:
                self._note(FieldChange(REMOVED, at + step(key), value, MISSING))
                continue
            other = b[key]
            if not (type(value) is str and value == other):
                self.value(value, other, at + step(key), at_b + step(key))
        if a.keys() == b.keys() and list(a) == list(b):
            return
        for key, value in b.items():
            if key not in a:
                self._note(FieldChange(ADDED, at_b + step(key), MISSING, value))
        order_a, order_b = [key for key in a if key in b], [key for key in b if key in a]
        if order_a != order_b:
            self._note(FieldChange(CHANGED, at, cast(Json, order_a), cast(Json, order_b), _other(at, at_b), ORDER))

    def _items(self, a: list[Json], b: list[Json], at: str, at_b: str) -> None:
        finder = Finder(self._stop)
        blocks = list(finder.blocks(_all_exact(a), _all_exact(b)))
        self.note = self.note or finder.note
        alike = ((lambda i: _named(a[i]), lambda j: _named(b[j])), (lambda i: _shape(a[i]), lambda j: _shape(b[j])))
        for block in blocks:
            one_by_one = len(block.removed) == len(block.added)
            for _, i, j in changed_rows(finder, block, () if one_by_one else alike):
                if self._full():
                    return
                if i is not None and j is not None:
                    self.value(a[i], b[j], f"{at}[{i}]", f"{at_b}[{j}]")
                elif i is not None:
                    self._note(FieldChange(REMOVED, f"{at}[{i}]", a[i], MISSING))
                elif j is not None:
                    self._note(FieldChange(ADDED, f"{at_b}[{j}]", MISSING, b[j]))

    def _whole(self, a: Json, b: Json, at: str, at_b: str) -> None:
        if not self._full() and exact(a) != exact(b):
            self._note(FieldChange(CHANGED, at, a, b, _other(at, at_b)))

    def _full(self) -> bool:
        if self._stop():
            raise Stopped
        return len(self.changes) > self._limit

    def _note(self, change: FieldChange) -> None:
        self.changes.append(change)
        if len(self.changes) > self._limit:
            self.note = self.note or CAPPED

    def _late(self) -> bool:
        if time.monotonic() < self._deadline:
            return False
        self.note = OUT_OF_TIME
        return True


def _named(item: Json) -> Hashable:
    """What an element calls itself; a value of its own where it has no name."""
    if isinstance(item, dict):
        names = tuple((key, item[key]) for key in _NAMING if isinstance(item.get(key), str))
        return names or id(item)
    return id(item)


def _shape(item: Json) -> Hashable:
    """What kind of element it is: an object's members and role, else the type."""
    if isinstance(item, dict):
        return (frozenset(item), item.get("role") if isinstance(item.get("role"), str) else None)
    return type(item).__name__


def _tag(value: dict[str, Json]) -> str | None:
    """The type of a value that JSON lacks, as the typed encoding writes it."""
    tag = value.get("$")
    return tag if isinstance(tag, str) and value.keys() == {"$", "v"} else None


def _members_of_one_class(a: Json, b: Json) -> tuple[dict[str, Json], dict[str, Json]] | None:
    if not isinstance(a, list) or not isinstance(b, list) or len(a) != 2 or len(b) != 2 or a[0] != b[0]:
        return None
    return (a[1], b[1]) if isinstance(a[1], dict) and isinstance(b[1], dict) else None


def _keyed(pairs: Json) -> dict[str, Json] | None:
    """A mapping with arbitrary keys by the text of its keys; ``None`` when it is malformed."""
    if not isinstance(pairs, list):
        return None
    found: dict[str, Json] = {}
    for pair in pairs:
        if not isinstance(pair, list) or len(pair) != 2:
            return None
        found[_text(pair[0])] = pair[1]
    return found if len(found) == len(pairs) else None


def _other(at: str, at_b: str) -> str:
    return "" if at == at_b else at_b


def _kind(a: Json, b: Json) -> str:
    if isinstance(a, str) and isinstance(b, str):
        same = unicodedata.normalize("NFC", a) == unicodedata.normalize("NFC", b)
        return NORMALISATION if same else ""
    return "" if type(a) is type(b) or a is None or b is None else TYPE


def _shown(change: FieldChange, side: int, limit: int) -> str:
    values = (change.before, change.after)
    value, other = values[side], values[1 - side]
    if isinstance(value, Missing):
        return ABSENT
    if isinstance(value, str):
        begin = _begin(value, other, limit) if isinstance(other, str) else 0
        cut = value[begin : begin + limit]
        text = ascii(cut)[1:-1] if change.note == NORMALISATION else cut
        plain = change.note in (TEXT, BYTES)
        text = ("…" if begin else "") + text + ("…" if begin + limit < len(value) else "")
        return text if plain else f'"{text}"'
    text = _text(value)
    return text if len(text) <= limit else text[:limit] + "…"


def _begin(value: str, other: str, limit: int) -> int:
    """Where to begin so that the first difference is seen."""
    low, high = 0, min(len(value), len(other))
    while low < high:
        middle = (low + high + 1) // 2
        if value[:middle] == other[:middle]:
            low = middle
        else:
            high = middle - 1
    return 0 if low < limit * 3 // 4 else low - limit // 4


def _text(value: Json) -> str:
    if isinstance(value, dict) and (tag := _tag(value)) is not None:
        return f"{tag}({dumps_json(value['v'])})"
    return dumps_json(value)
