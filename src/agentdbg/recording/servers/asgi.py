"""ASGI applications: each HTTP request and each websocket connection is a run from its first call on.

Starlette's applications are wrapped where servers call them, uvicorn's whatever they are. Lifespan is never a run.
"""

from __future__ import annotations

import functools
from collections.abc import Awaitable, Callable, MutableMapping
from types import ModuleType
from typing import TYPE_CHECKING, Any, TypeAlias

from agentdbg.recording import scope as scopes
from agentdbg.recording.http_headers import patch
from agentdbg.recording.process import recorder

if TYPE_CHECKING:
    from agentdbg.recording.servers.asgi_request import AsgiRequest
    from agentdbg.recording.servers.places import Place

AsgiScope: TypeAlias = "MutableMapping[str, Any]"
Message: TypeAlias = "MutableMapping[str, Any]"
Receive: TypeAlias = "Callable[[], Awaitable[Message]]"
Send: TypeAlias = "Callable[[Message], Awaitable[None]]"
AsgiApp: TypeAlias = "Callable[[AsgiScope, Receive, Send], Awaitable[Any]]"
_ROOTS = frozenset(("http", "websocket"))


def install(module: ModuleType) -> None:
    """Patch Starlette's application class, FastAPI's base. Idempotent."""
    kind = module.Starlette
    original = kind.__call__

    @functools.wraps(original)
    async def call(self: Any, scope: AsgiScope, receive: Receive, send: Send) -> Any:
        if scope["type"] not in _ROOTS or not _outside():
            return await original(self, scope, receive, send)
        return await recorded(functools.partial(original, self), scope, receive, send, self)

    patch(kind, "__call__", call)


def _outside() -> bool:
    """Whether this is in no request and no run but the program's own."""
    place = scopes.here()
    return place is None or (isinstance(place, scopes.Unbegun) and place.root is scopes.program_run)


class ServedApp:
    """What a server calls in place of the application that it loaded."""

    def __init__(self, app: AsgiApp, place: Place | None, target: object) -> None:
        self.app = app
        self._place = place
        self._target = target

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> Any:
        if scope["type"] not in _ROOTS:
            return await self.app(scope, receive, send)
        return await recorded(self.app, scope, receive, send, self._target, self._place)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.app, name)


async def recorded(
    app: AsgiApp, scope: AsgiScope, receive: Receive, send: Send, target: object, place: Place | None = None
) -> Any:
    """Call an application for one request, which becomes a run when it makes calls.

    Args:
        app: The application.
        scope: As the server gives it.
        receive: Likewise.
        send: Likewise.
        target: The application as the program knows it.
        place: Where a replay finds it, when the server was told; else it is looked for.
    """
    request = _opened(scope, receive, send, target, place)
    if request is None:
        return await app(scope, receive, send)
    return await see_through(app, request)


async def see_through(app: AsgiApp, request: AsgiRequest) -> Any:
    """Call an application with a request that is recorded, to its end."""
    token = scopes.enter(request.root.scope())
    try:
        result = await app(request.scope, request.receive, request.send)
    except BaseException as error:
        scopes.leave(token)
        request.failed(error)
        raise
    scopes.leave(token)
    request.returned()
    return result


def _opened(scope: AsgiScope, receive: Receive, send: Send, target: object, place: Place | None) -> AsgiRequest | None:
    """What records a request; ``None`` when nothing does. Never raises."""
    found = recorder()
    if found is None:
        return None
    try:
        from agentdbg.recording.servers.asgi_request import AsgiRequest

        found.serving = True
        mode = found.settings.text("recording.requests")
        request = AsgiRequest(found, scope, receive, send, target, place, eager=mode == "always", runs=mode != "off")
    except Exception as error:
        found.fault(error)
        return None
    return request
