"""An Anthropic message stream put together to one message."""

from __future__ import annotations

from typing import cast

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import mapping, mappings, text
from agentdbg.recording.stream_texts import GrowingTexts, JsonObject, index_of, update


class MessageStream:
    """A message, its blocks, their deltas. ``closed``: ``message_stop`` was seen."""

    def __init__(self) -> None:
        self.closed = False
        self._message: JsonObject | None = None
        self._blocks: dict[int, JsonObject] = {}
        self._inputs: dict[int, list[str]] = {}
        self._finished: set[int] = set()
        self._texts = GrowingTexts()

    def has_content(self, data: JsonObject) -> bool:
        return False

    def feed(self, kind: str, data: JsonObject) -> None:
        index = index_of(data.get("index"), 0)
        if kind == "message_start":
            message = mapping(data.get("message"))
            self._message = {**message, "usage": dict(mapping(message.get("usage")))}
            self._blocks = {n: dict(block) for n, block in enumerate(mappings(message.get("content")))}
            self._inputs.clear()
        elif kind == "content_block_start":
            self._blocks[index] = dict(mapping(data.get("content_block")))
            self._inputs.pop(index, None)
            self._fall_back(self._blocks[index])
        elif kind == "content_block_delta":
            self._delta(index, mapping(data.get("delta")))
        elif kind == "content_block_stop":
            self._finished.add(index)
        elif kind == "message_delta":
            self._message_delta(data)
        elif kind == "message_stop":
            self.closed = True

    def output(self, *, ended: bool) -> tuple[Json, list[str]]:
        missing: list[str] = []
        if self._message is None:
            if not self._blocks:
                return None, ["the stream brought no message"]
            missing.append("the start of the stream (message_start) was not received")
        self._texts.join()
        for index, pieces in self._inputs.items():
            pieces[:] = ["".join(pieces)]
            if not self._read_input(self._blocks[index], pieces[0]):
                missing.append(f"the input of content block {index} is cut off")
        if not self.closed:
            unfinished = sorted(self._blocks.keys() - self._finished)
            missing += [f"content block {index} is not finished" for index in unfinished]
            missing.append("the end of the stream (message_stop) was not received")
        blocks = [self._blocks[index] for index in sorted(self._blocks)]
        head = self._message or {"type": "message", "role": "assistant"}
        return {**head, "content": cast("Json", blocks)}, missing

    def _fall_back(self, block: JsonObject) -> None:
        """Another model took over: it is the one that answered."""
        if block.get("type") == "fallback" and self._message is not None:
            model = text(mapping(block.get("to")).get("model"))
            if model:
                self._message["model"] = model

    def _delta(self, index: int, delta: JsonObject) -> None:
        kind = delta.get("type")
        block = self._blocks.setdefault(index, {})
        for member, value in delta.items():
            if member == "partial_json" and isinstance(value, str):
                self._inputs.setdefault(index, []).append(value)
            elif kind == "citations_delta" and member == "citation":
                known = block.get("citations")
                block["citations"] = [*known, value] if isinstance(known, list) else [value]
            elif kind in ("signature_delta", "compaction_delta") and member != "type":
                block[member] = value
            elif isinstance(value, str) and member != "type":
                self._texts.add(block, member, value)
            elif member not in ("type", "estimated_tokens"):
                block[member] = value

    def _message_delta(self, data: JsonObject) -> None:
        if self._message is None:
            self._message = {"type": "message", "role": "assistant", "usage": {}}
        update(self._message, mapping(data.get("delta")))
        usage = self._message["usage"]
        if isinstance(usage, dict):
            update(usage, mapping(data.get("usage")))
        update(self._message, {k: v for k, v in data.items() if k not in ("type", "delta", "usage", "index")})

    @staticmethod
    def _read_input(block: JsonObject, raw: str) -> bool:
        """Set the input of a tool; what is cut off stays beside it as text."""
        block.pop("partial_json", None)
        if not raw:
            return True
        try:
            block["input"] = loads_json(raw)
        except ValueError:
            block["partial_json"] = raw
            return False
        return True
