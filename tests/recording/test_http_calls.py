"""Responses of every shape are recorded as the agent read them, and replay as they were, with the server gone."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Kind, StepStatus
from tests.support.http_lab import HttpLab
from tests.support.plain_server import BIG, BINARY, LINES, TEXT, PlainServer

BODIES = """
import base64, os, httpx, httpx2, agentdbg
URL = "http://127.0.0.1:" + os.environ["PORT"]
PATHS = ["/gzip", "/gzip-pieces", "/deflate", "/raw-deflate", "/twice", "/unknown-encoding", "/empty", "/none",
         "/binary", "/big", "/utf8-pieces", "/invalid-json", "/reason", "/fail", "/not-gzip", "/broken-gzip"]

def seen(response):
    headers = sorted((k, v) for k, v in response.headers.multi_items() if k != "date")
    return [response.status_code, response.reason_phrase, response.http_version, headers]

@agentdbg.agent
def agent():
    found = {}
    for module in (httpx, httpx2):
        with module.Client(base_url=URL) as client:
            for path in PATHS:
                try:
                    response = client.get(path)
                    found[module.__name__ + path] = [*seen(response), base64.b64encode(response.content).decode()]
                except module.DecodingError as error:
                    found[module.__name__ + path] = type(error).__name__
            found[module.__name__ + " head"] = seen(client.head("/gzip"))
            with client.stream("GET", "/utf8-pieces") as response:
                found[module.__name__ + " lines"] = list(response.iter_lines())
            for path in ("/binary", "/sse-pieces", "/utf8-pieces"):
                with client.stream("GET", path) as response:
                    pieces = list(response.iter_raw())
                    found[module.__name__ + " raw" + path] = [len(piece) for piece in pieces]
                    found[module.__name__ + " count" + path] = response.num_bytes_downloaded
            with client.stream("GET", "/sse-gzip") as response:
                found[module.__name__ + " sse"] = list(response.iter_text())
    return found

if __name__ == "__main__":
    agent()
"""


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[HttpLab]:
    lab = HttpLab(tmp_path, PlainServer())
    yield lab
    lab.provider.stop()


def test_bodies_of_every_kind_are_read_again_as_they_were(lab: HttpLab) -> None:
    lab.record(BODIES)
    found = lab.returned()
    for name in ("httpx", "httpx2"):
        contents = {path: base64.b64decode(found[name + path][4]) for path in ("/gzip", "/binary", "/big", "/twice")}
        assert contents == {"/gzip": TEXT.encode(), "/binary": BINARY, "/big": BIG, "/twice": TEXT.encode()}
        assert found[name + "/broken-gzip"] == found[name + "/not-gzip"] == "DecodingError"
        assert found[name + " lines"] == LINES.splitlines()
        assert len(found[name + " raw/utf8-pieces"]) > 10
        assert found[name + "/reason"][:2] == [418, "Slow Down Please"]
    steps = {step.name.rpartition("/")[2]: step for step in lab.steps(Kind.HTTP)}
    assert steps["fail"].status is StepStatus.ERROR and steps["reason"].status is StepStatus.OK
    assert steps["big"].result is not None and steps["big"].result.size == len(BIG)
    outcome = lab.replay_without_server()
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


ERRORS = """
import asyncio, os, socket, httpx, httpx2, agentdbg
URL = "http://127.0.0.1:" + os.environ["PORT"]

def tried(function, *arguments, **options):
    try:
        return function(*arguments, **options)
    except Exception as error:
        return [type(error).__module__, type(error).__name__, str(error), str(getattr(error, "request", None))]

def read(client, path):
    got = []
    try:
        with client.stream("GET", path) as response:
            for piece in response.iter_raw():
                got.append(piece.decode())
    except Exception as error:
        got.append(type(error).__name__)
    return got

async def read_async(module, path):
    got = []
    async with module.AsyncClient(base_url=URL) as client:
        try:
            async with client.stream("GET", path) as response:
                async for piece in response.aiter_raw():
                    got.append(piece.decode())
        except Exception as error:
            got.append(type(error).__name__)
    return got

