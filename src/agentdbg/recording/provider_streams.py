"""A stream put together: the object that the provider would have sent in one piece."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Protocol

from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import (
    COHERE,
    CONVERSE,
    GEMINI,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    RESPONSES,
    ModelResponse,
    text,
)
from agentdbg.recording.provider_responses import describe, error_text
from agentdbg.recording.stream_chat import ChatStream
from agentdbg.recording.stream_cohere import CohereStream
from agentdbg.recording.stream_converse import ConverseStream
from agentdbg.recording.stream_gemini import GeminiStream
from agentdbg.recording.stream_messages import MessageStream
from agentdbg.recording.stream_ollama import OllamaStream
from agentdbg.recording.stream_responses import ResponseStream
from agentdbg.recording.stream_texts import JsonObject

DONE = "[DONE]"
EXCEPTION = "exception:"
"""Begins the name of an event that is an exception of the service, not one of the model's."""


class Assembler:
    """Assembles the events of one model stream.

    ``feed`` takes events in their order and never changes them; ``result`` may be asked for at any time. Its output is
    live until the stream ends: encode or copy it before more is fed.
    """

    def __init__(self, provider: str) -> None:
        """Start with nothing.

        Args:
            provider: As ``recognise`` names it.
        """
        self._provider = provider
        self._shape = _MAKERS.get(provider, ChatStream)()
        self._error: str | None = None
        self._events = 0

    def feed(self, event_name: str | None, data: Json) -> None:
        """Take one event. The closing ``[DONE]`` is fed as that text; other data that is not an object is ignored."""
        if data == DONE:
            self._shape.closed = True
        if not isinstance(data, dict):
            return
        self._events += 1
        kind = text(data.get("type")) or event_name or ""
        if kind.startswith(EXCEPTION):
            said = text(data.get("message")) or text(data.get("Message")) or ""
            self._error = ": ".join(part for part in (kind.removeprefix(EXCEPTION), said) if part)
            return
        if kind == "error" or data.get("error"):
            self._error = error_text(data) or error_text({"error": data}) or self._error
            if kind == "error" or not self._shape.has_content(data):
                return
        self._shape.feed(kind, data)

    def result(self, *, ended: bool = False) -> ModelResponse:
        """What the events fed so far make.

        Args:
            ended: The body was read to its end. Some servers send no ``[DONE]``: a chat whose choices all have a
                finish reason is then complete.
        """
        if not self._events:
            return ModelResponse(None, complete=False, missing=("the stream brought no event",))
        output, missing = self._shape.output(ended=ended)
        if output is None:
            found = ModelResponse(None, complete=False, missing=tuple(missing))
        else:
            found = describe(self._provider, output)
        terminal = self._shape.closed and output is not None
        return replace(
            found,
            error=self._error or found.error,
            complete=terminal and self._error is None,
            missing=tuple(missing) if not terminal else (*found.missing, *missing),
        )


class _Shape(Protocol):
    """One provider's way to stream. ``closed``: the event that ends the stream was seen."""

    closed: bool

    def feed(self, kind: str, data: JsonObject) -> None: ...

    def has_content(self, data: JsonObject) -> bool: ...

    def output(self, *, ended: bool) -> tuple[Json, list[str]]: ...


_MAKERS: dict[str, Callable[[], _Shape]] = {
    RESPONSES: ResponseStream,
    MESSAGES: MessageStream,
    GEMINI: GeminiStream,
    OLLAMA_CHAT: OllamaStream,
    OLLAMA_GENERATE: OllamaStream,
    COHERE: CohereStream,
    CONVERSE: ConverseStream,
}
