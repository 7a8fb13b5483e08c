"""An ASGI request as the arguments and entry point of its run, and back again for a replay."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from agentdbg.model.json_text import loads_json
from agentdbg.recording.http_calls import header
from agentdbg.recording.http_requests import query_text
from agentdbg.redaction.placeholder import OPEN

if TYPE_CHECKING:
    from agentdbg.redaction.gate import Gate

_FORM = "application/x-www-form-urlencoded"
_MARK = OPEN.encode()
_WRITERS: dict[str, Callable[[Any], str]] = {
    "compact": lambda value: json.dumps(value, ensure_ascii=False, separators=(",", ":")),
    "spaced": json.dumps,
    "compact ascii": lambda value: json.dumps(value, separators=(",", ":")),
    "spaced unicode": lambda value: json.dumps(value, ensure_ascii=False),
}
"""Ways in which clients write JSON: a replay writes a body as it was, where it is one of these."""


def text_of(raw: bytes) -> str:
    """Text of a header, path or query; in a replay it may hold placeholders, which are not Latin-1."""
    return raw.decode("utf-8" if _MARK in raw else "latin-1", "surrogateescape")


def raw_of(text: str) -> bytes:
    """What ``text_of`` was given."""
    return text.encode("utf-8" if OPEN in text else "latin-1", "surrogateescape")


def header_texts(scope: Mapping[str, Any]) -> list[tuple[str, str]]:
    """The headers of a request as text."""
    return [(text_of(bytes(name)), text_of(bytes(value))) for name, value in scope.get("headers") or ()]


def arguments_of(scope: Mapping[str, Any], body: bytes, gate: Gate) -> dict[str, object]:
    """What came in, as people read it."""
    headers = header_texts(scope)
    found: dict[str, object] = {"method": scope.get("method", "WEBSOCKET"), "path": scope.get("path", "")}
    query = text_of(bytes(scope.get("query_string") or b""))
    if query:
        found["query"] = query_text(gate, query)
    found["headers"] = [list(pair) for pair in gate.headers(headers)]
    if body:
        found["body"] = body_value(body, header(headers, "content-type"), gate)
    client = scope.get("client")
    if client:
        found["client"] = list(client)
    if scope.get("subprotocols"):
        found["subprotocols"] = list(scope["subprotocols"])
    return found


def body_value(raw: bytes, content_type: str, gate: Gate) -> object:
    """A body as JSON, text or bytes."""
    if content_type.lower().startswith(_FORM):
        return query_text(gate, raw.decode("latin-1"))
    if b"json" in content_type.lower().encode() or raw[:1] in b"{[":
        try:
            return loads_json(raw)
        except ValueError:
            pass
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError:
        return raw


def way_of(raw: bytes, value: object) -> str | None:
    """How the JSON of a body is written; ``None`` where a replay would write it in another way."""
    if isinstance(value, bytes) or (isinstance(value, str) and not _is_json_text(raw, value)):
        return "text"
    for way, write in _WRITERS.items():
        if write(value).encode("utf-8", "surrogatepass") == raw:
            return way
    return None


def _is_json_text(raw: bytes, value: str) -> bool:
    return raw.lstrip()[:1] == b'"' and value.encode("utf-8", "surrogatepass") != raw


def body_bytes(value: object, way: str) -> bytes:
    """A body as it was sent; JSON that was written in another way than those known here, compactly."""
    if isinstance(value, bytes):
        return value
    if isinstance(value, str) and way == "text":
        return value.encode("utf-8", "surrogatepass")
    return _WRITERS.get(way, _WRITERS["compact"])(value).encode("utf-8", "surrogatepass")


def scope_facts(scope: Mapping[str, Any], gate: Gate) -> dict[str, object]:
    """What else of a scope an application may look at."""
    found: dict[str, object] = {
        "type": scope["type"],
        "http_version": scope.get("http_version", "1.1"),
        "scheme": scope.get("scheme", "http"),
        "server": list(scope.get("server") or ()),
        "root_path": gate.text(str(scope.get("root_path") or "")),
    }
    raw_path = scope.get("raw_path")
    if raw_path is not None:
        found["raw_path"] = gate.text(text_of(bytes(raw_path)))
    return found


def scope_of(facts: Mapping[str, Any], arguments: Mapping[str, Any], state: Mapping[str, Any]) -> dict[str, Any]:
    """A scope as a server would have made it."""
    found: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0", "spec_version": "2.3"},
        "http_version": str(facts.get("http_version", "1.1")),
        "method": str(arguments["method"]),
        "scheme": str(facts.get("scheme", "http")),
        "path": str(arguments["path"]),
        "raw_path": raw_of(str(facts.get("raw_path") or arguments["path"])),
        "query_string": raw_of(str(arguments.get("query") or "")),
        "root_path": str(facts.get("root_path") or ""),
        "headers": [(raw_of(name), raw_of(value)) for name, value in arguments.get("headers") or []],
        "client": _address(arguments.get("client")),
        "server": _address(facts.get("server")),
        "state": dict(state),
        "extensions": {},
    }
    return found


def _address(value: Sequence[Any] | None) -> tuple[Any, ...] | None:
    return tuple(value) if value else None
