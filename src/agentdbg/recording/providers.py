"""Model calls on the wire: which requests are one, what they ask, and which part of their input stays on the server."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json
from agentdbg.recording.provider_channels import Channel, text_channels, token_copies
from agentdbg.recording.provider_responses import (
    CHAT,
    MESSAGES,
    RESPONSES,
    ModelResponse,
    mapping,
    mappings,
    read_response,
    text,
)
from agentdbg.recording.provider_streams import Assembler

__all__ = [
    "CHAT",
    "MESSAGES",
    "RESPONSES",
    "Assembler",
    "Channel",
    "ModelRequest",
    "ModelResponse",
    "read_response",
    "recognise",
    "text_channels",
    "token_copies",
]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model.

    Attributes:
        provider: ``openai.chat``, ``openai.responses`` or ``anthropic.messages``: the shape, whoever serves it.
        path: Path of the URL, without query.
        model: The model asked for; where the body names none, the deployment named in the path, else empty.
        body: The whole request, parsed.
        parameters: Its members that are neither conversation nor tools: temperature, seed, limits, ….
        stream: Whether it asks for a stream.
        absent: What the model sees or uses that is not in the request, in words.
    """

    provider: str
    path: str
    model: str
    body: dict[str, Json]
    parameters: dict[str, Json]
    stream: bool
    absent: tuple[str, ...]


def recognise(method: str, path: str, content_type: str, raw: bytes) -> ModelRequest | None:
    """Read a request as a model call; ``None`` if it is something else. Never raises.

    Args:
        method: HTTP method.
        path: Path of the URL under any base; a query or a whole URL is accepted.
        content_type: The request's ``Content-Type``, empty if it has none.
        raw: The request body, not compressed.
    """
    path = path.partition("?")[0].partition("#")[0]
    provider = _provider(path)
    if provider is None or method.upper() != "POST" or content_type.strip().lower().startswith(_FORMS):
        return None
    if not raw.lstrip(b" \t\r\n\xef\xbb\xbf").startswith(b"{"):
        return None
    try:
        body = loads_json(raw.removeprefix(b"\xef\xbb\xbf"))
    except ValueError:
        return None
    if not isinstance(body, dict) or not _SHAPES[provider](body):
        return None
    return ModelRequest(
        provider=provider,
        path=path,
        model=text(body.get("model")) or _deployment(path),
        body=body,
        parameters={key: value for key, value in body.items() if key not in _NO_PARAMETER},
        stream=body.get("stream") is True,
        absent=_absent(body),
    )


_SUFFIXES = (("/chat/completions", CHAT), ("/responses", RESPONSES), ("/messages", MESSAGES))
_FORMS = ("multipart/", "application/x-www-form-urlencoded")
_NO_PARAMETER = frozenset(
    ("messages", "input", "system", "instructions", "tools", "functions", "mcp_servers", "model", "stream")
)


def _provider(path: str) -> str | None:
    path = path.rstrip("/")
    return next((provider for suffix, provider in _SUFFIXES if path.endswith(suffix)), None)


def _is_chat(body: dict[str, Json]) -> bool:
    return isinstance(body.get("messages"), list)


def _is_responses(body: dict[str, Json]) -> bool:
    if isinstance(body.get("prompt"), dict):
        return True
    held = ("previous_response_id", "conversation")
    return isinstance(body.get("model"), str) and (
        isinstance(body.get("input"), str | list) or any(body.get(member) for member in held)
    )


def _is_messages(body: dict[str, Json]) -> bool:
    return isinstance(body.get("messages"), list) and isinstance(body.get("model"), str)


_SHAPES: dict[str, Callable[[dict[str, Json]], bool]] = {
    CHAT: _is_chat,
    RESPONSES: _is_responses,
    MESSAGES: _is_messages,
}


def _deployment(path: str) -> str:
    _, found, after = path.rpartition("/deployments/")
    return after.partition("/")[0] if found else ""


