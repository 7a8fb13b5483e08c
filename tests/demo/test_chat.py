"""The shared model call sends the whole conversation and adds the answer to it."""

from __future__ import annotations

from typing import Any

from openai import OpenAI

from agentdbg.demo.chat import ask
from tests.support.scripted_server import Reply, ScriptedServer


def test_the_answer_joins_the_conversation() -> None:
    messages: list[dict[str, Any]] = [{"role": "user", "content": "hello"}]
    with ScriptedServer() as server:
        server.script(Reply(text="good day"))
        with OpenAI(base_url=server.openai_url, api_key="demo") as client:
            said = ask(client, messages, [])
        (request,) = server.requests

    assert said.content == "good day"
    assert request.json["messages"] == [{"role": "user", "content": "hello"}]
    assert messages[-1]["role"] == "assistant"
    assert messages[-1]["content"] == "good day"