@agentdbg.agent
def agent():
    found = {}
    for module in (httpx, httpx2):
        name = module.__name__
        with module.Client(base_url=URL, timeout=0.3) as client:
            found[name, "refused"] = tried(client.get, "http://127.0.0.1:9/")[:2]
            found[name, "timeout"] = tried(client.get, "/hang")
            found[name, "dropped"] = read(client, "/dropped")
            found[name, "sse"] = read(client, "/sse-dropped")
            found[name, "async"] = asyncio.run(read_async(module, "/sse-dropped"))
            found[name, "status"] = tried(lambda: client.get("/fail").raise_for_status())
            found[name, "flaky"] = [client.get("/flaky?" + name).status_code for _ in range(3)]
            found[name, "redirect"] = [r.status_code for r in client.get("/redirect", follow_redirects=True).history]
            found[name, "cookie"] = client.get("/who").json()
            found[name, "delete"] = client.delete("/thing").json()
            found[name, "upload"] = client.post("/up", files={"f": ("a.txt", b"content " * 9000)}).json()
            found[name, "pieces"] = client.put("/up", content=(b"piece" for _ in range(3))).json()
    return {"/".join(key): value for key, value in found.items()}

if __name__ == "__main__":
    agent()
"""


def test_errors_retries_redirects_and_uploads_replay_as_they_went(lab: HttpLab) -> None:
    lab.record(ERRORS)
    found = lab.returned()
    for name in ("httpx", "httpx2"):
        assert found[f"{name}/refused"] == [name, "ConnectError"]
        assert found[f"{name}/timeout"][1] == "ReadTimeout" and "/hang" in found[f"{name}/timeout"][3]
        assert found[f"{name}/dropped"][-1] == "RemoteProtocolError"
        assert len(found[f"{name}/sse"]) == len(found[f"{name}/async"]) == 4
        assert found[f"{name}/flaky"] == [429, 429, 200]
        assert found[f"{name}/redirect"] == [302, 307]
    steps = lab.steps(Kind.HTTP)
    by_name = {step.name: step for step in steps}
    assert by_name["GET 127.0.0.1:9/"].status is StepStatus.ERROR
    assert next(step for step in steps if step.name.endswith("/hang")).status is StepStatus.TIMED_OUT
    uploads = [step for step in steps if step.name.endswith("/up")]
    assert [step.holes for step in uploads] == [(), ("request body streamed, not recorded",)] * 2
    form = lab.body(uploads[0].arguments)["body"]["parts"]
    assert form == [{"name": "f", "filename": "a.txt", "type": "text/plain", "content": "content " * 9000}]
    assert {step.effect.value for step in steps if step.effect} == {"read", "external"}
    outcome = lab.replay_without_server()
    assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


ABANDONED = """
import asyncio, os, sys, httpx2, agentdbg
URL = "http://127.0.0.1:" + os.environ["PORT"]
LIMIT = int(open("limit").read())

def some(client, path, how):
    got = []
    try:
        with client.stream("GET", path) as response:
            for event in response.iter_lines():
                if event.startswith("data"):
                    got.append(event)
                if len(got) == LIMIT:
                    if how == "break":
                        break
                    raise ValueError("enough")
    except ValueError:
        got.append("raised")
    return got

async def cancelled(path):
    got = []
    enough = asyncio.Event()
    async def read():
        async with httpx2.AsyncClient(base_url=URL) as client:
            async with client.stream("GET", path) as response:
                async for event in response.aiter_lines():
                    if event.startswith("data"):
                        got.append(event)
                    if len(got) == LIMIT:
                        enough.set()
    task = asyncio.create_task(read())
    await enough.wait()
    task.cancel()
    try:
        await task
    except asyncio.CancelledError:
        got.append("cancelled")
    return got

def let_go(client):
    response = client.send(client.build_request("GET", "/sse"), stream=True)
    lines = response.iter_lines()
    return [next(lines), next(lines)]

@agentdbg.agent
def agent(how):
    with httpx2.Client(base_url=URL) as client:
        if how == "cancel":
            return asyncio.run(cancelled("/sse"))
        if how == "let go":
            return let_go(client)
        return some(client, "/sse-secret" if how == "secret" else "/sse", how)

if __name__ == "__main__":
    agent(sys.argv[1])
