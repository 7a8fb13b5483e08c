"""Binary event stream messages (``application/vnd.amazon.eventstream``), split as the bytes arrive.

A message is: its length and that of its headers, a checksum over both, the headers, the payload, a checksum over all.
A payload that only wraps another text in base64, as model responses do, is read through.
"""

from __future__ import annotations

import base64
import binascii
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from struct import Struct
from typing import NamedTuple

from agentdbg.model.json_text import dumps_json, loads_json
from agentdbg.model.records import Json
from agentdbg.recording.stream_event import StreamEvent, as_utf8

CONTENT_TYPE = "application/vnd.amazon.eventstream"
EXCEPTION = "exception:"
LONGEST = 32 * 1024 * 1024
_PRELUDE = Struct(">III")
_LENGTHS = Struct(">II")
_CHECKSUM = Struct(">I")
_SIZES = {0: 0, 1: 0, 2: 1, 3: 2, 4: 4, 5: 8, 8: 8, 9: 16}
_BYTES, _TEXT = 6, 7
_WRAPPED = "bytes"
_WRAPS = b'"bytes":"'
_BASE64 = re.compile(rb"[A-Za-z0-9+/]*")
_SHORT = 8


class Header(NamedTuple):
    """A header: its name, the number of its type, and its value as bytes."""

    name: bytes
    kind: int
    value: bytes


