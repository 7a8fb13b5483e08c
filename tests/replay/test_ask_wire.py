"""Requests over a real socket: busy servers, broken answers, redirects."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from agentdbg.replay.ask_wire import GivenUp, Reply, SendFailed, send
from tests.support.plain_server import PlainServer
from tests.support.scripted_server import Reply as Scripted
from tests.support.scripted_server import ScriptedServer, dropped, rate_limited, server_error

BODY = b'{"model": "m", "messages": [{"role": "user", "content": "hi"}]}'


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer() as running:
        yield running


def _send(server: ScriptedServer | PlainServer, path: str = "/v1/chat/completions", timeout: float = 5) -> Reply:
    said: list[str] = []
    return send(
        server.url + path,
        [("Content-Type", "application/json")],
        BODY,
        timeout=timeout,
        stop=threading.Event(),
        say=said.append,
    )


def test_a_request_goes_out_as_it_is(server: ScriptedServer) -> None:
    reply = _send(server)
    assert (reply.status, reply.attempts) == (200, 1)
    assert server.requests[0].body == BODY


def test_a_busy_server_is_asked_again_when_it_says_so(server: ScriptedServer) -> None:
    server.script(rate_limited(), rate_limited(), Scripted(text="now"))
    assert _send(server).attempts == 3


def test_a_server_that_stays_busy_has_the_last_word(server: ScriptedServer) -> None:
    server.default = rate_limited()
    assert (_send(server).status, len(server.requests)) == (429, 4)


def test_a_server_that_asks_for_a_long_wait_is_not_waited_for(server: ScriptedServer) -> None:
    server.script(rate_limited(3600))
    assert (_send(server).status, len(server.requests)) == (429, 1)


def test_nothing_else_is_sent_twice(server: ScriptedServer) -> None:
    server.script(server_error())
    assert (_send(server).status, len(server.requests)) == (500, 1)


def test_a_broken_answer_is_said(server: ScriptedServer) -> None:
    server.script(dropped())
    with pytest.raises(SendFailed, match="broke off"):
        _send(server)


def test_a_slow_answer_is_given_up(server: ScriptedServer) -> None:
    server.script(Scripted(text="late", delay=1.0))
    with pytest.raises(SendFailed, match="within"):
        _send(server, timeout=0.1)


def test_nobody_there_is_said() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]
    with pytest.raises(SendFailed, match="cannot be reached"):
        send(f"http://127.0.0.1:{port}/v1", [], b"", timeout=2, stop=threading.Event(), say=lambda _: None)


def test_a_redirect_is_an_answer_and_not_followed() -> None:
    with PlainServer() as server:
        reply = _send(server, "/redirect")
        assert len(server.requests) == 1
        assert reply.status != 200


def test_a_stop_ends_the_waiting(server: ScriptedServer) -> None:
    server.script(rate_limited(50))
    stop = threading.Event()
    with pytest.raises(GivenUp):
        send(server.url + "/v1/messages", [], BODY, timeout=5, stop=stop, say=lambda _: stop.set())


@pytest.mark.parametrize("url", ["file:///etc/passwd", "ftp://127.0.0.1/x", "data:,x"])
def test_only_web_addresses_are_opened(url: str) -> None:
    with pytest.raises(SendFailed):
        send(url, [], b"", timeout=1, stop=threading.Event(), say=lambda _: None)
