"""Names of the shapes in which providers speak, and how parts of their JSON are read without a surprise."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from agentdbg.model.records import Json, Usage

CHAT = "openai.chat"
COMPLETIONS = "openai.completions"
RESPONSES = "openai.responses"
MESSAGES = "anthropic.messages"
GEMINI = "google.gemini"
OLLAMA_CHAT = "ollama.chat"
OLLAMA_GENERATE = "ollama.generate"
COHERE = "cohere.chat"
CONVERSE = "bedrock.converse"


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


def identity_path(provider: object, body: Json, *, stream: bool) -> object:
    """What stands for the path in a call's fingerprint: the shape; and that it streams, where the body does not say."""
    said = isinstance(body, Mapping) and body.get("stream") is True
    return f"{provider}:stream" if stream and not said else provider


def mapping(value: Json) -> dict[str, Json]:
    """``value`` if it is a JSON object, else an empty one."""
    return value if isinstance(value, dict) else {}


def mappings(value: Json) -> list[dict[str, Json]]:
    """The JSON objects in ``value`` if it is a list, else none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def text(value: Json) -> str | None:
    """``value`` if it is a text that is not empty."""
    return value if isinstance(value, str) and value else None


def first_count(holder: dict[str, Json], *members: str) -> int | None:
    """The first of these members that is a whole number."""
    for member in members:
        value = holder.get(member)
        if isinstance(value, int | float) and not isinstance(value, bool) and value == value // 1:
            return int(cast("int", value))
    return None
