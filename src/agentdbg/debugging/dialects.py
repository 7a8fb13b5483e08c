"""Reads messages and outputs of the big model APIs into one readable shape; the unknown is left alone."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from agentdbg.model.canonical import dumps_json
from agentdbg.model.records import Json


@dataclass(frozen=True, slots=True)
class ToolRequest:
    """A tool call that a model asked for: name, call id, and arguments as JSON text."""

    name: str
    call_id: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Spoken:
    """A message or an output, assembled: text, reasoning, tool calls, why it stopped."""

    text: str = ""
    reasoning: str = ""
    tools: tuple[ToolRequest, ...] = ()
    stop: str = ""
    model: str = ""
    usage: Mapping[str, Json] = field(default_factory=dict)
    others: tuple[str, ...] = ()


def read_message(value: Json) -> Spoken | None:
    """One message of a model input; ``None`` where its shape is unknown."""
    if isinstance(value, str):
        return Spoken(text=value)
    if not isinstance(value, dict):
        return None
    if "content" in value or "tool_calls" in value:
        gathered = _Gathered()
        gathered.take_content(value.get("content"))
        gathered.take_tool_calls(value.get("tool_calls"))
        return gathered.spoken()
    gathered = _Gathered()
    return gathered.spoken() if gathered.take_item(value) else None


def read_output(value: Json) -> Spoken | None:
    """A model's complete output, streamed or not; ``None`` where its shape is unknown."""
    if isinstance(value, list):
        return _read_stream(value)
    if not isinstance(value, dict):
        return Spoken(text=value) if isinstance(value, str) else None
    for wrapper in ("body", "response", "json", "events", "stream"):
        if wrapper in value and not _is_output(value):
            return read_output(value[wrapper])
    return _read_whole(value) if _is_output(value) else None


def _is_output(value: Mapping[str, Json]) -> bool:
    return any(isinstance(value.get(key), list) for key in ("choices", "output", "content"))


def _read_whole(value: dict[str, Json]) -> Spoken:
    gathered = _Gathered()
    gathered.take_envelope(value)
    choices, output, content = value.get("choices"), value.get("output"), value.get("content")
    if isinstance(choices, list):
        for choice in choices:
            if isinstance(choice, dict):
                gathered.stop = _text(choice.get("finish_reason")) or gathered.stop
                message = choice.get("message")
                if isinstance(message, dict):
                    gathered.take_chat(message)
                elif "text" in choice:
                    gathered.text.append(_text(choice.get("text")))
    elif isinstance(output, list):
        gathered.take_content(output)
    else:
        gathered.take_content(content)
    return gathered.spoken()


def _read_stream(events: list[Json]) -> Spoken | None:
    gathered = _Gathered()
    known = False
    for entry in events:
        event = entry[1] if isinstance(entry, list) and len(entry) == 2 else entry
        if isinstance(event, dict) and isinstance(event.get("data"), dict):
            event = event["data"]
        if isinstance(event, dict):
            known = gathered.take_event(event) or known
    return gathered.spoken() if known else None