class FrameFraming:
    """Cuts a stream into messages. What is no such message ends that: all further bytes are the rest."""

    def __init__(self) -> None:
        self._buffer = bytearray()
        self._broken = False

    def feed(self, chunk: bytes) -> list[StreamEvent]:
        """Take the next bytes and return the messages that are now complete."""
        self._buffer += chunk
        events: list[StreamEvent] = []
        start = 0
        while not self._broken and (length := self._length(start)) and start + length <= len(self._buffer):
            raw = bytes(self._buffer[start : start + length])
            events.append(_event(raw))
            start += length
        del self._buffer[:start]
        return events

    def finish(self) -> list[StreamEvent]:
        """No message waits for anything."""
        return []

    def rest(self) -> bytes:
        """The beginning of a message."""
        return bytes(self._buffer)

    def withheld(self, rest: bytes) -> bytes | None:
        """Its prelude: whoever reads the stream waits for the remainder, as with the whole of it."""
        return None if self._broken else rest[: _PRELUDE.size]

    def inside(self, rest: bytes) -> bytes:
        """The rest with the beginning of a wrapped text in its place."""
        before, found, wrapped = rest.partition(_WRAPS)
        if not found:
            return rest
        text = _BASE64.match(wrapped)
        whole = b"" if text is None else text[0][: len(text[0]) // 4 * 4]
        try:
            return before + base64.b64decode(whole)
        except binascii.Error:
            return rest

    def rebuild(self, event: StreamEvent, data: str) -> bytes:
        """The message with another payload, its headers as they were and its checksums as they must be."""
        headers, payload = parse(event.raw)
        outer = _wrapper(payload)
        if outer is None:
            return message(headers, as_utf8(data))
        wrapped = base64.b64encode(as_utf8(data)).decode()
        return message(headers, as_utf8(dumps_json({**outer, _WRAPPED: wrapped})))

    def clean(self, event: StreamEvent, redact: Callable[[bytes], bytes]) -> StreamEvent:
        """Redact the texts in the headers, what is beside a wrapped text, and a payload that is no text."""
        try:
            headers, payload = parse(event.raw)
        except ValueError:
            cleaned = redact(event.raw)
            return event if cleaned is event.raw else replace(event, raw=cleaned)
        new_headers = [_clean_header(header, redact) for header in headers]
        new_payload = _clean_payload(payload, redact, whole=event.data is None)
        same = new_payload is payload and all(new is old for new, old in zip(new_headers, headers, strict=True))
        return event if same else replace(event, raw=message(new_headers, new_payload))

    def _length(self, start: int) -> int:
        """Length of the message that begins at ``start``; 0 while that is not known, or when there is none."""
        if len(self._buffer) - start < _PRELUDE.size:
            return 0
        length, headers, checksum = _PRELUDE.unpack_from(self._buffer, start)
        if checksum != zlib.crc32(self._buffer[start : start + 8]) or not headers + 16 <= length <= LONGEST:
            self._broken = True
            return 0
        return int(length)


def parse(raw: bytes) -> tuple[list[Header], bytes]:
    """Headers and payload of one whole message.

    Raises:
        ValueError: It is damaged.
    """
    if len(raw) < 16 or _CHECKSUM.unpack(raw[-4:])[0] != zlib.crc32(raw[:-4]):
        raise ValueError("the checksum of the message is wrong")
    length = _PRELUDE.unpack_from(raw)[1]
    if length + 16 > len(raw):
        raise ValueError("the headers are longer than the message")
    end = _PRELUDE.size + length
    return list(_headers(raw[_PRELUDE.size : end])), raw[end:-4]


def message(headers: list[Header], payload: bytes) -> bytes:
    """One message."""
    block = b"".join(_header(header) for header in headers)
    lengths = _LENGTHS.pack(16 + len(block) + len(payload), len(block))
    start = lengths + _CHECKSUM.pack(zlib.crc32(lengths)) + block + payload
    return start + _CHECKSUM.pack(zlib.crc32(start))


def _headers(block: bytes) -> Iterator[Header]:
    at = 0
    while at < len(block):
        name_end = at + 1 + block[at]
        if name_end >= len(block):
            raise ValueError("a header is cut off")
        kind = block[name_end]
        value_at = name_end + 1
        size = _SIZES.get(kind, -1)
        if kind in (_BYTES, _TEXT):
            size = int.from_bytes(block[value_at : value_at + 2])
            value_at += 2
        if size < 0 or value_at + size > len(block):
            raise ValueError("a header is cut off or of no known type")
        yield Header(block[at + 1 : name_end], kind, block[value_at : value_at + size])
        at = value_at + size


def _header(header: Header) -> bytes:
    size = len(header.value).to_bytes(2) if header.kind in (_BYTES, _TEXT) else b""
    return bytes((len(header.name),)) + header.name + bytes((header.kind,)) + size + header.value


def _event(raw: bytes) -> StreamEvent:
    try:
        headers, payload = parse(raw)
    except ValueError:
        return StreamEvent(raw, None, None)
    texts = {header.name: header.value.decode("utf-8", "replace") for header in headers if header.kind == _TEXT}
    kind = texts.get(b":message-type", "event")
    name = texts.get(b":event-type") or texts.get(b":exception-type")
    if kind != "event":
        said = ": ".join(text for key in (b":error-code", b":error-message") if (text := texts.get(key)))
        name = EXCEPTION + (texts.get(b":exception-type") or said or kind)
    outer = _wrapper(payload)
    inner = payload if outer is None else base64.b64decode(str(outer[_WRAPPED]))
    if kind != "event" and not inner:
        inner = b"{}"
    try:
        return StreamEvent(raw, name or None, inner.decode("utf-8"))
    except UnicodeDecodeError:
        return StreamEvent(raw, name or None, None)


def _wrapper(payload: bytes) -> dict[str, Json] | None:
    """The object whose member ``bytes`` holds a text in base64; ``None`` if the payload is something else."""
    if b'"bytes"' not in payload:
        return None
    try:
        found = loads_json(payload)
        wrapped = found.get(_WRAPPED) if isinstance(found, dict) else None
        if not isinstance(wrapped, str):
            return None
        base64.b64decode(wrapped, validate=True).decode("utf-8")
    except (ValueError, binascii.Error):
        return None
    return found if isinstance(found, dict) else None


def _clean_header(header: Header, redact: Callable[[bytes], bytes]) -> Header:
    if header.kind not in (_BYTES, _TEXT) or len(header.value) < _SHORT:
        return header
    value = redact(header.value)
    return header if value is header.value else header._replace(value=value[:0xFFFF])


def _clean_payload(payload: bytes, redact: Callable[[bytes], bytes], *, whole: bool) -> bytes:
    if whole:
        return redact(payload) if payload else payload
    outer = _wrapper(payload)
    if outer is None or len(outer) == 1:
        return payload
    beside = as_utf8(dumps_json({**outer, _WRAPPED: ""}))
    cleaned = redact(beside)
    found = None if cleaned is beside else loads_json(cleaned)
    if not isinstance(found, dict):
        return payload
    return as_utf8(dumps_json({**found, _WRAPPED: outer[_WRAPPED]}))
