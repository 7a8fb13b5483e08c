"""JSON texts line by line (NDJSON, JSON Lines), split as the bytes arrive: no byte is lost, whatever the cuts."""

from __future__ import annotations

from collections.abc import Callable

from agentdbg.model.json_text import loads_json
from agentdbg.recording.stream_event import StreamEvent, as_utf8

CONTENT_TYPES = frozenset(
    (
        "application/x-ndjson",
        "application/ndjson",
        "application/jsonl",
        "application/x-jsonl",
        "application/jsonlines",
        "application/x-jsonlines",
        "application/json-lines",
        "application/stream+json",
        "application/json-seq",
        "text/x-ndjson",
    )
)
_AROUND = b" \t\r\n\x1e\xef\xbb\xbf"
"""Blanks, the record separator of JSON text sequences and the bytes of a byte order mark."""


class LineFraming:
    """Cuts a stream into lines; each that is not blank is an event."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take the next bytes and return the lines that are now complete."""
        *lines, rest = chunk.split(b"\n")
        events: list[StreamEvent] = []
        for line in lines:
            self._parts.append(line + b"\n")
            events.append(_event(self._take()))
        if rest:
            self._parts.append(rest)
        return events

    def finish(self) -> list[StreamEvent]:
        """The last line, where it is whole without a line feed."""
        rest = self.rest()
        try:
            if rest.strip(_AROUND):
                loads_json(rest.strip(_AROUND))
        except ValueError:
            return []
        return [_event(self._take())] if rest else []

    def rest(self) -> bytes:
        """The beginning of a line."""
        return b"".join(self._parts)

    def withheld(self, rest: bytes) -> bytes | None:
        """A text may stand for a cut line."""
        return None

    def inside(self, rest: bytes) -> bytes:
        """There is nothing to look through."""
        return rest

    def rebuild(self, event: StreamEvent, data: str) -> bytes:
        """The line with its text replaced; what is around it stays."""
        kept = event.raw[event.at :]
        return event.raw[: event.at] + as_utf8(data) + kept[len(kept.rstrip(_AROUND)) :]

    def clean(self, event: StreamEvent, redact: Callable[[bytes], bytes]) -> StreamEvent:
        """There is nothing beside the text."""
        return event

    def _take(self) -> bytes:
        raw = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        return raw


def _event(raw: bytes) -> StreamEvent:
    inner = raw.lstrip(_AROUND)
    text = inner.rstrip(_AROUND)
    return StreamEvent(raw, None, text.decode("utf-8", "replace") if text else None, len(raw) - len(inner))
