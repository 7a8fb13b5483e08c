"""The real SDKs read what the scripted server says, on good days and on bad ones."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import anthropic
import httpx
import httpx2
import openai
import pytest

from tests.support.scripted_server import Reply, ScriptedServer, dropped, rate_limited, server_error

ASK: Any = [{"role": "user", "content": "How much is 1 + 2? Grüße 👋"}]
ADD = ("add", {"a": 1, "b": 2, "unit": "Äpfel 🍎"})
SUBTRACT = ("subtract", {"a": 5, "b": 3})
WHOLE = Reply(text="Drei Äpfel 🍎, 三个苹果.", tool_calls=(ADD, SUBTRACT))


def tool(style: str, name: str) -> dict[str, Any]:
    """A tool without parameters in one provider's style."""
    parameters: dict[str, Any] = {"type": "object", "properties": {}}
    styles: dict[str, dict[str, Any]] = {
        "chat": {"type": "function", "function": {"name": name, "parameters": parameters}},
        "responses": {"type": "function", "name": name, "parameters": parameters, "strict": False},
        "messages": {"name": name, "input_schema": parameters},
    }
    return styles[style]


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def openai_client(server: ScriptedServer, retries: int = 0) -> Any:
    return openai.OpenAI(base_url=server.openai_url, api_key="k", max_retries=retries)


def anthropic_client(server: ScriptedServer, retries: int = 0) -> Any:
    return anthropic.Anthropic(base_url=server.url, api_key="k", max_retries=retries)


Said = tuple[str, list[tuple[str, Any]]]


def chat(server: ScriptedServer, retries: int = 0) -> Said:
    with openai_client(server, retries) as client:
        message = client.chat.completions.create(model="m", messages=ASK).choices[0].message
    calls = [(call.function.name, json.loads(call.function.arguments)) for call in message.tool_calls or []]
    return message.content or "", calls


def chat_stream(server: ScriptedServer, retries: int = 0) -> Said:
    text = ""
    calls: dict[int, tuple[str, str]] = {}
    with (
        openai_client(server, retries) as client,
        client.chat.completions.create(model="m", messages=ASK, stream=True) as stream,
    ):
        for chunk in stream:
            delta = chunk.choices[0].delta
            text += delta.content or ""
            for call in delta.tool_calls or []:
                name, arguments = calls.get(call.index, (call.function.name, ""))
                calls[call.index] = (name, arguments + call.function.arguments)
    return text, [(name, json.loads(arguments)) for name, arguments in calls.values()]


