"""The seam for ``aiohttp``: every request that a client session puts on the wire is a step, each redirect of its own.

A session asks its connector for a connection, sends the request over it and starts the response. Those three places are
patched, below cookies, redirects, middlewares, traces and ``raise_for_status``, which a replay runs again. Served, the
connection is one that nobody opened: it answers out of the record. A repetition that a session makes by itself, on a
connection that the server had closed, is a step too. Web sockets are not recorded and not marked as an exchange, so
that whoever watches sockets sees them.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from contextlib import suppress
from importlib import import_module
from types import ModuleType, SimpleNamespace
from typing import Any

from agentdbg.model.records import StepStatus
from agentdbg.recording import outset
from agentdbg.recording.active import status_of
from agentdbg.recording.aiohttp_bodies import message, served_body, served_head, watch_body, whole_body
from agentdbg.recording.calls import Served
from agentdbg.recording.exchange_marker import passing, within
from agentdbg.recording.http_calls import HttpCall, settled
from agentdbg.recording.http_exchange import asked_async, ending, failed, opened_for, serve, watch
from agentdbg.recording.http_headers import patch
from agentdbg.recording.http_pieces import PieceReader, class_of
from agentdbg.recording.http_requests import HttpRequest
from agentdbg.recording.http_served import ServedResponse, answerer, dropped
from agentdbg.recording.telemetry import Reply

_CALL = "_agentdbg_call"
_CONNECTING = "connecting"


def install(module: ModuleType) -> None:
    """Patch the classes behind ``aiohttp.client``. Idempotent."""
    connector = import_module("aiohttp.connector").BaseConnector
    patch(connector, "connect", _connect(connector.connect))
    patch(module.ClientRequest, "send", _send(module.ClientRequest.send))
    patch(module.ClientResponse, "start", _start(module.ClientResponse.start))


def _connect(original: Any) -> Any:
    @functools.wraps(original)
    async def connect(self: Any, req: Any, *args: Any, **kwargs: Any) -> Any:
        outset.patch()
        library = _Request(req)
        opened = opened_for(library)
        if opened is None:
            return await original(self, req, *args, **kwargs)
        if isinstance(opened, Reply):
            if answerer() is not None:
                return library.answer(opened)
            with passing():
                return await original(self, req, *args, **kwargs)
        served = await asked_async(opened)
        if served is not None:
            return library.connection(opened, served)
        setattr(req, _CALL, opened)
        try:
            with within(opened.scope.within_http(opened.step.id)):
                return await original(self, req, *args, **kwargs)
        except BaseException as error:
            raise _ended(opened, req, error, _CONNECTING)  # noqa: B904  # it is the same

    return connect


def _send(original: Any) -> Any:
    @functools.wraps(original)
    async def send(self: Any, conn: Any) -> Any:
        if isinstance(conn, _Connection):
            self.response = conn.response(self)
            return self.response
        call: HttpCall | None = vars(self).get(_CALL)
        if call is None:
            return await original(self, conn)
        try:
            with within(call.scope.within_http(call.step.id)):
                response = await original(self, conn)
        except BaseException as error:
            raise _ended(call, self, error)  # noqa: B904  # it is the same
        setattr(response, _CALL, (call, self))
        return response

    return send


def _start(original: Any) -> Any:
    @functools.wraps(original)
    async def start(self: Any, connection: Any) -> Any:
        call, request = vars(self).get(_CALL, (None, None))
        if call is None:
            return await original(self, connection)
        try:
            with within(call.scope.within_http(call.step.id)):
                response = await original(self, connection)
        except BaseException as error:
            raise _ended(call, request, error)  # noqa: B904  # it is the same
        watch(_Request(request), call, response)
        return response

    return start


def _ended(call: HttpCall, request: Any, error: BaseException, phase: str = "") -> BaseException:
    """Write that an exchange came to no response; returns the error.

    A session's own time limit cancels the task it runs in: that is a time-out, not a cancellation by somebody else.
    """
    timer = getattr(request, "_timer", None)
    seen: BaseException = error
    if status_of(error) is StepStatus.CANCELLED and getattr(timer, "_cancelled", False):
        seen, phase = TimeoutError(), ""
    call.finish(status_of(seen), _writable(seen), phase=phase)
    return error


def _writable(error: BaseException) -> BaseException:
    """The error, or one like it without what cannot be written down; `_Request.error` puts that back."""
    if type(error).__module__.partition(".")[0] != "aiohttp":
        return error
    made = type(error).__new__(type(error))
    vars(made).update(vars(error))
    made.args = tuple(each if isinstance(each, str | int | BaseException) else "" for each in error.args)
    if isinstance(made, OSError) and isinstance(error, OSError) and error.errno is not None:
        made.errno, made.strerror = error.errno, error.strerror
    return made


class _Request:
    """One request of a session."""

    def __init__(self, request: Any) -> None:
        self.request = request

    def describe(self) -> HttpRequest | None:
        request = self.request
        if "websocket" in request.headers.get("upgrade", "").lower():
            return None
        url = request.url
        headers = [(str(name), str(value)) for name, value in request.headers.items()]
        content = whole_body(request)
        host = url.raw_authority.rpartition("@")[2]
        return HttpRequest(request.method, url.scheme, host, url.raw_path, url.raw_query_string, headers, content)

    def watch(self, call: HttpCall, response: Any) -> None:
        watch_body(call, response)

    def connection(self, call: HttpCall, served: Served) -> _Connection:
        """A connection that answers out of the record; raises the recorded error if there was none to be had."""
        if "http_status" in served.attrs:
            connection: _Connection = serve(self, call, served)
            return connection
        settled(call)
        error = failed(self, call, served)
        if served.attrs.get("phase") == _CONNECTING:
            raise error
        return _Connection(error=error)

    def serve(self, call: HttpCall, served: Served) -> _Connection:
        found = ServedResponse(call, served, coded=False)
        connection = _Connection(found)
        failure = functools.partial(ending, self, served)
        connection.protocol.answer = (served_head(found), served_body(found, failure, connection.protocol))
        return connection

    def answer(self, reply: Reply) -> _Connection:
        from asyncio import get_running_loop  # loaded with aiohttp, not with the recorder

        connection = _Connection()
        body = import_module("aiohttp.streams").StreamReader(connection.protocol, 2**16, loop=get_running_loop())
        body.feed_data(reply.body)
        body.feed_eof()
        headers = [(name.encode(), value.encode()) for name, value in reply.headers]
        connection.protocol.answer = (message(reply.status, "OK", "HTTP/1.1", headers), body)
        return connection

    def error(self, error: BaseException) -> BaseException:
        found: Any = error
        key = self.request.connection_key
        if hasattr(type(error), "os_error") and len(error.args) == 2:
            found._conn_key, found._os_error = key, error.args[1]
            found.args = (key, error.args[1])
            found.errno, found.strerror = error.args[1].errno, error.args[1].strerror
        if "request_info" in getattr(type(error).__init__, "__annotations__", {}):
            found.request_info, found.history = self.request.request_info, ()
        return error


class _Connection:
    """Stands for a connection: what is sent over it goes nowhere, and what is read comes out of the record."""

    def __init__(self, found: ServedResponse | None = None, *, error: BaseException | None = None) -> None:
        self.protocol = _Protocol(error)
        self.transport = SimpleNamespace(get_extra_info=lambda *_: None, is_closing=lambda: False, close=lambda: None)
        self.closed = False
        self._found = found
        self._callbacks: list[Callable[[], None]] = []

    def response(self, request: Any) -> Any:
        """The response that ``request`` makes of it, not started yet."""
        given = {
            "writer": None,
            "continue100": None,
            "timer": request._timer,
            "request_info": request.request_info,
            "traces": request._traces,
            "loop": request.loop,
            "session": request._session,
            "stream_writer": SimpleNamespace(output_size=0),
        }
        known = inspect.signature(request.response_class.__init__).parameters
        made = request.response_class(
            request.method,
            request.original_url,
            **{name: value for name, value in given.items() if name in known},
        )
        if self._found is not None:
            made.__class__ = _served_response(class_of(made))
            made._agentdbg_found = self._found
        return made

    def add_callback(self, callback: Callable[[], None]) -> None:
        """Call this when the connection is done with."""
        if callback is not None:
            self._callbacks.append(callback)

    def release(self) -> None:
        """The connection is done with."""
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            with suppress(Exception):  # as aiohttp's connections do
                callback()

    def close(self) -> None:
        """The same."""
        self.closed = True
        self.release()


class _Protocol:
    """What a response and its body ask of a connection's protocol."""

    upgraded = False
    _reading_paused = False

    def __init__(self, error: BaseException | None) -> None:
        self.answer: tuple[Any, Any] | None = None
        self._error = error

    def set_response_params(self, **_: Any) -> None:
        """There is nothing to parse."""

    async def read(self) -> tuple[Any, Any]:
        """Head and body."""
        if self._error is not None or self.answer is None:
            raise self._error or RuntimeError("a connection without an answer")
        if isinstance(pieces := getattr(self.answer[1], "_pieces", None), PieceReader):
            await pieces.begin()
        return self.answer

    def pause_reading(self, **_: Any) -> None:
        """Nothing comes."""

    def resume_reading(self, **_: Any) -> None:
        """Nothing comes."""


@functools.cache
def _served_response(base: Any) -> Any:
    class ClientResponse(base):  # type: ignore[misc]  # aiohttp's class is known at run time only
        def close(self) -> None:
            self._agentdbg_found.close()
            super().close()

        def release(self) -> Any:
            self._agentdbg_found.close()
            return super().release()

        def __del__(self) -> None:
            dropped(self._agentdbg_found)
            super().__del__()

    ClientResponse.__module__, ClientResponse.__qualname__ = base.__module__, base.__qualname__
    ClientResponse.__name__ = base.__name__
    return ClientResponse
