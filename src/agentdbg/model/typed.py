"""The typed encoding: JSON trees for values that plain JSON cannot hold; see ``store/FORMAT.md``."""

from __future__ import annotations

import base64
import datetime as dt
import decimal
import math
import re
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import cast

from agentdbg.model.json_text import INT_MAX, INT_MIN, MAX_DEPTH, text_of
from agentdbg.model.members import members_of

MAX_NODES = 2_000_000
ONLY_MEMBERS = " (its members alone)"
_SURROGATE = re.compile("[\\\\\ud800-\udfff]")
_ESCAPED = re.compile(r"\\(u[0-9a-f]{4}|\\)")


class Unencodable(ValueError):
    """A value that has no faithful encoding (a cycle, or more than ``MAX_NODES`` nodes)."""


@dataclass(frozen=True, slots=True)
class Opaque:
    """Stands for an object: known are its type's name, its members where declared, and what more it is made of."""

    type_name: str
    members: object = field(default=None, hash=False)
    more: object = field(default=None, hash=False)


def _tag(name: str, value: object) -> dict[str, object]:
    return {"$": name, "v": value}


def escape_surrogates(text: str) -> str:
    """Make a text with lone surrogates valid Unicode: ``\\udxxx`` for each, ``\\\\`` for a backslash."""
    return _SURROGATE.sub(lambda m: "\\\\" if m[0] == "\\" else f"\\u{ord(m[0]):04x}", text)


def _unescape_surrogates(text: str) -> str:
    return _ESCAPED.sub(lambda m: "\\" if m[1] == "\\" else chr(int(m[1][1:], 16)), text)


def _timedelta_parts(value: dt.timedelta) -> list[int]:
    return [value.days, value.seconds, value.microseconds]


_SCALARS: dict[type, tuple[str, Callable[..., object]]] = {
    bytes: ("bytes", lambda v: base64.b64encode(v).decode()),
    bytearray: ("bytes", lambda v: base64.b64encode(v).decode()),
    dt.datetime: ("datetime", lambda v: [v.isoformat(), v.fold]),
    dt.date: ("date", dt.date.isoformat),
    dt.time: ("time", lambda v: [v.isoformat(), v.fold]),
    dt.timedelta: ("timedelta", _timedelta_parts),
    decimal.Decimal: ("decimal", str),
    uuid.UUID: ("uuid", str),
    complex: ("complex", lambda v: [v.real.hex(), v.imag.hex()]),
}


_BASES = (str, int, float, dict, list, tuple, set, frozenset)
_OWN_TYPES = frozenset((*_BASES, bool))


class Encoder:
    """Turns one value into a JSON tree; ``opaque`` collects what it could not keep, ``narrowed`` what lost its type.

    ``binary`` sees bytes before base64 hides what is in them.
    """

    def __init__(self, *, sort: bool, binary: Callable[[bytes], bytes] | None = None) -> None:
        self.sort = sort
        self._binary = binary
        self.opaque: list[str] = []
        self.narrowed: list[str] = []
        self._nodes = 0
        self._open: set[int] = set()

    def tree(self, value: object, depth: int, path: str) -> object:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            raise Unencodable("too many nodes")
        if type(value) not in _OWN_TYPES and isinstance(value, _BASES):
            self.narrowed.append(f"{path}: {_type_name(value)}")
        scalar = self._scalar(value)
        if scalar is not _NO_SCALAR:
            return scalar
        if isinstance(value, dict | list | tuple | set | frozenset):
            if id(value) in self._open:
                raise Unencodable("it contains itself")
            if depth >= MAX_DEPTH:
                return _tag("deep", self._flatten(value))
            self._open.add(id(value))
            try:
                return self._container(value, depth, path)
            finally:
                self._open.discard(id(value))
        return self._object(value, depth, path)

    def _object(self, value: object, depth: int, path: str) -> object:
        """What is known of an object: its class, and its members where the class declares them."""
        if type(value) is Opaque:
            parts = [value.members] if value.more is None else [value.members, value.more]
            return _tag("object", [value.type_name, *(self.tree(part, depth + 2, path) for part in parts)])
        members = members_of(value) if depth + 3 < MAX_DEPTH and id(value) not in self._open else None
        if members is None:
            return self._opaque(value, path)
        self.opaque.append(f"{path}: {_type_name(value)}{ONLY_MEMBERS}")
        self._open.add(id(value))
        try:
            name = escape_surrogates(_type_name(value))
            return _tag("object", [name, self._mapping(cast("dict[object, object]", members), depth + 2, path)])
        finally:
            self._open.discard(id(value))

    def _opaque(self, value: object, path: str) -> object:
        name = _type_name(value)
        self.opaque.append(f"{path}: {name}")
        return _tag("opaque", escape_surrogates(name))

    def _scalar(self, value: object) -> object:
        if value is None or value is True or value is False:
            return value
        if isinstance(value, str):
            return self._string(str.__str__(value))
        if isinstance(value, int):
            number = int(value)
            return number if INT_MIN <= number <= INT_MAX else _tag("int", hex(number))
        if isinstance(value, float):
            number_f = float(value)
            return number_f if math.isfinite(number_f) else _tag("float", repr(number_f))
        if type(value) is Opaque and value.members is None:
            return _tag("opaque", value.type_name)
        found = _SCALARS.get(type(value))
        if self._binary is not None and isinstance(value, bytes | bytearray):
            value = self._binary(bytes(value))
        return _tag(found[0], found[1](value)) if found is not None else _NO_SCALAR

    @staticmethod
    def _string(text: str) -> object:
        if text.isascii():
            return text
        try:
            text.encode()
        except UnicodeEncodeError:
            return _tag("str", escape_surrogates(text))
        return text

    def _container(self, value: object, depth: int, path: str) -> object:
        if isinstance(value, dict):
            return self._mapping(value, depth, path)
        if isinstance(value, list):
            return [self.tree(item, depth + 1, f"{path}[{i}]") for i, item in enumerate(value)]
        if isinstance(value, tuple):
            return _tag("tuple", [self.tree(item, depth + 2, f"{path}[{i}]") for i, item in enumerate(value)])
        items = [self.tree(item, depth + 2, f"{path}{{}}") for item in cast("set[object]", value)]
        items.sort(key=_sort_key)
        return _tag("frozenset" if isinstance(value, frozenset) else "set", items)

    def _mapping(self, value: dict[object, object], depth: int, path: str) -> object:
        if "$" not in value and all(isinstance(key, str) and _is_unicode(key) for key in value):
            return {str.__str__(cast(str, k)): self.tree(v, depth + 1, f"{path}.{k}") for k, v in value.items()}
        pairs = [
            [self.tree(k, depth + 3, path), self.tree(v, depth + 3, f"{path}.{k!s:.40}")] for k, v in value.items()
        ]
        if self.sort:
            pairs.sort(key=lambda pair: _sort_key(pair[0]))
        return _tag("map", pairs)

    def _flatten(self, value: object) -> list[object]:
        """Pre-order tokens of a value nested beyond ``MAX_DEPTH``; built and read without recursion."""
        tokens: list[object] = []
        stack: list[object] = [value]
        open_ids: set[int] = set(self._open)
        while stack:
            item = stack.pop()
            if isinstance(item, _Close):
                open_ids.discard(item.key)
                continue
            self._nodes += 1
            if self._nodes > MAX_NODES:
                raise Unencodable("too many nodes")
            children = self._open_token(item, tokens)
            if children is None:
                continue
            if id(item) in open_ids:
                raise Unencodable("it contains itself")
            open_ids.add(id(item))
            stack.append(_Close(id(item)))
            stack.extend(reversed(children))
        return tokens

    def _open_token(self, item: object, tokens: list[object]) -> list[object] | None:
        if isinstance(item, dict):
            pairs = list(item.items())
            if self.sort:
                pairs.sort(key=lambda pair: _sort_key(Encoder(sort=True).tree(pair[0], 0, "$")))
            tokens.append(["d", len(pairs)])
            return [part for pair in pairs for part in pair]
        if isinstance(item, list | tuple):
            tokens.append(["l" if isinstance(item, list) else "t", len(item)])
            return list(item)
        scalar = self._scalar(item)
        tokens.append(["v", self._opaque(item, "$deep") if scalar is _NO_SCALAR else scalar])
        return None


