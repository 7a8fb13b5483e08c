"""Model calls are recognised on the wire, whoever serves them, and say what is not in the request."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentdbg.recording.providers import ModelRequest, recognise

USER = [{"role": "user", "content": "hello"}]
JSON = "application/json"


def ask(path: str, body: object, content_type: str = JSON, method: str = "POST") -> ModelRequest | None:
    return recognise(method, path, content_type, json.dumps(body).encode())


def absent(path: str, **body: object) -> tuple[str, ...]:
    request = ask(path, {"model": "m", **body})
    assert request is not None
    return request.absent


def test_a_chat_request_is_read() -> None:
    body: dict = {
        "model": "gpt-x",
        "messages": USER,
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "temperature": 0,
        "seed": 7,
        "max_tokens": 10,
        "stream": True,
        "stream_options": {"include_usage": True},
    }
    assert ask("/v1/chat/completions", body) == ModelRequest(
        provider="openai.chat",
        path="/v1/chat/completions",
        model="gpt-x",
        body=body,
        parameters={"temperature": 0, "seed": 7, "max_tokens": 10, "stream_options": {"include_usage": True}},
        stream=True,
        absent=(),
    )


@pytest.mark.parametrize(
    ("path", "body", "provider"),
    [
        ("/v1/chat/completions", {"messages": USER}, "openai.chat"),
        ("/openai/deployments/gpt-prod/chat/completions?api-version=2025-01-01", {"messages": USER}, "openai.chat"),
        ("/api/v1/chat/completions/", {"messages": USER}, "openai.chat"),
        ("https://host.test/base/v1/responses", {"model": "m", "input": "hi"}, "openai.responses"),
        ("/v1/responses", {"model": "m", "input": USER}, "openai.responses"),
        ("/v1/responses", {"prompt": {"id": "pmpt_1"}}, "openai.responses"),
        ("/v1/responses", {"model": "m", "previous_response_id": "resp_1"}, "openai.responses"),
        ("/v1/messages?beta=true", {"model": "m", "messages": USER, "max_tokens": 1}, "anthropic.messages"),
    ],
)
def test_any_base_and_any_server_is_recognised(path: str, body: dict, provider: str) -> None:
    request = ask(path, body)
    assert request is not None
    assert request.provider == provider
    assert "?" not in request.path


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("/v1/messages/count_tokens", {"model": "m", "messages": USER}),
        ("/v1/messages/batches", {"requests": []}),
        ("/v1/responses/resp_1/cancel", {}),
        ("/v1/responses", {"answers": [1]}),
        ("/v1/threads/t/messages", {"role": "user", "content": "x"}),
        ("/v1/channels/1/messages", {"messages": USER}),
        ("/v1/embeddings", {"model": "m", "input": "x"}),
        ("/v1/chat/completions", {"messages": "x"}),
        ("/v1/chat/completions", [1]),
        ("/v1/traces/ingest", {"data": []}),
    ],
)
def test_other_requests_are_left_alone(path: str, body: object) -> None:
    assert ask(path, body) is None


def test_method_form_and_broken_body_are_left_alone() -> None:
    path = "/v1/chat/completions"
    assert ask(path, {"messages": USER}, method="GET") is None
    assert ask(path, {"messages": USER}, content_type="multipart/form-data; boundary=x") is None
    assert recognise("POST", path, JSON, b'{"messages": [') is None
    assert recognise("POST", path, JSON, b"") is None
    assert recognise("POST", path, JSON, b'{"a":' * 100_000) is None
    assert ask(path, {"messages": USER}, content_type="") is not None


def test_a_deployment_in_the_path_is_the_model_where_the_body_names_none() -> None:
    path = "/openai/deployments/gpt-prod/chat/completions"
    for body, model in (({"messages": USER}, "gpt-prod"), ({"messages": USER, "model": "m"}, "m")):
        request = ask(path, body)
        assert request is not None
        assert request.model == model


def test_conversation_and_tools_are_no_parameters() -> None:
    responses = ask("/v1/responses", {"model": "m", "input": "x", "instructions": "y", "tools": [], "top_p": 0.5})
    messages = ask("/v1/messages", {"model": "m", "messages": USER, "system": "s", "max_tokens": 4, "tools": []})
    assert responses is not None and messages is not None
    assert responses.parameters == {"top_p": 0.5}
    assert messages.parameters == {"max_tokens": 4}


@pytest.mark.parametrize(
    ("member", "value", "word"),
    [
        ("previous_response_id", "resp_1", "earlier turns"),
        ("conversation", {"id": "conv_1"}, "conversation"),
        ("prompt", {"id": "pmpt_1"}, "prompt template"),
        ("background", True, "background"),
        ("truncation", "auto", "truncation"),
        ("tools", [{"type": "web_search"}], "the tool web_search is run by the provider"),
        ("tools", [{"type": "file_search", "vector_store_ids": ["v"]}], "the tool file_search is run"),
        ("tools", [{"type": "code_interpreter", "container": {"type": "auto"}}], "the tool code_interpreter is run"),
        ("tools", [{"type": "mcp", "server_label": "x"}], "the tool mcp is run"),
        ("tools", [{"type": "computer_use_preview"}], "the tool computer_use_preview is defined by the provider"),
        ("tools", [{"type": "shell", "environment": {"type": "local"}}], "the tool shell is defined"),
        ("tools", [{"type": "shell"}], "the tool shell is run"),
        ("input", [{"type": "item_reference", "id": "msg_1"}], "item_reference"),
        ("input", [{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}], "file_id"),
        ("input", [{"role": "user", "content": [{"type": "input_image", "image_url": "https://x/a.png"}]}], "url"),
    ],
)
def test_what_a_responses_request_only_refers_to_is_named(member: str, value: object, word: str) -> None:
    (words,) = absent("/v1/responses", **{"input": "x", member: value})
    assert word in words


@pytest.mark.parametrize(
    ("member", "value", "word"),
    [
        ("container", "container_1", "container"),
        ("mcp_servers", [{"type": "url", "url": "https://x"}], "MCP"),
        ("context_management", {"edits": [{"type": "clear_tool_uses_20250919"}]}, "compact"),
        ("tools", [{"type": "web_search_20250305", "name": "web_search"}], "is run by the provider"),
        ("tools", [{"type": "bash_20250124", "name": "bash"}], "is defined by the provider"),
        (
            "messages",
            [{"role": "user", "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}]}],
            "file_id",
        ),
        (
            "messages",
            [{"role": "user", "content": [{"type": "image", "source": {"type": "url", "url": "https://x"}}]}],
            "url",
        ),
        (
            "messages",
            [
                {
                    "role": "user",
                    "content": [
                        {
                            "type": "tool_result",
                            "content": [{"type": "image", "source": {"type": "file", "file_id": "f"}}],
                        }
                    ],
                }
            ],
            "file_id",
        ),
    ],
)
def test_what_a_messages_request_only_refers_to_is_named(member: str, value: object, word: str) -> None:
    (words,) = absent("/v1/messages", **{"messages": USER, member: value})
    assert word in words


def test_what_a_chat_request_only_refers_to_is_named() -> None:
    words = absent(
        "/v1/chat/completions",
        messages=[
            {"role": "user", "content": [{"type": "image_url", "image_url": {"url": "https://x/a.png"}}]},
            {"role": "assistant", "audio": {"id": "audio_1"}},
            {"role": "user", "content": [{"type": "file", "file": {"file_id": "file_1"}}]},
        ],
        web_search_options={"search_context_size": "low"},
    )
    assert [word.rsplit("(", 1)[1] for word in words] == ["web_search_options)", "url)", "audio)", "file_id)"]


def test_content_that_is_in_the_request_is_not_named() -> None:
    assert (
        absent(
            "/v1/messages",
            messages=[
                {"role": "user", "content": [{"type": "image", "source": {"type": "base64", "data": "aGk="}}]},
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"file_id": "own"}}],
                },
            ],
            tools=[{"name": "f", "input_schema": {}}, {"type": "custom", "name": "g"}],
            system=[{"type": "text", "text": "s", "cache_control": {"type": "ephemeral"}}],
        )
        == ()
    )


@settings(deadline=None)
@given(
    body=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(["model", "messages", "input", "tools", "type", "content", "source", "prompt", "url"]),
                inner,
            )
        ),
        max_leaves=25,
    ),
    path=st.sampled_from(["/chat/completions", "/responses", "/messages"]),
)
def test_odd_requests_never_raise(body: object, path: str) -> None:
    request = ask(path, body)
    assert request is None or request.body == body
