"""ASGI requests as runs, with an application and a server written by hand: what a user finds in the store."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import agentdbg
from agentdbg.model.records import Kind, RunStatus, StepStatus
from agentdbg.recording import scope as scopes
from agentdbg.recording.process import Recorder
from agentdbg.recording.servers.asgi import ServedApp
from tests.support.recorded import Recorded, only_run, recording, runs

Message = dict[str, Any]
App = Callable[[Any, Any, Any], Awaitable[None]]


@agentdbg.tool(effect="read")
def look_up(what: str) -> str:
    """A tool."""
    return what.upper()


@agentdbg.agent
def clerk(what: str) -> str:
    """An agent."""
    return look_up(what)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Path]:
    with recording(tmp_path / "store"):
        yield tmp_path / "store"


def scope_for(path: str = "/ask", *, kind: str = "http", **members: Any) -> Message:
    return {
        "type": kind,
        "method": "POST",
        "path": path,
        "query_string": b"",
        "headers": [(b"content-type", b"application/json")],
        "client": ("192.0.2.1", 4711),
        **members,
    }


async def call(app: App, scope: Message, body: bytes = b"", *, pieces: int = 1) -> list[Message]:
    """What a server does for one request; returns what the application sent."""
    size = max(1, -(-len(body) // pieces))
    parts = [body[at : at + size] for at in range(0, len(body), size)] or [b""]
    waiting: list[Message] = [
        {"type": "http.request", "body": part, "more_body": n < len(parts) - 1} for n, part in enumerate(parts)
    ]
    sent: list[Message] = []

    async def receive() -> Message:
        return waiting.pop(0) if waiting else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    await ServedApp(app, None, app)(scope, receive, send)
    return sent


async def read(receive: Any) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body, more = body + message["body"], message["more_body"]
    return body


async def answer(send: Any, *pieces: bytes, status: int = 200, kind: bytes = b"application/json") -> None:
    await send({"type": "http.response.start", "status": status, "headers": [(b"content-type", kind)]})
    for n, piece in enumerate(pieces):
        await send({"type": "http.response.body", "body": piece, "more_body": n < len(pieces) - 1})


def root(run: Recorded) -> tuple[Any, Any]:
    """Arguments and result of a run's root step."""
    (step,) = [step for step in run.steps if step.parent is None]
    assert step.kind is Kind.AGENT
    return run.arguments(step), run.result(step)


