"""One ASGI request between its first and its last message: what came in, what went out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from agentdbg.model.records import StepStatus
from agentdbg.recording.active import status_of
from agentdbg.recording.asgi_entry import arguments_of, body_value, header_texts, scope_facts, way_of
from agentdbg.recording.http_calls import header
from agentdbg.recording.servers import trace_context
from agentdbg.recording.servers.places import Place, entry_of, place_of
from agentdbg.recording.servers.roots import Answer, Ending, ServedRoot

if TYPE_CHECKING:
    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import RunRecording
    from agentdbg.recording.servers.asgi import AsgiScope, Message, Receive, Send

MAX_KEPT = 1024 * 1024
"""Bytes of a request's and of a response's body that are kept."""
WEBSOCKET = "a websocket connection cannot be replayed"


class Kept:
    """A body, as far as it is kept."""

    __slots__ = ("_pieces", "_size", "complete", "cut", "number")

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0
        self.cut = 0
        self.number = 0
        self.complete = False

    def add(self, message: Message) -> None:
        """One more message of it."""
        piece = message.get("body") or b""
        room = MAX_KEPT - self._size
        self.number += 1
        self.complete = not message.get("more_body", False)
        self._pieces.append(bytes(piece[:room]))
        self._size += len(self._pieces[-1])
        self.cut += max(0, len(piece) - room)

    def whole(self) -> bytes:
        """What is kept."""
        return b"".join(self._pieces)


class AsgiRequest:
    """What records one request. ``receive`` and ``send`` are what the application is given."""

    def __init__(
        self,
        found: Recorder,
        scope: AsgiScope,
        receive: Receive,
        send: Send,
        target: object,
        place: Place | None,
        *,
        eager: bool,
        runs: bool,
        name: str = "",
    ) -> None:
        self.scope = scope
        self.root = ServedRoot(found, self, runs=runs)
        self._receive, self._send = receive, send
        self._target, self._place = target, place
        self._eager = eager
        self._name = name
        self._body, self._response = Kept(), Kept()
        self._status: int | None = None
        self._headers: Iterable[tuple[bytes, bytes]] = ()
        self._talk: list[dict[str, object]] = []
        self._incomplete = False
        self._known: dict[str, str] | None = None

    async def receive(self) -> Message:
        """What the application is given to receive with."""
        message = await self._receive()
        try:
            self._received(message)
        except Exception as error:
            self.root.recorder.fault(error)
        return message

    async def send(self, message: Message) -> None:
        """What the application is given to send with."""
        try:
            self._sent(message)
        except Exception as error:
            self.root.recorder.fault(error)
        await self._send(message)

    def returned(self) -> None:
        """The application has returned."""
        step, run = StepStatus.OK, "ok"
        if self.scope["type"] == "http":
            if self._status is None or not self._response.complete:
                step = StepStatus.PARTIAL
            elif self._status >= 500:
                step, run = StepStatus.ERROR, "failed"
        self._ended(Ending(step, run))

    def failed(self, error: BaseException) -> None:
        """The application has raised, or was cancelled."""
        status = status_of(error)
        self._ended(Ending(StepStatus.PARTIAL if status is StepStatus.CANCELLED else status, "failed", error))

    # -- as the root asks -------------------------------------------------------------------------

    def name(self) -> str:
        """Method and path, as the template that was matched where the application says so."""
        if self._name:
            return self._name
        path = getattr(self.scope.get("route"), "path", None)
        shown = path if isinstance(path, str) and path else str(self.scope.get("path", ""))
        return f"{self.scope.get('method', 'WEBSOCKET')} {shown}"

    def arguments(self, run: RunRecording) -> dict[str, object]:
        """Method, path, query, headers, body, client."""
        return arguments_of(self.scope, self._body.whole(), run.gate)

    def entry(self, run: RunRecording, body: dict[str, object], holes: tuple[str, ...]) -> dict[str, object]:
        """The application, and what a scope for it needs."""
        self._incomplete = not self._body.complete
        place = self._place or place_of(self._target) or place_of(self.scope.get("app"))
        facts = {**scope_facts(self.scope, run.gate), "name": run.gate.text(self.name())}
        if place is not None and place.factory:
            facts["factory"] = True
        problem = WEBSOCKET if self.scope["type"] != "http" else next(iter(holes), "")
        raw = self._body.whole()
        if self._body.cut:
            problem = f"the request's body is above {MAX_KEPT} bytes and not kept"
        elif raw:
            value = body_value(raw, header(header_texts(self.scope), "content-type"), run.gate)
            facts["written"] = way_of(raw, value) or "compact"
        return entry_of(run, place, "asgi", facts, body, problem)

    def answer(self, run: RunRecording) -> Answer:
        """Status and body of the response, or what was said over a websocket."""
        if self.scope["type"] != "http":
            return Answer({"messages": self._talk})
        headers = header_texts({"headers": self._headers})
        kind = header(headers, "content-type")
        found: dict[str, object] = {"status": self._status, "content_type": kind}
        raw = self._response.whole()
        if raw:
            found["body"] = body_value(raw, kind, run.gate)
        attrs: dict[str, object] = {"response_headers": [list(pair) for pair in run.gate.headers(headers)]}
        if self._response.number > 1:
            attrs["response_messages"] = self._response.number
        cut = self._response.cut
        return Answer(found, attrs, (f"{cut} of {cut + len(raw)} bytes of the response are not kept",) if cut else ())

    def tags(self) -> Mapping[str, str]:
        """Request id, method and path."""
        found = {"method": str(self.scope.get("method", "WEBSOCKET")), "path": str(self.scope.get("path", ""))[:200]}
        request_id = trace_context.request_id(self._wanted())
        return {**found, "request_id": request_id} if request_id else found

    def continues(self) -> str | None:
        """The run that sent the request, where ``baggage`` names it."""
        return trace_context.parent_run(self._wanted())

    def trace_id(self) -> str | None:
        """The trace of ``traceparent``."""
        return trace_context.trace_id(self._wanted())

    # -- inside -----------------------------------------------------------------------------------

    def _received(self, message: Message) -> None:
        kind = message["type"]
        if kind == "http.request":
            self._body.add(message)
        elif kind == "websocket.receive":
            self._talked("received", message)
        if self._eager and (self._body.complete or kind != "http.request"):
            self.root.begin()

    def _sent(self, message: Message) -> None:
        if self._eager:
            self.root.begin()
        kind = message["type"]
        if kind == "http.response.start":
            self._status = message.get("status")
            self._headers = message.get("headers") or ()
        elif kind == "http.response.body":
            self._response.add(message)
        elif kind == "websocket.send":
            self._talked("sent", message)
        elif kind == "http.response.pathsend":
            self._response.complete = True

    def _ended(self, ending: Ending) -> None:
        if self._eager:
            self.root.begin()
        run = self.root.recorded
        if run is not None and self._incomplete and self._body.number:
            run.recorder.guard(lambda: self._complete_entry(run), None)
        self.root.end(ending)

    def _complete_entry(self, run: RunRecording) -> None:
        """The run began ahead of the last of the request's body."""
        encoded = run.encode(self.arguments(run))
        run.facts.entry = self.entry(run, run.body(encoded.data), encoded.holes)

    def _talked(self, way: str, message: Message) -> None:
        said: Any = message.get("text")
        self._response.add({"body": str(said).encode("utf-8", "replace") if said is not None else message.get("bytes")})
        if not self._response.cut:
            self._talk.append({way: message.get("bytes") if said is None else said})

    def _wanted(self) -> dict[str, str]:
        if self._known is None:
            self._known = trace_context.wanted(header_texts(self.scope))
        return self._known
