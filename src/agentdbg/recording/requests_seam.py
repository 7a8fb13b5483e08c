"""The seam for ``requests``: what its adapter sends is a step, each redirect of its own.

``HTTPAdapter.send`` is where a session, with its cookies, hooks, redirects and authentication, meets the network. What
``urllib3`` does inside one call (its own retries, connections made anew) is one step. Adapters that are no
``HTTPAdapter`` (files, mocks) are none of ours.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from types import ModuleType
from typing import Any
from urllib.parse import urlsplit

from agentdbg.recording.calls import Served
from agentdbg.recording.http_calls import HttpCall
from agentdbg.recording.http_exchange import ending, exchange
from agentdbg.recording.http_headers import patch
from agentdbg.recording.http_requests import HttpRequest
from agentdbg.recording.telemetry import Reply
from agentdbg.recording.urllib3_bodies import answered, served_body, watch_body


def install(module: ModuleType) -> None:
    """Patch ``requests.adapters``. Idempotent."""
    original = module.HTTPAdapter.send

    @functools.wraps(original)
    def send(self: Any, request: Any, *args: Any, **kwargs: Any) -> Any:
        return exchange(_Request(self, request), functools.partial(original, self, request, *args, **kwargs))

    patch(module.HTTPAdapter, "send", send)


class _Request:
    """One prepared request at an adapter."""

    def __init__(self, adapter: Any, request: Any) -> None:
        self._adapter = adapter
        self._request = request

    def describe(self) -> HttpRequest:
        return described(self._request.method, self._request.url, self._request.headers, self._request.body)

    def watch(self, call: HttpCall, response: Any) -> None:
        watch_body(call, response.raw)

    def serve(self, call: HttpCall, served: Served) -> Any:
        failure = functools.partial(ending, self, served)
        raw = served_body(call, served, failure, self._request.method or "GET")
        return self._adapter.build_response(self._request, raw)

    def answer(self, reply: Reply) -> Any:
        return self._adapter.build_response(self._request, answered(reply, self._request.method or "GET"))

    def error(self, error: BaseException) -> BaseException:
        if hasattr(type(error), "__init__") and type(error).__module__.partition(".")[0] == "requests":
            found: Any = error
            found.request, found.response = self._request, getattr(error, "response", None)
        return error


def described(method: str | None, url: str, headers: Mapping[str, Any], body: Any) -> HttpRequest:
    """A request as both ``requests`` and ``botocore`` prepare it; what only the transport may read is a hole."""
    parts = urlsplit(url)
    content: bytes | None = None
    if body is None:
        content = b""
    elif isinstance(body, str):
        content = body.encode("utf-8", "surrogatepass")
    elif isinstance(body, bytes | bytearray | memoryview):
        content = bytes(body)
    found = [(_text(name), _text(value)) for name, value in headers.items()]
    host = parts.netloc.rpartition("@")[2]
    return HttpRequest((method or "GET").upper(), parts.scheme, host, parts.path or "/", parts.query, found, content)


def _text(value: object) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)