async def test_a_request_that_calls_something_is_a_run_with_what_came_in_and_what_went_out(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await read(receive)
        look_up("a")
        look_up("b")
        await answer(send, b'{"said":', b'"yes"}', status=201)

    sent = await call(app, scope_for(query_string=b"page=2"), b'{"order": "o1"}', pieces=3)
    assert [message.get("body") for message in sent] == [None, b'{"said":', b'"yes"}']
    run = only_run(store)
    assert run.status is RunStatus.OK
    assert run.source.summary().agent == "POST /ask"
    came, went = root(run)
    assert came == {
        "method": "POST",
        "path": "/ask",
        "query": "page=2",
        "headers": [["content-type", "application/json"]],
        "body": {"order": "o1"},
        "client": ["192.0.2.1", 4711],
    }
    assert went == {"status": 201, "content_type": "application/json", "body": {"said": "yes"}}
    assert [step.name for step in run.steps] == ["POST /ask", "look_up", "look_up"]
    assert {step.parent for step in run.steps[1:]} == {run.steps[0].id}


async def test_a_request_that_calls_nothing_and_lifespan_are_no_runs(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            look_up("warm up")
        else:
            await answer(send, b"{}")

    await call(app, scope_for())
    await call(app, scope_for(kind="lifespan"))
    assert runs(store) == []


async def test_all_requests_are_runs_or_none_as_set(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await read(receive)
        if scope["path"] == "/busy":
            look_up("a")
        await answer(send, b"{}")

    for mode, expected in (("always", ["POST /busy", "POST /idle"]), ("off", [])):
        monkeypatch.setenv("AGENTDBG_REQUESTS", mode)
        with recording(tmp_path / mode):
            await call(app, scope_for("/idle"), b'{"a":1}')
            await call(app, scope_for("/busy"), b'{"a":1}')
        found = runs(tmp_path / mode) if (tmp_path / mode).exists() else []
        assert sorted(run.source.summary().agent for run in found) == expected
        assert all(root(run)[0]["body"] == {"a": 1} for run in found)


async def test_an_agent_that_comes_first_is_the_run_and_carries_the_requests_tags(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        clerk("a")
        look_up("outside of it")
        await answer(send, b"{}")

    headers = [
        (b"x-request-id", b"req-7"),
        (b"traceparent", b"00-" + b"ab" * 16 + b"-" + b"cd" * 8 + b"-01"),
        (b"baggage", b"userId=alice,agentdbg.run=caller-1;prop"),
    ]
    await call(app, scope_for(headers=headers))
    run = only_run(store)
    summary = run.source.summary()
    assert (summary.agent, [step.name for step in run.steps]) == ("clerk", ["clerk", "look_up"])
    assert {key: summary.tags[key] for key in ("request_id", "method", "path", "parent_run")} == {
        "request_id": "req-7",
        "method": "POST",
        "path": "/ask",
        "parent_run": "caller-1",
    }
    assert {"pid", "thread"} <= set(summary.tags)
    assert (summary.meta["trace_id"], summary.meta["continues"]) == ("ab" * 16, "caller-1")


async def test_an_agent_that_comes_after_a_call_is_a_step_of_the_request(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        look_up("first")
        clerk("a")
        await answer(send, b"{}")

    await call(app, scope_for())
    run = only_run(store)
    assert [(step.name, step.depth) for step in run.steps] == [
        ("POST /ask", 0),
        ("look_up", 1),
        ("clerk", 1),
        ("look_up", 2),
    ]


async def test_requests_at_the_same_time_do_not_mix(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        async def one(n: int) -> str:
            await asyncio.sleep(0.001 * (n % 3))
            return await asyncio.to_thread(look_up, f"{scope['path']} {n}")

        await asyncio.gather(*(one(n) for n in range(3)))
        await answer(send, b"{}")

    await asyncio.gather(*(call(app, scope_for(f"/{n}")) for n in range(20)))
    found = runs(store)
    assert sorted(run.source.summary().agent for run in found) == sorted(f"POST /{n}" for n in range(20))
    for run in found:
        path = run.source.summary().tags["path"]
        tools = [step for step in run.steps if step.kind is Kind.TOOL]
        asked = {run.arguments(step)["what"] for step in tools}
        assert asked == {f"{path} {n}" for n in range(3)}


async def test_what_goes_on_behind_the_response_is_in_the_run_even_when_it_begins_it(store: Path) -> None:
    later: list[asyncio.Task[None]] = []

    async def work() -> None:
        await asyncio.sleep(0.01)
        look_up("later")

    async def app(scope: Any, receive: Any, send: Any) -> None:
        await answer(send, b'{"accepted":true}', status=202)
        later.append(asyncio.ensure_future(work()))

    await call(app, scope_for())
    assert runs(store) == []
    await asyncio.gather(*later)
    run = only_run(store)
    assert run.status is RunStatus.OK
    assert [step.name for step in run.steps] == ["POST /ask", "look_up"]
    assert root(run)[1] == {"status": 202, "content_type": "application/json", "body": {"accepted": True}}


async def test_an_exception_fails_the_run_and_reaches_the_server(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        look_up("a")
        raise ValueError("no such order")

    with pytest.raises(ValueError, match="no such order"):
        await call(app, scope_for())
    summary = only_run(store).source.summary()
    assert summary.status is RunStatus.FAILED
    assert summary.error is not None
    assert (summary.error.type, summary.error.message) == ("ValueError", "no such order")


async def test_a_server_error_is_a_failed_run(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        look_up("a")
        await answer(send, b"{}", status=503)

    await call(app, scope_for())
    run = only_run(store)
    assert (run.status, run.steps[0].status) == (RunStatus.FAILED, StepStatus.ERROR)


async def test_a_request_cancelled_in_mid_stream_keeps_what_was_sent(store: Path) -> None:
    started = asyncio.Event()

    async def app(scope: Any, receive: Any, send: Any) -> None:
        look_up("a")
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/event-stream")]})
        await send({"type": "http.response.body", "body": b"data: 1\n\n", "more_body": True})
        started.set()
        await asyncio.sleep(60)

    task = asyncio.ensure_future(call(app, scope_for()))
    await started.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    run = only_run(store)
    assert run.steps[0].status is StepStatus.PARTIAL
    assert root(run)[1]["body"] == "data: 1\n\n"


async def test_secrets_in_headers_query_and_body_are_not_written(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        await read(receive)
        look_up("a")
        await answer(send, b"{}")

    headers = [(b"authorization", b"Bearer s3cr3t-in-header-0001"), (b"cookie", b"session=s3cr3t-in-cookie-0002")]
    scope = scope_for(headers=headers, query_string=b"password=s3cr3t-in-query-0003")
    await call(app, scope, b'{"password": "s3cr3t-in-body-0004"}')
    written = b"".join(path.read_bytes() for path in store.rglob("*") if path.is_file())
    assert b"s3cr3t" not in written


async def test_a_long_response_is_cut_in_the_record_and_whole_on_the_wire(store: Path) -> None:
    piece = b"x" * 400_000

    async def app(scope: Any, receive: Any, send: Any) -> None:
        look_up("a")
        await answer(send, *[piece] * 5, kind=b"text/plain")

    sent = await call(app, scope_for())
    assert sum(len(message.get("body", b"")) for message in sent) == 2_000_000
    run = only_run(store)
    assert len(root(run)[1]["body"]) == 1024 * 1024
    assert any("of 2000000 bytes" in hole for hole in run.steps[0].holes)


async def test_a_websocket_connection_is_a_run_with_what_was_said(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        said: Message = await receive()
        look_up(said["text"])
        await send({"type": "websocket.send", "text": "hello"})

    async def receive() -> Message:
        return {"type": "websocket.receive", "text": "hi"}

    async def send(message: Any) -> None:
        return None

    scope = scope_for("/ws", kind="websocket")
    del scope["method"]
    await ServedApp(app, None, app)(scope, receive, send)
    run = only_run(store)
    assert run.source.summary().agent == "WEBSOCKET /ws"
    assert root(run)[1] == {"messages": [{"received": "hi"}, {"sent": "hello"}]}


async def test_nothing_of_a_request_is_left_in_the_context_it_was_served_in(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        look_up("a")
        await answer(send, b"{}")

    await call(app, scope_for())
    assert scopes.here() is None
    await call(app, scope_for())
    assert len(runs(store)) == 2


async def test_the_next_request_on_a_connection_may_come_in_the_context_of_the_last(store: Path) -> None:
    contexts: list[contextvars.Context] = []

    async def app(scope: Any, receive: Any, send: Any) -> None:
        look_up(scope["path"])
        contexts.append(contextvars.copy_context())
        await answer(send, b"{}")

    await call(app, scope_for("/1"))
    await asyncio.get_running_loop().create_task(call(app, scope_for("/2")), context=contexts[0])
    assert sorted(run.source.summary().agent for run in runs(store)) == ["POST /1", "POST /2"]


async def test_an_unusable_message_of_the_application_goes_through(store: Path) -> None:
    async def app(scope: Any, receive: Any, send: Any) -> None:
        look_up("a")
        await send({"type": "http.response.start", "status": 200, "headers": [("text", "instead of bytes")]})
        await send({"type": "http.response.body", "body": "text instead of bytes"})

    sent = await call(app, scope_for())
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    assert only_run(store).status is RunStatus.OK


def test_a_server_process_itself_is_no_run(tmp_path: Path) -> None:
    with recording(tmp_path / "store") as made:
        made.serving = True
        look_up("in the background")
        assert isinstance(made, Recorder)
    assert not list((tmp_path / "store").glob("runs/*"))
