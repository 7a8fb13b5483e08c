"""The real SDKs and HTTP clients, recorded as they are used and replayed exactly with the server gone."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Effect, Kind, StepStatus
from tests.support.http_lab import HttpLab
from tests.support.recorded import run
from tests.support.replay_lab import SRC
from tests.support.scripted_server import Reply, rate_limited, server_error

HEAD = """
import asyncio, json, os, sys
URL = "http://127.0.0.1:" + os.environ["PORT"]
TOOLS = [{"type": "function", "function": {"name": "add", "parameters": {"type": "object"}}}]
ASK = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Grüße, 日本"}]
"""

OPENAI = (
    HEAD
    + """
import openai
client = openai.OpenAI(base_url=URL + "/v1", api_key="k", max_retries=2)  # built before agentdbg is there
import agentdbg

def chat(**more):
    return client.chat.completions.create(model="m", messages=ASK, **more)

def text_of(stream):
    return ["".join(c.choices[0].delta.content or "" for c in stream if c.choices)]

async def two():
    async with openai.AsyncOpenAI(base_url=URL + "/v1", api_key="k") as client:
        calls = [client.chat.completions.create(model="m", messages=ASK, seed=i) for i in range(2)]
        whole = [r.choices[0].message.content for r in await asyncio.gather(*calls)]
        stream = await client.chat.completions.create(model="m", messages=ASK, stream=True)
        return whole + ["".join([c.choices[0].delta.content or "" async for c in stream if c.choices])]

@agentdbg.agent
def agent():
    found = {"chat": chat(temperature=0.5, seed=7).choices[0].message.content}
    found["stream"] = text_of(chat(stream=True, stream_options={"include_usage": True}))
    asked = chat(tools=TOOLS).choices[0].message.tool_calls
    found["tools"] = [[call.function.name, call.function.arguments] for call in asked]
    parts = [c.choices[0].delta.tool_calls for c in chat(tools=TOOLS, stream=True) if c.choices]
    found["tool stream"] = "".join(p[0].function.arguments for p in parts if p)
    found["async"] = asyncio.run(two())
    found["response"] = client.responses.create(model="m", input="hello", instructions="Be brief.").output_text
    events = [e.type for e in client.responses.create(model="m", input="hello", stream=True)]
    found["events"] = [events[0], events[-1], len(events)]
    more = {"previous_response_id": "resp_1", "tools": [{"type": "web_search"}]}
    found["held"] = client.responses.create(model="m", input="more", **more).output_text
    raw = client.chat.completions.with_raw_response.create(model="m", messages=ASK)
    found["raw"] = [raw.headers["x-request-id"], raw.parse().choices[0].message.content]
    with client.chat.completions.with_streaming_response.create(model="m", messages=ASK) as response:
        found["streaming"] = [response.headers["content-type"], list(response.iter_lines())]
    with client.chat.completions.with_streaming_response.create(model="m", messages=ASK, stream=True) as response:
        found["bytes"] = [len(piece) for piece in response.iter_bytes()]
    found["retried"] = chat(seed=9).choices[0].message.content
    found["retried stream"] = text_of(chat(stream=True, seed=9))
    try:
        chat(seed=10)
    except openai.APIStatusError as error:
        found["error"] = [type(error).__name__, error.status_code, str(error)]
    for chunk in chat(stream=True, seed=11):
        if chunk.choices[0].delta.content:
            found["left"] = chunk.choices[0].delta.content
            break
    return found

if __name__ == "__main__":
    agent()
"""
)

ANTHROPIC = (
    HEAD
    + """
import anthropic, agentdbg
client = anthropic.Anthropic(base_url=URL, api_key="k")
ASK = [{"role": "user", "content": "Grüße, 日本"}]
TOOLS = [{"name": "add", "input_schema": {"type": "object"}}]
MORE = {"model": "m", "max_tokens": 9, "messages": ASK}

@agentdbg.agent
def agent():
    found = {"text": client.messages.create(**MORE, system="Be brief.").content[0].text}
    found["tools"] = [b.model_dump() for b in client.messages.create(**MORE, tools=TOOLS).content]
    with client.messages.stream(**MORE) as stream:
        found["stream"] = list(stream.text_stream)
        found["final"] = stream.get_final_message().usage.output_tokens
    with client.messages.stream(**MORE, tools=TOOLS) as stream:
        found["tool stream"] = [b.input for b in stream.get_final_message().content]
    async def later():
        async with anthropic.AsyncAnthropic(base_url=URL, api_key="k") as client:
            return (await client.messages.create(**MORE)).content[0].text
    found["async"] = asyncio.run(later())
    return found

if __name__ == "__main__":
    agent()
