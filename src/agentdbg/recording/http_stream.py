"""A stream of events on its way to disk: parsed, redacted across events, flushed at most ten times a second."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import monotonic_ns
from typing import TYPE_CHECKING, cast

from agentdbg.model.canonical import dumps
from agentdbg.model.json_text import dumps_json, json_bytes, loads_json
from agentdbg.model.records import Json
from agentdbg.recording import providers
from agentdbg.recording.stream_framing import Framing, StreamEvent

if TYPE_CHECKING:
    from agentdbg.recording.providers import Channel, ModelResponse
    from agentdbg.recording.run import OpenStep
    from agentdbg.recording.scope import Scope

FLUSH_NS = 100_000_000
DONE = "[DONE]"
_LABELS = frozenset(("id", "type", "role", "name", "event", "object", "model", "status", "index"))
_DEPTH = 8
_WORD = "text"
_STAND_IN = "x"


class _Pending:
    """One event whose text may still be held back by the redactor."""

    __slots__ = ("changed", "data", "event", "ms", "plain", "waiting")

    def __init__(self, ms: float, event: StreamEvent) -> None:
        self.ms = ms
        self.event = event
        self.data: Json = None
        self.plain: dict[str, Json] | None = None
        self.waiting = 0
        self.changed = False


@dataclass(slots=True)
class _Piece:
    """One text of an event, on its way through the redactor."""

    pending: _Pending
    holder: dict[str, Json]
    member: str
    text: str


@dataclass(frozen=True, slots=True)
class StreamEnd:
    """What is known when a stream is over.

    Attributes:
        attrs: ``stream`` and ``chunks`` or ``chunk_events`` of the outcome.
        response: The assembled response of a model; ``None`` for other streams.
        complete: The stream said that it is complete.
    """

    attrs: dict[str, object]
    response: ModelResponse | None
    complete: bool

    @property
    def result(self) -> bytes | None:
        """The assembled output as it is stored."""
        return None if self.response is None else json_bytes(self.response.output)


class StreamRecord:
    """Collects one stream. ``feed`` takes decoded bytes as the agent reads them; ``close`` writes what is left.

    Attributes:
        parts: References to the bodies flushed so far.
    """

    def __init__(self, scope: Scope, step: OpenStep, provider: str | None, framing: Framing) -> None:
        self.parts: list[dict[str, object]] = []
        self._scope = scope
        self._step = step
        self._provider = provider
        self._gate = scope.run.gate
        self._framing = framing
        self._redactor = self._gate.stream()
        self._assembler = providers.Assembler(provider) if provider is not None else None
        self._pending: list[_Pending] = []
        self._ready: list[list[object]] = []
        self._sizes: list[int] = []
        self._counts: list[int] = []
        self._changed = False
        self._said_done = False
        self._began = monotonic_ns()
        self._flushed = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes: one piece as the agent read it."""
        events = self._framing.feed(data)
        self._sizes.append(len(data))
        self._counts.append(len(events))
        for event in events:
            self._take(event)
        if monotonic_ns() - self._flushed >= FLUSH_NS:
            self._flush()

    def close(self, *, ended: bool) -> StreamEnd:
        """Write the rest. ``ended``: the body was read to its end."""
        for event in self._framing.finish():
            self._take(event)
        self._release(self._redactor.flush())
        rest = self._framing.rest()
        if rest:
            self._ready.append([self._ms(), self._rest(rest).decode("utf-8", "surrogateescape")])
        self._flush()
        attrs: dict[str, object] = {"stream": self.parts}
        attrs.update({"chunk_events": self._counts} if self._changed else {"chunks": self._sizes})
        if self._assembler is None:
            return StreamEnd(attrs, None, self._said_done)
        response = self._assembler.result(ended=ended)
        return StreamEnd(attrs, response, self._said_done or response.complete)

    def _rest(self, rest: bytes) -> bytes:
        """An event that was cut off: where something was redacted before, it may hold the end of it."""
        redacted = rest if self._changed else self._gate.body(rest)
        inside = self._framing.inside(rest)
        if not self._changed and redacted is rest and self._gate.body(inside) is inside:
            return rest
        if redacted is rest:
            redacted = self._gate.withheld(rest.decode("latin-1")).encode()
        kept = self._framing.withheld(rest)
        self._changed = self._changed or kept != rest
        return redacted if kept is None else kept

    def _ms(self) -> float:
        return round((monotonic_ns() - self._began) / 1e6, 1)

    def _take(self, event: StreamEvent) -> None:
        cleaned = self._framing.clean(event, self._gate.body)
        self._changed = self._changed or cleaned is not event
        event = cleaned
        pending = _Pending(self._ms(), event)
        self._pending.append(pending)
        if event.data is not None and event.data.strip() == DONE:
            self._said_done = True
            pending.data = DONE
        elif event.data is not None:
            self._redact(pending, self._parsed(event.data))
        self._settle()

    @staticmethod
    def _parsed(data: str) -> dict[str, Json] | None:
        try:
            found = loads_json(data)
        except ValueError:
            return None
        return found if isinstance(found, dict) else None

    def _redact(self, pending: _Pending, data: dict[str, Json] | None) -> None:
        """Redact what is whole in an event at once, and its running texts as far as they are decided."""
        if data is None:
            whole = self._gate.text(pending.event.data or "")
            pending.changed = whole != pending.event.data
            pending.plain = {_WORD: whole}
            self._pass(pending, [("data", pending.plain, _WORD)], [whole])
            return
        channels = self._channels(pending.event, data)
        texts = [cast(str, holder[member]) for _, holder, member in channels]
        for _, holder, member in channels:
            holder[member] = _STAND_IN
        redacted = self._gate.value(data)
        if redacted is not data:
            pending.changed = True
            channels = self._channels(pending.event, redacted)
        pending.data = redacted
        self._pass(pending, channels, texts)

    def _channels(self, event: StreamEvent, data: dict[str, Json]) -> list[Channel]:
        if self._provider is not None:
            return providers.text_channels(self._provider, event.event, data)
        return list(_strings("", data, 0))

    def _pass(self, pending: _Pending, channels: list[Channel], texts: list[str]) -> None:
        pending.waiting += len(texts)
        for (name, holder, member), text in zip(channels, texts, strict=True):
            self._release(self._redactor.feed(name, text, _Piece(pending, holder, member, text)))

    def _release(self, released: list[tuple[object, str]]) -> None:
        for token, redacted in released:
            piece = cast(_Piece, token)
            piece.holder[piece.member] = redacted
            piece.pending.waiting -= 1
            if redacted != piece.text:
                piece.pending.changed = True
        self._settle()

    def _settle(self) -> None:
        """Move events that nothing holds back any more, in order, to the next flush."""
        count = 0
        for pending in self._pending:
            if pending.waiting:
                break
            count += 1
            self._ready.append([pending.ms, self._raw(pending).decode("utf-8", "surrogateescape")])
            if self._assembler is not None and pending.data is not None:
                self._assembler.feed(pending.event.event, pending.data)
        del self._pending[:count]

    def _raw(self, pending: _Pending) -> bytes:
        if not pending.changed:
            return pending.event.raw
        self._changed = True
        if pending.plain is not None:
            return self._framing.rebuild(pending.event, cast(str, pending.plain[_WORD]))
        for holder, member in providers.token_copies(self._provider or "", pending.data):
            holder[member] = []
        return self._framing.rebuild(pending.event, dumps_json(pending.data))

    def _flush(self) -> None:
        if not self._ready:
            return
        self._flushed = monotonic_ns()
        part = self._scope.run.body(dumps(self._ready))
        self._ready = []
        self.parts.append(part)
        self._scope.run.event(self._scope, "chunk", {"of": self._step.id, "body": part})


def _strings(path: str, holder: dict[str, Json], depth: int) -> Iterator[Channel]:
    """The texts in an event of unknown shape, by path; each may be a piece of a longer one."""
    for member, value in holder.items():
        inner = f"{path}.{member}"
        if isinstance(value, str) and member not in _LABELS:
            yield inner, holder, member
        elif isinstance(value, dict) and depth < _DEPTH:
            yield from _strings(inner, value, depth + 1)
        elif isinstance(value, list) and depth < _DEPTH:
            for position, item in enumerate(value):
                if isinstance(item, dict):
                    yield from _strings(f"{inner}.{position}", item, depth + 1)
