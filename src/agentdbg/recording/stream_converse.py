"""A Bedrock converse stream put together: blocks and their deltas to one response."""

from __future__ import annotations

from typing import cast

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import mapping
from agentdbg.recording.stream_texts import GrowingTexts, JsonObject, index_of, update

_PADDING = "p"


class ConverseStream:
    """A message's blocks. ``closed``: ``messageStop`` was seen."""

    def __init__(self) -> None:
        self.closed = False
        self._head: JsonObject = {}
        self._role: Json = "assistant"
        self._blocks: dict[int, JsonObject] = {}
        self._inputs: dict[int, list[str]] = {}
        self._texts = GrowingTexts()
        self._events = 0

    def has_content(self, data: JsonObject) -> bool:
        return False

    def feed(self, kind: str, data: JsonObject) -> None:
        self._events += 1
        index = index_of(data.get("contentBlockIndex"), 0)
        if kind == "messageStart":
            self._role = data.get("role", self._role)
        elif kind == "contentBlockStart":
            for member, value in mapping(data.get("start")).items():
                self._blocks.setdefault(index, {})[member] = {**value} if isinstance(value, dict) else value
        elif kind == "contentBlockDelta":
            self._delta(index, mapping(data.get("delta")))
        elif kind == "messageStop":
            self.closed = True
            update(self._head, _without_padding(data))
        elif kind == "metadata":
            update(self._head, _without_padding(data))

    def output(self, *, ended: bool) -> tuple[Json, list[str]]:
        if not self._events:
            return None, ["the stream brought no message"]
        missing = [] if self.closed else ["the end of the stream (messageStop) was not received"]
        self._texts.join()
        for index, pieces in self._inputs.items():
            pieces[:] = ["".join(pieces)]
            if not self._read_input(self._blocks[index], pieces[0]):
                missing.append(f"the input of content block {index} is cut off")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        message: JsonObject = {"role": self._role, "content": cast("Json", blocks)}
        return {"output": {"message": message}, **self._head}, missing

    def _delta(self, index: int, delta: JsonObject) -> None:
        block = self._blocks.setdefault(index, {})
        for member, value in delta.items():
            piece = mapping(value)
            if member == "text":
                self._texts.add(block, "text", value)
            elif member == "toolUse":
                if not isinstance(block.get("toolUse"), dict):
                    block["toolUse"] = {}
                if isinstance(piece.get("input"), str):
                    self._inputs.setdefault(index, []).append(cast("str", piece["input"]))
            elif member == "reasoningContent":
                self._reasoning(block, piece)
            elif member in ("citation", "toolResult", "image"):
                known = block.get(member)
                block[member] = [*(known if isinstance(known, list) else []), value]
            else:
                block[member] = value

    def _reasoning(self, block: JsonObject, piece: JsonObject) -> None:
        reasoning = block.setdefault("reasoningContent", {})
        if not isinstance(reasoning, dict):
            reasoning = block["reasoningContent"] = {}
        if "redactedContent" in piece:
            reasoning["redactedContent"] = piece["redactedContent"]
        if piece.keys() & {"text", "signature"}:
            said = reasoning.setdefault("reasoningText", {})
            if isinstance(said, dict):
                self._texts.add(said, "text", piece.get("text"))
                self._texts.add(said, "signature", piece.get("signature"))

    @staticmethod
    def _read_input(block: JsonObject, raw: str) -> bool:
        """Set the input of a tool; what is cut off stays beside it as text."""
        call = block.get("toolUse")
        if not isinstance(call, dict):
            return True
        try:
            call["input"] = loads_json(raw) if raw else {}
        except ValueError:
            call["input"] = raw
            return False
        return True


def _without_padding(data: JsonObject) -> JsonObject:
    """Bedrock pads its events, so that their lengths say nothing."""
    return {member: value for member, value in data.items() if member != _PADDING}
