"""The providers' own SDKs in environments of their own: recorded without a word, replayed with the server gone.

Each program makes the same calls with its SDK, sync and async where there are both: a text, tool calls, an error, a
stream of each, a stream that breaks, a stream that is abandoned, and an embedding.
"""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from agentdbg.model.records import Effect, Kind, Step, StepStatus
from tests.support.environments import IndexUnreachable, NoInterpreter, environment, versions
from tests.support.http_lab import HttpLab
from tests.support.provider_servers import ProviderServer

pytestmark = pytest.mark.wide

PRELUDE = """\
import asyncio, json
import agentdbg

with open("base") as file:
    BASE = file.read()
WORDS = ("hello", "tool", "error")
STREAMED = ("hello", "tool", "broken")

def attempt(function, *args):
    try:
        return function(*args)
    except Exception as error:
        return type(error).__name__

async def attempt_async(function, *args):
    try:
        return await function(*args)
    except Exception as error:
        return type(error).__name__

def plain(value):
    if hasattr(value, "model_dump"):
        value = value.model_dump(mode="json")
    return json.loads(json.dumps(value, default=str))

def some(stream, most=2):
    found = []
    for chunk in stream:
        found.append(plain(chunk))
        if len(found) == most:
            getattr(stream, "close", list)()
            break
    return found

def sync_calls():
    found = [attempt(lambda word=word: plain(whole(word))) for word in WORDS]
    found += [attempt(lambda word=word: [plain(chunk) for chunk in streamed(word)]) for word in STREAMED]
    return [*found, some(streamed("hello")), attempt(lambda: plain(embedded()))]

async def every(word, most=None):
    found = []
    stream = await streamed_async(word)
    async for chunk in stream:
        found.append(plain(chunk))
        if len(found) == most:
            break
    closing = getattr(stream, "close", None) or getattr(stream, "aclose", None)
    closed = closing() if most and closing else None
    if closed is not None:
        await closed
    return found

async def one(word):
    return plain(await whole_async(word))

async def async_calls():
    found = [await attempt_async(one, word) for word in WORDS]
    found += [await attempt_async(every, word) for word in STREAMED]
    return [*found, await every("hello", 2)]
"""
MAIN = """
@agentdbg.agent
def run():
    return [sync_calls(), asyncio.run(async_calls()) if "whole_async" in globals() else None]

if __name__ == "__main__":
    print(json.dumps(run()))
"""
OPENAI_LIKE = """
FUNCTION = {"name": "get_weather", "parameters": {"type": "object", "properties": {}}}
TOOLS = [{"type": "function", "function": FUNCTION}]

def asking(word, **more):
    messages = [{"role": "system", "content": "be brief"}, {"role": "user", "content": word}]
    return dict(model="m-1", messages=messages, tools=TOOLS, **more)
"""
OPENAI_CALLS = """
def whole(word): return client.chat.completions.create(**asking(word))
def streamed(word): return client.chat.completions.create(**asking(word, stream=True))
async def whole_async(word): return await other.chat.completions.create(**asking(word))
async def streamed_async(word): return await other.chat.completions.create(**asking(word, stream=True))
"""
PROGRAMS: dict[str, tuple[tuple[str, ...], str, str]] = {
    "google-genai": (
        ("google-genai",),
        "google.gemini",
        """
from google import genai
from google.genai import types

once = types.HttpRetryOptions(attempts=1)
client = genai.Client(api_key="k", http_options=types.HttpOptions(base_url=BASE, retry_options=once))
schema = types.Schema(type="OBJECT", properties={})
tools = [types.Tool(function_declarations=[types.FunctionDeclaration(name="get_weather", parameters=schema)])]
config = types.GenerateContentConfig(system_instruction="be brief", temperature=0, tools=tools)

def whole(word): return client.models.generate_content(model="gemini-x", contents=word, config=config)
def streamed(word): return client.models.generate_content_stream(model="gemini-x", contents=word, config=config)
def embedded(): return client.models.embed_content(model="e", contents="x")
async def whole_async(word):
    return await client.aio.models.generate_content(model="gemini-x", contents=word, config=config)
async def streamed_async(word):
    return await client.aio.models.generate_content_stream(model="gemini-x", contents=word, config=config)
""",
    ),
    "mistralai": (
        ("mistralai",),
        "openai.chat",
        OPENAI_LIKE
        + """
try:
    from mistralai import Mistral
except ImportError:
    from mistralai.client import Mistral

client = Mistral(api_key="k", server_url=BASE + "/mistral")
def whole(word): return client.chat.complete(**asking(word))
def streamed(word): return client.chat.stream(**asking(word))
def embedded(): return client.embeddings.create(model="e", inputs=["x"])
async def whole_async(word):
    return await Mistral(api_key="k", server_url=BASE + "/mistral").chat.complete_async(**asking(word))
async def streamed_async(word):
    return await Mistral(api_key="k", server_url=BASE + "/mistral").chat.stream_async(**asking(word))
""",
    ),
    "ollama": (
        ("ollama",),
        "ollama.chat",
        OPENAI_LIKE
        + """
import ollama

client = ollama.Client(host=BASE)
def whole(word): return client.chat(**asking(word))
def streamed(word): return client.chat(**asking(word, stream=True))
def embedded(): return client.embed(model="e", input="x")
async def whole_async(word): return await ollama.AsyncClient(host=BASE).chat(**asking(word))
async def streamed_async(word): return await ollama.AsyncClient(host=BASE).chat(**asking(word, stream=True))
""",
    ),
    "groq": (
        ("groq",),
        "openai.chat",
        OPENAI_LIKE
        + """
import groq

client = groq.Groq(api_key="k", base_url=BASE, max_retries=0)
other = groq.AsyncGroq(api_key="k", base_url=BASE, max_retries=0)
def embedded(): return client.embeddings.create(model="e", input="x")
"""
        + OPENAI_CALLS,
    ),
    "cohere": (
        ("cohere",),
        "cohere.chat",
        OPENAI_LIKE
        + """
import cohere

client = cohere.ClientV2(api_key="k", base_url=BASE)
def whole(word): return client.chat(**asking(word))
def streamed(word): return client.chat_stream(**asking(word))
def embedded(): return client.embed(model="e", input_type="search_query", texts=["x"])
async def whole_async(word): return await cohere.AsyncClientV2(api_key="k", base_url=BASE).chat(**asking(word))
async def streamed_async(word): return cohere.AsyncClientV2(api_key="k", base_url=BASE).chat_stream(**asking(word))
""",
    ),
    "azure": (
        ("openai",),
        "openai.chat",
        OPENAI_LIKE
        + """
from openai import AsyncAzureOpenAI, AzureOpenAI

settings = dict(api_key="k", azure_endpoint=BASE, api_version="2024-10-21", max_retries=0)
client, other = AzureOpenAI(**settings), AsyncAzureOpenAI(**settings)
def embedded(): return client.embeddings.create(model="e", input="x")
"""
        + OPENAI_CALLS,
    ),
    "azure-v1": (
        ("openai",),
        "openai.responses",
        """
from openai import AsyncOpenAI, OpenAI

settings = dict(api_key="k", base_url=BASE + "/openai/v1", max_retries=0)
client, other = OpenAI(**settings), AsyncOpenAI(**settings)
WORDS = STREAMED = ("hello", "tool")
def embedded(): return client.embeddings.create(model="e", input="x")
def whole(word): return client.responses.create(model="m-1", instructions="be brief", input=word)
def streamed(word): return client.responses.create(model="m-1", input=word, stream=True)
async def whole_async(word): return await other.responses.create(model="m-1", input=word)
async def streamed_async(word): return await other.responses.create(model="m-1", input=word, stream=True)
""",
    ),
    "litellm": (
        ("litellm",),
        "openai.chat",
        OPENAI_LIKE
        + """
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
import litellm

litellm.suppress_debug_info = True
settings = dict(api_key="k", api_base=BASE + "/v1", num_retries=0)
def calling(word, **more): return {**asking(word, **more), "model": "openai/m-1", **settings}
def whole(word): return litellm.completion(**calling(word))
def streamed(word): return litellm.completion(**calling(word, stream=True))
def embedded(): return litellm.embedding(model="openai/e", input=["x"], **settings)
async def whole_async(word): return await litellm.acompletion(**calling(word))
async def streamed_async(word): return await litellm.acompletion(**calling(word, stream=True))
""",
    ),
    "bedrock": (
        ("boto3",),
        "bedrock.converse",
        """
import boto3
from botocore.config import Config

keys = dict(aws_access_key_id="k", aws_secret_access_key="s", region_name="us-east-1")
client = boto3.client("bedrock-runtime", endpoint_url=BASE, config=Config(retries={"max_attempts": 0}), **keys)
tools = {"tools": [{"toolSpec": {"name": "get_weather", "inputSchema": {"json": {"type": "object"}}}}]}

def asking(word):
    messages = [{"role": "user", "content": [{"text": word}]}]
    return dict(modelId="us.amazon.nova-x-v1:0", messages=messages, system=[{"text": "be brief"}], toolConfig=tools)

def whole(word):
    answer = client.converse(**asking(word))
    return answer["output"], answer["usage"]
def streamed(word): return client.converse_stream(**asking(word))["stream"]
def embedded():
    answer = client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=json.dumps({"inputText": "x"}))
    return answer["body"].read().decode()
""",
    ),
    "bedrock-anthropic": (
        ("boto3",),
        "anthropic.messages",
        """
import boto3
from botocore.config import Config

keys = dict(aws_access_key_id="k", aws_secret_access_key="s", region_name="us-east-1")
client = boto3.client("bedrock-runtime", endpoint_url=BASE, config=Config(retries={"max_attempts": 0}), **keys)

def asking(word):
    messages = [{"role": "user", "content": word}]
    body = {"anthropic_version": "bedrock-2023-05-31", "max_tokens": 9, "system": "be brief", "messages": messages}
    return dict(modelId="anthropic.claude-x-v1:0", body=json.dumps(body))

def whole(word): return client.invoke_model(**asking(word))["body"].read().decode()
def streamed(word): return client.invoke_model_with_response_stream(**asking(word))["body"]
def embedded():
    answer = client.invoke_model(modelId="amazon.titan-embed-text-v2:0", body=json.dumps({"inputText": "x"}))
    return answer["body"].read().decode()
""",
    ),
}


