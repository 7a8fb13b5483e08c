"""The text in the events of a stream is found, so that it can be replaced while it passes."""

from __future__ import annotations

import copy

import pytest

from agentdbg.model.records import Json
from agentdbg.recording.providers import CHAT, MESSAGES, RESPONSES, text_channels, token_copies


def names(provider: str, data: Json) -> dict[str, str]:
    """Text by channel, as one event has it."""
    found: dict[str, str] = {}
    for name, holder, key in text_channels(provider, None, data):
        piece = holder[key]
        assert isinstance(piece, str)
        found[name] = found.get(name, "") + piece
    return found


def chat(delta: dict, **more: object) -> Json:
    return {"choices": [{"index": 1, "delta": delta, **more}], "obfuscation": "xyz"}  # type: ignore[dict-item]


@pytest.mark.parametrize(
    ("delta", "expected"),
    [
        ({"role": "assistant", "content": "a"}, {"choices.1.content": "a"}),
        ({"refusal": "a"}, {"choices.1.refusal": "a"}),
        ({"reasoning_content": "a"}, {"choices.1.reasoning_content": "a"}),
        ({"reasoning": "a", "content": None}, {"choices.1.reasoning": "a"}),
        (
            {"tool_calls": [{"index": 2, "id": "i", "type": "function", "function": {"name": "f", "arguments": "{"}}]},
            {"choices.1.tool_calls.2.arguments": "{"},
        ),
        ({"tool_calls": [{"index": 0, "custom": {"input": "x"}}]}, {"choices.1.tool_calls.0.input": "x"}),
        ({"function_call": {"name": "f", "arguments": "{"}}, {"choices.1.function_call.arguments": "{"}),
        ({"audio": {"id": "i", "data": "UklG", "transcript": "hi"}}, {"choices.1.audio.transcript": "hi"}),
        ({"content": [{"type": "text", "text": "a"}, {"type": "text", "text": "b"}]}, {"choices.1.content.text": "ab"}),
        (
            {"reasoning_details": [{"index": 0, "type": "reasoning.text", "text": "a", "format": "f"}]},
            {"choices.1.reasoning_details.0.text": "a"},
        ),
        ({"brand_new": "a"}, {"choices.1.brand_new": "a"}),
    ],
)
def test_the_text_of_a_chat_chunk_is_found(delta: dict, expected: dict) -> None:
    assert names(CHAT, chat(delta)) == expected


def test_tokens_of_log_probabilities_are_a_channel_and_their_copies_are_named() -> None:
    token: dict = {"token": "se", "bytes": [115, 101], "top_logprobs": [{"token": "se"}]}
    data = chat({"content": "se"}, logprobs={"content": [token, {"token": "cret"}]})
    assert names(CHAT, data) == {"choices.1.content": "se", "choices.1.logprobs.content": "secret"}
    for holder, key in token_copies(CHAT, data):
        holder[key] = None
    assert (token["bytes"], token["top_logprobs"]) == (None, None)


