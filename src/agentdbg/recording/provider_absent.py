"""Which part of a model's input is not in the request: what stays on the server, what is given by reference."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain

from agentdbg.model.records import Json
from agentdbg.recording.provider_parts import mapping, mappings, text

_HELD = {
    "previous_response_id": "earlier turns are on the server (previous_response_id)",
    "conversation": "the conversation's items are on the server (conversation)",
    "thread": "the thread's messages are on the server (thread)",
    "prompt_id": "the prompt template is on the server (prompt_id)",
    "promptVariables": "the prompt template is on the server (promptVariables)",
    "agent_id": "the agent's instructions and tools are on the server (agent_id)",
    "container": "the container's files and skills are on the server (container)",
    "cached_content": "part of the input is in the server's cache (cached_content)",
    "cachedContent": "part of the input is in the server's cache (cachedContent)",
    "guardrailConfig": "a guardrail kept on the server may change input and answer (guardrailConfig)",
    "guardrails": "guardrails kept on the server may change input and answer (guardrails)",
    "context_management": "the server may compact or drop earlier input (context_management)",
    "background": "the answer is made in the background and fetched later (background)",
    "mcp_servers": "tools of remote MCP servers are listed and run by the provider (mcp_servers)",
    "web_search_options": "web search is run by the provider, what it finds is not recorded (web_search_options)",
    "search_parameters": "web search is run by the provider, what it finds is not recorded (search_parameters)",
    "search_settings": "web search is run by the provider, what it finds is not recorded (search_settings)",
    "connectors": "documents are retrieved by the provider (connectors)",
    "data_sources": "documents are retrieved by the provider (data_sources)",
    "plugins": "plugins are run by the provider (plugins)",
}
_DEFINED_HERE = ("", "function", "custom", "namespace")
_RUN_BY_AGENT = ("computer", "local_shell", "apply_patch", "bash_", "text_editor_", "memory_", "browser_toolset")
_NO_TOOL = frozenset(("functionDeclarations", "function_declarations", "toolSpec", "cachePoint"))
_DEFINED_BY_PROVIDER = ("computerUse", "computer_use")
_FILE = "a file is referred to by its id, its content is not in the request (file_id)"
_ITEM = "an earlier item is referred to by its id, its content is not in the request (item_reference)"
_AUDIO = "earlier audio is referred to by its id, its content is not in the request (audio)"
_URL = "a file or image is given by its address, its content is not in the request (url)"


def absent_from(body: dict[str, Json], model: str = "") -> tuple[str, ...]:
    """What a request only refers to, each kind once, in the order it is met.

    Args:
        body: The request.
        model: The model that its path names.
    """
    found: dict[str, None] = {words: None for member, words in _HELD.items() if body.get(member)}
    if isinstance(body.get("prompt"), dict) or ":prompt/" in model:
        found["the prompt template is on the server (prompt)"] = None
    if body.get("truncation") == "auto":
        found["the server may drop earlier input (truncation)"] = None
    if mapping(mapping(body.get("extra_body")).get("google")).get("cached_content"):
        found[_HELD["cached_content"]] = None
    tools = chain(mappings(body.get("tools")), mappings(mapping(body.get("toolConfig")).get("tools")))
    found.update((words, None) for tool in tools for words in _tools_elsewhere(tool))
    for member in ("messages", "input", "contents", "system", "systemInstruction", "system_instruction"):
        value = body.get(member)
        for message in mappings([value] if isinstance(value, dict) else value):
            if isinstance(message.get("content"), str) and "audio" not in message:
                continue
            found.update((words, None) for part in _parts(message, 0) if (words := _content_elsewhere(part)))
    return tuple(found)


def _tools_elsewhere(tool: dict[str, Json]) -> Iterator[str]:
    kind = text(tool.get("type")) or ""
    local_shell = kind == "shell" and mapping(tool.get("environment")).get("type") == "local"
    if local_shell or kind.startswith(_RUN_BY_AGENT):
        yield f"the tool {kind[:80]} is defined by the provider, its schema is not in the request"
    elif kind not in _DEFINED_HERE:
        yield _run_elsewhere(kind)
    elif kind:
        return
    elif isinstance(tool.get("systemTool"), dict):
        yield _run_elsewhere(text(mapping(tool["systemTool"]).get("name")) or "systemTool")
    elif "name" not in tool and "function" not in tool:
        for member in tool:
            if member in _DEFINED_BY_PROVIDER:
                yield f"the tool {member} is defined by the provider, its schema is not in the request"
            elif member not in _NO_TOOL and isinstance(tool[member], dict):
                yield _run_elsewhere(member)


def _run_elsewhere(tool: str) -> str:
    return f"the tool {tool[:80]} is run by the provider, its inputs and results are not recorded as steps"


def _parts(part: dict[str, Json], depth: int) -> Iterator[dict[str, Json]]:
    """A message and the content parts in it; never a tool's own arguments."""
    yield part
    if depth >= _PART_DEPTH:
        return
    for member in ("content", "output", "parts"):
        for inner in mappings(part.get(member)):
            yield from _parts(inner, depth + 1)
    for member in _HOLDERS:
        inner_part = part.get(member)
        if isinstance(inner_part, dict):
            yield from _parts(inner_part, depth + 1)
    audio = part.get("audio")
    if isinstance(audio, dict) and text(audio.get("id")):
        yield {"type": "audio_reference"}


_PART_DEPTH = 6
_HOLDERS = (
    "source",
    "file",
    "image_url",
    "input_image",
    "document",
    "output",
    "image",
    "video",
    "audio",
    "s3Location",
    "fileData",
    "file_data",
    "functionResponse",
    "toolResult",
)


def _content_elsewhere(part: dict[str, Json]) -> str | None:
    if part.get("type") == "item_reference":
        return _ITEM
    if part.get("type") == "audio_reference":
        return _AUDIO
    if text(part.get("file_id")):
        return _FILE
    for member in ("url", "file_url", "image_url", "document_url", "fileUri", "file_uri", "uri"):
        address = part.get(member)
        if isinstance(address, str) and address[:8].lower().startswith(("http://", "https://", "gs://", "s3://")):
            return _URL
    return None