"""
)
ADD = (("add", {"a": 1, "b": 2}), ("add", {"a": 3, "b": "日本"}))


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[HttpLab]:
    lab = HttpLab(tmp_path)
    yield lab
    lab.provider.stop()


def script_openai(lab: HttpLab) -> None:
    lab.provider.script(
        Reply(text="one"), Reply(text="two, with more 日本", pieces=5), Reply(tool_calls=ADD), Reply(tool_calls=ADD),
        Reply(text="a"), Reply(text="a"), Reply(text="b 🙂", cut=7), Reply(text="three"), Reply(text="four", cut=9),
        Reply(text="five"), Reply(text="six"), Reply(text="seven"), Reply(text="eight", cut=11),
        rate_limited(), rate_limited(), Reply(text="third time"), server_error(), Reply(text="second time"),
        server_error(400), Reply(text="never read to the end", pieces=9, chunk_delay=0.02),
    )  # fmt: skip


def test_the_openai_sdk_replays_exactly_and_its_requests_are_complete(lab: HttpLab) -> None:
    script_openai(lab)
    lab.record(OPENAI)
    found = lab.returned()
    assert found["retried"] == "third time" and found["retried stream"] == ["second time"]
    assert found["error"][1] == 400 and found["left"] == "nev"
    assert lab.steps(Kind.MODEL)[-1].status is StepStatus.PARTIAL
    models = lab.steps(Kind.MODEL)
    sent = lab.provider.bodies
    assert sorted(json.dumps(lab.request(step)) for step in models) == sorted(json.dumps(json.loads(b)) for b in sent)
    source = lab.run()
    source.index(None)
    assert {source.origin(step, "input").value for step in models} == {"recorded"}
    texts = [json.dumps(lab.request(step), ensure_ascii=False, separators=(",", ":")).encode() for step in models]
    assert sorted(texts) == sorted(sent), "byte for byte, as the events say"
    first = models[0].attrs
    assert (first["model_asked"], first["model"]) == ("m", "m-2026-01-01")
    assert first["parameters"] == {"temperature": 0.5, "seed": 7}
    assert {"x-request-id", "date", "server"} <= {pair[0] for pair in first["headers"]}  # type: ignore[index,union-attr]
    assert [models[0].usage, models[1].usage] == [models[0].usage] * 2 and models[0].usage is not None
    assert models[0].latency_ms is not None and models[0].latency_ms > 0 and "request_headers" in first
    held = next(step for step in models if "previous_response_id" in str(step.holes))
    assert any("web_search" in hole for hole in held.holes)
    failed = [step for step in models if step.status is StepStatus.ERROR]
    assert [step.attrs["http_status"] for step in failed] == [429, 429, 500, 400]
    outcome = lab.replay_without_server()
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


def test_the_anthropic_sdk_replays_exactly(lab: HttpLab) -> None:
    lab.provider.script(
        Reply(text="one"), Reply(tool_calls=ADD[:1]), Reply(text="two 日本 in pieces", cut=13),
        Reply(tool_calls=ADD[:1]), Reply(text="later"),
    )  # fmt: skip
    lab.record(ANTHROPIC)
    found = lab.returned()
    assert "".join(found["stream"]) == "two 日本 in pieces" and found["tool stream"] == [{"a": 1, "b": 2}]
    models = lab.steps(Kind.MODEL)
    assert [step.attrs["provider"] for step in models] == ["anthropic.messages"] * 5
    assert [json.dumps(lab.request(step)) for step in models] == [
        json.dumps(json.loads(b)) for b in lab.provider.bodies
    ]
    streamed = lab.body(models[2].result)
    assert streamed["content"] == [{"type": "text", "text": "two 日本 in pieces"}]
    outcome = lab.replay_without_server()
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


CLIENTS = (
    HEAD
    + """
import httpx, httpx2
early = [module.Client() for module in (httpx, httpx2)]
import agentdbg

def canned(module):
    def handler(request):
        return module.Response(200, json={"canned": request.url.path}, headers={"x-a": "1"})
    return handler

def layered(module):
    class Layered(module.BaseTransport):
        def __init__(self):
            self.inner = module.Client()
        def handle_request(self, request):
            request.headers["x-layer"] = "yes"
            return self.inner.send(request, stream=True)
    return Layered()

@agentdbg.tool(effect="read")
def look(module):
    return module.get(URL + "/inside").json()

@agentdbg.tool(effect="read")
def look_up(name):
    return look.__wrapped__({"httpx": httpx, "httpx2": httpx2}[name])

async def several(module):
    async with module.AsyncClient(transport=module.MockTransport(canned(module))) as client:
        found = [(await client.get("http://mock/a")).json()]
        async with client.stream("GET", "http://mock/b") as response:
            found.append(response.is_stream_consumed)
            found.append((await response.aread()).decode())
    async with module.AsyncClient(base_url=URL) as client:
        answers = await asyncio.gather(*(client.get(f"/g{i}") for i in range(4)))
        found += [response.json()["path"] for response in answers]
        async with client.stream("POST", "/lines", content=b"x") as response:
            found.append([line async for line in response.aiter_lines()])
    return found

@agentdbg.agent
def agent():
    found = []
    for module, client in zip((httpx, httpx2), early):
        found.append(client.get(URL + "/early?q=1").json()["path"])
        found.append(client.post(URL + "/post", json={"a": [1, 2.5]}).json())
        found.append(look_up(module.__name__))
        mounts = {"all://mounted": module.MockTransport(canned(module))}
        with module.Client(mounts=mounts) as other:
            found.append(other.get("http://mounted/x").json())
        with module.Client(transport=layered(module)) as other:
            with other.stream("GET", URL + "/layered") as response:
                found.append([len(piece) for piece in response.iter_raw()])
        found.append(asyncio.run(several(module)))
    return found

