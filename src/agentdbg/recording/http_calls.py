"""The outcome of an HTTP exchange, whatever the client library: the response as the agent reads it."""

from __future__ import annotations

import atexit
import os
import zlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from agentdbg.model.json_text import json_bytes
from agentdbg.model.records import StepStatus
from agentdbg.recording import providers
from agentdbg.recording.http_stream import StreamEnd, StreamRecord
from agentdbg.recording.interrupts import let_through
from agentdbg.recording.stream_framing import framing_of
from agentdbg.redaction.placeholder import OPEN

if TYPE_CHECKING:
    from agentdbg.recording.calls import Call
    from agentdbg.recording.process import Recorder
    from agentdbg.recording.run import OpenStep
    from agentdbg.recording.scope import Scope

MAX_BODY = 64 * 1024 * 1024
MOST_CHUNKS = 10_000
UNREPLAYABLE = "not replayable from here"
_WITHHELD = f"{OPEN}unscanned:".encode()
Headers = list[tuple[str, str]]


class Decoder(Protocol):
    """Undoes a content encoding, bit by bit, in one or in several pieces."""

    def decode(self, data: bytes) -> bytes | Iterable[bytes]:
        """The decoded part of ``data``."""

    def flush(self) -> bytes | Iterable[bytes]:
        """What was held back."""


@dataclass(frozen=True, slots=True)
class ResponseHead:
    """What came before the body.

    Attributes:
        decoder: Undoes the content encoding; ``None`` when there is none, or none that the client knows.
        preloaded: The transport gave the whole body with the head, already decoded.
    """

    status: int
    reason: str
    version: str
    headers: Headers
    decoder: Decoder | None = None
    preloaded: bool = False


_unfinished: dict[int, tuple[object, Callable[[], None], int]] = {}
_registered = False


def at_exit(owner: object, function: Callable[[], None]) -> None:
    """Call ``function`` when the process ends, unless ``owner`` is settled before."""
    global _registered
    if not _registered:
        _registered = True
        atexit.register(give_up_open)
    _unfinished[id(owner)] = (owner, function, os.getpid())


def settled(owner: object) -> None:
    """``owner`` has written its outcome."""
    _unfinished.pop(id(owner), None)


def give_up_open() -> None:
    """Write the outcome of every response that nobody read to its end, nor closed: the process ends."""
    for _, function, pid in list(_unfinished.values()):
        if pid == os.getpid():
            function()


