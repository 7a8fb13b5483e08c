"""Where the running text is in the stream events of Gemini, Ollama, Cohere and Bedrock converse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeAlias

from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import (
    COHERE,
    CONVERSE,
    GEMINI,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    mapping,
    mappings,
    text,
)

Channel: TypeAlias = tuple[str, dict[str, Json], str]
"""Name of a channel, the object that holds a piece of its text, and the member under which it does."""


def spelled_out(data: dict[str, Json]) -> Iterator[tuple[dict[str, Json], str]]:
    """What repeats the text token by token: its holders and the members that have to be emptied."""
    for candidate in mappings(data.get("candidates")):
        result = mapping(candidate.get("logprobsResult"))
        yield from ((result, member) for member in ("chosenCandidates", "topCandidates") if result.get(member))
    if data.get("logprobs"):
        yield data, "logprobs"


def count_of(holder: dict[str, Json], member: str, default: int) -> int:
    """An index, ``default`` where there is none."""
    value = holder.get(member)
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _gemini(_: str, data: dict[str, Json]) -> Iterator[Channel]:
    for position, candidate in enumerate(mappings(data.get("candidates"))):
        name = f"candidates.{count_of(candidate, 'index', position)}"
        for part in mappings(mapping(candidate.get("content")).get("parts")):
            yield from _texts(f"{name}.{'thought' if part.get('thought') else 'text'}", part, "text")
            yield from _texts(f"{name}.code", mapping(part.get("executableCode")), "code")
            yield from _texts(f"{name}.output", mapping(part.get("codeExecutionResult")), "output")
            for piece in mappings(mapping(part.get("functionCall")).get("partialArgs")):
                yield from _texts(f"{name}.args.{text(piece.get('jsonPath')) or ''}", piece, "stringValue")


def _ollama(_: str, data: dict[str, Json]) -> Iterator[Channel]:
    message = mapping(data.get("message"))
    for holder, member in ((message, "thinking"), (message, "content"), (data, "thinking"), (data, "response")):
        yield from _texts(member, holder, member)


def _cohere(kind: str, data: dict[str, Json]) -> Iterator[Channel]:
    place = count_of(data, "index", 0)
    message = mapping(mapping(data.get("delta")).get("message"))
    if kind.startswith("tool-call"):
        yield from _texts(f"call.{place}", mapping(mapping(message.get("tool_calls")).get("function")), "arguments")
    elif kind == "tool-plan-delta":
        yield from _texts("tool_plan", message, "tool_plan")
    elif kind in ("content-start", "content-delta"):
        content = mapping(message.get("content"))
        yield from _texts(f"content.{place}.text", content, "text")
        yield from _texts(f"content.{place}.thinking", content, "thinking")


def _converse(_: str, data: dict[str, Json]) -> Iterator[Channel]:
    place = count_of(data, "contentBlockIndex", 0)
    delta = mapping(data.get("delta"))
    yield from _texts(f"block.{place}.text", delta, "text")
    yield from _texts(f"block.{place}.input", mapping(delta.get("toolUse")), "input")
    yield from _texts(f"block.{place}.reasoning", mapping(delta.get("reasoningContent")), "text")
    for position, result in enumerate(mappings(delta.get("toolResult"))):
        yield from _texts(f"block.{place}.result.{position}", result, "text")


def _texts(name: str, holder: dict[str, Json], member: str) -> Iterator[Channel]:
    if isinstance(holder.get(member), str):
        yield name, holder, member


CHANNELS: dict[str, Callable[[str, dict[str, Json]], Iterator[Channel]]] = {
    GEMINI: _gemini,
    OLLAMA_CHAT: _ollama,
    OLLAMA_GENERATE: _ollama,
    COHERE: _cohere,
    CONVERSE: _converse,
}
"""By shape: the pieces in one event, given its name and its data."""
