"""Messages and outputs of the big APIs read alike, streamed or not."""

from __future__ import annotations

from typing import Any

import pytest

from agentdbg.debugging.dialects import Spoken, ToolRequest, read_message, read_output

CALL = ToolRequest("look", "c1", '{"a":1}')

CHAT: Any = {
    "model": "m-1",
    "choices": [
        {
            "finish_reason": "tool_calls",
            "message": {
                "content": "hi",
                "tool_calls": [{"id": "c1", "function": {"name": "look", "arguments": '{"a":1}'}}],
            },
        }
    ],
    "usage": {"prompt_tokens": 3},
}
CHAT_STREAM: Any = [
    [1, {"model": "m-1", "choices": [{"delta": {"role": "assistant", "content": "h"}}]}],
    [2, {"model": "m-1", "choices": [{"delta": {"content": "i"}}]}],
    [
        3,
        {
            "choices": [
                {"delta": {"tool_calls": [{"index": 0, "id": "c1", "function": {"name": "look", "arguments": '{"a"'}}]}}
            ]
        },
    ],
    [
        4,
        {
            "choices": [
                {
                    "delta": {"tool_calls": [{"index": 0, "function": {"arguments": ":1}"}}]},
                    "finish_reason": "tool_calls",
                }
            ]
        },
    ],
    [5, {"choices": [], "usage": {"prompt_tokens": 3}}],
]
RESPONSES: Any = {
    "model": "m-1",
    "status": "completed",
    "output": [
        {"type": "message", "content": [{"type": "output_text", "text": "hi"}]},
        {"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a":1}'},
    ],
    "usage": {"prompt_tokens": 3},
}
RESPONSES_STREAM: Any = [
    {"type": "response.created", "response": {}},
    {"type": "response.output_text.delta", "delta": "h"},
    {"type": "response.output_text.delta", "delta": "i"},
    {"type": "response.completed", "response": RESPONSES},
]
MESSAGES: Any = {
    "model": "m-1",
    "stop_reason": "tool_use",
    "content": [{"type": "text", "text": "hi"}, {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}}],
    "usage": {"prompt_tokens": 3},
}
MESSAGES_STREAM: Any = [
    {"type": "message_start", "message": {"model": "m-1", "usage": {"prompt_tokens": 3}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": '{"a":1}'}},
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 9}},
    {"type": "message_stop"},
]


@pytest.mark.parametrize(
    ("value", "stop"),
    [
        (CHAT, "tool_calls"),
        (CHAT_STREAM, "tool_calls"),
        (RESPONSES, "completed"),
        (RESPONSES_STREAM, "completed"),
        (MESSAGES, "tool_use"),
        (MESSAGES_STREAM, "tool_use"),
        ({"status": 200, "headers": {}, "body": CHAT}, "tool_calls"),
    ],
)
def test_outputs_are_assembled(value: Any, stop: str) -> None:
    spoken = read_output(value)
    assert spoken is not None
    assert (spoken.text, spoken.tools, spoken.stop, spoken.model) == ("hi", (CALL,), stop, "m-1")
    assert spoken.usage["prompt_tokens"] == 3


@pytest.mark.parametrize("value", [None, 3, {"a": 1}, [], [[1, {"b": 2}]], {"body": None}])
def test_unknown_outputs_are_left_alone(value: Any) -> None:
    assert read_output(value) is None


@pytest.mark.parametrize(
    ("value", "spoken"),
    [
        ("hello", Spoken(text="hello")),
        ({"role": "user", "content": "hello"}, Spoken(text="hello")),
        ({"role": "user", "content": [{"type": "text", "text": "he"}, "llo"]}, Spoken(text="hello")),
        ({"role": "user", "content": [{"type": "image_url", "image_url": "x"}]}, Spoken(others=("image_url",))),
        ({"role": "tool", "content": [{"type": "tool_result", "content": "ok"}]}, Spoken(text="ok")),
        ({"type": "function_call_output", "call_id": "c", "output": "ok"}, Spoken(text="ok")),
        ({"type": "function_call", "call_id": "c1", "name": "look", "arguments": '{"a":1}'}, Spoken(tools=(CALL,))),
        ({"type": "reasoning", "summary": [{"text": "hm"}]}, Spoken(reasoning="hm")),
        (
            {"role": "assistant", "content": None, "tool_calls": CHAT["choices"][0]["message"]["tool_calls"]},
            Spoken(tools=(CALL,)),
        ),
    ],
)
def test_messages(value: Any, spoken: Spoken) -> None:
    assert read_message(value) == spoken


@pytest.mark.parametrize("value", [None, 5, [], {"type": "item_reference", "id": "x"}])
def test_unknown_messages_are_left_alone(value: Any) -> None:
    assert read_message(value) is None