def python_of(requirements: tuple[str, ...]) -> Path:
    try:
        return environment(*requirements)
    except (IndexUnreachable, NoInterpreter) as reason:
        pytest.skip(str(reason))


@pytest.mark.parametrize("cut", [None, 13])
@pytest.mark.parametrize("name", PROGRAMS)
def test_an_sdk_is_recorded_as_it_is_and_replays_identically(tmp_path: Path, name: str, cut: int | None) -> None:
    requirements, provider, program = PROGRAMS[name]
    python = python_of(requirements)
    server = ProviderServer(cut=cut, pause=0.001 if cut is None else 0)
    lab = HttpLab(tmp_path, server)
    (tmp_path / "base").write_text(server.url)
    lab.write(PRELUDE + program + MAIN)
    bare = _run(lab, python, {"AGENTDBG": "off"})
    asked_bare = [(request.path, request.body) for request in server.requests]
    server.requests.clear()
    recorded = _run(lab, python, lab.environment())
    assert _shape(json.loads(recorded.stdout)) == _shape(json.loads(bare.stdout))
    assert [(request.path, request.body) for request in server.requests] == asked_bare
    assert not [line for line in recorded.stderr.splitlines() if line.startswith("agentdbg")], recorded.stderr
    models = lab.steps(Kind.MODEL)
    reads = lab.steps(Kind.HTTP)
    asked = [request.json for request in server.requests]
    assert [lab.request(step) for step in models] == [body for body in asked if not _is_embedding(body)]
    assert {step.attrs["provider"] for step in models} == {provider}
    assert [(step.effect, step.name.partition(" ")[0]) for step in reads] == [(Effect.READ, "embed")]
    _check_steps(models)
    print(name, {k: v for k, v in versions(python).items() if k in {*requirements, "httpx", "httpx2", "botocore"}})
    server.stop()
    for _ in range(3):
        outcome = lab.replay(timeout=90)
        assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