def responses(server: ScriptedServer, retries: int = 0) -> Said:
    with openai_client(server, retries) as client:
        response = client.responses.create(model="m", input=ASK)
    return response.output_text, [
        (item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"
    ]


def responses_stream(server: ScriptedServer, retries: int = 0) -> Said:
    with openai_client(server, retries) as client, client.responses.stream(model="m", input=ASK) as stream:
        response = stream.get_final_response()
    return response.output_text, [
        (item.name, json.loads(item.arguments)) for item in response.output if item.type == "function_call"
    ]


def messages_said(message: Any) -> Said:
    text = "".join(block.text for block in message.content if block.type == "text")
    return text, [(block.name, block.input) for block in message.content if block.type == "tool_use"]


def messages(server: ScriptedServer, retries: int = 0) -> Said:
    with anthropic_client(server, retries) as client:
        return messages_said(client.messages.create(model="m", max_tokens=99, messages=ASK))


def messages_stream(server: ScriptedServer, retries: int = 0) -> Said:
    with (
        anthropic_client(server, retries) as client,
        client.messages.stream(model="m", max_tokens=99, messages=ASK) as stream,
    ):
        return messages_said(stream.get_final_message())


Call = Callable[..., Said]
CALLS: tuple[Call, ...] = (chat, chat_stream, responses, responses_stream, messages, messages_stream)
STREAMS: tuple[Call, ...] = (chat_stream, responses_stream, messages_stream)
every_call = pytest.mark.parametrize("call", CALLS, ids=lambda call: call.__name__)
every_stream = pytest.mark.parametrize("call", STREAMS, ids=lambda call: call.__name__)


@every_call
def test_text_and_parallel_tool_calls_arrive(server: ScriptedServer, call: Call) -> None:
    server.script(WHOLE)

    assert call(server) == (WHOLE.text, [ADD, SUBTRACT])


@every_call
def test_without_a_script_the_prompt_is_echoed(server: ScriptedServer, call: Call) -> None:
    assert call(server) == (ASK[0]["content"], [])


@every_call
@pytest.mark.parametrize(
    "reply",
    [
        Reply(text=WHOLE.text, tool_calls=WHOLE.tool_calls, gzip=True),
        Reply(text=WHOLE.text, tool_calls=WHOLE.tool_calls, cut=7),
        Reply(text=WHOLE.text, tool_calls=WHOLE.tool_calls, cut=5, gzip=True),
        Reply(text=WHOLE.text, tool_calls=WHOLE.tool_calls, pieces=1),
        Reply(text=WHOLE.text, tool_calls=WHOLE.tool_calls, chunk_delay=0.001, delay=0.001),
    ],
    ids=["gzip", "cut inside characters", "gzip and cut", "one piece", "slow"],
)
def test_the_wire_may_look_any_way(server: ScriptedServer, call: Call, reply: Reply) -> None:
    server.script(reply)

    assert call(server) == (WHOLE.text, [ADD, SUBTRACT])


@every_call
@pytest.mark.parametrize("bad_day", [rate_limited(), server_error(500), server_error(503)], ids=["429", "500", "503"])
def test_a_bad_day_then_a_good_answer(server: ScriptedServer, call: Call, bad_day: Reply) -> None:
    server.script(bad_day, Reply(text="fine"))

    assert call(server, retries=1) == ("fine", [])
    assert server.count() == 2
    assert server.bodies[0] == server.bodies[1]


def test_errors_keep_their_class(server: ScriptedServer) -> None:
    server.script(rate_limited(), server_error(500), rate_limited())

    with pytest.raises(openai.RateLimitError):
        chat(server)
    with pytest.raises(openai.InternalServerError):
        chat(server)
    with pytest.raises(anthropic.RateLimitError):
        messages(server)


@every_stream
@pytest.mark.parametrize("after", [0, 2])
def test_a_stream_can_break_off(server: ScriptedServer, call: Call, after: int) -> None:
    server.script(dropped(after))

    with pytest.raises((openai.APIConnectionError, httpx2.RemoteProtocolError)):
        call(server)


@pytest.mark.parametrize("call", [chat, responses, messages], ids=lambda call: call.__name__)
def test_a_whole_answer_can_break_off_and_be_asked_for_again(server: ScriptedServer, call: Call) -> None:
    server.script(dropped(), Reply(text="fine"))

    assert call(server, retries=1) == ("fine", [])


def test_request_bodies_are_kept_byte_for_byte(server: ScriptedServer) -> None:
    body = '{"model": "m",  "messages": [{"content": "Grüße", "role": "user"}]}'.encode()

    with httpx.Client() as client:
        client.post(f"{server.openai_url}/chat/completions", content=body)

    assert server.bodies == [body]
    assert server.requests[0].json["messages"][0]["content"] == "Grüße"
    assert server.requests[0].headers["content-length"] == str(len(body))
    assert server.count("/v1/chat/completions") == 1


def test_ids_are_new_on_every_call(server: ScriptedServer) -> None:
    server.script(WHOLE, WHOLE)
    ids: list[set[str]] = []
    with openai_client(server) as client:
        for _ in range(2):
            answer = client.chat.completions.create(model="m", messages=ASK)
            ids.append({answer.id, *(call.id for call in answer.choices[0].message.tool_calls)})

    assert len(ids[0] | ids[1]) == 6


def test_the_resolved_model_is_a_full_identifier(server: ScriptedServer) -> None:
    with openai_client(server) as client:
        assert client.chat.completions.create(model="m", messages=ASK).model == "m-2026-01-01"


def test_a_script_may_look_at_the_request(server: ScriptedServer) -> None:
    server.default = lambda request: Reply(text=f"{len(request.json['messages'])} message(s)")

    assert chat(server) == ("1 message(s)", [])


def test_other_paths_are_a_plain_api(server: ScriptedServer) -> None:
    with httpx.Client() as client:
        answer = client.put(f"{server.url}/things/1?x=2", content=b"{}")
        assert answer.status_code == 501
        answer = client.post(f"{server.url}/things/1?x=2", content=b"{}", headers={"x-a": "b"})

    assert answer.json() == {"method": "POST", "path": "/things/1?x=2", "body": "{}"}


def test_a_stopped_server_refuses_connections(server: ScriptedServer) -> None:
    with openai_client(server) as client:
        client.chat.completions.create(model="m", messages=ASK)
        server.stop()
        with pytest.raises(openai.APIConnectionError):
            client.chat.completions.create(model="m", messages=ASK)


async def test_the_asynchronous_clients_read_it_too(server: ScriptedServer) -> None:
    server.script(WHOLE, WHOLE, WHOLE, WHOLE)
    made: Any = openai.AsyncOpenAI(base_url=server.openai_url, api_key="k", max_retries=0)
    async with made as client:
        answer = await client.chat.completions.create(model="m", messages=ASK)
        assert answer.choices[0].message.content == WHOLE.text
        stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
        text = "".join([chunk.choices[0].delta.content or "" async for chunk in stream])
        assert text == WHOLE.text
        async with client.responses.stream(model="m", input=ASK) as streamed:
            assert (await streamed.get_final_response()).output_text == WHOLE.text
    made = anthropic.AsyncAnthropic(base_url=server.url, api_key="k", max_retries=0)
    async with made as client, client.messages.stream(model="m", max_tokens=9, messages=ASK) as streamed:
        assert messages_said(await streamed.get_final_message()) == (WHOLE.text, [ADD, SUBTRACT])


def test_tools_of_the_request_are_accepted(server: ScriptedServer) -> None:
    server.script(WHOLE, WHOLE, WHOLE)
    with openai_client(server) as client:
        client.chat.completions.create(model="m", messages=ASK, tools=[tool("chat", "add")])
        client.responses.create(model="m", input=ASK, tools=[tool("responses", "add")])
    with anthropic_client(server) as client:
        client.messages.create(model="m", max_tokens=9, messages=ASK, tools=[tool("messages", "add")])

    assert [len(request.json["tools"]) for request in server.requests] == [1, 1, 1]
