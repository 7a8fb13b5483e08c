"""Model calls on the wire: which requests are one, what they ask, and which part of their input stays on the server."""

from __future__ import annotations

from dataclasses import dataclass

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json
from agentdbg.recording import provider_routes
from agentdbg.recording.provider_absent import absent_from
from agentdbg.recording.provider_channels import Channel, blank_tokens, text_channels, token_copies
from agentdbg.recording.provider_parts import (
    CHAT,
    COHERE,
    COMPLETIONS,
    CONVERSE,
    GEMINI,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    RESPONSES,
    ModelResponse,
    identity_path,
    text,
)
from agentdbg.recording.provider_responses import read_response
from agentdbg.recording.provider_streams import Assembler

__all__ = [
    "CHAT",
    "COHERE",
    "COMPLETIONS",
    "CONVERSE",
    "GEMINI",
    "MESSAGES",
    "OLLAMA_CHAT",
    "OLLAMA_GENERATE",
    "RESPONSES",
    "Assembler",
    "Channel",
    "ModelRequest",
    "ModelResponse",
    "blank_tokens",
    "identity_path",
    "model_read",
    "read_response",
    "recognise",
    "text_channels",
    "token_copies",
]


@dataclass(frozen=True, slots=True)
class ModelRequest:
    """A request to a model.

    Attributes:
        provider: ``openai.chat``, ``google.gemini``, ``bedrock.converse``, …: the shape, whoever serves it.
        path: Path of the URL, without query.
        model: The model asked for; where the body names none, the one or the deployment that the path names, or the
            agent kept on the server, else empty.
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

    @property
    def identity_path(self) -> object:
        """What stands for the path in the call's fingerprint."""
        return identity_path(self.provider, self.body, stream=self.stream)


def recognise(method: str, path: str, content_type: str, raw: bytes) -> ModelRequest | None:
    """Read a request as a model call; ``None`` if it is something else. Never raises.

    Args:
        method: HTTP method.
        path: Path of the URL under any base; a query or a whole URL is accepted.
        content_type: The request's ``Content-Type``, empty if it has none.
        raw: The request body, not compressed.
    """
    path = path.partition("?")[0].partition("#")[0]
    body = _body(method, content_type, raw)
    route = None if body is None else provider_routes.route_of(path, body)
    if body is None or route is None:
        return None
    model = text(body.get("model")) or route.model or text(body.get("agent_id")) or ""
    return ModelRequest(
        provider=route.provider,
        path=path,
        model=model,
        body=body,
        parameters={key: value for key, value in body.items() if not _is_conversation(key, value)},
        stream=body.get("stream") is True if route.streams is None else route.streams,
        absent=absent_from(body, route.model),
    )


def model_read(method: str, path: str, content_type: str, raw: bytes) -> str | None:
    """Name of a call that asks a model for embeddings, a ranking, a count of tokens, …; ``None`` for other requests.

    Such a call is a plain HTTP step with the effect ``read``.
    """
    body = _body(method, content_type, raw)
    return None if body is None else provider_routes.model_read(path.partition("#")[0], body)


_FORMS = ("multipart/", "application/x-www-form-urlencoded")
_BOM = b"\xef\xbb\xbf"
_NO_PARAMETER = frozenset(
    (
        "messages",
        "input",
        "contents",
        "system",
        "instructions",
        "systemInstruction",
        "system_instruction",
        "tools",
        "functions",
        "mcp_servers",
        "documents",
        "model",
        "stream",
    )
)


def _body(method: str, content_type: str, raw: bytes) -> dict[str, Json] | None:
    if method.upper() != "POST" or content_type.strip().lower().startswith(_FORMS):
        return None
    if not raw.lstrip(b" \t\r\n" + _BOM).startswith(b"{"):
        return None
    try:
        body = loads_json(raw.removeprefix(_BOM))
    except ValueError:
        return None
    return body if isinstance(body, dict) else None


def _is_conversation(key: str, value: Json) -> bool:
    if key == "prompt":
        return not isinstance(value, dict)
    return key in _NO_PARAMETER or (key == "toolConfig" and isinstance(value, dict) and "tools" in value)
