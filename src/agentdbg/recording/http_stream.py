"""A server-sent event stream on its way to disk: parsed, redacted across events, flushed at most ten times a second."""

from __future__ import annotations

from time import monotonic_ns
from typing import TYPE_CHECKING, Any

from agentdbg.model.canonical import dumps, dumps_json, loads_json
from agentdbg.recording import providers
from agentdbg.recording.sse import SseEvent, SseSplitter, rebuild

if TYPE_CHECKING:
    from agentdbg.recording.run import OpenStep
    from agentdbg.recording.scope import Scope

FLUSH_NS = 100_000_000


class _Pending:
    """One event whose text deltas may still be held back by the redactor."""

    __slots__ = ("ms", "event", "data", "waiting", "changed")

    def __init__(self, ms: float, event: SseEvent, data: Any) -> None:
        self.ms = ms
        self.event = event
        self.data = data
        self.waiting = 0
        self.changed = False


class StreamRecord:
    """Collects one stream. ``feed`` takes decoded bytes as the agent reads them; ``close`` writes what is left."""

    def __init__(self, scope: Scope, step: OpenStep, provider: str | None) -> None:
        self._scope = scope
        self._step = step
        self._provider = provider
        self._splitter = SseSplitter()
        self._redactor = scope.run.gate.stream()
        self._assembler = providers.Assembler(provider) if provider is not None else None
        self._pending: list[_Pending] = []
        self._ready: list[list[object]] = []
        self._parts: list[dict[str, object]] = []
        self._chunks: list[int] = []
        self._changed = False
        self._ended = False
        self._began = self._flushed = monotonic_ns()

    def feed(self, data: bytes) -> None:
        """Take the next bytes."""
        if data:
            self._chunks.append(len(data))
        for event in self._splitter.feed(data):
            self._take(event)
        if monotonic_ns() - self._flushed >= FLUSH_NS:
            self._flush()

    def close(self, attrs: dict[str, object], members: dict[str, object]) -> tuple[bytes | None, bool]:
        """Write the rest; returns the assembled output and whether the stream had reached its end."""
        for event in self._splitter.finish():
            self._take(event)
        rest = self._splitter.rest()
        self._release(self._redactor.flush())
        if rest:
            redacted = self._scope.run.gate.body(rest)
            self._changed = self._changed or redacted is not rest
            self._ready.append([self._ms(), redacted.decode("utf-8", "surrogateescape")])
        self._flush()
        attrs["stream"] = self._parts
        if not self._changed:
            attrs["chunks"] = self._chunks
        if self._assembler is None:
            return None, self._ended
        response = self._assembler.result()
        from agentdbg.recording.http_calls import note_response  # the two modules describe one exchange

        note_response(self._scope.run.facts.models, response, attrs, members)
        return dumps_json(response.output).encode("utf-8", "surrogatepass"), self._ended or response.complete

    def _ms(self) -> float:
        return round((monotonic_ns() - self._began) / 1e6, 1)

    def _take(self, event: SseEvent) -> None:
        data: Any = None
        if event.data is not None and event.data.strip() == "[DONE]":
            self._ended = True
        elif event.data is not None:
            try:
                data = loads_json(event.data)
            except ValueError:
                data = None
        pending = _Pending(self._ms(), event, data)
        self._pending.append(pending)
        if isinstance(data, dict):
            self._redact(pending, data)
        elif event.data is not None and not self._ended:
            text = self._scope.run.gate.text(event.data)
            if text != event.data:
                pending.event = SseEvent(rebuild(event, text), event.event, text)
                self._changed = True
        self._settle()

    def _redact(self, pending: _Pending, data: dict[str, Any]) -> None:
        channels = providers.text_channels(self._provider, pending.event.event, data) if self._provider else []
        texts = [(name, holder, key, holder[key]) for name, holder, key in channels]
        for _, holder, key, _ in texts:
            holder[key] = ""
        redacted: Any = self._scope.run.gate.value(data)
        if redacted is not data:
            pending.changed = True
            data = pending.data = redacted
            channels = providers.text_channels(self._provider, pending.event.event, data) if self._provider else []
        for (name, holder, key), (_, _, _, text) in zip(channels, texts, strict=False):
            pending.waiting += 1
            self._release(self._redactor.feed(name, text, (pending, holder, key, text)))

    def _release(self, released: Any) -> None:
        for (pending, holder, key, text), redacted in released:
            holder[key] = redacted
            pending.waiting -= 1
            if redacted != text:
                pending.changed = True
        self._settle()

    def _settle(self) -> None:
        """Move events that nothing holds back any more, in order, to the next flush."""
        count = 0
        for pending in self._pending:
            if pending.waiting:
                break
            count += 1
            raw = pending.event.raw
            if pending.changed:
                self._changed = True
                raw = rebuild(pending.event, dumps_json(pending.data))
            if self._assembler is not None and isinstance(pending.data, dict):
                self._assembler.feed(pending.event.event, pending.data)
            self._ready.append([pending.ms, raw.decode("utf-8", "surrogateescape")])
        del self._pending[:count]

    def _flush(self) -> None:
        self._flushed = monotonic_ns()
        if not self._ready:
            return
        part = self._scope.run.body(dumps(self._ready))
        self._ready = []
        self._parts.append(part)
        self._scope.run.event(self._scope, "chunk", {"of": self._step.id, "body": part})
