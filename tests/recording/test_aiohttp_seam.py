"""``aiohttp`` is recorded as it is used, piece by piece, and replays exactly with the server gone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Effect, Kind, StepStatus
from tests.support.http_clients import NEWEST, VERSIONS, python_at_hand, python_with
from tests.support.http_lab import HttpLab
from tests.support.plain_server import PlainServer

HEAD = """
import asyncio, io, os, sys, aiohttp
import agentdbg
URL = "http://127.0.0.1:" + os.environ["PORT"]
ASK = {"model": "m", "messages": [{"role": "user", "content": "Grüße"}]}
CHAT = URL + "/v1/chat/completions"

@agentdbg.agent
def agent():
    return asyncio.run(main())
"""

FIRST = (
    HEAD
    + """
async def main():
    async with aiohttp.ClientSession() as session:
        async def chat(seed):
            async with session.post(CHAT, json={**ASK, "seed": seed}) as response:
                return (await response.json())["choices"][0]["message"]["content"]
        async with session.get(URL + "/thing", params={"q": "x y"}) as response:
            found = [await response.json()]
        found += await asyncio.gather(*(chat(7) for _ in range(4)))
        async with session.post(CHAT, json={**ASK, "stream": True}) as response:
            found.append([line.decode() async for line in response.content])
        try:
            await session.get("http://127.0.0.1:1/")
        except aiohttp.ClientConnectorError as error:
            found.append([str(error), error.host, error.port, error.errno, type(error.os_error).__name__])
    return found

if __name__ == "__main__":
    agent()
"""
)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[HttpLab]:
    lab = HttpLab(tmp_path, PlainServer())
    yield lab
    lab.provider.stop()


def identical_thrice(lab: HttpLab) -> None:
    for _ in range(3):
        outcome = lab.replay_without_server()
        assert outcome.verdict == "identical", outcome.reason


def test_calls_are_steps_and_replay_exactly(lab: HttpLab) -> None:
    lab.python = python_at_hand()
    lab.record(FIRST)
    http, models = lab.steps(Kind.HTTP), lab.steps(Kind.MODEL)
    assert [step.effect for step in http] == [Effect.READ] * 2 and len(lab.provider.requests) == 6
    assert lab.body(http[0].arguments)["url"].endswith("/thing?q=x+y")
    assert [step.attrs["provider"] for step in models] == ["openai.chat"] * 5
    assert lab.request(models[0])["seed"] == 7
    streamed = next(step for step in models if step.attrs["stream"])
    assert lab.body(streamed.result)["choices"][0]["message"]["content"].startswith("piece 0 piece 1 ")
    assert http[1].status is StepStatus.ERROR and lab.returned()[-1][1:] == [
        "127.0.0.1",
        1,
        111,
        "ConnectionRefusedError",
    ]
    identical_thrice(lab)


SHAPES = (
    HEAD
    + """
PATHS = "x gzip gzip-pieces deflate empty none binary utf8-pieces reason sse fail".split()
PIECES = "gzip-pieces binary sse sse-pieces sse-gzip utf8-pieces".split()

async def streams(session, path):
    def opened():
        return session.get(URL + "/" + path)
    found = []
    async with opened() as r:
        found.append([len(piece) async for piece in r.content.iter_any()])
    async with opened() as r:
        found.append([len(piece) async for piece in r.content.iter_chunked(100)])
    async with opened() as r:
        found.append([line.decode("utf-8", "replace") async for line in r.content])
    async with opened() as r:
        found.append([[len(piece), end] async for piece, end in r.content.iter_chunks()])
    async with opened() as r:
        pieces = []
        while not r.content.at_eof():
            pieces.append(len(await r.content.readany()))
        found.append(pieces)
    async with opened() as r:
        found.append([len(await r.content.readexactly(60)), len(await r.content.read(5)), len(await r.content.read())])
    async with opened() as r:
        found.append(len(await r.content.read(20)))
    async with opened() as r:
        found.append(r.status)
    return found

async def tried(call):
    try:
        async with await call() as response:
            return len(await response.read())
    except (aiohttp.ClientError, asyncio.TimeoutError) as error:
        return [type(error).__name__, str(error), getattr(error, "status", None)]

async def once():
    yield b"a"
    yield b"b"

