"""What a model answered: the parts of a response object that every provider has in its own place."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import cast

from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.records import Json, Usage

CHAT = "openai.chat"
RESPONSES = "openai.responses"
MESSAGES = "anthropic.messages"

_CONTENT_MEMBER = {CHAT: "choices", RESPONSES: "output", MESSAGES: "content"}
_UNFINISHED = ("queued", "in_progress")


@dataclass(frozen=True, slots=True)
class ModelResponse:
    """One model response.

    Attributes:
        output: The response object, for a stream the assembled object of the same shape; the text of the body where
            it is not JSON.
        model: The model that answered, as the provider names it.
        usage: Token counts. ``input`` is all of the input, cached tokens included, with every provider.
        stop_reason: Why it stopped, in the provider's word.
        response_id: The provider's id of the response.
        tool_calls: (id, name) of each call the agent is asked to make; an empty text where one is not given.
        refusal: Text of a refusal.
        error: Type and message of an error that the body reports.
        complete: Whether the whole answer is there.
        missing: What is not there, in words.
    """

    output: Json
    model: str | None = None
    usage: Usage | None = None
    stop_reason: str | None = None
    response_id: str | None = None
    tool_calls: tuple[tuple[str, str], ...] = ()
    refusal: str | None = None
    error: str | None = None
    complete: bool = True
    missing: tuple[str, ...] = ()


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
    member = _CONTENT_MEMBER.get(provider, "")
    if not isinstance(output.get(member), list):
        return response if error else replace(response, missing=(f"the response has no list {member!r}",))
    return {CHAT: _chat, RESPONSES: _responses, MESSAGES: _messages}[provider](response, output)


def error_text(body: dict[str, Json]) -> str | None:
    """Type and message of the error that ``body`` reports, ``None`` if it reports none."""
    error = body.get("error")
    if isinstance(error, str) and error:
        return error
    if isinstance(error, dict) and error:
        label = text(error.get("type")) or text(error.get("code"))
        return _labelled(label, text(error.get("message"))) or _as_text(error)
    if body.get("object") == "error" or body.get("type") == "error":
        return _labelled(text(body.get("code")), text(body.get("message"))) or _as_text(body)
    if not any(member in body for member in _CONTENT_MEMBER.values()):
        for member in ("detail", "message"):
            if body.get(member):
                return text(body[member]) or _as_text(body[member])
    return None


def mapping(value: Json) -> dict[str, Json]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: Json) -> list[dict[str, Json]]:
    """The JSON objects in ``value`` if it is a list, else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Json) -> str | None:
    """``value`` if it is a text that is not empty."""
    return value if isinstance(value, str) and value else None


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
    whole = _first_count(usage, "prompt_tokens", "input_tokens")
    cached = _first_count(details, "cached_tokens")
    if cached is None:
        cached = _first_count(usage, "cache_read_input_tokens", "prompt_cache_hit_tokens", "cached_tokens")
    if provider == MESSAGES and whole is not None:
        # this provider counts the tokens read from and written to its cache beside the others
        whole += (cached or 0) + (_first_count(usage, "cache_creation_input_tokens") or 0)
    found = Usage(whole, _first_count(usage, "completion_tokens", "output_tokens"), cached)
    return None if found == Usage() else found


def _first_count(holder: dict[str, Json], *members: str) -> int | None:
    for member in members:
        value = holder.get(member)
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
            return int(cast("int", value))
    return None
