"""A model input as segments: parameters, each tool schema, each system text, each message."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
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
    """Cut the request of a model call into segments, whatever provider it is for.

    The first segment is the request itself with the lists taken out and their places marked, so that ``join_request``
    gives the request back. Texts and documents that stand outside the messages are named ``@…``.
    """
    cut = _Cut()
    shape: dict[str, Json] = {}
    for key, value in body.items():
        if isinstance(value, dict) and PLACE in value:
            shape[key] = {PLACE: "literal", "value": value}
        else:
            shape[key] = cut.take(key, value)
    return [Part("parameters", "", shape), *cut.tools, *cut.system, *cut.documents, *cut.messages]


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
        mark = value if isinstance(value, dict) else {}
        place = mark.get(PLACE)
        if place == "literal":
            body[key] = mark.get("value")
        elif place == "tools":
            body[key] = tools
        elif place == "tool_groups":
            body[key] = _grouped(mark.get("groups"), tools)
        elif place == "tool_config":
            config = mark.get("value")
            body[key] = (
                {k: tools if k == "tools" else v for k, v in config.items()} if isinstance(config, dict) else None
            )
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


_SYSTEM = frozenset(("system", "instructions", "systemInstruction", "system_instruction"))
_MESSAGES = frozenset(("messages", "input", "contents"))
_DECLARATIONS = ("functionDeclarations", "function_declarations")


class _Cut:
    """What has been taken out of a request so far. Only one list of messages and one of tools is cut."""

    def __init__(self) -> None:
        self.tools: list[Part] = []
        self.system: list[Part] = []
        self.documents: list[Part] = []
        self.messages: list[Part] = []
        self._taken: set[str] = set()

    def take(self, key: str, value: Json) -> Json:
        """Cut a member of the request; returns what stands in its place."""
        if key in _SYSTEM and isinstance(value, str | list | dict):
            return self._outside(self.system, "system", key, value)
        if key == "documents" and isinstance(value, list):
            return self._outside(self.documents, "retrieved", key, value)
        if key == "prompt" and isinstance(value, str):
            return self._outside(self.documents, "message", key, value)
        if key in _MESSAGES and isinstance(value, list) and self._first("messages"):
            default = "user" if key == "contents" else ""
            self.messages = [Part(_message_kind(item), _role(item) or default, item) for item in value]
            return {PLACE: "messages"}
        if key == "tools" and isinstance(value, list) and self._first("tools"):
            return self._tools(value)
        if key == "toolConfig" and isinstance(value, dict):
            inner = value.get("tools")
            if isinstance(inner, list) and self._first("tools"):
                self.tools = [Part("tool_schema", _tool_name(tool), tool) for tool in inner]
                return {PLACE: "tool_config", "value": {**value, "tools": None}}
        return value

    def _first(self, what: str) -> bool:
        first = what not in self._taken
        self._taken.add(what)
        return first

    @staticmethod
    def _outside(parts: list[Part], kind: str, key: str, value: Json) -> Json:
        if isinstance(value, list):
            parts += [Part(kind, f"@{key}[{i}]", item) for i, item in enumerate(value)]
            return {PLACE: f"@{key}[]"}
        parts.append(Part(kind, f"@{key}", value))
        return {PLACE: f"@{key}"}

    def _tools(self, tools: list[Json]) -> Json:
        """Each tool, also where several functions are declared in one."""
        groups = [_group(tool) for tool in tools]
        for tool, group in zip(tools, groups, strict=True):
            declared = _declared(tool) if group is not None else [tool]
            self.tools += [Part("tool_schema", _tool_name(one), one) for one in declared]
        if all(group is None for group in groups):
            return {PLACE: "tools"}
        return {PLACE: "tool_groups", "groups": cast("list[Json]", groups)}


def _group(tool: Json) -> dict[str, Json] | None:
    """A tool with the number of its functions in the place of their declarations; ``None`` if it declares none."""
    declared = [tool[member] for member in _DECLARATIONS if member in tool] if isinstance(tool, dict) else []
    if not isinstance(tool, dict) or len(declared) != 1 or not isinstance(declared[0], list):
        return None
    return {k: len(v) if k in _DECLARATIONS and isinstance(v, list) else v for k, v in tool.items()}


def _declared(tool: Json) -> list[Json]:
    found = [tool.get(member) for member in _DECLARATIONS] if isinstance(tool, dict) else []
    return next((value for value in found if isinstance(value, list)), [])


def _grouped(groups: Json, tools: Sequence[Json]) -> list[Json]:
    left = iter(tools)
    found: list[Json] = []
    for group in groups if isinstance(groups, list) else ():
        if not isinstance(group, dict):
            found.append(next(left, None))
            continue
        found.append(
            {k: list(islice(left, v)) if k in _DECLARATIONS and isinstance(v, int) else v for k, v in group.items()}
        )
    return found


def _tool_name(tool: Json) -> str:
    if isinstance(tool, dict):
        for holder in (tool.get("function"), tool.get("toolSpec"), tool):
            if isinstance(holder, dict) and isinstance(holder.get("name"), str):
                return cast(str, holder["name"])
        if isinstance(tool.get("type"), str):
            return cast(str, tool["type"])
        if len(tool) == 1:
            return next(iter(tool)).lstrip("@")
    return ""


def _role(message: Json) -> str:
    if isinstance(message, dict):
        for key in ("role", "type"):
            if isinstance(message.get(key), str):
                return cast(str, message[key]).lstrip("@")
    return ""


def _message_kind(message: Json) -> str:
    return "system" if _role(message) in ("system", "developer") else "message"
