"""An OpenAI Responses stream put together: its last event carries all, else the others are put together."""

from __future__ import annotations

from typing import cast

from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import mapping, mappings, text
from agentdbg.recording.stream_texts import GrowingTexts, JsonObject, index_of

_PARTS = {"output_text": "text", "text": "text", "refusal": "refusal", "reasoning_text": "text"}
_MEMBERS = {
    "function_call_arguments": "arguments",
    "mcp_call_arguments": "arguments",
    "mcp_call.arguments": "arguments",
    "custom_tool_call_input": "input",
    "code_interpreter_call_code": "code",
    "code_interpreter_call.code": "code",
}


class ResponseStream:
    """Typed events about output items. ``closed``: the event that carries the final response was seen."""

    def __init__(self) -> None:
        self.closed = False
        self._head: JsonObject = {}
        self._items: dict[int, JsonObject] = {}
        self._places: dict[str | None, int] = {}
        self._parts: dict[tuple[int, str], dict[int, JsonObject]] = {}
        self._commands: dict[int, JsonObject] = {}
        self._texts = GrowingTexts()

    def has_content(self, data: JsonObject) -> bool:
        return isinstance(data.get("response"), dict)

    def feed(self, kind: str, data: JsonObject) -> None:
        name = kind.removeprefix("response.")
        if isinstance(data.get("response"), dict):
            self._head = dict(mapping(data["response"]))
            self.closed = self.closed or name in ("completed", "incomplete", "failed", "cancelled")
            return
        place = self._place(data)
        if name in ("output_item.added", "output_item.done"):
            self._put_item(place, mapping(data.get("item")))
            return
        name, _, phase = name.rpartition(".")
        if name in ("content_part", "reasoning_summary_part"):
            self._put_part(place, name, data)
        elif name == "output_text.annotation":
            self._annotate(place, data)
        elif name == "shell_call_output_content":
            self._shell_output(place, data)
        elif phase in ("delta", "done", "added") and name:
            self._grow(place, name, data, whole=phase != "delta")

    def output(self, *, ended: bool) -> tuple[Json, list[str]]:
        items = self._join()
        if not self._head and not items:
            return None, ["the stream brought no response"]
        missing = [] if self.closed else ["the end of the stream (response.completed) was not received"]
        output: JsonObject = dict(self._head)
        if items and not (self.closed and output.get("output")):
            output["output"] = cast("Json", items)
            if self.closed:
                missing.append("the final response carries no output: it is rebuilt from the stream")
        elif not isinstance(output.get("output"), list):
            output["output"] = []
        return output, missing

    def _place(self, data: JsonObject) -> int:
        return index_of(data.get("output_index"), self._places.get(text(data.get("item_id")), 0))

    def _put_item(self, place: int, item: JsonObject) -> None:
        self._items[place] = dict(item)
        self._commands.pop(place, None)
        for key in [key for key in self._parts if key[0] == place]:
            del self._parts[key]
        item_id = text(item.get("id"))
        if item_id:
            self._places[item_id] = place

    def _part(self, place: int, member: str, index: Json, kind: str) -> JsonObject:
        """A part of one of an item's lists, made where it is not there yet."""
        item = self._items.setdefault(place, {})
        key = (place, member)
        if key not in self._parts:
            self._parts[key] = {n: dict(part) for n, part in enumerate(mappings(item.get(member)))}
        return self._parts[key].setdefault(index_of(index, 0), {"type": kind} if kind else {})

    def _put_part(self, place: int, name: str, data: JsonObject) -> None:
        summary = name == "reasoning_summary_part"
        index = data.get("summary_index" if summary else "content_index")
        part = self._part(place, "summary" if summary else "content", index, "")
        for member, value in mapping(data.get("part")).items():
            self._texts.put(part, member, value)

    def _annotate(self, place: int, data: JsonObject) -> None:
        part = self._part(place, "content", data.get("content_index"), "output_text")
        known = part.get("annotations")
        part["annotations"] = [*(known if isinstance(known, list) else []), data.get("annotation")]

    def _grow(self, place: int, name: str, data: JsonObject, *, whole: bool) -> None:
        target = self._target(place, name, data)
        if target is None:
            return
        holder, member = target
        if not whole:
            self._texts.add(holder, member, data.get("delta"))
        else:
            value = next((data[key] for key in (member, "text", "transcript", "command") if key in data), None)
            if value is not None:
                self._texts.put(holder, member, value)
        logprobs = data.get("logprobs")
        if isinstance(logprobs, list) and logprobs:
            known = holder.get("logprobs")
            holder["logprobs"] = [*known, *logprobs] if isinstance(known, list) and not whole else logprobs

    def _target(self, place: int, name: str, data: JsonObject) -> tuple[JsonObject, str] | None:
        """The object and member that an event about ``name`` writes to; ``None`` if the event names no item."""
        if name in _PARTS:
            kind = "output_text" if name == "text" else name
            return self._part(place, "content", data.get("content_index"), kind), _PARTS[name]
        if name in ("reasoning_summary_text", "reasoning_summary"):
            return self._part(place, "summary", data.get("summary_index"), "summary_text"), "text"
        if name in ("audio", "audio.transcript"):
            audio = self._head.setdefault("audio", {})
            return mapping(audio), "transcript" if name == "audio.transcript" else "data"
        if name == "shell_call_command":
            return self._commands.setdefault(place, {}), f"{index_of(data.get('command_index'), 0):09d}"
        if name not in _MEMBERS and "output_index" not in data and text(data.get("item_id")) not in self._places:
            return None
        return self._items.setdefault(place, {}), _MEMBERS.get(name, name)

    def _shell_output(self, place: int, data: JsonObject) -> None:
        part = self._part(place, "output", data.get("command_index"), "")
        for member, piece in mapping(data.get("delta")).items():
            self._texts.add(part, member, piece)
        for member, value in next(iter(mappings(data.get("output"))), {}).items():
            self._texts.put(part, member, value)

    def _join(self) -> list[JsonObject]:
        """The items with all that grew in them, in their order."""
        self._texts.join()
        for (place, member), parts in self._parts.items():
            self._items[place][member] = [parts[index] for index in sorted(parts)]
        for place, commands in self._commands.items():
            item = self._items.setdefault(place, {})
            item["action"] = {**mapping(item.get("action")), "commands": [commands[key] for key in sorted(commands)]}
        return [self._items[place] for place in sorted(self._items)]
