"""A chat stream put together: ``chat.completion.chunk`` objects to one ``chat.completion``."""

from __future__ import annotations

from typing import cast

from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import mapping, mappings, text
from agentdbg.recording.stream_texts import GrowingTexts, JsonObject, index_of


class ChatStream:
    """The chunks of a chat, put together choice by choice. ``closed``: the closing ``[DONE]`` was seen."""

    _DEPTH = 8
    _LABELS = frozenset(("role", "type", "id", "index", "format", "signature"))

    def __init__(self) -> None:
        self.closed = False
        self._head: JsonObject = {}
        self._choices: dict[int, JsonObject] = {}
        self._lists: dict[int, tuple[list[Json], dict[object, JsonObject]]] = {}
        self._texts = GrowingTexts()

    def has_content(self, data: JsonObject) -> bool:
        return bool(data.get("choices"))

    def feed(self, kind: str, data: JsonObject) -> None:
        for member, value in data.items():
            if member == "choices":
                for position, choice in enumerate(mappings(value)):
                    self._choice(index_of(choice.get("index"), position), choice)
            elif member == "object" and isinstance(value, str):
                self._head[member] = value.removesuffix(".chunk")
            elif member not in ("obfuscation", "error") and (value is not None or member not in self._head):
                self._head[member] = value

    def output(self, *, ended: bool) -> tuple[Json, list[str]]:
        if not self._head and not self._choices:
            return None, ["the stream brought no answer"]
        self._texts.join()
        chosen = [self._choices[index] for index in sorted(self._choices)]
        output = {**self._head, "choices": cast("Json", chosen)}
        open_choices = [choice["index"] for choice in chosen if not choice.get("finish_reason")]
        if ended and chosen and not open_choices:
            self.closed = True
        missing = [f"choice {index} has no finish reason" for index in open_choices]
        if not self.closed:
            missing.append("the end of the stream ([DONE]) was not received")
        return output, missing

    def _choice(self, index: int, piece: JsonObject) -> None:
        choice = self._choices.setdefault(index, {"index": index, "message": {}, "finish_reason": None})
        for member, value in piece.items():
            if member == "delta":
                self._merge(mapping(choice["message"]), mapping(value), 0)
            elif member == "message" and isinstance(value, dict):
                choice["message"] = {**mapping(choice["message"]), **value}
            elif member == "text":
                self._texts.add(choice, member, value)
            elif member == "logprobs" and isinstance(value, dict):
                self._logprobs(choice, value)
            elif member != "index" and (value is not None or member not in choice):
                choice[member] = value

    @staticmethod
    def _logprobs(choice: JsonObject, piece: JsonObject) -> None:
        whole = choice.get("logprobs")
        if not isinstance(whole, dict):
            choice["logprobs"] = whole = {}
        for member, value in piece.items():
            known = whole.get(member)
            if isinstance(value, list):
                whole[member] = [*known, *value] if isinstance(known, list) else list(value)
            elif value is not None or member not in whole:
                whole[member] = value

    def _merge(self, whole: JsonObject, delta: JsonObject, depth: int) -> None:
        for member, value in delta.items():
            known = whole.get(member)
            if isinstance(value, str):
                self._string(whole, member, value)
            elif isinstance(value, dict) and depth < self._DEPTH:
                if not isinstance(known, dict):
                    known = {}
                    self._texts.put(whole, member, known)
                self._merge(known, value, depth + 1)
            elif isinstance(value, list) and depth < self._DEPTH:
                self._list(whole, member, value, depth + 1)
            elif value is not None or member not in whole:
                self._texts.put(whole, member, value)

    def _string(self, whole: JsonObject, member: str, value: str) -> None:
        """Labels are set, not grown; a name that is sent again whole is not doubled either."""
        if member in self._LABELS or (member == "name" and self._is_label(whole, value)):
            if value or member not in whole:
                whole[member] = value
        else:
            self._texts.add(whole, member, value)

    def _is_label(self, holder: JsonObject, name: str) -> bool:
        return not self._texts.grows(holder, "name") and holder.get("name") in (None, "", name)

    def _list(self, whole: JsonObject, member: str, pieces: list[Json], depth: int) -> None:
        known = whole.get(member)
        if not isinstance(known, list):
            known = []
            self._texts.put(whole, member, known)
        entries = self._lists.setdefault(id(known), (known, {}))[1]
        is_calls = member == "tool_calls"
        for piece in pieces:
            if not isinstance(piece, dict) or not (is_calls or "index" in piece):
                known.append(piece)
                continue
            entry = self._entry(entries, piece, is_calls=is_calls)
            if not any(item is entry for item in known):
                known.append(entry)
            self._merge(entry, {k: v for k, v in piece.items() if not (is_calls and k == "index")}, depth)

    def _entry(self, entries: dict[object, JsonObject], piece: JsonObject, *, is_calls: bool) -> JsonObject:
        """The entry that ``piece`` continues, or a new one.

        By index; a call without index by its id, else it continues the last. A named call with another id under an
        index in use is a call of its own.
        """
        key: object = index_of(piece.get("index"), -1)
        identity = text(piece.get("id"))
        if is_calls and key == -1:
            key = identity if identity else next(reversed(entries), 0)
        known = entries.get(key)
        if is_calls and known is not None and identity and known.get("id") not in (None, identity):
            named = text(mapping(piece.get("function")).get("name")) or text(mapping(piece.get("custom")).get("name"))
            known = None if named else known
        if known is None:
            known = entries[key] = {}
        return known
