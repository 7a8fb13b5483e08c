"""One HTTP exchange as a step, whatever the client library: request before it is sent, response as it is read."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, cast

from agentdbg.model.canonical import dumps_json, loads_json
from agentdbg.model.records import Effect, Json, Kind, StepStatus
from agentdbg.model.segments import split_request
from agentdbg.recording import providers
from agentdbg.recording.http_stream import StreamRecord
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.scope import Scope, current
from agentdbg.recording.sse import is_event_stream

if TYPE_CHECKING:
    from agentdbg.recording.calls import Call
    from agentdbg.recording.run import OpenStep

MAX_BODY = 64 * 1024 * 1024
_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))
_NOT_SERVED = frozenset(("content-encoding", "content-length", "transfer-encoding"))
Headers = list[tuple[str, str]]


class Decoder(Protocol):
    """Undoes a content encoding, bit by bit."""

    def decode(self, data: bytes) -> bytes:
        """The decoded part of ``data``."""


@dataclass(frozen=True, slots=True)
class HttpRequest:
    """What is about to be sent; ``content`` is ``None`` when the body is streamed."""

    method: str
    scheme: str
    host: str
    path: str
    query: str
    headers: Headers
    content: bytes | None


class HttpCall:
    """One exchange between intent and outcome."""

    def __init__(self, found: Recorder, scope: Scope, step: OpenStep, provider: str | None) -> None:
        self.scope = scope
        self.step = step
        self._recorder = found
        self._provider = provider
        self._attrs: dict[str, object] = {}
        self._body = bytearray()
        self._cut = 0
        self._stream: StreamRecord | None = None
        self._decoder: Callable[[bytes], bytes] = _identity
        self._done = False

    @property
    def call(self) -> Call | None:
        """What a replay is asked."""
        return self.step.call

    def started(self, status: int, headers: Headers, version: str, decoder: Decoder | None) -> None:
        """The response's head is there."""
        encoding = _header(headers, "content-encoding").lower()
        self._decoder = _decoder(encoding, decoder)
        self._attrs = {
            "http_status": status,
            "http_version": version,
            "headers": [list(pair) for pair in self.scope.run.gate.headers(headers)],
        }
        if is_event_stream(_header(headers, "content-type")):
            self._stream = StreamRecord(self.scope, self.step, self._provider)

    def feed(self, chunk: bytes) -> None:
        """A piece of the body was read by the agent. Never raises."""
        self._guarded(lambda: self._feed(self._decoder(chunk)))

    def finish(self, status: StepStatus = StepStatus.OK, error: BaseException | None = None) -> None:
        """The body ended, was given up, or broke off. Never raises; only the first call counts."""
        if not self._done:
            self._done = True
            self._guarded(lambda: self._finish(status, error))

    def _feed(self, data: bytes) -> None:
        if self._stream is not None:
            self._stream.feed(data)
        elif len(self._body) < MAX_BODY:
            self._body += data
        else:
            self._cut += len(data)

    def _finish(self, status: StepStatus, error: BaseException | None) -> None:
        run = self.scope.run
        members: dict[str, object] = {"attrs": self._attrs}
        if self._stream is not None:
            result, complete = self._stream.close(self._attrs, members)
            if status is StepStatus.PARTIAL and complete:
                status = StepStatus.OK
        else:
            result = run.gate.body(bytes(self._body))
            if self._cut:
                members["holes"] = [f"response body cut: {self._cut} of {self._cut + len(self._body)} bytes not kept"]
            if self._provider is not None:
                note_response(run.facts.models, providers.read_response(self._provider, result), self._attrs, members)
        if error is not None and not self._attrs:
            run.end(self.scope, self.step, status, error=error)
        else:
            run.end(self.scope, self.step, status, result, error=error, members=members)

    def _guarded(self, function: Callable[[], object]) -> None:
        try:
            function()
        except Exception as error:
            self._recorder.fault(error)


def note_response(
    models: list[str], response: providers.ModelResponse, attrs: dict[str, object], members: dict[str, object]
) -> None:
    """Put what a provider's response says about itself into an outcome."""
    if response.model:
        attrs["model"] = response.model
        if response.model not in models:
            models.append(response.model)
    for name in ("stop_reason", "response_id"):
        value = getattr(response, name)
        if value:
            attrs[name] = value
    if response.tool_calls:
        attrs["tool_calls"] = [list(pair) for pair in response.tool_calls]
    if response.usage is not None:
        members["usage"] = {
            "input": response.usage.input,
            "output": response.usage.output,
            "cached": response.usage.cached,
        }


