"""A connection to an MCP server, seen at its JSON-RPC messages: every request is a step, whatever carries it.

``tools/call`` is a tool step; other requests are exchanges of the protocol. A replay starts no server and opens no
connection: it answers from the record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from agentdbg.model.records import Kind
from agentdbg.recording import scope as scopes
from agentdbg.recording.active import ActiveCall
from agentdbg.recording.calls import CallRefused
from agentdbg.recording.framework_calls import FrameworkTool, ToolDescription
from agentdbg.recording.frameworks import mcp_annotations
from agentdbg.recording.frameworks import mcp_messages as messages
from agentdbg.recording.frameworks.mcp_messages import McpFailure
from agentdbg.recording.frameworks.patches import guarded
from agentdbg.recording.process import recorder

if TYPE_CHECKING:
    from asyncio import Task

_CALL = "tools/call"
_READS = ("initialize", "ping", "server/discover", "completion/complete")
_MOST_ASIDE = 1000
_REFUSED = -32603
_ASIDE = "mcp_messages"


def linked(original: Callable[..., Any]) -> Callable[..., Any]:
    """Wrap a function that makes a transport: an async context manager that gives a pair of streams, and maybe more."""

    def connect(*args: Any, **kwargs: Any) -> Any:
        found = recorder()
        if found is None:
            return original(*args, **kwargs)
        extras = 1 if original.__name__ == "streamablehttp_client" else 0
        return _Replayed(extras) if found.answerer is not None else _Recorded(original(*args, **kwargs))

    return connect


# -- one request ----------------------------------------------------------------------------------


def _described(args: tuple[Any, ...], kwargs: dict[str, Any]) -> ToolDescription:
    message = args[0]
    params = messages.params_of(message)
    if message.method == _CALL:
        name = str(params.get("name"))
        arguments = params.get("arguments")
        shown = arguments if isinstance(arguments, dict) else {}
        effect = mcp_annotations.effect_of(name)
        return ToolDescription(name, shown, effect, {"protocol": "mcp"}, served_only=True)
    method = str(message.method)
    is_read = method in _READS or method.rpartition("/")[2] in ("list", "get", "read")
    effect = "read" if is_read else "external"
    return ToolDescription(f"mcp {method}", params, effect, {"protocol": "mcp"}, served_only=True)


_TOOL, _PROTOCOL = FrameworkTool(_described), FrameworkTool(_described, kind=Kind.HTTP)


def _opened(message: Any) -> ActiveCall | None:
    """The step of a request; ``None`` where it is part of a framework's tool that is a step already."""
    if message.method != _CALL:
        return _PROTOCOL.open((message,), {})
    scope = scopes.current()
    name = mcp_annotations.plain(str(messages.params_of(message).get("name")))
    if scope is not None and scope.tool_name and mcp_annotations.plain(scope.tool_name).endswith(name):
        return None
    return _TOOL.open((message,), {})


def _learn(method: str, result: Any) -> None:
    if method == "tools/list" and isinstance(result, dict):
        mcp_annotations.learn(result.get("tools") or ())


def _carrying() -> AbstractContextManager[None]:
    """Inside of it, the transport does what it has to do for a message that is a step already."""
    scope = scopes.current()
    return scopes.inside(None if scope is None else scope._replace(inside_http=True))


# -- recording ------------------------------------------------------------------------------------


class _Recorded:
    """A transport whose messages are recorded. What it does below that, over HTTP or to a process, is no step."""

    def __init__(self, inner: AbstractAsyncContextManager[Any]) -> None:
        self._inner = inner
        self._open: dict[Any, ActiveCall] = {}
        self._methods: dict[Any, str] = {}
        self._aside: list[dict[str, Any]] = []

    async def __aenter__(self) -> Any:
        with _carrying():
            read, write, *more = await self._inner.__aenter__()
        return (_Read(read, self.received), _Write(write, self.sent), *more)

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, where: TracebackType | None
    ) -> Any:
        for active in list(self._open.values()):
            active.fail(error or ConnectionError("the connection was closed before an answer came"))
        self._open.clear()
        with _carrying():
            return await self._inner.__aexit__(kind, error, where)

    def sent(self, item: Any) -> None:
        """The client sends a message: its intent, if it is a request."""
        message = messages.envelope(item)
        if messages.is_request(message):
            active = _opened(message)
            if active is not None:
                self._open[message.id] = active
                self._methods[message.id] = message.method
        elif getattr(message, "method", "") == "notifications/cancelled":
            active = self._open.pop(messages.params_of(message).get("requestId"), None)
            if active is not None:
                active.fail(TimeoutError("the client gave up waiting"))

    def received(self, item: Any) -> None:
        """The server sent a message: the outcome of a request, or one in between."""
        message = messages.envelope(item)
        identity = messages.answered_id(message)
        if identity is None:
            if hasattr(message, "method") and self._open and len(self._aside) < _MOST_ASIDE:
                self._aside.append(messages.plain(message))
            return
        active, method = self._open.pop(identity, None), self._methods.pop(identity, "")
        if active is None:
            return
        try:
            result = messages.result_of(message)
        except McpFailure as error:
            active.fail(error)
            return
        _learn(method, result)
        aside, self._aside = self._aside, []
        gate = active.run.gate
        active.succeed(result, {_ASIDE: gate.value(aside)} if aside else None)