def event(kind: str, **more: object) -> Json:
    data: dict = {"type": f"response.{kind}", "output_index": 3, "item_id": "it", "sequence_number": 1, **more}
    return data


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (event("output_text.delta", content_index=1, delta="a", logprobs=[]), {"output.3.1.text": "a"}),
        (event("refusal.delta", content_index=0, delta="a"), {"output.3.0.refusal": "a"}),
        (event("reasoning_text.delta", content_index=0, delta="a"), {"output.3.0.reasoning_text": "a"}),
        (event("reasoning_summary_text.delta", summary_index=2, delta="a"), {"output.3.2.summary": "a"}),
        (event("function_call_arguments.delta", delta="a"), {"output.3.arguments": "a"}),
        (event("mcp_call_arguments.delta", delta="a"), {"output.3.arguments": "a"}),
        (event("custom_tool_call_input.delta", delta="a"), {"output.3.input": "a"}),
        (event("code_interpreter_call_code.delta", delta="a"), {"output.3.code": "a"}),
        (event("shell_call_command.added", command_index=1, command="a"), {"output.3.commands.1": "a"}),
        (event("shell_call_command.delta", command_index=1, delta="a"), {"output.3.commands.1": "a"}),
        (
            event("shell_call_output_content.delta", command_index=0, delta={"stdout": "a", "stderr": "b"}),
            {"output.3.stdout.0": "a", "output.3.stderr.0": "b"},
        ),
        ({"type": "response.audio.transcript.delta", "delta": "a"}, {"audio.transcript": "a"}),
        (event("something_new.delta", delta="a"), {"output.3.something_new": "a"}),
        ({"type": "response.output_text.delta", "item_id": "it", "delta": "a"}, {"it.0.text": "a"}),
        (
            event("content_part.added", content_index=1, part={"type": "output_text", "text": "a"}),
            {"output.3.1.text": "a"},
        ),
        (
            event("reasoning_summary_part.added", part={"type": "summary_text", "text": "a"}),
            {"output.3.0.summary": "a"},
        ),
        (event("output_item.added", item={"type": "function_call", "arguments": "a"}), {"output.3.arguments": "a"}),
        (
            event("output_text.delta", delta="", logprobs=[{"token": "a"}]),
            {"output.3.0.text": "", "output.3.0.logprobs": "a"},
        ),
        # what is whole in itself is no channel
        ({"type": "response.audio.delta", "delta": "UklG"}, {}),
        (event("output_text.done", content_index=0, text="a"), {}),
        (event("content_part.added", content_index=1, part={"type": "output_text", "text": ""}), {}),
        ({"type": "response.completed", "response": {"output": []}}, {}),
        ({"type": "error", "message": "x"}, {}),
    ],
)
def test_the_text_of_a_response_event_is_found(data: Json, expected: dict) -> None:
    assert names(RESPONSES, data) == expected


def delta(**members: object) -> Json:
    data: dict = {"type": "content_block_delta", "index": 2, "delta": members}
    return data


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        (delta(type="text_delta", text="a"), {"block.2.text": "a"}),
        (delta(type="thinking_delta", thinking="a"), {"block.2.thinking": "a"}),
        (delta(type="input_json_delta", partial_json="a"), {"block.2.input_json": "a"}),
        (delta(type="compaction_delta", content="a", encrypted_content="x"), {"block.2.content": "a"}),
        (delta(type="brand_new_delta", words="a"), {"block.2.words": "a"}),
        (
            {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": "a"}},
            {"block.0.text": "a"},
        ),
        # what is whole in itself is no channel
        (delta(type="signature_delta", signature="c2ln"), {}),
        (delta(type="citations_delta", citation={"cited_text": "x"}), {}),
        ({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}, {}),
        ({"type": "message_delta", "delta": {"stop_reason": "end_turn"}}, {}),
        ({"type": "ping"}, {}),
    ],
)
def test_the_text_of_a_message_event_is_found(data: Json, expected: dict) -> None:
    assert names(MESSAGES, data) == expected


def test_the_name_of_the_event_stands_in_for_a_missing_type() -> None:
    data: Json = {"index": 0, "delta": {"type": "text_delta", "text": "a"}}
    assert [name for name, _, _ in text_channels(MESSAGES, "content_block_delta", data)] == ["block.0.text"]


def test_replacing_works_in_place() -> None:
    data = chat({"content": "secret", "tool_calls": [{"index": 0, "function": {"arguments": "secret"}}]})
    for _, holder, key in text_channels(CHAT, None, data):
        holder[key] = "*"
    assert "secret" not in str(data)


@pytest.mark.parametrize(
    "data", [None, "[DONE]", 3, [], ["x"], {"choices": [1, {"delta": 3}]}, {"delta": 1, "type": 7}]
)
def test_odd_events_have_no_channels(data: Json) -> None:
    before = copy.deepcopy(data)
    for provider in (CHAT, RESPONSES, MESSAGES, "another"):
        assert text_channels(provider, None, data) == []
        assert token_copies(provider, data) == []
    assert data == before