class _Gathered:
    """Collects the pieces of a message, in whatever order they come."""

    def __init__(self) -> None:
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.calls: dict[object, list[str]] = {}
        self.others: list[str] = []
        self.stop = ""
        self.model = ""
        self.usage: Mapping[str, Json] = {}

    def spoken(self) -> Spoken:
        tools = tuple(ToolRequest(name, call_id, arguments) for name, call_id, arguments in self.calls.values())
        return Spoken(
            "".join(self.text), "".join(self.reasoning), tools, self.stop, self.model, self.usage, tuple(self.others)
        )

    def take_envelope(self, value: Mapping[str, Json]) -> None:
        self.model = _text(value.get("model")) or self.model
        self.stop = _text(value.get("stop_reason")) or _text(value.get("status")) or self.stop
        usage = value.get("usage")
        if isinstance(usage, dict):
            self.usage = {**self.usage, **usage}

    def take_chat(self, message: Mapping[str, Json]) -> None:
        self.take_content(message.get("content"))
        for key in ("reasoning", "reasoning_content", "refusal"):
            self.reasoning.append(_text(message.get(key)))
        self.take_tool_calls(message.get("tool_calls"))

    def take_content(self, content: Json) -> None:
        if isinstance(content, str):
            self.text.append(content)
        for item in content if isinstance(content, list) else ():
            if isinstance(item, str):
                self.text.append(item)
            elif isinstance(item, dict) and not self.take_item(item):
                self.others.append(_text(item.get("type")) or "part")

    def take_item(self, item: Mapping[str, Json]) -> bool:
        kind = _text(item.get("type"))
        if kind in ("text", "output_text", "input_text"):
            self.text.append(_text(item.get("text")))
        elif kind in ("thinking", "reasoning"):
            self.reasoning.append(_text(item.get("thinking")) or _joined(item.get("summary")))
        elif kind in ("tool_use", "function_call"):
            arguments = item.get("input", item.get("arguments"))
            self._call(
                len(self.calls), _text(item.get("name")), _text(item.get("call_id") or item.get("id")), arguments
            )
        elif kind == "tool_result":
            self.take_content(item.get("content"))
        elif kind == "function_call_output":
            self.text.append(_text(item.get("output")))
        elif kind == "message" or (not kind and "content" in item):
            self.take_content(item.get("content"))
        else:
            return False
        return True

    def take_tool_calls(self, calls: Json) -> None:
        for index, call in enumerate(calls if isinstance(calls, list) else ()):
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(call, dict) and isinstance(function, dict):
                key = call.get("index", index)
                self._call(key, _text(function.get("name")), _text(call.get("id")), function.get("arguments"))

    def take_event(self, event: Mapping[str, Json]) -> bool:
        """One event of a stream; ``False`` where it says nothing that is known."""
        kind = _text(event.get("type"))
        delta = event.get("delta")
        if isinstance(event.get("choices"), list):
            self.take_envelope(event)
            self._take_chat_chunk(event["choices"])
        elif kind == "response.output_text.delta":
            self.text.append(_text(delta))
        elif kind in ("response.completed", "response.incomplete", "response.failed"):
            self._take_response(event.get("response"))
        elif kind == "message_start" and isinstance(event.get("message"), dict):
            message = event["message"]
            if isinstance(message, dict):
                self.take_envelope(message)
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            self._take_block(event.get("index"), event["content_block"])
        elif kind in ("content_block_delta", "message_delta") and isinstance(delta, dict):
            self._take_delta(event.get("index"), delta)
            self.take_envelope({**delta, "usage": event.get("usage")})
        else:
            return kind.startswith(("response.", "message_", "content_block"))
        return True

    def _take_chat_chunk(self, choices: Json) -> None:
        for choice in choices if isinstance(choices, list) else ():
            if isinstance(choice, dict):
                self.stop = _text(choice.get("finish_reason")) or self.stop
                if isinstance(choice.get("delta"), dict):
                    delta = choice["delta"]
                    self.take_chat(delta if isinstance(delta, dict) else {})

    def _take_response(self, response: Json) -> None:
        if isinstance(response, dict):
            whole = _read_whole(response) if isinstance(response.get("output"), list) else Spoken()
            self.take_envelope(response)
            if not "".join(self.text):
                self.text.append(whole.text)
            for tool in whole.tools:
                self._call(tool.call_id, tool.name, tool.call_id, tool.arguments)

    def _take_block(self, index: Json, block: Json) -> None:
        if isinstance(block, dict) and block.get("type") == "tool_use":
            self._call(index, _text(block.get("name")), _text(block.get("id")), "")
        elif isinstance(block, dict):
            self.take_item(block)

    def _take_delta(self, index: Json, delta: Mapping[str, Json]) -> None:
        self.text.append(_text(delta.get("text")))
        self.reasoning.append(_text(delta.get("thinking")))
        if "partial_json" in delta:
            self._call(index, "", "", delta["partial_json"])

    def _call(self, key: Json, name: str, call_id: str, arguments: Json) -> None:
        held = self.calls.setdefault(str(key), ["", "", ""])
        held[0] += name
        held[1] = call_id or held[1]
        held[2] += arguments if isinstance(arguments, str) else "" if arguments is None else dumps_json(arguments)


def _text(value: Json) -> str:
    return value if isinstance(value, str) else ""


def _joined(value: Json) -> str:
    parts: Iterable[Json] = value if isinstance(value, list) else ()
    return "\n".join(_text(part.get("text")) for part in parts if isinstance(part, dict))