def _type_name(value: object) -> str:
    module = str(type(value).__module__)
    return f"{'__main__' if module == '__mp_main__' else module}.{type(value).__qualname__}"  # a spawned worker's


@dataclass(frozen=True, slots=True)
class _Close:
    key: int


_NO_SCALAR = object()


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _sort_key(tree: object) -> bytes:
    return text_of(tree, sort=True, floats=True)


def from_tree(tree: object) -> object:
    """Rebuild a value from its JSON tree; a malformed tagged object is kept as the plain mapping it looks like."""
    if isinstance(tree, list):
        return [from_tree(item) for item in tree]
    if not isinstance(tree, dict):
        return tree
    if len(tree) == 2 and "$" in tree and "v" in tree and isinstance(tree["$"], str):
        decode = _DECODERS.get(tree["$"])
        if decode is None:
            return Opaque(tree["$"])
        try:
            return decode(tree["v"])
        except (ValueError, TypeError, ArithmeticError, IndexError, AttributeError):
            return Opaque(f"malformed {tree['$']}")
    return {key: from_tree(value) for key, value in tree.items()}


def _unflatten(tokens: list[list[object]]) -> object:
    position = len(tokens)
    done: list[object] = []
    while position:
        position -= 1
        sign, payload = tokens[position]
        if sign == "v":
            done.append(from_tree(payload))
            continue
        count = cast(int, payload) * (2 if sign == "d" else 1)
        if count > len(done) or count < 0:
            raise ValueError("truncated")
        children = [done.pop() for _ in range(count)]
        if sign == "d":
            done.append(dict(zip(children[::2], children[1::2], strict=True)))
        else:
            done.append(children if sign == "l" else tuple(children))
    if len(done) != 1:
        raise ValueError("truncated")
    return done[0]


def _folded(when: dt.datetime, fold: int) -> dt.datetime:
    return when.replace(fold=fold)


_DECODERS: dict[str, Callable[..., object]] = {
    "tuple": lambda v: tuple(from_tree(item) for item in v),
    "set": lambda v: {from_tree(item) for item in v},
    "frozenset": lambda v: frozenset(from_tree(item) for item in v),
    "map": lambda v: {from_tree(pair[0]): from_tree(pair[1]) for pair in v},
    "bytes": lambda v: base64.b64decode(v, validate=True),
    "int": lambda v: int(v, 16),
    "float": lambda v: {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[v],
    "str": _unescape_surrogates,
    "datetime": lambda v: _folded(dt.datetime.fromisoformat(v[0]), v[1]),
    "date": dt.date.fromisoformat,
    "time": lambda v: dt.time.fromisoformat(v[0]).replace(fold=v[1]),
    "timedelta": lambda v: dt.timedelta(days=v[0], seconds=v[1], microseconds=v[2]),
    "decimal": decimal.Decimal,
    "uuid": uuid.UUID,
    "complex": lambda v: complex(float.fromhex(v[0]), float.fromhex(v[1])),
    "deep": _unflatten,
    "opaque": lambda v: Opaque(str(v)),
    "object": lambda v: Opaque(str(v[0]), *(from_tree(part) for part in v[1:3])),
}
