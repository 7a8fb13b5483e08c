"""What a model answered: the parts of a response object that every provider has in its own place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.records import Json, Usage
from agentdbg.recording.provider_answers import READERS
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
    first_count,
    mapping,
    mappings,
    text,
)

_CONTENT_MEMBERS = {
    CHAT: ("choices", list),
    COMPLETIONS: ("choices", list),
    RESPONSES: ("output", list),
    MESSAGES: ("content", list),
    GEMINI: ("candidates", list),
    OLLAMA_CHAT: ("message", dict),
    OLLAMA_GENERATE: ("response", str),
    COHERE: ("message", dict),
    CONVERSE: ("output", dict),
}
_KINDS = {list: "list", dict: "object", str: "text"}
_UNFINISHED = ("queued", "in_progress")


def read_response(provider: str, raw: bytes) -> ModelResponse:
    """Read the body of a response that was not streamed. Never raises: what cannot be read is said in ``missing``."""
    if not raw.strip():
        return ModelResponse(None, complete=False, missing=("the response body is empty",))
    try:
        body = loads_json(raw)
    except ValueError:
        text = raw.decode("utf-8", "replace")
        return ModelResponse(text, complete=False, missing=("the response body is not JSON",))
    return describe(provider, body)


def describe(provider: str, output: Json) -> ModelResponse:
    """Find the parts of a response object."""
    if isinstance(output, list) and provider == GEMINI:
        return replace(describe(provider, next(iter(mappings(output)), None)), output=output)
    if not isinstance(output, dict):
        return ModelResponse(output, missing=("the response is not a JSON object",))
    error = error_text(output)
    response = ModelResponse(
        output,
        model=text(output.get("model")),
        usage=_usage(provider, output),
        response_id=text(output.get("id")),
        error=error,
    )
    member, kind = _CONTENT_MEMBERS.get(provider, ("", list))
    if not isinstance(output.get(member), kind) and not (provider == GEMINI and output.get("promptFeedback")):
        return response if error else replace(response, missing=(f"the response has no {_KINDS[kind]} {member!r}",))
    return _READERS[provider](response, output)


def error_text(body: dict[str, Json]) -> str | None:
    """Type and message of the error that ``body`` reports, ``None`` if it reports none."""
    error = body.get("error")
    if isinstance(error, str) and error:
        return error
    if isinstance(error, dict) and error:
        label = text(error.get("type")) or text(error.get("code")) or text(error.get("status"))
        return _labelled(label, text(error.get("message"))) or _as_text(error)
    if body.get("object") == "error" or body.get("type") == "error":
        return _labelled(text(body.get("code")), text(body.get("message"))) or _as_text(body)
    if not any(isinstance(body.get(member), list) for member in ("choices", "output", "content", "candidates")):
        for member in ("detail", "message", "Message"):
            if body.get(member) and not (member == "message" and "content" in mapping(body[member])):
                return text(body[member]) or _as_text(body[member])
    return None


def _as_text(value: Json) -> str:
    try:
        return dumps_json(value)
    except RecursionError:
        return "an error nested too deeply to be read"


def _labelled(label: str | None, message: str | None) -> str:
    return ": ".join(part for part in (label, message) if part)


def _chat(response: ModelResponse, body: dict[str, Json]) -> ModelResponse:
    calls: list[tuple[str, str]] = []
    refusals: list[str] = []
    reasons: list[str] = []
    for choice in mappings(body["choices"]):
        message = mapping(choice.get("message"))
        for call in mappings(message.get("tool_calls")):
            function = mapping(call.get("function")) or mapping(call.get("custom"))
            calls.append((text(call.get("id")) or "", text(function.get("name")) or ""))
        if isinstance(message.get("function_call"), dict):
            calls.append(("", text(mapping(message["function_call"]).get("name")) or ""))
        refusals += [found] if (found := text(message.get("refusal"))) else []
        reasons += [found] if (found := text(choice.get("finish_reason"))) and found not in reasons else []
    return replace(
        response,
        tool_calls=tuple(calls),
        refusal="\n".join(refusals) or None,
        stop_reason=", ".join(reasons) or None,
    )


def _responses(response: ModelResponse, body: dict[str, Json]) -> ModelResponse:
    calls: list[tuple[str, str]] = []
    refusals: list[str] = []
    for item in mappings(body["output"]):
        kind = text(item.get("type")) or ""
        if "call_id" in item and not kind.endswith("_output"):
            name = text(item.get("name")) or kind.removesuffix("_call")
            calls.append((text(item.get("call_id")) or "", name))
        refusals += [found for part in mappings(item.get("content")) if (found := text(part.get("refusal")))]
    status = text(body.get("status"))
    unfinished = status in _UNFINISHED
    return replace(
        response,
        tool_calls=tuple(calls),
        refusal="\n".join(refusals) or None,
        stop_reason=text(mapping(body.get("incomplete_details")).get("reason")) or status,
        complete=not unfinished,
        missing=(f"the answer was not finished yet (status {status})",) if unfinished else (),
    )


def _messages(response: ModelResponse, body: dict[str, Json]) -> ModelResponse:
    reason = text(body.get("stop_reason"))
    details = mapping(body.get("stop_details"))
    refusal = text(details.get("explanation")) or text(details.get("category")) or reason
    return replace(
        response,
        tool_calls=tuple(
            (text(block.get("id")) or "", text(block.get("name")) or "")
            for block in mappings(body["content"])
            if block.get("type") == "tool_use"
        ),
        refusal=refusal if reason == "refusal" else None,
        stop_reason=reason,
    )


def _usage(provider: str, body: dict[str, Json]) -> Usage | None:
    usage = mapping(body.get("usage")) or mapping(mapping(body.get("x_groq")).get("usage"))
    details = mapping(usage.get("prompt_tokens_details")) or mapping(usage.get("input_tokens_details"))
    whole = first_count(usage, "prompt_tokens", "input_tokens")
    cached = first_count(details, "cached_tokens")
    if cached is None:
        cached = first_count(usage, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
    if provider == MESSAGES and whole is not None:
        # this provider counts the tokens read from and written to its cache beside the others
        whole += (cached or 0) + (first_count(usage, "cache_creation_input_tokens") or 0)
    found = Usage(whole, first_count(usage, "completion_tokens", "output_tokens"), cached)
    return None if found == Usage() else found


_READERS: dict[str, Callable[[ModelResponse, dict[str, Json]], ModelResponse]] = {
    CHAT: _chat,
    COMPLETIONS: _chat,
    RESPONSES: _responses,
    MESSAGES: _messages,
    **READERS,
}
