"""An Ollama stream put together: one line after the other to the object that it would send in one piece."""

from __future__ import annotations

from agentdbg.model.records import Json
from agentdbg.recording.stream_texts import GrowingTexts, JsonObject, update

_GROWING = ("content", "thinking", "response")
_LISTS = ("tool_calls", "logprobs", "images")


class OllamaStream:
    """A chat's message or a generated text, growing. ``closed``: the line that says ``done`` was seen."""

    def __init__(self) -> None:
        self.closed = False
        self._whole: JsonObject = {}
        self._texts = GrowingTexts()

    def has_content(self, data: JsonObject) -> bool:
        return False

    def feed(self, kind: str, data: JsonObject) -> None:
        self._merge(self._whole, data)
        self.closed = self.closed or data.get("done") is True

    def output(self, *, ended: bool) -> tuple[Json, list[str]]:
        if not self._whole:
            return None, ["the stream brought no answer"]
        self._texts.join()
        return self._whole, [] if self.closed else ["the end of the stream (done) was not received"]

    def _merge(self, whole: JsonObject, piece: JsonObject) -> None:
        for member, value in piece.items():
            known = whole.get(member)
            if member in _GROWING and isinstance(value, str):
                self._texts.add(whole, member, value)
            elif member in _LISTS and isinstance(value, list):
                whole[member] = [*known, *value] if isinstance(known, list) else list(value)
            elif member == "message" and isinstance(value, dict):
                if not isinstance(known, dict):
                    known = whole[member] = {}
                self._merge(known, value)
            else:
                update(whole, {member: value})
