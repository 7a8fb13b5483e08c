"""What models answer that speak neither OpenAI's nor Anthropic's shape: Gemini, Ollama, Cohere, Bedrock converse."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from agentdbg.model.records import Json, Usage
from agentdbg.recording.provider_parts import (
    COHERE,
    CONVERSE,
    GEMINI,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    ModelResponse,
    first_count,
    mapping,
    mappings,
    text,
)

_GEMINI_REFUSES = frozenset(
    ("SAFETY", "RECITATION", "BLOCKLIST", "PROHIBITED_CONTENT", "SPII", "IMAGE_SAFETY", "LANGUAGE", "MODEL_ARMOR")
)
_REFUSES = frozenset(("guardrail_intervened", "content_filtered", "refusal", "ERROR_TOXIC"))


def _gemini(response: ModelResponse, body: dict[str, Json]) -> ModelResponse:
    calls: list[tuple[str, str]] = []
    reasons: list[str] = []
    refusals: list[str] = []
    for candidate in mappings(body.get("candidates")):
        parts = mappings(mapping(candidate.get("content")).get("parts"))
        calls += [_named(mapping(part["functionCall"]), "id") for part in parts if "functionCall" in part]
        reason = text(candidate.get("finishReason"))
        if reason and reason not in reasons:
            reasons.append(reason)
        if reason in _GEMINI_REFUSES:
            refusals.append(text(candidate.get("finishMessage")) or reason or "")
    feedback = mapping(body.get("promptFeedback"))
    blocked = text(feedback.get("blockReason"))
    if blocked:
        reasons.append(blocked)
        refusals.append(text(feedback.get("blockReasonMessage")) or blocked)
    return replace(
        response,
        model=text(body.get("modelVersion")) or response.model,
        response_id=text(body.get("responseId")) or response.response_id,
        usage=_gemini_usage(mapping(body.get("usageMetadata"))),
        stop_reason=", ".join(reasons) or None,
        tool_calls=tuple(calls),
        refusal="\n".join(refusals) or None,
    )


def _gemini_usage(usage: dict[str, Json]) -> Usage | None:
    """Tokens of thoughts are output, those of the provider's own tool calls are input."""
    return _usage(
        _sum(usage, "promptTokenCount", "toolUsePromptTokenCount"),
        _sum(usage, "candidatesTokenCount", "thoughtsTokenCount"),
        first_count(usage, "cachedContentTokenCount"),
    )


def _ollama(response: ModelResponse, body: dict[str, Json]) -> ModelResponse:
    calls = [
        _named(mapping(call.get("function")), "id", text(call.get("id")) or "")
        for call in mappings(mapping(body.get("message")).get("tool_calls"))
    ]
    finished = body.get("done") is not False
    return replace(
        response,
        usage=_usage(first_count(body, "prompt_eval_count"), first_count(body, "eval_count"), None),
        stop_reason=text(body.get("done_reason")),
        tool_calls=tuple(calls),
        complete=finished,
        missing=() if finished else ("the answer was not finished yet (done is false)",),
    )


def _cohere(response: ModelResponse, body: dict[str, Json]) -> ModelResponse:
    usage = mapping(body.get("usage"))
    tokens = mapping(usage.get("tokens")) or mapping(usage.get("billed_units"))
    reason = text(body.get("finish_reason"))
    return replace(
        response,
        usage=_usage(
            first_count(tokens, "input_tokens"),
            first_count(tokens, "output_tokens"),
            first_count(usage, "cached_tokens"),
        ),
        stop_reason=reason,
        tool_calls=tuple(
            _named(mapping(call.get("function")), "id", text(call.get("id")) or "")
            for call in mappings(mapping(body.get("message")).get("tool_calls"))
        ),
        refusal=reason if reason in _REFUSES else None,
    )


def _converse(response: ModelResponse, body: dict[str, Json]) -> ModelResponse:
    message = mapping(mapping(body.get("output")).get("message"))
    usage = mapping(body.get("usage"))
    reason = text(body.get("stopReason"))
    router = mapping(mapping(body.get("trace")).get("promptRouter"))
    return replace(
        response,
        model=text(router.get("invokedModelId")) or response.model,
        usage=_usage(
            _sum(usage, "inputTokens", "cacheReadInputTokens", "cacheWriteInputTokens"),
            first_count(usage, "outputTokens"),
            first_count(usage, "cacheReadInputTokens"),
        ),
        stop_reason=reason,
        tool_calls=tuple(
            _named(mapping(block["toolUse"]), "toolUseId")
            for block in mappings(message.get("content"))
            if isinstance(block.get("toolUse"), dict) and mapping(block["toolUse"]).get("type") != "server_tool_use"
        ),
        refusal=reason if reason in _REFUSES else None,
    )


def _named(call: dict[str, Json], member: str, identity: str = "") -> tuple[str, str]:
    return identity or text(call.get(member)) or "", text(call.get("name")) or ""


def _sum(usage: dict[str, Json], *members: str) -> int | None:
    """The sum of counts that stand beside each other; ``None`` where none is given."""
    counts = [count for member in members if (count := first_count(usage, member)) is not None]
    return sum(counts) if counts else None


def _usage(whole: int | None, output: int | None, cached: int | None) -> Usage | None:
    found = Usage(whole, output, cached)
    return None if found == Usage() else found


READERS: dict[str, Callable[[ModelResponse, dict[str, Json]], ModelResponse]] = {
    GEMINI: _gemini,
    OLLAMA_CHAT: _ollama,
    OLLAMA_GENERATE: _ollama,
    COHERE: _cohere,
    CONVERSE: _converse,
}
"""How each of these shapes is read; what all have in common is in ``response`` already."""
