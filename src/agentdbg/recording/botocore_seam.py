"""The seam for ``botocore``, so for ``boto3`` and Bedrock: what its session of ``urllib3`` sends is a step.

``URLLib3Session.send`` is below signing, endpoint rules, event handlers and retries, so that each attempt is a step
and a replay runs all of those again; the event ``before-send`` would not see the answer. Answers that are no streams
have been read when it returns; those with event streams or streaming bodies are recorded as the agent reads them.
Identity requests (STS, the instance's metadata) are steps like others. ``aiobotocore`` goes through ``aiohttp``.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

from agentdbg.recording.calls import Served
from agentdbg.recording.http_calls import HttpCall
from agentdbg.recording.http_exchange import ending, exchange
from agentdbg.recording.http_headers import patch
from agentdbg.recording.http_requests import HttpRequest
from agentdbg.recording.requests_seam import described
from agentdbg.recording.telemetry import Reply
from agentdbg.recording.urllib3_bodies import answered, served_body, watch_body


def install(module: ModuleType) -> None:
    """Patch ``botocore.httpsession``. Idempotent."""
    original = module.URLLib3Session.send
    make = module.botocore.awsrequest.AWSResponse

    @functools.wraps(original)
    def send(self: Any, request: Any) -> Any:
        return exchange(_Request(make, request), functools.partial(original, self, request))

    patch(module.URLLib3Session, "send", send)


class _Request:
    """One signed request."""

    def __init__(self, make: Any, request: Any) -> None:
        self._make = make
        self._request = request

    def describe(self) -> HttpRequest:
        request = self._request
        return described(request.method, request.url, request.headers, _in_memory(request.body))

    def watch(self, call: HttpCall, response: Any) -> None:
        watch_body(call, response.raw, response._content)

    def serve(self, call: HttpCall, served: Served) -> Any:
        failure = functools.partial(ending, self, served)
        raw = served_body(call, served, failure, self._request.method)
        response = self._make(self._request.url, raw.status, raw.headers, raw)
        if not self._request.stream_output:
            response.content  # noqa: B018  # read at once, as the session does
        return response

    def answer(self, reply: Reply) -> Any:
        raw = answered(reply, self._request.method)
        return self._make(self._request.url, raw.status, raw.headers, raw)

    def error(self, error: BaseException) -> BaseException:
        return error


def _in_memory(body: Any) -> Any:
    """The bytes of a body that is a buffer: looking at them moves nothing."""
    value = getattr(body, "getvalue", None)
    if value is None or not hasattr(body, "tell"):
        return body
    found = value()
    return found[body.tell() :] if isinstance(found, bytes) else body