def _check_steps(models: list[Step]) -> None:
    """Every ask says how it ended; a stream that was given up in the middle is partial."""
    for step in models:
        if step.status is StepStatus.OK:
            assert step.usage is not None or "error" in step.attrs or step.attrs["stream"], step
            assert step.attrs.get("stop_reason") or "error" in step.attrs, step
            assert not step.holes, step.holes
    tools = [step.attrs["tool_calls"] for step in models if step.attrs.get("tool_calls")]
    assert [[pair[1] for pair in calls] for calls in tools] == [["get_weather", "get_time"]] * len(tools)  # type: ignore[index, union-attr]
    assert len(tools) in (2, 4)
    failed = [step for step in models if step.status is StepStatus.ERROR]
    assert all(step.attrs.get("error") for step in failed)


def _is_embedding(body: Any) -> bool:
    return not {"messages", "contents", "instructions"} & body.keys() and not (
        isinstance(body.get("input"), str) and body.get("model") == "m-1"
    )


def _run(lab: HttpLab, python: Path, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    done = subprocess.run(
        [str(python), str(lab.program)],
        cwd=lab.place,
        env={**os.environ, **lab.environment(), **env, "AGENTDBG_RUN_ID": "run-1"},
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


def _shape(value: Any) -> Any:
    """Values without what differs from call to call: ids, times, and how often a text was cut."""
    if isinstance(value, dict):
        return {k: _shape(v) for k, v in sorted(value.items())}
    if isinstance(value, list):
        return [_shape(item) for item in value]
    return type(value).__name__
