"""A Gemini stream put together: responses that each carry the next parts to one response."""

from __future__ import annotations

from typing import cast

from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import mapping, mappings
from agentdbg.recording.stream_texts import GrowingTexts, JsonObject, index_of, update


class GeminiStream:
    """Candidates and their parts. ``closed``: every candidate has a reason to be finished, or the prompt is blocked."""

    def __init__(self) -> None:
        self.closed = False
        self._head: JsonObject = {}
        self._candidates: dict[int, JsonObject] = {}
        self._parts: dict[int, list[JsonObject]] = {}
        self._texts = GrowingTexts()

    def has_content(self, data: JsonObject) -> bool:
        return bool(data.get("candidates"))

    def feed(self, kind: str, data: JsonObject) -> None:
        for member, value in data.items():
            if member == "candidates":
                for position, candidate in enumerate(mappings(value)):
                    self._candidate(index_of(candidate.get("index"), position), candidate)
            elif member != "error" and (value is not None or member not in self._head):
                self._head[member] = value
        blocked = mapping(self._head.get("promptFeedback")).get("blockReason")
        finished = [candidate.get("finishReason") for candidate in self._candidates.values()]
        self.closed = bool(blocked) or (bool(finished) and all(finished))

    def output(self, *, ended: bool) -> tuple[Json, list[str]]:
        if not self._head and not self._candidates:
            return None, ["the stream brought no answer"]
        self._texts.join()
        for index, parts in self._parts.items():
            content = self._candidates[index].setdefault("content", {})
            mapping(content)["parts"] = cast("Json", parts)
        chosen = [self._candidates[index] for index in sorted(self._candidates)]
        output = {"candidates": cast("Json", chosen), **self._head} if chosen else dict(self._head)
        if self.closed:
            return output, []
        missing = [f"candidate {i} has no finish reason" for i, one in self._candidates.items() if not _reason(one)]
        return output, missing or ["no candidate was received"]

    def _candidate(self, index: int, piece: JsonObject) -> None:
        whole = self._candidates.setdefault(index, {})
        for member, value in piece.items():
            if member != "content" or not isinstance(value, dict):
                update(whole, {member: value})
                continue
            content = whole.setdefault("content", {})
            if not isinstance(content, dict):
                content = whole["content"] = {}
            update(content, {k: v for k, v in value.items() if k != "parts"})
            for part in mappings(value.get("parts")):
                self._part(self._parts.setdefault(index, []), part)

    def _part(self, parts: list[JsonObject], part: JsonObject) -> None:
        """Append a part; a text goes on with the text before it when it is of the same sort."""
        last = parts[-1] if parts else None
        text = part.get("text")
        if last is not None and isinstance(text, str) and _continues(last, part):
            self._texts.add(last, "text", text)
            update(last, {member: value for member, value in part.items() if member != "text"})
            return
        parts.append(dict(part))


def _continues(last: JsonObject, part: JsonObject) -> bool:
    return isinstance(last.get("text"), str) and bool(last.get("thought")) == bool(part.get("thought"))


def _reason(candidate: JsonObject) -> bool:
    return bool(candidate.get("finishReason"))
