"""Paths and bodies by which a model call is known, whatever host, proxy or SDK it goes through."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from urllib.parse import unquote

from agentdbg.model.records import Json
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
    text,
)

JsonObject = dict[str, Json]


@dataclass(frozen=True, slots=True)
class Route:
    """What the path of a model call says.

    Attributes:
        provider: Shape of request and answer.
        model: The model that the path names, empty if it names none.
        streams: Whether the answer is a stream; ``None`` where the body says.
    """

    provider: str
    model: str = ""
    streams: bool | None = None


def route_of(path: str, body: JsonObject) -> Route | None:
    """Recognise a model call by its path, without query, and the parsed body; ``None`` if it is something else."""
    path = path.rstrip("/")
    route = _by_method(path) or _by_operation(path) or _by_suffix(path)
    if route is None or not _SHAPES[route.provider](body):
        return None
    if route.provider == MESSAGES and not (route.model or text(body.get("model"))):
        return None
    if route.streams is None and route.provider in (OLLAMA_CHAT, OLLAMA_GENERATE):
        return Route(route.provider, route.model, body.get("stream") is not False)
    return route


def model_read(path: str, body: JsonObject) -> str | None:
    """Name of a call that asks a model for something else than an answer; ``None`` if it is none.

    Embeddings, rankings, moderation and token counts are no turns of a conversation: they are plain HTTP steps. They
    change nothing outside, so their effect is ``read``, not ``external`` as that of other POST requests.
    """
    path = path.partition("?")[0].rstrip("/")
    found = _READ_METHOD.search(path)
    if found:
        return _read_name(_READ_METHODS[found[2]], unquote(found[1]))
    found = _OPERATION.search(path)
    if found and found[2] == "invoke":
        model = unquote(found[1])
        return _read_name("embed", model) if "embed" in model else None
    for suffix, name, members in _READS:
        if path.endswith(suffix) and any(member in body for member in members):
            return _read_name(name, text(body.get("model")) or deployment(path))
    return None


def deployment(path: str) -> str:
    """The deployment that a path of Azure's names, empty if there is none."""
    _, found, after = path.rpartition("/deployments/")
    return after.partition("/")[0] if found else ""


_METHOD = re.compile(r"/([^/:]+):(generateContent|streamGenerateContent|rawPredict|streamRawPredict)$")
"""Google's custom methods; the model is the last resource of the path, whatever it is published under."""
_OPERATION = re.compile(r"/model/([^/]+)/(converse|converse-stream|invoke|invoke-with-response-stream)$")
"""Bedrock's operations; the model id is one segment, its slashes and colons escaped."""
_READ_METHOD = re.compile(r"/([^/:]+):(embedContent|batchEmbedContents|asyncBatchEmbedContent|countTokens)$")
_READ_METHODS = {
    "embedContent": "embed",
    "batchEmbedContents": "embed",
    "asyncBatchEmbedContent": "embed",
    "countTokens": "count tokens",
}
_SUFFIXES = (
    ("/chat/completions", CHAT),
    ("/agents/completions", CHAT),
    ("/completions", COMPLETIONS),
    ("/responses", RESPONSES),
    ("/messages", MESSAGES),
    ("/api/chat", OLLAMA_CHAT),
    ("/api/generate", OLLAMA_GENERATE),
    ("/v2/chat", COHERE),
)
_READS = (
    ("/embeddings", "embed", ("input", "prompt")),
    ("/api/embed", "embed", ("input",)),
    ("/v1/embed", "embed", ("texts", "images", "inputs")),
    ("/v2/embed", "embed", ("texts", "images", "inputs")),
    ("/rerank", "rerank", ("query",)),
    ("/moderations", "moderate", ("input",)),
    ("/messages/count_tokens", "count tokens", ("messages",)),
    ("/responses/input_tokens", "count tokens", ("model", "input")),
)


def _read_name(what: str, model: str) -> str:
    return f"{what} {model}".rstrip()


def _by_method(path: str) -> Route | None:
    found = _METHOD.search(path)
    if found is None:
        return None
    provider = GEMINI if "enerateContent" in found[2] else MESSAGES
    return Route(provider, unquote(found[1]), found[2].startswith("stream"))


def _by_operation(path: str) -> Route | None:
    found = _OPERATION.search(path)
    if found is None:
        return None
    provider = CONVERSE if found[2].startswith("converse") else MESSAGES
    return Route(provider, unquote(found[1]), found[2].endswith("stream"))


def _by_suffix(path: str) -> Route | None:
    provider = next((provider for suffix, provider in _SUFFIXES if path.endswith(suffix)), None)
    return None if provider is None else Route(provider, deployment(path))


def _is_chat(body: JsonObject) -> bool:
    return isinstance(body.get("messages"), list)


def _is_named_chat(body: JsonObject) -> bool:
    return isinstance(body.get("messages"), list) and isinstance(body.get("model"), str)


def _is_completion(body: JsonObject) -> bool:
    return isinstance(body.get("prompt"), str | list)


def _is_generation(body: JsonObject) -> bool:
    return isinstance(body.get("prompt"), str) and isinstance(body.get("model"), str)


def _is_responses(body: JsonObject) -> bool:
    if isinstance(body.get("prompt"), dict):
        return True
    held = ("previous_response_id", "conversation")
    return isinstance(body.get("model"), str) and (
        isinstance(body.get("input"), str | list) or any(body.get(member) for member in held)
    )


def _is_gemini(body: JsonObject) -> bool:
    return isinstance(body.get("contents"), list | dict | str)


def _is_converse(body: JsonObject) -> bool:
    """A prompt kept on the server needs no messages."""
    return isinstance(body.get("messages"), list) or isinstance(body.get("promptVariables"), dict) or not body


_SHAPES: dict[str, Callable[[JsonObject], bool]] = {
    CHAT: _is_chat,
    COMPLETIONS: _is_completion,
    RESPONSES: _is_responses,
    MESSAGES: _is_chat,
    GEMINI: _is_gemini,
    OLLAMA_CHAT: _is_named_chat,
    OLLAMA_GENERATE: _is_generation,
    COHERE: _is_named_chat,
    CONVERSE: _is_converse,
}
