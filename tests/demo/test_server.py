"""The stand-in server speaks the chat protocol well enough for the real SDK, and says what it is."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from typing import Any
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest
from openai import AsyncOpenAI, OpenAI, RateLimitError

from agentdbg.demo import desk_tools
from agentdbg.demo.server import DemoServer

ASK = [{"role": "user", "content": "Refund order A-1042, call +46 70 174 06 25, key sk-proj-" + "a1B2" * 8}]
REQUEST: dict[str, Any] = {"model": "refund-model", "messages": ASK}


@pytest.fixture
def server() -> Iterator[DemoServer]:
    with DemoServer() as running:
        yield running


@pytest.fixture
def client(server: DemoServer) -> Iterator[OpenAI]:
    with OpenAI(base_url=server.url, api_key="demo", max_retries=0) as made:
        yield made


def test_every_answer_says_that_it_is_rules_and_not_a_model(client: Any) -> None:
    raw = client.chat.completions.with_raw_response.create(model="refund-model", messages=ASK)

    assert raw.headers["x-demo"] == "rules, not a model"


def test_an_alias_is_resolved_to_a_full_model_id(client: Any) -> None:
    assert client.chat.completions.create(model="refund-model", messages=ASK).model == "refund-model-2026-07-01"
    assert [model.id for model in client.models.list()] == ["refund-model-2026-07-01"]


def test_tool_calls_come_in_parallel_with_usage_and_new_ids(client: Any) -> None:
    answers = [
        client.chat.completions.create(model="refund-model", messages=ASK, tools=desk_tools.READ_SCHEMAS)
        for _ in range(2)
    ]

    for answer in answers:
        assert [call.function.name for call in answer.choices[0].message.tool_calls] == [
            "get_order",
            "get_refund_policy",
        ]
        assert answer.choices[0].finish_reason == "tool_calls"
        assert answer.usage.total_tokens == answer.usage.prompt_tokens + answer.usage.completion_tokens > 0
    assert len({answer.id for answer in answers}) == 2


def test_a_stream_says_the_same_as_a_whole_answer(client: Any) -> None:
    whole = client.chat.completions.create(model="refund-model", messages=ASK).choices[0].message.content
    with client.chat.completions.create(
        model="refund-model", messages=ASK, stream=True, stream_options={"include_usage": True}
    ) as stream:
        chunks = list(stream)

    assert "".join(choice.delta.content or "" for chunk in chunks for choice in chunk.choices) == whole
    assert chunks[-1].usage.total_tokens > 0


def test_tool_calls_are_streamed_too(client: Any) -> None:
    with client.chat.completions.create(
        model="refund-model", messages=ASK, tools=desk_tools.READ_SCHEMAS, stream=True
    ) as stream:
        calls = [call for chunk in stream for choice in chunk.choices for call in choice.delta.tool_calls or []]

    assert [(call.index, call.function.name) for call in calls] == [(0, "get_order"), (1, "get_refund_policy")]


async def test_the_asynchronous_client_works_as_well(server: DemoServer) -> None:
    made: Any = AsyncOpenAI(base_url=server.url, api_key="demo", max_retries=0)
    async with made as client:
        answer = await client.chat.completions.create(model="refund-model", messages=ASK)

    assert answer.choices[0].message.content.startswith("1.")
    assert server.calls == 1


def test_a_busy_server_says_when_to_come_back_and_the_sdk_does() -> None:
    with DemoServer(busy_at=(1, 3)) as server:
        with (
            OpenAI(base_url=server.url, api_key="demo", max_retries=0) as hasty,
            pytest.raises(RateLimitError) as caught,
        ):
            hasty.chat.completions.create(**REQUEST)
        with OpenAI(base_url=server.url, api_key="demo", max_retries=1) as patient:
            for _ in range(2):
                patient.chat.completions.create(**REQUEST)
        assert server.calls == 4

    assert caught.value.response.headers["retry-after-ms"] == "150"


@pytest.mark.parametrize("body", [b"{broken", b"[]", b'{"messages": [1]}', b'{"messages": [], "tools": [{}]}'])
def test_a_request_that_is_no_chat_gets_one_clear_error(server: DemoServer, body: bytes) -> None:
    with pytest.raises(HTTPError) as caught:
        urlopen(Request(f"{server.url}/chat/completions", data=body, method="POST"), timeout=5)

    with caught.value as error:
        assert error.code == 400
        assert "not a chat request" in json.loads(error.read())["error"]["message"]


def test_unknown_paths_are_not_found(server: DemoServer) -> None:
    for request in (Request(f"{server.url}/files"), Request(f"{server.url}/files", data=b"{}")):
        with pytest.raises(HTTPError) as caught:
            urlopen(request, timeout=5)
        with caught.value as error:
            assert error.code == 404


def test_the_command_prints_where_it_listens() -> None:
    command = [sys.executable, "-m", "agentdbg.demo.server", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().strip().removeprefix("OPENAI_BASE_URL=")
        with urlopen(f"{url}/models", timeout=5) as response:
            assert response.status == 200
        process.terminate()