class _Write:
    """The client's end for sending."""

    def __init__(self, inner: Any, seen: Callable[[Any], None]) -> None:
        self._inner, self._seen = inner, seen

    async def send(self, item: Any) -> None:
        guarded(lambda: self._seen(item))
        with _carrying():
            await self._inner.send(item)

    def clone(self) -> _Write:
        return _Write(self._inner.clone(), self._seen)

    async def __aenter__(self) -> _Write:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


def _carried() -> None:
    scope = scopes.current()
    if scope is not None:
        scopes.enter(scope._replace(inside_http=False))


class _Read:
    """The client's end for receiving."""

    def __init__(self, inner: Any, seen: Callable[[Any], None]) -> None:
        self._inner, self._seen = inner, seen

    async def receive(self) -> Any:
        item = await self._inner.receive()
        guarded(lambda: self._seen(item))
        return item

    @property
    def last_context(self) -> Any:
        """The context that the framework handles a message in: the sender's, which carries nothing any more."""
        context = getattr(self._inner, "last_context", None)
        if context is None:
            return None
        found = context.copy()
        found.run(_carried)
        return found

    def __aiter__(self) -> _Read:
        return self

    async def __anext__(self) -> Any:
        item = await self._inner.__anext__()
        guarded(lambda: self._seen(item))
        return item

    def clone(self) -> _Read:
        return _Read(self._inner.clone(), self._seen)

    async def __aenter__(self) -> _Read:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> Any:
        return await self._inner.__aexit__(*error)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


# -- replaying ------------------------------------------------------------------------------------


class _Replayed:
    """Stands for a transport in a replay."""

    def __init__(self, extras: int) -> None:
        self._extras = extras
        self._tasks: set[Task[None]] = set()
        self._stopped: BaseException | None = None

    async def __aenter__(self) -> Any:
        import anyio

        self._feed, read = anyio.create_memory_object_stream[Any](math.inf)
        return (read, _Answering(self), *(_no_session for _ in range(self._extras)))

    async def __aexit__(self, *error: Any) -> None:
        for task in list(self._tasks):
            task.cancel()
        self._feed.close()
        if self._stopped is not None:
            raise self._stopped

    async def sent(self, item: Any) -> None:
        """The client sends a message: answer it when its turn has come, if it is a request."""
        message = messages.envelope(item)
        if not messages.is_request(message):
            return
        active = _opened(message)
        from asyncio import get_running_loop

        with scopes.inside(None):  # this task is none of the program's lanes
            task = get_running_loop().create_task(self._answer(item, message, active))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _answer(self, item: Any, message: Any, active: ActiveCall | None) -> None:
        try:
            served = None if active is None else await active.served_async()
        except CallRefused as refusal:
            return self._give(item, messages.failure(message.id, McpFailure(_REFUSED, str(refusal))))
        except BaseException as stop:
            self._stop(stop)
            raise
        if served is None:
            missing = McpFailure(_REFUSED, "agentdbg: this request is outside of the recorded run")
            return self._give(item, messages.failure(message.id, missing))
        aside: Any = served.served.attrs.get(_ASIDE)
        for other in aside if isinstance(aside, list) else ():
            self._give(item, other)
        try:
            result = served.deliver()
        except McpFailure as error:
            self._give(item, messages.failure(message.id, error))
        except Exception as error:  # the connection broke: nothing comes any more
            self._stop(error)
        else:
            _learn(message.method, result)
            self._give(item, messages.answer(message.id, result))

    def _give(self, like: Any, data: dict[str, Any]) -> None:
        with suppress(Exception):  # the session is gone
            self._feed.send_nowait(messages.built(like, data))

    def _stop(self, error: BaseException) -> None:
        """Nothing more comes from the server; a replay that is over says so when the connection ends."""
        if not isinstance(error, Exception):
            self._stopped = error if type(error).__name__ != "CancelledError" else None
        self._feed.close()


class _Answering:
    """The client's end for sending, in a replay."""

    def __init__(self, link: _Replayed) -> None:
        self._link = link

    async def send(self, item: Any) -> None:
        await self._link.sent(item)

    def close(self) -> None:
        """Nothing is open."""

    async def aclose(self) -> None:
        """Nothing is open."""

    def clone(self) -> _Answering:
        return self

    async def __aenter__(self) -> _Answering:
        return self

    async def __aexit__(self, *error: Any) -> None:
        return None


def _no_session() -> None:
    """The session id of a connection that is not there."""