class HttpCall:
    """One exchange between intent and outcome. Nothing that goes wrong in here reaches the agent."""

    def __init__(
        self, found: Recorder, scope: Scope, step: OpenStep, provider: str | None, *, streams: bool = False
    ) -> None:
        self.scope = scope
        self.step = step
        self._recorder = found
        self._provider = provider
        self._streams = streams
        self._attrs: dict[str, object] = {}
        self._holes: list[str] = []
        self._body = bytearray()
        self._sizes: list[int] = []
        self._cut = 0
        self._undecided: list[bytes] = []
        self._stream: StreamRecord | None = None
        self._decoder: Decoder | None = None
        self._failed = ""
        self._phase = ""
        self._done = False
        at_exit(self, self._process_ends)

    @property
    def call(self) -> Call | None:
        """What a replay is asked."""
        return self.step.call

    def started(self, head: ResponseHead) -> None:
        """The response's head is there."""
        self._guarded(lambda: self._start(head))

    def feed(self, chunk: bytes) -> None:
        """A piece of the body was read by the agent."""
        if not self._done and not self._failed:
            self._guarded(lambda: self._feed(chunk))

    def give_up(self) -> None:
        """The agent closed the response or let it go; nothing happens where the body had ended."""
        self.finish(StepStatus.PARTIAL)

    def note(self, name: str, value: object) -> None:
        """Add to the outcome's attributes what only a seam's own library needs."""
        if self._attrs and not self._done:
            self._attrs[name] = value

    def finish(
        self, status: StepStatus = StepStatus.OK, error: BaseException | None = None, *, phase: str = ""
    ) -> None:
        """The body ended, was given up, or broke off. Only the first call counts.

        ``phase`` says how far an exchange had come that got no response.
        """
        if self._done:
            return
        self._phase = phase
        self._done = True
        settled(self)
        if not self._failed:
            self._guarded(lambda: self._finish(status, error))
        if self._failed:
            self._guarded(lambda: self._finish_failed(status))

    # -- inside -----------------------------------------------------------------------------------

    def _process_ends(self) -> None:
        """Nobody read the response to its end, nor closed it."""
        if self._attrs:
            self.give_up()

    def _start(self, head: ResponseHead) -> None:
        gate = self.scope.run.gate
        self._attrs = {
            "http_status": head.status,
            "http_version": head.version,
            "headers": [list(pair) for pair in gate.headers(head.headers)],
        }
        if head.reason:
            self._attrs["http_reason"] = gate.text(head.reason)
        if head.preloaded:
            self._attrs["preloaded"] = True
        else:
            self._decoder = head.decoder
        if head.decoder is None and header(head.headers, "content-encoding").lower() not in ("", "identity"):
            self._attrs["encoded"] = True
        streams = self._streams and head.status < 400
        framing = framing_of(header(head.headers, "content-type"), self._provider, streams=streams)
        if framing is not None and not head.preloaded:
            self._stream = StreamRecord(self.scope, self.step, self._provider, framing)

    def _feed(self, chunk: bytes) -> None:
        if self._decoder is None:
            return self._keep(chunk)
        if self._attrs.get("encoding_breaks"):
            return None
        try:
            data = _joined(self._decoder.decode(chunk))
        except Exception:  # the client will say the same to the agent
            return self._cannot_decode(chunk)
        if not data and not self._body:
            self._undecided.append(chunk)
        self._keep(data)

    def _cannot_decode(self, chunk: bytes) -> None:
        """Keep a body as it came when nothing of it can be decoded; else mark the rest as broken."""
        if self._body or self._stream is not None:
            self._attrs["encoding_breaks"] = True
            self._holes.append("the rest of the response body cannot be decoded and is not recorded")
            return
        self._decoder = None
        self._attrs["encoded"] = True
        self._sizes.clear()
        for piece in (*self._undecided, chunk):
            self._keep(piece)

    def _keep(self, data: bytes) -> None:
        if self._stream is not None:
            self._stream.feed(data)
            return
        self._sizes.append(len(data))
        room = MAX_BODY - len(self._body)
        self._body += data[:room]
        self._cut += max(0, len(data) - room)

    def _finish(self, status: StepStatus, error: BaseException | None) -> None:
        run = self.scope.run
        if not self._attrs:
            early = {"attrs": {"phase": self._phase}} if self._phase else None
            run.end(self.scope, self.step, status, error=error, members=early)
            return
        members: dict[str, object] = {"attrs": self._attrs}
        if status is StepStatus.OK and self._decoder is not None and not self._attrs.get("encoding_breaks"):
            self._flush_decoder(self._decoder)
        complete = status is StepStatus.OK
        if self._stream is not None:
            end = self._stream.close(ended=complete)
            result = self._streamed(end, members)
            complete = complete or end.complete
        else:
            result = self._whole(members)
        if not complete and status is StepStatus.PARTIAL:
            self._attrs["given_up"] = True
        if self._holes:
            members["holes"] = self._holes
        run.end(self.scope, self.step, self._status(status, complete), result, error=error, members=members)

    def _status(self, status: StepStatus, complete: bool) -> StepStatus:
        if status in (StepStatus.OK, StepStatus.PARTIAL):
            code = cast(int, self._attrs["http_status"])
            if code >= (500 if self._provider is None else 400):
                return StepStatus.ERROR
            return StepStatus.OK if complete else StepStatus.PARTIAL
        return status

    def _flush_decoder(self, decoder: Decoder) -> None:
        try:
            rest = _joined(decoder.flush())
        except Exception as error:
            let_through(error)
            return  # a truncated body: the client is content with what there was
        if rest:
            self._keep(rest)

    def _streamed(self, end: StreamEnd, members: dict[str, object]) -> bytes | None:
        self._attrs.update(end.attrs)
        if end.response is not None:
            note_response(self.scope.run.facts.models, end.response, self._attrs, members)
            self._holes.extend(end.response.missing)
        return end.result

    def _whole(self, members: dict[str, object]) -> bytes:
        raw = bytes(self._body)
        result = self.scope.run.gate.body(raw)
        if self._cut:
            lost = f"{self._cut} of {self._cut + len(raw)} bytes of the response body"
            self._holes.append(f"{UNREPLAYABLE}: {lost} are not kept")
        if result is not raw and _WITHHELD in result and _WITHHELD not in raw:
            self._holes.append(f"{UNREPLAYABLE}: the response body could not be scanned for secrets, it is withheld")
        if (len(self._sizes) > 1 or 0 in self._sizes) and len(self._sizes) <= MOST_CHUNKS:
            self._attrs["chunks"] = self._sizes
        if self._provider is not None:
            response = providers.read_response(self._provider, result)
            if result is not raw and providers.blank_tokens(self._provider, response.output):
                result = json_bytes(response.output)
            note_response(self.scope.run.facts.models, response, self._attrs, members)
            self._holes.extend(response.missing)
        return result

    def _finish_failed(self, status: StepStatus) -> None:
        """The recorder itself failed on this exchange: say so in the record, as plainly as possible."""
        attrs: dict[str, object] = {}
        if "http_status" in self._attrs:
            attrs["http_status"] = self._attrs["http_status"]
        if self._stream is not None:
            attrs["stream"] = self._stream.parts
        holes = [f"{UNREPLAYABLE}: the recorder failed on this call ({self._failed})"]
        self.scope.run.end(self.scope, self.step, status, members={"attrs": attrs, "holes": holes})

    def _guarded(self, function: Callable[[], object]) -> None:
        try:
            function()
        except Exception as error:
            let_through(error)
            self._failed = self._failed or type(error).__name__
            self._recorder.fault(error)


def note_response(
    models: list[str], response: providers.ModelResponse, attrs: dict[str, object], members: dict[str, object]
) -> None:
    """Put what a provider's response says about itself into an outcome."""
    if response.model:
        attrs["model"] = response.model
        if response.model not in models:
            models.append(response.model)
    for name in ("stop_reason", "response_id", "refusal", "error"):
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


class ZlibDecoder:
    """Undoes ``gzip`` and ``deflate`` where the client's own decoder cannot be had."""

    def __init__(self) -> None:
        self._inner = zlib.decompressobj(zlib.MAX_WBITS | 32)

    def decode(self, data: bytes) -> bytes:
        """The decoded part of ``data``."""
        return self._inner.decompress(data)

    def flush(self) -> bytes:
        """What was held back."""
        return self._inner.flush()


def header(headers: Sequence[tuple[str, str]], name: str) -> str:
    """The first value of a header, empty if there is none."""
    return next((value for key, value in headers if key.lower() == name), "")


def _joined(data: bytes | Iterable[bytes]) -> bytes:
    return data if isinstance(data, bytes) else b"".join(data)
