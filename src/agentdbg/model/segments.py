"""A model input as segments: parameters, each tool schema, each system text, each message."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from agentdbg.model.records import Json

PLACE = "$segments"
"""Member that marks, in the parameters segment, where segments were taken out."""


@dataclass(frozen=True, slots=True)
class Part:
    """One segment before it is stored: ``kind`` and ``name`` as in ``records.Segment``, and its value."""

    kind: str
    name: str
    value: Json


def split_request(body: dict[str, Json]) -> list[Part]:
    """Cut the request of a chat, responses or messages call into segments.

    The first segment is the request itself with the lists taken out and their places marked, so that ``join_request``
    gives the request back. System texts that stand outside the messages are named ``@…``.
    """
    shape: dict[str, Json] = {}
    tools: list[Part] = []
    system: list[Part] = []
    messages: list[Part] = []
    taken = False
    for key, value in body.items():
        if isinstance(value, dict) and PLACE in value:
            shape[key] = {PLACE: "literal", "value": value}
        elif key == "tools" and isinstance(value, list):
            tools = [Part("tool_schema", _tool_name(tool), tool) for tool in value]
            shape[key] = {PLACE: "tools"}
        elif key in ("system", "instructions") and isinstance(value, str | list):
            system.extend(_system_parts(key, value))
            shape[key] = {PLACE: f"@{key}" if isinstance(value, str) else f"@{key}[]"}
        elif key in ("messages", "input") and isinstance(value, list) and not taken:
            taken = True
            messages = [Part(_message_kind(item), _role(item), item) for item in value]
            shape[key] = {PLACE: "messages"}
        else:
            shape[key] = value
    return [Part("parameters", "", shape), *tools, *system, *messages]


def join_request(parts: Sequence[Part]) -> Json:
    """Put segments back into the request they were cut from."""
    if not parts or not isinstance(parts[0].value, dict):
        return parts[0].value if parts else None
    tools: list[Json] = [part.value for part in parts if part.kind == "tool_schema"]
    outside = [part for part in parts if part.name.startswith("@")]
    messages: list[Json] = [
        part.value for part in parts[1:] if part.kind in ("system", "message") and not part.name.startswith("@")
    ]
    body: dict[str, Json] = {}
    for key, value in parts[0].value.items():
        place = value.get(PLACE) if isinstance(value, dict) else None
        if place == "literal" and isinstance(value, dict):
            body[key] = value.get("value")
        elif place == "tools":
            body[key] = tools
        elif place == "messages":
            body[key] = messages
        elif isinstance(place, str) and place.startswith("@"):
            found: list[Json] = [part.value for part in outside if part.name.split("[")[0] == place.removesuffix("[]")]
            body[key] = found if place.endswith("[]") else (found[0] if found else None)
        else:
            body[key] = value
    return body


def common_prefix(a: Sequence[object], b: Sequence[object]) -> int:
    """Number of leading items that are equal."""
    count = 0
    for left, right in zip(a, b, strict=False):
        if left != right:
            break
        count += 1
    return count


def _system_parts(key: str, value: Json) -> Iterable[Part]:
    if isinstance(value, list):
        return [Part("system", f"@{key}[{i}]", item) for i, item in enumerate(value)]
    return [Part("system", f"@{key}", value)]


def _tool_name(tool: Json) -> str:
    if isinstance(tool, dict):
        function = tool.get("function")
        for holder in (function, tool):
            if isinstance(holder, dict) and isinstance(holder.get("name"), str):
                return cast(str, holder["name"])
        if isinstance(tool.get("type"), str):
            return cast(str, tool["type"])
    return ""


def _role(message: Json) -> str:
    if isinstance(message, dict):
        for key in ("role", "type"):
            if isinstance(message.get(key), str):
                return cast(str, message[key]).lstrip("@")
    return ""


def _message_kind(message: Json) -> str:
    return "system" if _role(message) in ("system", "developer") else "message"
