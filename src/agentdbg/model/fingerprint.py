"""The identity of a call: ``fp1:`` fingerprints, volatile fields, and renaming of server-minted ids."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from agentdbg.model.canonical import canonical
from agentdbg.model.hashing import sha256_hex

SCHEME = "fp1:"
_PLACEHOLDER = re.compile(r"(⟦R:[a-z0-9_.-]+:\d+):[0-9a-f#]+⟧".encode())
_PLACEHOLDER_START = "⟦R:".encode()
_SERVER_ID = re.compile(
    r"(?<![A-Za-z0-9])(?:(?:call|toolu|fc|msg|resp|rs|chatcmpl|item|run|req)[_-][A-Za-z0-9_-]{6,}"
    r"|[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})"
)


@dataclass(frozen=True, slots=True)
class VolatileRules:
    """Fields that do not count for a call's identity.

    Attributes:
        version: Stored with the run; a replay uses the run's rules, not today's.
        paths: Tool name (``*`` for every tool) to paths: ``$.a.b``, ``$.items[*].at``, or ``$..name`` for any depth.
    """

    version: str = "v1"
    paths: Mapping[str, Sequence[str]] = field(
        default_factory=lambda: {"*": ("$..request_id", "$..trace_id", "$..span_id", "$..traceparent", "$..nonce")}
    )

    def for_call(self, name: str) -> tuple[str, ...]:
        """The paths that apply to calls of ``name``."""
        return (*self.paths.get("*", ()), *self.paths.get(name, ()))


def fingerprint(kind: str, name: str, arguments: object) -> str:
    """Identify a call by kind, name and redacted arguments (volatile fields already dropped).

    Raises:
        Unencodable: ``arguments`` has no faithful encoding.
    """
    return SCHEME + sha256_hex(strip_placeholders(canonical([kind, name, arguments])))


def strip_placeholders(data: bytes) -> bytes:
    """Reduce each redaction placeholder to its kind and length, so that records made under two keys can match."""
    return _PLACEHOLDER.sub(rb"\1" + "⟧".encode(), data) if _PLACEHOLDER_START in data else data


def alpha_fingerprint(kind: str, name: str, arguments: object) -> str:
    """Like ``fingerprint``, with server-minted ids renamed to ``$id0``, ``$id1``, … by first appearance."""
    return SCHEME + sha256_hex(alpha_rename(strip_placeholders(canonical([kind, name, arguments])).decode()).encode())


def alpha_rename(text: str) -> str:
    """Rename tool-call, response, message ids and UUIDs by first appearance."""
    names: dict[str, str] = {}
    return _SERVER_ID.sub(lambda match: names.setdefault(match[0], f"$id{len(names)}"), text)


def drop_volatile(value: object, paths: Iterable[str]) -> tuple[object, tuple[str, ...]]:
    """Remove volatile fields.

    Returns:
        The value without them (the same object when there are none), and the concrete paths that were dropped.
    """
    dropped: list[str] = []
    for path in paths:
        if path.startswith("$.."):
            value = _drop_named(value, path[3:], "$", dropped, 0)
        else:
            value = _drop_at(value, _split(path), "$", dropped)
    return value, tuple(dropped)


def _split(path: str) -> list[str]:
    return [part for part in re.split(r"\.|(\[\*\])", path.removeprefix("$")) if part]


def _drop_named(value: object, name: str, at: str, dropped: list[str], depth: int) -> object:
    if depth > 60:
        return value
    if isinstance(value, dict):
        changed: dict[object, object] = {}
        same = True
        for key, item in value.items():
            if key == name:
                dropped.append(f"{at}.{key}")
                same = False
                continue
            new = _drop_named(item, name, f"{at}.{key}", dropped, depth + 1) if isinstance(item, dict | list) else item
            same = same and new is item
            changed[key] = new
        return value if same else changed
    if isinstance(value, list):
        items = [_drop_named(item, name, f"{at}[{i}]", dropped, depth + 1) for i, item in enumerate(value)]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    return value


def _drop_at(value: object, parts: Sequence[str], at: str, dropped: list[str]) -> object:
    if not parts:
        return value
    head, rest = parts[0], parts[1:]
    if head == "[*]" and isinstance(value, list):
        items = [_drop_at(item, rest, f"{at}[{i}]", dropped) for i, item in enumerate(value)]
        return value if all(a is b for a, b in zip(items, value, strict=True)) else items
    if not isinstance(value, dict) or head not in value:
        return value
    if not rest:
        dropped.append(f"{at}.{head}")
        return {key: item for key, item in value.items() if key != head}
    new = _drop_at(value[head], rest, f"{at}.{head}", dropped)
    return value if new is value[head] else {**value, head: new}
