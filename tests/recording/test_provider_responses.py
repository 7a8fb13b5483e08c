"""What a model answered is found in every provider's response."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.model.records import Usage
from agentdbg.recording.providers import CHAT, MESSAGES, RESPONSES, ModelResponse, read_response


def read(provider: str, body: object) -> ModelResponse:
    return read_response(provider, json.dumps(body).encode())


CHAT_BODY = {
    "id": "chatcmpl-1",
    "object": "chat.completion",
    "model": "gpt-x-2026",
    "choices": [
        {
            "index": 0,
            "finish_reason": "tool_calls",
            "message": {
                "role": "assistant",
                "content": None,
                "tool_calls": [
                    {"id": "call_1", "type": "function", "function": {"name": "read", "arguments": "{}"}},
                    {"id": "call_2", "type": "custom", "custom": {"name": "shell", "input": "ls"}},
                ],
            },
        }
    ],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 4}},
}


def test_a_chat_completion_is_read() -> None:
    response = read(CHAT, CHAT_BODY)
    assert response == ModelResponse(
        output=CHAT_BODY,  # type: ignore[arg-type]
        model="gpt-x-2026",
        usage=Usage(10, 2, 4),
        stop_reason="tool_calls",
        response_id="chatcmpl-1",
        tool_calls=(("call_1", "read"), ("call_2", "shell")),
    )


def test_a_response_is_read() -> None:
    body = {
        "id": "resp_1",
        "model": "gpt-x-2026",
        "status": "completed",
        "error": None,
        "output": [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "message", "content": [{"type": "refusal", "refusal": "I cannot."}]},
            {"type": "function_call", "call_id": "call_1", "name": "read", "arguments": "{}"},
            {"type": "local_shell_call", "call_id": "call_2", "action": {}},
            {"type": "web_search_call", "id": "ws_1"},
        ],
        "usage": {"input_tokens": 5, "output_tokens": 6, "input_tokens_details": {"cached_tokens": 0}},
    }
    response = read(RESPONSES, body)
    assert response.tool_calls == (("call_1", "read"), ("call_2", "local_shell"))
    assert (response.stop_reason, response.refusal, response.error) == ("completed", "I cannot.", None)
    assert response.usage == Usage(5, 6, 0)


def test_a_message_is_read() -> None:
    body = {
        "id": "msg_1",
        "type": "message",
        "model": "claude-x",
        "stop_reason": "tool_use",
        "content": [
            {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}},
            {"type": "tool_use", "id": "toolu_1", "name": "read", "input": {}},
        ],
        "usage": {
            "input_tokens": 5,
            "cache_read_input_tokens": 20,
            "cache_creation_input_tokens": 3,
            "output_tokens": 6,
        },
    }
    response = read(MESSAGES, body)
    assert response.tool_calls == (("toolu_1", "read"),)
    assert response.usage == Usage(28, 6, 20)


@pytest.mark.parametrize(
    ("provider", "body", "text"),
    [
        (
            CHAT,
            {"error": {"message": "bad key", "type": "invalid_request_error", "code": None}},
            "invalid_request_error: bad key",
        ),
        (CHAT, {"error": "model not found"}, "model not found"),
        (CHAT, {"object": "error", "message": "too long", "code": 400}, "too long"),
        (CHAT, {"detail": [{"loc": ["body"]}]}, '[{"loc":["body"]}]'),
        (CHAT, {"error": {"status": 5}}, '{"status":5}'),
        (
            RESPONSES,
            {"status": "failed", "error": {"code": "server_error", "message": "x"}, "output": []},
            "server_error: x",
        ),
        (
            MESSAGES,
            {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}},
            "overloaded_error: busy",
        ),
        (MESSAGES, {"message": "denied"}, "denied"),
    ],
)
def test_an_error_body_says_what_went_wrong(provider: str, body: object, text: str) -> None:
    assert read(provider, body).error == text


def test_usage_of_other_servers_is_found() -> None:
    assert read(CHAT, {"choices": [], "usage": {"prompt_tokens": 9, "prompt_cache_hit_tokens": 8}}).usage == Usage(
        9, None, 8
    )
    groq = {"choices": [], "x_groq": {"usage": {"prompt_tokens": 1, "completion_tokens": 2}}}
    assert read(CHAT, groq).usage == Usage(1, 2, None)
    assert read(CHAT, {"choices": [], "usage": {}}).usage is None
    assert read(CHAT, {"choices": [], "usage": {"prompt_tokens": True, "completion_tokens": 1.5}}).usage is None


def test_a_response_that_is_still_being_made_is_not_complete() -> None:
    response = read(RESPONSES, {"status": "queued", "output": []})
    assert not response.complete
    assert response.missing == ("the answer was not finished yet (status queued)",)


def test_what_is_no_response_says_so() -> None:
    assert read_response(CHAT, b" ").missing == ("the response body is empty",)
    page = read_response(CHAT, b"<html>\xff")
    assert (page.output, page.complete, page.missing) == ("<html>\ufffd", False, ("the response body is not JSON",))
    assert read(CHAT, [1]).missing == ("the response is not a JSON object",)
    assert read(CHAT, {"id": "x"}).missing == ("the response has no list 'choices'",)
    assert read("another", {"id": "x"}).response_id == "x"


def test_a_very_deep_error_does_not_raise() -> None:
    deep = b'{"error": {"x": ' + b"[" * 900 + b"]" * 900 + b"}}"
    assert read_response(CHAT, deep).error


@settings(deadline=None)
@given(
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "choices",
                        "output",
                        "content",
                        "message",
                        "usage",
                        "error",
                        "type",
                        "tool_calls",
                        "function",
                        "id",
                        "prompt_tokens",
                        "input_tokens",
                        "status",
                        "call_id",
                        "detail",
                        "stop_reason",
                        "refusal",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=25,
    ),
    provider=st.sampled_from([CHAT, RESPONSES, MESSAGES]),
)
def test_odd_responses_never_raise(body: object, provider: str) -> None:
    read(provider, body)