async def main():
    found = []
    async with aiohttp.ClientSession() as session:
        for path in PATHS:
            async with session.get(URL + "/" + path) as r:
                body = await r.text(errors="replace")
                found.append([r.status, r.reason, body[:99], r.headers.get("content-encoding"), r.content_type, r.ok])
        async with session.get(URL + "/redirect") as r:
            found.append([[h.status for h in r.history], str(r.url), [c.key for c in session.cookie_jar]])
        found.append([await streams(session, path) for path in PIECES])
        get, limit = session.get, aiohttp.ClientTimeout
        for path in "dropped not-gzip broken-gzip".split():
            found.append(await tried(lambda: get(URL + "/" + path)))
        found.append(await tried(lambda: get(URL + "/hang", timeout=limit(total=0.2))))
        found.append(await tried(lambda: get(URL + "/hang", timeout=limit(sock_read=0.2))))
        found.append(await tried(lambda: asyncio.wait_for(get(URL + "/hang"), 0.1)))
        found.append(await tried(lambda: get("http://no.such.host.invalid/")))
        found.append(await tried(lambda: get(URL + "/fail", raise_for_status=True)))
        found.append(await tried(lambda: get(URL + "/redirect", max_redirects=1)))
        try:
            async with get(URL + "/sse-dropped") as r:
                async for line in r.content:
                    found.append(line.decode())
        except aiohttp.ClientPayloadError as error:
            found.append(str(error))
        form = aiohttp.FormData()
        form.add_field("f", b"hello", filename="x.txt")
        form.add_field("t", "text")
        for data in ({"a": "1"}, "text", b"bytes", io.BytesIO(b"buffer"), form, once()):
            async with session.post(URL + "/post", data=data) as r:
                found.append((await r.json())["path"])
        left = await get(URL + "/binary")  # neither read nor closed
        found.append(left.status)
    return found

if __name__ == "__main__":
    agent()
"""
)


@pytest.mark.wide
@pytest.mark.parametrize("version", VERSIONS)
def test_responses_of_every_shape_replay_as_they_were_read(lab: HttpLab, version: tuple[tuple[str, ...], str]) -> None:
    lab.python = python_with(version)
    lab.record(SHAPES)
    steps = lab.steps(Kind.HTTP)
    by_path: dict[str, list[StepStatus | None]] = {}
    for step in steps:
        by_path.setdefault(step.name.rpartition("/")[2], []).append(step.status)
    assert [len(by_path[name]) for name in ("redirect", "redirect2", "who")] == [2, 1, 1]
    assert by_path["sse-pieces"].count(StepStatus.PARTIAL) == 2, "given up in the middle, and at once"
    for path in ("dropped", "sse-dropped", "not-gzip", "broken-gzip"):
        assert by_path[path] == [StepStatus.ERROR], path
    assert by_path["hang"] == [StepStatus.TIMED_OUT, StepStatus.TIMED_OUT, StepStatus.CANCELLED]
    posts = [step for step in steps if step.name.endswith("/post")]
    assert [step.holes for step in posts] == [()] * 5 + [("request body streamed, not recorded",)]
    bodies = [lab.body(step.arguments)["body"] for step in posts]
    assert bodies[:4] == ["a=1", "text", "bytes", "buffer"]
    assert [part["content"] for part in bodies[4]["parts"]] == ["hello", "text"]
    identical_thrice(lab)


SOCKETS = (
    HEAD
    + """
from aiohttp import web

async def echo(request):
    socket = web.WebSocketResponse()
    await socket.prepare(request)
    async for message in socket:
        await socket.send_str(message.data.upper())
    return socket

async def main():
    app = web.Application()
    app.router.add_get("/ws", echo)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = site._server.sockets[0].getsockname()[1]
    async with aiohttp.ClientSession() as session:
        async with session.ws_connect(f"http://127.0.0.1:{port}/ws") as socket:
            await socket.send_str("hello")
            found = (await socket.receive()).data
    await runner.cleanup()
    return found

if __name__ == "__main__":
    agent()
"""
)


@pytest.mark.wide
def test_web_sockets_pass_unrecorded(lab: HttpLab) -> None:
    lab.python = python_with((NEWEST, "3.11"))
    lab.record(SOCKETS)
    assert lab.returned() == "HELLO"
    assert lab.steps(Kind.HTTP) == []
