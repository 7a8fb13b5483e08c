"""Streams of every provider are assembled, whatever arrives; channels and assembled text agree."""

from __future__ import annotations

import copy

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.model.canonical import dumps
from agentdbg.model.records import Json
from agentdbg.recording.providers import (
    CHAT,
    COHERE,
    CONVERSE,
    GEMINI,
    MESSAGES,
    OLLAMA_CHAT,
    OLLAMA_GENERATE,
    RESPONSES,
    Assembler,
    text_channels,
)

ALL = [CHAT, RESPONSES, MESSAGES, GEMINI, OLLAMA_CHAT, OLLAMA_GENERATE, COHERE, CONVERSE]

KINDS = [
    "error",
    "message_start",
    "content_block_start",
    "content_block_delta",
    "content_block_stop",
    "message_delta",
    "message_stop",
    "response.created",
    "response.output_item.added",
    "response.output_item.done",
    "response.content_part.added",
    "response.content_part.done",
    "response.output_text.delta",
    "response.output_text.done",
    "response.output_text.annotation.added",
    "response.function_call_arguments.delta",
    "response.audio.delta",
    "response.shell_call_command.delta",
    "response.shell_call_output_content.delta",
    "response.refusal.delta",
    "response.shell_call_output_content.done",
    "response.reasoning_summary_text.delta",
    "response.x.delta",
    "response.",
    "response.completed",
    ".delta",
    "message-start",
    "content-start",
    "content-delta",
    "tool-call-start",
    "tool-call-delta",
    "tool-plan-delta",
    "citation-start",
    "message-end",
    "messageStart",
    "contentBlockStart",
    "contentBlockDelta",
    "messageStop",
    "metadata",
    "exception:throttlingException",
]
MEMBERS = [
    "type",
    "choices",
    "index",
    "delta",
    "message",
    "content",
    "tool_calls",
    "function",
    "name",
    "arguments",
    "id",
    "text",
    "logprobs",
    "token",
    "error",
    "usage",
    "finish_reason",
    "content_block",
    "partial_json",
    "citation",
    "response",
    "output",
    "item",
    "item_id",
    "output_index",
    "content_index",
    "part",
    "summary",
    "action",
    "commands",
    "role",
    "model",
    "candidates",
    "parts",
    "finishReason",
    "promptFeedback",
    "functionCall",
    "done",
    "thinking",
    "tool_plan",
    "contentBlockIndex",
    "start",
    "toolUse",
    "reasoningContent",
    "toolResult",
]
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 2) | st.sampled_from(["", "a", "b"]) | st.sampled_from(KINDS),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(MEMBERS), inner, max_size=4),
    max_leaves=12,
)
EVENTS = st.tuples(st.sampled_from(KINDS) | st.none(), st.dictionaries(st.sampled_from(MEMBERS), VALUES, max_size=6))


@settings(deadline=None)
@given(provider=st.sampled_from([*ALL, "another"]), events=st.lists(EVENTS, max_size=6))
def test_odd_streams_never_raise_and_are_never_changed(provider: str, events: list[tuple[str | None, Json]]) -> None:
    before = copy.deepcopy(events)
    assembler = Assembler(provider)
    for name, data in events:
        text_channels(provider, name, data)
        assembler.feed(name, data)
        dumps(assembler.result().output)
    assert assembler.result(ended=True) == assembler.result(ended=True)
    assert events == before


@pytest.mark.parametrize("provider", ALL)
def test_a_stream_without_events_has_no_output(provider: str) -> None:
    assembler = Assembler(provider)
    assembler.feed(None, "[DONE]")
    assembler.feed(None, None)
    response = assembler.result(ended=True)
    assert (response.output, response.complete) == (None, False)
    assert response.missing == ("the stream brought no event",)


PIECES = st.lists(st.text(max_size=4), min_size=1, max_size=8)


def joined(provider: str, events: list[dict]) -> str:
    return "".join(str(holder[key]) for event in events for _, holder, key in text_channels(provider, None, event))


@settings(deadline=None)
@given(pieces=PIECES)
def test_the_channels_carry_exactly_the_assembled_text(pieces: list[str]) -> None:
    chat = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in pieces]
    response = [{"type": "response.output_text.delta", "output_index": 0, "delta": piece} for piece in pieces]
    message = [{"type": "content_block_delta", "index": 0, "delta": {"thinking": piece}} for piece in pieces]
    gemini = [{"candidates": [{"content": {"parts": [{"text": piece}]}}]} for piece in pieces]
    ollama = [{"message": {"content": piece}} for piece in pieces]
    generated = [{"response": piece} for piece in pieces]
    delta = "content-delta"
    cohere = [{"type": delta, "index": 0, "delta": {"message": {"content": {"text": piece}}}} for piece in pieces]
    converse = [{"type": "contentBlockDelta", "contentBlockIndex": 0, "delta": {"text": piece}} for piece in pieces]
    others = ((GEMINI, gemini), (OLLAMA_CHAT, ollama), (OLLAMA_GENERATE, generated), (COHERE, cohere))
    for provider, events in (
        (CHAT, chat),
        (RESPONSES, response),
        (MESSAGES, message),
        *others,
        (CONVERSE, converse),
    ):
        assembler = Assembler(provider)
        for event in events:
            assembler.feed(None, event)  # type: ignore[arg-type]
        assert joined(provider, events) == "".join(pieces)
        assert _only_text(assembler.result().output) == "".join(pieces)


def _only_text(output: Json) -> Json:
    """Follow the one way through lists and objects to the text."""
    found = output
    while not isinstance(found, str):
        if isinstance(found, list):
            (found,) = found
        else:
            assert isinstance(found, dict)
            found = next(
                found[key]
                for key in (
                    *("choices", "candidates", "output", "message", "content", "parts"),
                    *("text", "thinking", "response"),
                )
                if key in found
            )
    return found
