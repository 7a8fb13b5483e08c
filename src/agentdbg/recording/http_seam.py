"""The seam for ``httpx`` and ``httpx2``: every transport that a client chooses is wrapped, of earlier clients too.

Only that is in place when the library has been imported. What records is loaded with the first request: it takes about
as long as the library itself, and many programs import a client that they do not use.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentdbg.recording.hooks import not_covered
from agentdbg.recording.http_headers import patch, take_placeholders
from agentdbg.recording.interrupts import let_through

if TYPE_CHECKING:
    from agentdbg.recording.http_transports import HttpSeam

    Seam = Callable[[], HttpSeam]


def install(module: ModuleType) -> None:
    """Patch the clients of ``httpx`` or a module of its shape. Idempotent."""
    seam = functools.cache(lambda: _made(module))
    ways = (("Client", lambda inner: seam().wrap_sync(inner)), ("AsyncClient", lambda inner: seam().wrap_async(inner)))
    for name, wrap in ways:
        client = getattr(module, name, None)
        original = getattr(client, "_transport_for_url", None)
        if client is not None and original is not None:
            patch(client, "_transport_for_url", _choosing(original, wrap))
        else:
            _install_below(module, seam, name)
    take_placeholders(module)


def _made(module: ModuleType) -> HttpSeam:
    from agentdbg.recording.http_transports import HttpSeam

    return HttpSeam(module)


def _install_below(module: ModuleType, seam: Seam, client: str) -> None:
    """Without the method that chooses a transport: patch the transport that opens connections."""
    name, method, wrap = ("HTTPTransport", "handle_request", _sending(seam))
    if client == "AsyncClient":
        name, method, wrap = ("AsyncHTTPTransport", "handle_async_request", _sending_async(seam))
    transport = getattr(module, name, None)
    if transport is not None and hasattr(transport, method):
        patch(transport, method, wrap(getattr(transport, method)))


def _choosing(original: Callable[..., Any], wrap: Callable[[Any], Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def transport_for_url(self: object, url: object) -> Any:
        chosen = original(self, url)
        try:
            return wrap(chosen)
        except Exception as error:
            let_through(error)
            not_covered(original.__module__, error)
            return chosen

    return transport_for_url


def _sending(seam: Seam) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        def handle_request(self: object, request: Any) -> Any:
            return seam().send(functools.partial(original, self), request)

        return handle_request

    return wrap


def _sending_async(seam: Seam) -> Callable[..., Any]:
    def wrap(original: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(original)
        async def handle_async_request(self: object, request: Any) -> Any:
            return await seam().send_async(functools.partial(original, self), request)

        return handle_async_request

    return wrap
