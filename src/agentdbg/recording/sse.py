"""Server-Sent Events, split as the bytes arrive and put together again: no byte is lost, whatever the cuts."""

from __future__ import annotations

import re
from collections.abc import Callable

from agentdbg.recording.stream_event import StreamEvent, as_utf8

_LINE_END = re.compile(rb"\r\n|\r|\n")
_TEXT_LINE_END = re.compile(r"\r\n|\r|\n")
_BOM = b"\xef\xbb\xbf"
_SHORT = 8
_CLEAN_LINES = 256


class SseSplitter:
    """Cuts a byte stream into events. The raws of all events, followed by ``rest()``, are the bytes fed."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._line_length = 0
        self._held_cr = False
        self._in_first_line = True
        self._in_first_event = True
        self._clean: set[bytes] = set()

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take the next bytes and return the events that are now complete.

        A carriage return at the end of a chunk waits for the next byte, because a line feed would belong to it.
        """
        if self._held_cr and chunk:
            chunk = b"\r" + chunk
            self._held_cr = False
        if chunk.endswith(b"\r"):
            chunk = chunk[:-1]
            self._held_cr = True
        return self._split(chunk)

    def finish(self) -> list[StreamEvent]:
        """Say that no byte follows; returns the event whose final carriage return was still waiting, if any."""
        if not self._held_cr:
            return []
        self._held_cr = False
        return self._split(b"\r")

    def rest(self) -> bytes:
        """The bytes that do not make a whole event yet."""
        return b"".join(self._parts) + (b"\r" if self._held_cr else b"")

    def withheld(self, rest: bytes) -> bytes | None:
        """A text may stand for a cut event."""
        return None

    def inside(self, rest: bytes) -> bytes:
        """There is nothing to look through."""
        return rest

    def rebuild(self, event: StreamEvent, data: str) -> bytes:
        """See the function of this name."""
        return rebuild(event, data)

    def clean(self, event: StreamEvent, redact: Callable[[bytes], bytes]) -> StreamEvent:
        """Redact what stands beside the data: comments, ids, event names."""
        raw = event.raw
        for line in _LINE_END.split(raw):
            if line.startswith(b"data:") or len(line) < _SHORT or line in self._clean:
                continue
            redacted = redact(line)
            if redacted is not line:
                raw = raw.replace(line, redacted)
            elif len(self._clean) < _CLEAN_LINES:
                self._clean.add(line)
        return event if raw is event.raw else StreamEvent(raw, event.event, event.data)

    def _split(self, chunk: bytes) -> list[StreamEvent]:
        events: list[StreamEvent] = []
        event_start = line_start = 0
        for match in _LINE_END.finditer(chunk):
            length = self._line_length + match.start() - line_start
            blank = not length or (self._in_first_line and length == len(_BOM) and self._is_bom(chunk[: match.start()]))
            line_start = match.end()
            self._line_length = 0
            self._in_first_line = False
            if blank:
                self._parts.append(chunk[event_start:line_start])
                event_start = line_start
                events.append(self._take())
        if event_start < len(chunk):
            self._parts.append(chunk[event_start:])
        self._line_length += len(chunk) - line_start
        return events

    def _is_bom(self, last: bytes) -> bool:
        return b"".join(self._parts) + last == _BOM

    def _take(self) -> StreamEvent:
        raw = self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)
        self._parts = []
        event, data = _read(raw, bom=self._in_first_event)
        self._in_first_event = False
        return StreamEvent(raw, event, data)


def rebuild(event: StreamEvent, data: str) -> bytes:
    """The bytes of ``event`` with its data replaced; its other lines and its terminator are kept.

    The new data takes the place of the first ``data`` line, the further ones go. Line breaks in ``data`` make several
    lines again. A lone surrogate, which UTF-8 cannot carry, is written as the JSON escape that stands for it.
    """
    bom = _starts_stream(event)
    lines = _lines(event.raw[len(_BOM) :] if bom else event.raw)
    values = [as_utf8(value) for value in _TEXT_LINE_END.split(data)]
    out: list[bytes] = [_BOM] if bom else []
    written = False
    for line, end in lines:
        is_data = line.partition(b":")[0] == b"data"
        if not written and (is_data or not line):
            out += _data_lines(values, line or b"data: ", end)
            written = True
        if is_data:
            continue
        if not line and end == b"\n" and out[-1].endswith(b"\r"):
            out.append(b"\n")  # a line was taken out between them: alone, this one would complete the carriage return
        out += [line, end]
    return b"".join(out)


def is_event_stream(content_type: str | None) -> bool:
    """Whether a ``Content-Type`` header announces Server-Sent Events."""
    return (content_type or "").partition(";")[0].strip().lower() == "text/event-stream"


def _starts_stream(event: StreamEvent) -> bool:
    """Whether the event was read with a byte order mark before its first line."""
    if not event.raw.startswith(_BOM):
        return False
    return event.raw[len(_BOM) :] in (b"\n", b"\r", b"\r\n") or _read(event.raw, bom=False) != (event.event, event.data)


def _data_lines(values: list[bytes], model: bytes, end: bytes) -> list[bytes]:
    """Lines for ``values`` in the style of the line ``model``: with or without a space after the colon."""
    bare = model.startswith(b"data:") and not model.startswith(b"data: ")
    return [b"".join((b"data:" if bare and value[:1] != b" " else b"data: ", value, end)) for value in values]


def _lines(raw: bytes) -> list[tuple[bytes, bytes]]:
    """Lines with their terminators; an unterminated last line has an empty one."""
    lines: list[tuple[bytes, bytes]] = []
    start = 0
    for match in _LINE_END.finditer(raw):
        lines.append((raw[start : match.start()], match[0]))
        start = match.end()
    if start < len(raw):
        lines.append((raw[start:], b""))
    return lines


def _read(raw: bytes, *, bom: bool) -> tuple[str | None, str | None]:
    """Event name and data of one event; ``bom``: a byte order mark may stand first."""
    name: str | None = None
    data: list[bytes] = []
    for line in _LINE_END.split(raw.removeprefix(_BOM) if bom else raw):
        field, _, value = line.partition(b":")
        if field == b"data":
            data.append(value[1:] if value[:1] == b" " else value)
        elif field == b"event":
            name = (value[1:] if value[:1] == b" " else value).decode("utf-8", "replace")
    return name or None, b"\n".join(data).decode("utf-8", "replace") if data else None
