"""``requests`` is recorded as it is used, piece by piece, and replays exactly with the server gone."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from agentdbg.model.records import Effect, Kind, StepStatus
from tests.support import plain_server
from tests.support.http_clients import VERSIONS, python_at_hand, python_with
from tests.support.http_lab import HttpLab
from tests.support.plain_server import PlainServer

HEAD = """
import os, sys, requests
early = requests.Session()
import agentdbg
URL = "http://127.0.0.1:" + os.environ["PORT"]
ASK = {"model": "m", "messages": [{"role": "user", "content": "Grüße"}]}
"""

FIRST = (
    HEAD
    + """
@agentdbg.agent
def agent():
    found = [early.get(URL + "/thing", params={"q": "x y"}).json(), early.post(URL + "/post", json={"a": 1}).json()]
    found.append(early.post(URL + "/v1/chat/completions", json=ASK).json()["choices"][0]["message"]["content"])
    with early.post(URL + "/v1/chat/completions", json={**ASK, "stream": True}, stream=True) as response:
        found.append(list(response.iter_lines(decode_unicode=True)))
    try:
        early.get("http://127.0.0.1:1/")
    except requests.ConnectionError as error:
        found.append([str(error), error.request.url, type(error.args[0].reason).__name__])
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
        assert (outcome.verdict, outcome.unconsumed) == ("identical", 0), outcome.reason


def test_calls_are_steps_and_replay_exactly(lab: HttpLab) -> None:
    lab.python = python_at_hand()
    lab.record(FIRST)
    http, models = lab.steps(Kind.HTTP), lab.steps(Kind.MODEL)
    assert [step.name.partition(" ")[0] for step in http] == ["GET", "POST", "GET"]
    assert [step.effect for step in http] == [Effect.READ, Effect.EXTERNAL, Effect.READ]
    assert lab.body(http[0].arguments)["url"].endswith("/thing?q=x+y")
    assert lab.body(http[1].arguments)["body"] == {"a": 1}
    assert [step.attrs["provider"] for step in models] == ["openai.chat"] * 2
    assert lab.body(models[1].result)["choices"][0]["message"]["content"] == "".join(f"piece {i} " for i in range(5))
    assert [seen.path for seen in lab.provider.requests] == [
        "/thing?q=x+y", "/post", "/v1/chat/completions", "/v1/chat/completions",
    ]  # fmt: skip
    found = lab.returned()
    assert found[4][1:] == ["http://127.0.0.1:1/", "NewConnectionError"] and http[2].status is StepStatus.ERROR
    identical_thrice(lab)


SHAPES = (
    HEAD
    + """
PATHS = "x gzip gzip-pieces deflate raw-deflate empty none binary utf8-pieces reason fail".split()
PIECES = "gzip-pieces binary sse sse-pieces sse-gzip utf8-pieces".split()

def streams(path):
    def opened():
        return early.get(URL + "/" + path, stream=True)
    found = []
    for size in (700, 7, None):
        with opened() as response:
            found.append([len(piece) for piece in response.iter_content(size)])
    with opened() as response:
        found.append([line.decode("utf-8", "replace") for line in response.iter_lines()])
    with opened() as response:
        found.append(len(next(response.iter_content(20))))
    if "gzip" not in path:
        with opened() as response:
            found.append([len(response.raw.read(10)), len(response.raw.read(30)), len(response.raw.read())])
    opened().close()
    return found

def tried(call):
    try:
        with call() as response:
            return [len(piece) for piece in response.iter_content(None)]
    except requests.RequestException as error:
        return [type(error).__name__, str(error), error.request is not None and error.request.url]

def once():
    yield b"a"
    yield b"b"

@agentdbg.agent
def agent():
    found = []
    for path in PATHS:
        r = early.get(URL + "/" + path)
        found.append([r.status_code, r.reason, r.text[:99], r.headers.get("content-encoding"), r.encoding, r.ok])
    r = early.get(URL + "/redirect")
    found.append([[h.status_code for h in r.history], r.url, sorted(early.cookies.keys()), "cookie" in r.text])
    found.append([streams(path) for path in PIECES])
    for path in "dropped sse-dropped not-gzip broken-gzip".split():
        found.append(tried(lambda: early.get(URL + "/" + path, stream=True)))
        found.append(tried(lambda: early.get(URL + "/" + path)))
    found.append(tried(lambda: early.get(URL + "/hang", timeout=0.2)))
    found.append(tried(lambda: early.get("http://no.such.host.invalid/")))
    try:
        early.get(URL + "/fail").raise_for_status()
    except requests.HTTPError as error:
        found.append([str(error), error.response.status_code, error.response.text])
    files = {"f": ("x.txt", b"hello"), "g": open(__file__, "rb")}
    for body in ({"data": {"a": "1"}}, {"data": "text"}, {"data": b"bytes"}, {"files": files}, {"data": once()}):
        found.append(early.post(URL + "/post", **body).json()["path"])
    adapter = requests.adapters.HTTPAdapter(max_retries=requests.adapters.Retry(3, status_forcelist=[429]))
    early.mount(URL, adapter)
    found.append(early.get(URL + "/flaky").json())
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
    assert [len(by_path[name]) for name in ("redirect", "redirect2", "who", "flaky")] == [1, 1, 1, 1]
    for path in ("binary", "sse-pieces"):
        assert by_path[path].count(StepStatus.PARTIAL) == 2, "given up in the middle, and at once"
    for path in ("dropped", "sse-dropped", "not-gzip", "broken-gzip"):
        assert by_path[path] == [StepStatus.ERROR] * 2, path
    assert by_path["hang"] == [StepStatus.TIMED_OUT]
    posts = [step for step in steps if step.name.endswith("/post")]
    assert [step.holes for step in posts] == [()] * 4 + [("request body streamed, not recorded",)]
    parts = lab.body(posts[3].arguments)["body"]["parts"]
    assert parts[0] == {"name": "f", "filename": "x.txt", "content": "hello"}
    assert parts[1]["content"] == lab.program.read_text()
    identical_thrice(lab)


HELD = (
    HEAD
    + """
@agentdbg.agent
def agent():
    with requests.get(URL + "/held", stream=True) as response:
        pieces = response.iter_content(None)
        found = [next(pieces).decode()]
        requests.post(URL + "/release")
        return found + [piece.decode() for piece in pieces]

if __name__ == "__main__":
    agent()
"""
)


@pytest.mark.wide
def test_nothing_is_read_ahead_of_the_agent(lab: HttpLab, monkeypatch: pytest.MonkeyPatch) -> None:
    released = threading.Event()

    def held(handler: plain_server._Handler) -> None:
        handler.head(200, ("content-type", "text/plain"), ("transfer-encoding", "chunked"))
        for piece in (b"first", b"second"):
            handler.wfile.write(f"{len(piece):x}\r\n".encode() + piece + b"\r\n")
            assert released.wait(20), "the first piece has not reached the agent"
        handler.wfile.write(b"0\r\n\r\n")

    def release(handler: plain_server._Handler) -> None:
        released.set()
        handler.send(b"{}")

    monkeypatch.setitem(plain_server.ROUTES, "/held", held)
    monkeypatch.setitem(plain_server.ROUTES, "/release", release)
    lab.python = python_with((("aiohttp", "boto3", "requests"), "3.11"))
    lab.record(HELD)
    assert lab.returned() == ["first", "second"]
    identical_thrice(lab)