"""


@pytest.mark.parametrize("how", ["break", "raise", "cancel", "let go"])
def test_an_abandoned_stream_is_partial_and_replays_as_far_as_it_was_read(lab: HttpLab, how: str) -> None:
    limit = lab.place / "limit"
    limit.write_text("3")
    lab.record(ABANDONED, how)
    (step,) = lab.steps(Kind.HTTP)
    expected = StepStatus.CANCELLED if how == "cancel" else StepStatus.PARTIAL
    assert step.status is expected
    parts = [event for event in lab.raw_events() if event["e"] == "chunk"]
    assert parts
    assert lab.replay_without_server().verdict == "identical"
    if how in ("break", "raise"):
        for changed in ("2", "4"):
            limit.write_text(changed)
            assert lab.replay().verdict == "diverged", changed


FAULTS = """
import contextlib, io, json, os, sys, httpx, httpx2, agentdbg
from agentdbg.recording import http_calls, http_requests, http_stream, http_transports, process, providers, run, sse
from agentdbg.redaction import gate, stream
from agentdbg.store import journal
URL = "http://127.0.0.1:" + os.environ["PORT"]
PLACES = {
    "nothing": [],
    "gate": [(gate.Gate, name) for name in ("text", "value", "body", "headers", "stream")],
    "gate headers": [(gate.Gate, "headers")],
    "redactor": [(stream.StreamRedactor, "feed")],
    "redactor flush": [(stream.StreamRedactor, "flush")],
    "journal body": [(journal.RunWriter, "store")],
    "journal event": [(journal.RunWriter, "event")],
    "assembler": [(providers.Assembler, "feed")],
    "assembled": [(providers.Assembler, "result")],
    "splitter": [(sse.SseSplitter, "feed")],
    "reader": [(providers, "read_response")],
    "recogniser": [(providers, "recognise")],
    "described": [(http_transports, "_described")],
    "begin": [(run.RunRecording, "begin")],
    "end": [(run.RunRecording, "end")],
}

def fails(*arguments, **options):
    raise RuntimeError("injected")

def work():
    found = []
    for module in (httpx, httpx2):
        with module.Client(base_url=URL) as client:
            found.append(client.get("/gzip").text)
            with client.stream("GET", "/sse") as response:
                found.append([piece.decode("latin-1") for piece in response.iter_raw()])
            ask = {"model": "m", "messages": []}
            found.append(client.post("/v1/chat/completions", json=ask).json()["choices"][0])
            with client.stream("POST", "/v1/chat/completions", json={**ask, "stream": True}) as response:
                found.append(list(response.iter_lines()))
    return found

@agentdbg.agent
def agent(what):
    with contextlib.ExitStack() as stack:
        for holder, name in PLACES[what]:
            stack.callback(setattr, holder, name, getattr(holder, name))
            setattr(holder, name, fails)
        return work()

def told(what):
    said = io.StringIO()
    if (recorder := process.recorder()) is not None:
        recorder._warned = False
        recorder.run_id = "run-" + what.replace(" ", "-")
    with contextlib.redirect_stderr(said):
        return [agent(what), said.getvalue().splitlines()]

if __name__ == "__main__":
    print(json.dumps({what: told(what) for what in PLACES}))
"""


def test_whatever_fails_in_the_recorder_the_agent_gets_its_answers_and_the_record_says_so(lab: HttpLab) -> None:
    quiet = {"AGENTDBG_DEBUG": "", "AGENTDBG_RUN_ID": ""}
    bare = json.loads(lab.record(FAULTS, env={**quiet, "AGENTDBG": "off"}).stdout)
    assert not lab.store.exists()
    found = json.loads(lab.record(env=quiet).stdout)
    for what, (result, said) in found.items():
        assert result == bare[what][0], what
        assert len(said) == (what != "nothing"), (what, said)
        assert all("agentdbg: " in line for line in said)
    holes = [hole for step in lab.steps(Kind.MODEL, address="run-assembler") for hole in step.holes]
    assert any("the recorder failed on this call (RuntimeError)" in hole for hole in holes)
    missed = [event["what"] for event in lab.raw_events("run-recogniser") if event["e"] == "hole"]
    assert len(missed) == 8 and all("call is not recorded" in what for what in missed)
    assert lab.replay_without_server("run-nothing").verdict == "identical"
    assert lab.replay("run-assembler").verdict == "not_replayable"