_HELD = {
    "previous_response_id": "earlier turns are on the server (previous_response_id)",
    "conversation": "the conversation's items are on the server (conversation)",
    "thread": "the thread's messages are on the server (thread)",
    "prompt": "the prompt template is on the server (prompt)",
    "container": "the container's files and skills are on the server (container)",
    "cached_content": "part of the input is in the server's cache (cached_content)",
    "context_management": "the server may compact or drop earlier input (context_management)",
    "background": "the answer is made in the background and fetched later (background)",
    "mcp_servers": "tools of remote MCP servers are listed and run by the provider (mcp_servers)",
    "web_search_options": "web search is run by the provider, what it finds is not recorded (web_search_options)",
    "search_parameters": "web search is run by the provider, what it finds is not recorded (search_parameters)",
    "data_sources": "documents are retrieved by the provider (data_sources)",
    "plugins": "plugins are run by the provider (plugins)",
}
_DEFINED_HERE = ("", "function", "custom", "namespace")
_RUN_BY_AGENT = ("computer", "local_shell", "apply_patch", "bash_", "text_editor_", "memory_", "browser_toolset")
_FILE = "a file is referred to by its id, its content is not in the request (file_id)"
_ITEM = "an earlier item is referred to by its id, its content is not in the request (item_reference)"
_AUDIO = "earlier audio is referred to by its id, its content is not in the request (audio)"
_URL = "a file or image is given by its address, its content is not in the request (url)"


def _absent(body: dict[str, Json]) -> tuple[str, ...]:
    """What the request only refers to, each kind once, in the order it is met."""
    found: dict[str, None] = {words: None for member, words in _HELD.items() if body.get(member)}
    if body.get("truncation") == "auto":
        found["the server may drop earlier input (truncation)"] = None
    if mapping(mapping(body.get("extra_body")).get("google")).get("cached_content"):
        found[_HELD["cached_content"]] = None
    found.update((words, None) for tool in mappings(body.get("tools")) if (words := _tool_elsewhere(tool)))
    for member in ("messages", "input", "system"):
        for message in mappings(body.get(member)):
            if isinstance(message.get("content"), str) and "audio" not in message:
                continue
            found.update((words, None) for part in _parts(message, 0) if (words := _content_elsewhere(part)))
    return tuple(found)


def _tool_elsewhere(tool: dict[str, Json]) -> str | None:
    kind = text(tool.get("type")) or ""
    if kind in _DEFINED_HERE:
        return None
    local_shell = kind == "shell" and mapping(tool.get("environment")).get("type") == "local"
    if local_shell or kind.startswith(_RUN_BY_AGENT):
        return f"the tool {kind[:80]} is defined by the provider, its schema is not in the request"
    return f"the tool {kind[:80]} is run by the provider, its inputs and results are not recorded as steps"


def _parts(part: dict[str, Json], depth: int) -> Iterator[dict[str, Json]]:
    """A message and the content parts in it; never a tool's own arguments."""
    yield part
    if depth >= _PART_DEPTH:
        return
    for member in ("content", "output"):
        for inner in mappings(part.get(member)):
            yield from _parts(inner, depth + 1)
    for member in ("source", "file", "image_url", "input_image", "document", "output"):
        inner_part = part.get(member)
        if isinstance(inner_part, dict):
            yield from _parts(inner_part, depth + 1)
    audio = part.get("audio")
    if isinstance(audio, dict) and text(audio.get("id")):
        yield {"type": "audio_reference"}


_PART_DEPTH = 6


def _content_elsewhere(part: dict[str, Json]) -> str | None:
    if part.get("type") == "item_reference":
        return _ITEM
    if part.get("type") == "audio_reference":
        return _AUDIO
    if text(part.get("file_id")):
        return _FILE
    for member in ("url", "file_url", "image_url"):
        address = part.get(member)
        if isinstance(address, str) and address[:8].lower().startswith(("http://", "https://", "gs://", "s3://")):
            return _URL
    return None