def open_call(request: HttpRequest) -> HttpCall | None:
    """Write the intent of an exchange; ``None`` when it is not recorded. Never raises, except to end a replay."""
    found = recorder()
    if found is None:
        return None
    if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
        raise stop
    return found.guard(lambda: _open(found, request), None)


def _open(found: Recorder, request: HttpRequest) -> HttpCall | None:
    content_type = _header(request.headers, "content-type")
    asked = providers.recognise(request.method, request.path, content_type, request.content or b"")
    scope = current()
    if scope is None:
        implicit = found.implicit_run() if asked is not None else None
        if implicit is None:
            return None
        scope = implicit.scope()
    if scope.inside_http:
        return None
    step = _open_model(scope, request, asked) if asked is not None else _open_plain(scope, request)
    return HttpCall(found, scope, step, asked.provider if asked is not None else None)


def _open_model(scope: Scope, request: HttpRequest, asked: providers.ModelRequest) -> OpenStep:
    run = scope.run
    raw = request.content or b""
    body = cast("dict[str, Json]", asked.body)
    redacted = run.gate.value(body)
    as_sent = dumps_json(body).encode("utf-8", "surrogatepass") == raw and redacted is body
    inputs, digest = run.model_input(scope.lane, split_request(body), rebuilt=not as_sent)
    attrs: dict[str, object] = {
        "provider": asked.provider,
        "model_asked": run.gate.text(asked.model),
        "url": run.gate.text(f"{request.scheme}://{request.host}{request.path}"),
        "stream": asked.stream,
        "parameters": run.gate.value(asked.parameters),
        "headers": [list(pair) for pair in run.gate.headers(request.headers)],
    }
    run.derive_route(f"{request.scheme}://{request.host}", asked.model)
    members: dict[str, object] = {"input": inputs, "attrs": attrs}
    if asked.absent:
        members["holes"] = [f"not in the request: {what}" for what in asked.absent]
    identity = {"path": asked.provider, "body": redacted}
    step = run.begin(scope, Kind.MODEL, asked.model, identity=identity, members=members, arguments_hash=digest)
    scope.lane.input_step = step.id
    return step


def _open_plain(scope: Scope, request: HttpRequest) -> OpenStep:
    run = scope.run
    effect = Effect.READ if request.method.upper() in _SAFE_METHODS else Effect.EXTERNAL
    address = f"{request.scheme}://{request.host}{request.path}" + (f"?{request.query}" if request.query else "")
    content = request.content
    body: Json = None
    holes = ["request body streamed, not recorded"] if content is None else []
    if content:
        redacted = run.gate.body(content)
        try:
            body = loads_json(redacted)
        except ValueError:
            body = redacted.decode("utf-8", "replace")
    about: dict[str, object] = {"method": request.method, "url": address, "body": body}
    members: dict[str, object] = {
        "attrs": {"headers": [list(pair) for pair in run.gate.headers(request.headers)], "effect_declared": False}
    }
    if holes:
        members["holes"] = holes
    name = f"{request.method} {request.host}{request.path}"
    return run.begin(scope, Kind.HTTP, name, run.encode(about), effect=effect, members=members)


def served_headers(attrs: dict[str, Json]) -> Headers:
    """Recorded response headers that still hold for a decoded body."""
    pairs = attrs.get("headers")
    found: Headers = []
    for pair in pairs if isinstance(pairs, list) else []:
        if isinstance(pair, list) and len(pair) == 2 and str(pair[0]).lower() not in _NOT_SERVED:
            found.append((str(pair[0]), str(pair[1])))
    return found


def _header(headers: Sequence[tuple[str, str]], name: str) -> str:
    return next((value for key, value in headers if key.lower() == name), "")


def _identity(data: bytes) -> bytes:
    return data


def _decoder(encoding: str, other: Decoder | None) -> Callable[[bytes], bytes]:
    if encoding in ("", "identity"):
        return _identity
    if encoding in ("gzip", "x-gzip"):
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress
    if encoding == "deflate" or other is None:
        return zlib.decompressobj().decompress if encoding == "deflate" else _identity

    def decode(data: bytes) -> bytes:
        out: Any = other.decode(data)
        return out if isinstance(out, bytes) else b"".join(out)

    return decode