if __name__ == "__main__":
    agent()
"""
)


def test_plain_clients_and_transports_of_all_kinds_are_recorded_once_and_replay(lab: HttpLab) -> None:
    lab.record(CLIENTS)
    steps = lab.steps()
    http = [step for step in steps if step.kind is Kind.HTTP]
    per_client = ["early", "post", "inside", "x", "layered", "a", "b", "g0", "g1", "g2", "g3", "lines"]
    assert sorted(step.name.rpartition("/")[2] for step in http) == sorted(per_client * 2)
    tools = [step.id for step in steps if step.kind is Kind.TOOL]
    assert [step.parent for step in http if step.name.endswith("/inside")] == tools
    effects = {step.name.rpartition("/")[2]: step.effect for step in http}
    assert effects["post"] is effects["lines"] is Effect.EXTERNAL and effects["early"] is Effect.READ
    outcome = lab.replay_without_server()
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


OTHER_SHAPES = """
import os, sys, types
import httpx
original_sync, original_async = httpx.Client._transport_for_url, httpx.AsyncClient._transport_for_url

def choose(self, url):
    return original_sync(self, url)
choose.__wrapped__ = original_sync  # another tool was here first
httpx.Client._transport_for_url = choose
import agentdbg
from agentdbg.recording import http_seam

class Bare:
    pass

@agentdbg.agent
def agent():
    with httpx.Client() as client:
        return client.get("http://127.0.0.1:" + os.environ["PORT"] + "/once").json()["path"]

shape = types.ModuleType("shape")
WORDS = "BaseTransport AsyncBaseTransport SyncByteStream AsyncByteStream Response RequestError Headers"
for name in WORDS.split():
    setattr(shape, name, getattr(httpx, name))
class HTTPTransport(httpx.HTTPTransport):
    def handle_request(self, request):
        return super().handle_request(request)
shape.HTTPTransport, shape.Client = HTTPTransport, Bare
before = HTTPTransport.handle_request
http_seam.install(shape)
http_seam.install(shape)
assert HTTPTransport.handle_request is not before and HTTPTransport.handle_request.__wrapped__ is before
if __name__ == "__main__":
    agent()
"""


def test_a_client_that_another_tool_has_wrapped_or_that_has_another_shape_is_recorded(lab: HttpLab) -> None:
    lab.record(OTHER_SHAPES)
    assert [step.name.rpartition("/")[2] for step in lab.steps(Kind.HTTP)] == ["once"]
    assert lab.replay_without_server().verdict == "identical"


@pytest.fixture(scope="session")
def old_sdks(request: pytest.FixtureRequest) -> Path:
    """An environment with the SDKs that still use ``httpx``; made once and kept in pytest's cache."""
    place = request.config.cache.mkdir(f"old-sdks-{sys.version_info.major}{sys.version_info.minor}").resolve()
    python = place / "bin" / "python"
    if not (place / "complete").exists():
        subprocess.run([sys.executable, "-m", "venv", str(place)], check=True)
        wanted = ["openai==2.0.0", "anthropic==0.60.0", "httpx==0.28.1"]
        done = subprocess.run([str(python), "-m", "pip", "install", "-q", *wanted], capture_output=True, check=False)
        if done.returncode:
            pytest.skip("the package index is not reachable")
        (place / "complete").touch()
    return python


@pytest.mark.wide
@pytest.mark.parametrize("program", [OPENAI, ANTHROPIC], ids=["openai", "anthropic"])
def test_the_sdks_on_httpx_replay_exactly(lab: HttpLab, old_sdks: Path, program: str) -> None:
    if program is OPENAI:
        script_openai(lab)
    else:
        lab.provider.script(*(Reply(text="x") if i != 3 else Reply(tool_calls=ADD[:1]) for i in range(5)))
    lab.write(program)
    lab.runs = 1
    done = subprocess.run(
        [str(old_sdks), str(lab.program)],
        cwd=lab.place,
        env={"PATH": "", "HOME": str(Path.home()), **lab.environment(), "PYTHONPATH": f"{SRC}:{lab.place}"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert len(lab.steps(Kind.MODEL)) == len(lab.provider.requests)
    outcome = lab.replay_without_server()
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


def test_what_records_is_loaded_with_the_first_request(tmp_path: Path) -> None:
    done = run(
        tmp_path,
        """
        import sys
        import agentdbg, httpx2

        agentdbg.stats()
        client = httpx2.Client(transport=httpx2.MockTransport(lambda request: httpx2.Response(200)))
        loaded = ["agentdbg.recording.http_transports" in sys.modules]
        client.get("http://x.test/")
        print(*loaded, "agentdbg.recording.http_transports" in sys.modules)
        """,
    )
    assert done.stdout == "False True\n"
