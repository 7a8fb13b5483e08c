"""The intent of an HTTP exchange, whatever the client library: what is asked, on disk before it is sent."""

from __future__ import annotations

import functools
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote_plus, unquote_plus

from agentdbg.model.json_text import json_bytes, loads_json
from agentdbg.model.records import Effect, Kind
from agentdbg.model.segments import split_request
from agentdbg.recording import launched, providers
from agentdbg.recording.http_calls import MAX_BODY, UNREPLAYABLE, Headers, HttpCall, header
from agentdbg.recording.http_forms import parts_of
from agentdbg.recording.model_inputs import clean_request
from agentdbg.recording.process import Recorder, recorder
from agentdbg.recording.scope import Scope, current, unbegun
from agentdbg.recording.versions import derive_route
from agentdbg.redaction.placeholder import OPEN, unescape

if TYPE_CHECKING:
    from agentdbg.recording.run import OpenStep
    from agentdbg.redaction.gate import Gate

_FORM = "application/x-www-form-urlencoded"
_SAFE_METHODS = frozenset(("GET", "HEAD", "OPTIONS"))


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


def open_call(request: HttpRequest) -> HttpCall | None:
    """Write the intent of an exchange; ``None`` when it is not recorded. Never raises, except to end a replay."""
    found = recorder()
    if found is None:
        return None
    if found.answerer is not None and (stop := found.answerer.stopped()) is not None:
        raise stop
    try:
        return _open(found, request)
    except Exception as error:
        found.fault(error)
        found.guard(functools.partial(_note_unrecorded, request, type(error).__name__), None)
        return None


def _note_unrecorded(request: HttpRequest, problem: str) -> None:
    scope = current()
    if scope is not None:
        what = f"{UNREPLAYABLE}: an HTTP {request.method} call is not recorded, the recorder failed ({problem})"
        scope.run.event(scope, "hole", {"of": scope.parent, "what": what})


def _open(found: Recorder, request: HttpRequest) -> HttpCall | None:
    content_type = header(request.headers, "content-type")
    content = _plain_content(request)
    asked = providers.recognise(request.method, request.path, content_type, content or b"")
    scope = current()
    if scope is None:
        # The program's run, and that of a request, have every exchange in them.
        whole = (launched.active and not found.serving) or unbegun() is not None
        scope = found.outer_scope(aside=asked is not None) if asked is not None or whole else None
        if scope is None:
            return None
    if scope.inside_http:
        return None
    if asked is None:
        return HttpCall(found, scope, _open_plain(scope, request, content), None)
    return HttpCall(found, scope, _open_model(scope, request, asked), asked.provider, streams=asked.stream)


def _open_model(scope: Scope, request: HttpRequest, asked: providers.ModelRequest) -> OpenStep:
    run = scope.run
    body = asked.body
    clean = clean_request(body, run.gate)
    redacted = clean.body
    as_sent = redacted is body and json_bytes(body) == request.content
    inputs, digest = run.model_input(scope.lane, split_request(redacted), clean, rebuilt=not as_sent)
    headers = [list(pair) for pair in run.gate.headers(request.headers)]
    attrs: dict[str, object] = {
        "provider": asked.provider,
        "model_asked": run.gate.text(asked.model),
        "url": run.gate.text(f"{request.scheme}://{request.host}{request.path}"),
        "stream": asked.stream,
        "parameters": run.gate.value(asked.parameters),
        **run.request_headers.attrs(headers),
    }
    derive_route(run.facts, f"{request.scheme}://{request.host}", asked.model)
    members: dict[str, object] = {"input": inputs, "attrs": attrs}
    if asked.absent:
        members["holes"] = [f"not in the request: {run.gate.text(what)}" for what in asked.absent]
    identity = {"path": asked.identity_path, "body": redacted}
    step = run.begin(scope, Kind.MODEL, asked.model, identity=identity, members=members, arguments_hash=digest)
    scope.lane.input_step = step.id
    run.request_headers.written(step.id, headers)
    return step


def _open_plain(scope: Scope, request: HttpRequest, content: bytes | None) -> OpenStep:
    run = scope.run
    read = providers.model_read(request.method, request.path, header(request.headers, "content-type"), content or b"")
    safe = read is not None or request.method.upper() in _SAFE_METHODS
    query = query_text(run.gate, request.query)
    address = f"{request.scheme}://{request.host}{request.path}" + (f"?{query}" if query else "")
    about: dict[str, object] = {"method": request.method, "url": address, "body": None}
    if content:
        about["body"] = _body(run.gate, header(request.headers, "content-type"), content)
    members: dict[str, object] = {
        "attrs": {
            "request_headers": [list(pair) for pair in run.gate.headers(request.headers)],
            "effect_declared": False,
        }
    }
    if content is None:
        members["holes"] = ["request body streamed, not recorded"]
    name = read or f"{request.method} {request.host}{request.path}"
    effect = Effect.READ if safe else Effect.EXTERNAL
    return run.begin(scope, Kind.HTTP, name, run.encode(about), effect=effect, members=members)


def _body(gate: Gate, content_type: str, content: bytes) -> object:
    parts = parts_of(content_type, content, gate)
    if parts is not None:
        return {"parts": parts}
    if content_type.lower().startswith(_FORM):
        content = query_text(gate, content.decode("latin-1")).encode("utf-8", "surrogatepass")
    return readable(gate.body(content))


def query_text(gate: Gate, query: str) -> str:
    """A query or a form without what must go: its values are looked at as the other side reads them."""
    parts = query.split("&")
    for i, part in enumerate(parts):
        name, equals, value = part.partition("=")
        plain = unquote_plus(name)
        seen = gate.value({plain: unquote_plus(value)}).get(plain, "")
        if OPEN in seen:
            parts[i] = name + equals + unescape(quote_plus(seen))
    return "&".join(parts)


def readable(body: bytes) -> object:
    """A request body as JSON, text or bytes, whichever keeps all of it."""
    try:
        return loads_json(body)
    except ValueError:
        pass
    try:
        return body.decode("utf-8")
    except UnicodeDecodeError:
        return body


def _plain_content(request: HttpRequest) -> bytes | None:
    """The request body without its content encoding."""
    content = request.content
    encoding = header(request.headers, "content-encoding").lower() if content else ""
    if content is None or encoding not in ("gzip", "x-gzip", "deflate"):
        return content
    try:
        return zlib.decompressobj(zlib.MAX_WBITS | 32).decompress(content, MAX_BODY)
    except zlib.error:
        return content
