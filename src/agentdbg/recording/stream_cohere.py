"""A Cohere chat stream put together to one response."""

from __future__ import annotations

from typing import cast

from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import mapping
from agentdbg.recording.stream_texts import GrowingTexts, JsonObject, index_of, update


class CohereStream:
    """A message's contents, tool calls, plan and citations. ``closed``: ``message-end`` was seen."""

    def __init__(self) -> None:
        self.closed = False
        self._head: JsonObject = {}
        self._message: JsonObject = {}
        self._lists: dict[str, dict[int, JsonObject]] = {"content": {}, "tool-call": {}, "citation": {}}
        self._texts = GrowingTexts()

    def has_content(self, data: JsonObject) -> bool:
        return False

    def feed(self, kind: str, data: JsonObject) -> None:
        delta = mapping(data.get("delta"))
        message = mapping(delta.get("message"))
        what, _, phase = kind.rpartition("-")
        index = index_of(data.get("index"), 0)
        if kind == "message-start":
            update(self._head, {"id": data.get("id")})
            update(self._message, {"role": message.get("role", "assistant")})
        elif kind == "message-end":
            self.closed = True
            update(self._head, {"id": data["id"]} if data.get("id") else {})
            update(self._head, delta)
        elif kind == "tool-plan-delta":
            self._texts.add(self._message, "tool_plan", message.get("tool_plan"))
        elif what in self._lists and phase in ("start", "delta"):
            member = {"content": "content", "tool-call": "tool_calls", "citation": "citations"}[what]
            self._grow(self._lists[what].setdefault(index, {}), mapping(message.get(member)), 0)
            if data.get("logprobs"):
                known = self._head.get("logprobs")
                self._head["logprobs"] = [*(known if isinstance(known, list) else []), data["logprobs"]]

    def output(self, *, ended: bool) -> tuple[Json, list[str]]:
        if not self._head and not self._message and not any(self._lists.values()):
            return None, ["the stream brought no message"]
        self._texts.join()
        for what, member in (("tool-call", "tool_calls"), ("content", "content"), ("citation", "citations")):
            if self._lists[what]:
                items = self._lists[what]
                self._message[member] = cast("Json", [items[index] for index in sorted(items)])
        output: JsonObject = {**self._head, "message": self._message}
        return output, [] if self.closed else ["the end of the stream (message-end) was not received"]

    def _grow(self, whole: JsonObject, piece: JsonObject, depth: int) -> None:
        for member, value in piece.items():
            known = whole.get(member)
            if isinstance(value, str) and member in ("text", "thinking", "arguments"):
                self._texts.add(whole, member, value)
            elif isinstance(value, dict) and depth < 2:
                if not isinstance(known, dict):
                    known = whole[member] = {}
                self._grow(known, value, depth + 1)
            else:
                update(whole, {member: value})
