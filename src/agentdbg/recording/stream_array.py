"""A JSON array that arrives element by element: each object in it is an event; no byte is lost, whatever the cuts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace

from agentdbg.recording.stream_event import StreamEvent, as_utf8

_SIGN = re.compile(rb'["{}\[\]]')
_QUOTED_SIGN = re.compile(rb'["\\]')
_BETWEEN = b"[], \t\r\n\xef\xbb\xbf"


class ArrayFraming:
    """Cuts out the objects at the top of an array; what is between them goes with the next one."""

    def __init__(self) -> None:
        self._parts: list[bytes] = []
        self._length = 0
        self._depth = 0
        self._quoted = False
        self._escaped = False
        self._object: tuple[int, int] | None = None

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take the next bytes and return the elements that are now complete."""
        events: list[StreamEvent] = []
        start = 0
        at = 1 if self._escaped and chunk else 0
        self._escaped = self._escaped and not chunk
        while match := (_QUOTED_SIGN if self._quoted else _SIGN).search(chunk, at):
            at = match.end()
            sign = match[0]
            if sign == b"\\":
                self._escaped = at == len(chunk)
                at += 1
            elif sign == b'"':
                self._quoted = not self._quoted
            elif sign in b"{[":
                self._open(sign, self._length + match.start() - start)
            elif self._close(sign):
                self._add(chunk[start:at])
                events.append(self._take())
                start = at
        self._add(chunk[start:])
        return events

    def finish(self) -> list[StreamEvent]:
        """The end of the array, where it is whole."""
        rest = self.rest()
        if not rest or rest.strip(_BETWEEN):
            return []
        self._parts, self._length = [], 0
        return [StreamEvent(rest, None, None)]

    def rest(self) -> bytes:
        """The bytes after the last whole element."""
        return b"".join(self._parts)

    def withheld(self, rest: bytes) -> bytes | None:
        """A text may stand for a cut element."""
        return None

    def inside(self, rest: bytes) -> bytes:
        """There is nothing to look through."""
        return rest

    def rebuild(self, event: StreamEvent, data: str) -> bytes:
        """The element with its text replaced; what stands before it stays."""
        return event.raw[: event.at] + as_utf8(data)

    def clean(self, event: StreamEvent, redact: Callable[[bytes], bytes]) -> StreamEvent:
        """An array holds nothing between its elements but blanks, brackets and commas, unless it is an odd one."""
        before = event.raw[: event.at]
        if not before.strip(_BETWEEN):
            return event
        cleaned = redact(before)
        return event if cleaned is before else replace(event, raw=cleaned + event.raw[event.at :], at=len(cleaned))

    def _open(self, sign: bytes, at: int) -> None:
        self._depth += 1
        if sign == b"{" and self._object is None and self._depth <= 2:
            self._object = (self._depth, at)

    def _close(self, sign: bytes) -> bool:
        """Whether the object that an event is made of ends here."""
        ends = sign == b"}" and self._object is not None and self._object[0] == self._depth
        self._depth = max(0, self._depth - 1)
        return ends

    def _add(self, piece: bytes) -> None:
        if piece:
            self._parts.append(piece)
            self._length += len(piece)

    def _take(self) -> StreamEvent:
        raw = b"".join(self._parts)
        at = 0 if self._object is None else self._object[1]
        self._parts, self._length, self._object = [], 0, None
        return StreamEvent(raw, None, raw[at:].decode("utf-8", "replace"), at)
