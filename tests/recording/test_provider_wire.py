"""Every provider's wire format, sent through httpx: what is recorded of each call, and that a replay is identical."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from agentdbg.model.records import Effect, Kind, Step, StepStatus, Usage
from tests.support.http_lab import HttpLab
from tests.support.provider_servers import ProviderServer

PROGRAM = """\
import hashlib, json, os
import httpx
import agentdbg

def ask(client, path, body, mode):
    if mode == "whole":
        answer = client.post(path, json=body)
        return answer.status_code, answer.text
    pieces = []
    with client.stream("POST", path, json=body) as answer:
        for piece in answer.iter_raw():
            pieces.append(piece)
            if mode == "abandon" and len(pieces) == 3:
                break
    whole = b"".join(pieces)
    return answer.status_code, [len(piece) for piece in pieces], hashlib.sha256(whole).hexdigest()

# a replay has no server to ask
BASE = os.environ.get("BASE", "http://127.0.0.1:9")

@agentdbg.agent
def run(calls):
    with httpx.Client(base_url=BASE, timeout=10) as client:
        return [ask(client, *call) for call in calls]

if __name__ == "__main__":
    with open("calls.json") as file:
        calls = json.load(file)
    run(calls)
"""
FUNCTION = {"name": "get_weather", "description": "d", "parameters": {"type": "object", "properties": {}}}
CHAT_TOOLS = [{"type": "function", "function": FUNCTION}]


def chat_body(word: str) -> dict[str, Any]:
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": word}]
    return {"model": "m-1", "messages": messages, "tools": CHAT_TOOLS}


def gemini_body(word: str) -> dict[str, Any]:
    return {
        "systemInstruction": {"parts": [{"text": "be brief"}]},
        "contents": [{"role": "user", "parts": [{"text": word}]}],
        "tools": [{"functionDeclarations": [FUNCTION]}],
        "generationConfig": {"temperature": 0},
    }


def converse_body(word: str) -> dict[str, Any]:
    spec = {"name": "get_weather", "inputSchema": {"json": FUNCTION["parameters"]}}
    return {
        "system": [{"text": "be brief"}],
        "messages": [{"role": "user", "content": [{"text": word}]}],
        "toolConfig": {"tools": [{"toolSpec": spec}]},
        "inferenceConfig": {"maxTokens": 9},
    }


def invoke_body(word: str) -> dict[str, Any]:
    tool = {"name": "get_weather", "input_schema": FUNCTION["parameters"]}
    messages = [{"role": "user", "content": word}]
    return {
        "anthropic_version": "bedrock-2023-05-31",
        "max_tokens": 9,
        "system": "be brief",
        "messages": messages,
        "tools": [tool],
    }


MODEL_ID = "us.anthropic.claude-3-5-sonnet-20241022-v2%3A0"
DECODED = "us.anthropic.claude-3-5-sonnet-20241022-v2:0"
FORMATS: dict[str, tuple[Any, ...]] = {
    # body, path, streaming path, members that ask for a stream, provider, model asked, usage, reasons
    "gemini_sse": (
        gemini_body,
        "/v1beta/models/gemini-x:generateContent",
        "/v1beta/models/gemini-x:streamGenerateContent?alt=sse",
        {},
        ("google.gemini", "gemini-x", "gemini-x-001", Usage(11, 7, None), ("STOP", "STOP")),
        ("INVALID", "The model is overloaded."),
    ),
    "gemini_array": (
        gemini_body,
        "/v1/projects/p/locations/l/publishers/google/models/gemini-x:generateContent",
        "/v1/projects/p/locations/l/publishers/google/models/gemini-x:streamGenerateContent",
        {},
        ("google.gemini", "gemini-x", "gemini-x-001", Usage(11, 7, None), ("STOP", "STOP")),
        ("INVALID", "The model is overloaded."),
    ),
    "ollama": (
        lambda word: {**chat_body(word), "stream": False},
        "/api/chat",
        "/api/chat",
        {"stream": True},
        ("ollama.chat", "m-1", "m-1", Usage(11, 7, None), ("stop", "stop")),
        ("not found", "an error was encountered"),
    ),
    "cohere": (
        chat_body,
        "/v2/chat",
        "/v2/chat",
        {"stream": True},
        ("cohere.chat", "m-1", None, Usage(11, 7, None), ("COMPLETE", "TOOL_CALL")),
        ("no such model", "the model failed"),
    ),
    "converse": (
        converse_body,
        f"/model/{MODEL_ID}/converse",
        f"/model/{MODEL_ID}/converse-stream",
        {},
        ("bedrock.converse", DECODED, None, Usage(11, 7, 3), ("end_turn", "tool_use")),
        ("identifier is invalid", "modelStreamErrorException: The model failed."),
    ),
    "invoke": (
        invoke_body,
        f"/model/{MODEL_ID}/invoke",
        f"/model/{MODEL_ID}/invoke-with-response-stream",
        {},
        ("anthropic.messages", DECODED, f"{DECODED}-2026-01-01", Usage(11, 7, None), ("end_turn", "tool_use")),
        ("Malformed", "throttlingException: Too many requests."),
    ),
    "groq": (
        chat_body,
        "/openai/v1/chat/completions",
        "/openai/v1/chat/completions",
        {"stream": True, "stream_options": {"include_usage": True}},
        ("openai.chat", "m-1", "m-1-2026-01-01", Usage(11, 7, None), ("stop", "tool_calls")),
        ("no such model", "server_error: the server failed"),
    ),
}


def calls_of(name: str) -> list[Any]:
    body, path, streaming, streams, *_ = FORMATS[name]
    whole = [(path, body(word), "whole") for word in ("hello", "tool", "error")]
    modes = (("hello", "stream"), ("tool", "stream"), ("broken", "stream"), ("hello", "abandon"))
    return whole + [(streaming, {**body(word), **streams}, mode) for word, mode in modes]


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> HttpLab:
    """One run with the calls of every provider, its server stopped."""
    return _recorded(tmp_path_factory.mktemp("wire"), ProviderServer(pause=0.001))


def _recorded(place: Path, server: ProviderServer) -> HttpLab:
    lab = HttpLab(place, server)
    calls = [call for name in FORMATS for call in calls_of(name)]
    (place / "calls.json").write_text(json.dumps(calls))
    lab.record(PROGRAM, env={"BASE": server.url})
    server.stop()
    return lab


@pytest.mark.parametrize("name", FORMATS)
def test_calls_of_a_provider_are_recorded_whole(lab: HttpLab, name: str) -> None:
    at = 7 * list(FORMATS).index(name)
    models = lab.steps(Kind.MODEL)[at : at + 7]
    assert [lab.request(step) for step in models] == [request.json for request in lab.provider.requests[at : at + 7]]
    provider, asked, resolved, usage, reasons = FORMATS[name][4]
    for step in models:
        assert (step.attrs["provider"], step.attrs["model_asked"]) == (provider, asked)
    assert [bool(step.attrs["stream"]) for step in models] == [False] * 3 + [True] * 4
    hello, tool, failed, streamed, streamed_tool, broken, abandoned = models
    for text, calls in ((hello, tool), (streamed, streamed_tool)):
        assert (text.attrs.get("model"), text.usage, text.attrs["stop_reason"]) == (resolved, usage, reasons[0])
        assert (calls.usage, calls.attrs["stop_reason"]) == (usage, reasons[1])
        assert [pair[1] for pair in calls.attrs["tool_calls"]] == ["get_weather", "get_time"]  # type: ignore[index, union-attr]
        assert (text.status, text.holes, calls.holes) == (StepStatus.OK, (), ())
    assert _without_ids(lab.body(hello.result)) == _without_ids(lab.body(streamed.result))
    assert _without_ids(lab.body(tool.result)) == _without_ids(lab.body(streamed_tool.result))
    assert failed.status is StepStatus.ERROR and FORMATS[name][5][0] in str(failed.attrs["error"])
    assert FORMATS[name][5][1] in str(broken.attrs["error"])
    assert abandoned.status is StepStatus.PARTIAL and abandoned.attrs["given_up"] is True and abandoned.holes
    assert {segment.kind for segment in _segments(lab, hello)} == {"parameters", "tool_schema", "system", "message"}


def test_the_calls_of_all_providers_replay_identically(lab: HttpLab) -> None:
    outcome = lab.replay(trust=True)  # every test has a home of its own, with a key of its own
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


@pytest.mark.wide
@pytest.mark.parametrize("cut", [1, 11, 300])
def test_wherever_the_wire_cuts_the_streams_they_replay_identically(tmp_path: Path, cut: int) -> None:
    lab = _recorded(tmp_path, ProviderServer(cut=cut))
    for _ in range(3):
        outcome = lab.replay()
        assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


def test_embeddings_are_reads_and_no_model_calls(tmp_path: Path) -> None:
    server = ProviderServer()
    lab = HttpLab(tmp_path, server)
    calls: list[Any] = [
        ("/v1/embeddings", {"model": "e-1", "input": "x"}, "whole"),
        ("/openai/deployments/emb/embeddings?api-version=1", {"input": "x"}, "whole"),
        ("/v1beta/models/e-2:embedContent", {"content": {"parts": [{"text": "x"}]}}, "whole"),
        ("/v1beta/models/e-2:batchEmbedContents", {"requests": []}, "whole"),
        ("/api/embed", {"model": "e-3", "input": "x"}, "whole"),
        ("/v2/embed", {"model": "e-4", "texts": ["x"]}, "whole"),
        (f"/model/{MODEL_ID.replace('claude', 'embed')}/invoke", {"inputText": "x"}, "whole"),
    ]
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    lab.record(PROGRAM, env={"BASE": server.url})
    steps = lab.steps(Kind.HTTP)
    assert not lab.steps(Kind.MODEL) and {step.effect for step in steps} == {Effect.READ}
    names = ["embed e-1", "embed emb", "embed e-2", "embed e-2", "embed e-3", "embed e-4"]
    assert [step.name for step in steps][:6] == names and steps[6].name.startswith("embed us.")


def _segments(lab: HttpLab, step: Step) -> list[Any]:
    source = lab.run()
    source.index(None)
    try:
        return list(source.segments(step))
    finally:
        source.close()


_CHANGING = ("id", "toolUseId", "responseId", "created", "p", "system_fingerprint")


def _without_ids(value: Any) -> Any:
    """A response without what differs from call to call, and without what says that it was streamed."""
    if isinstance(value, dict):
        kept = {k: _without_ids(v) for k, v in value.items() if k not in _CHANGING and v not in (None, "", [])}
        return {k: v for k, v in kept.items() if (k, v) != ("role", "assistant")}
    return [_without_ids(item) for item in value] if isinstance(value, list) else value
