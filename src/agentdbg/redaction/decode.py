"""Decoding passes: secrets behind JSON escapes, ``%XX``, invisible characters, full-width forms and base64."""

from __future__ import annotations

import binascii
import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from agentdbg.redaction.span import Span

_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", '"': '"', "\\": "\\", "/": "/", "'": "'"}
_RUN = 24
_RUN_MAX = 4096
_STRICT = b"a" * 16
_FRACTION, _FRACTION_MASK = b"." + _STRICT, b"." * 17
_CONTEXT = 300
_BASE64_STRICT = bytes(
    0x61 if chr(c).isascii() and chr(c).isalnum() else 0x2E if c == 0x2E else 0x3F for c in range(256)
)
BASE64 = bytes(0x61 if chr(c).isascii() and (chr(c).isalnum() or chr(c) in "+/_-") else 0x3F for c in range(256))

_SOURCES = {
    "escape": r"\\(?:[ntrbf\"\\/']|u[0-9a-fA-F]{4}(?:\\u[0-9a-fA-F]{4})*)",
    "percent": r"%[0-9A-Fa-f]{2}(?:%[0-9A-Fa-f]{2})*",
    "rare": "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff"
    "\uff10-\uff19\uff21-\uff3a\uff41-\uff5a]",
    "odd": "[\u00ad\u061c\u180e\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]+|[\uff01-\uff5e\u3002]",
}


@cache
def _re(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name])


class Decoded:
    """A decoded text that knows where each of its characters came from."""

    __slots__ = ("_decoded", "_raw", "text")

    def __init__(self, text: str, pattern: re.Pattern[str], decode: Callable[[str], list[tuple[str, int]]]) -> None:
        """Decode each match of ``pattern``; ``decode`` gives the characters, each with the raw length it takes."""
        decoded, raws = [0], [0]
        parts: list[str] = []
        position = last = 0
        for match in pattern.finditer(text):
            start = match.start()
            if start > last:
                parts.append(text[last:start])
                position += start - last
            for chars, taken in decode(match.group()):
                parts.append(chars)
                position += len(chars)
                start += taken
                decoded.append(position)
                raws.append(start)
            last = match.end()
        parts.append(text[last:])
        self.text = "".join(parts)
        self._decoded = decoded
        self._raw = raws

    def raw(self, position: int) -> int:
        """Return the raw position of a decoded one."""
        at = bisect_right(self._decoded, position) - 1
        return self._raw[at] + position - self._decoded[at]

    def back(self, span: Span) -> Span:
        """Return the span in the raw text; its value stays the decoded one."""
        return Span(self.raw(span.start), self.raw(span.end), span.kind, span.value)


def _json(escapes: str) -> list[tuple[str, int]]:
    if escapes[1] != "u":
        return [(_ESCAPES[escapes[1]], len(escapes))]
    units = [int(escapes[i + 2 : i + 6], 16) for i in range(0, len(escapes), 6)]
    out: list[tuple[str, int]] = []
    i = 0
    while i < len(units):
        unit = units[i]
        if 0xD800 <= unit < 0xDC00 and i + 1 < len(units) and 0xDC00 <= units[i + 1] < 0xE000:
            out.append((chr(0x10000 + ((unit - 0xD800) << 10) + units[i + 1] - 0xDC00), 12))
            i += 2
        else:
            out.append((chr(unit), 6))
            i += 1
    return out


def _percent(run: str) -> list[tuple[str, int]]:
    raw = bytes.fromhex(run.replace("%", ""))
    try:
        decoded = raw.decode("utf-8")
    except UnicodeDecodeError:
        return [(chr(byte), 3) for byte in raw]
    return [(char, 3 * len(char.encode())) for char in decoded]


def _plain(odd: str) -> list[tuple[str, int]]:
    if "\uff01" <= odd[0] <= "\uff5e":
        return [(unicodedata.normalize("NFKC", odd), 1)]
    return [(".", 1)] if odd[0] == "\u3002" else [("", len(odd))]


Views: TypeAlias = "list[tuple[int, Decoded]]"
Decoder: TypeAlias = "Callable[[str], Views]"


def _windows(text: str, name: str, decode: Callable[[str], list[tuple[str, int]]]) -> Views:
    """Decode the parts of a text that hold a match, each with some context around."""
    pattern = _re(name)
    gap = _RUN_MAX if ':\\"' in text or ': \\"' in text else 2 * _CONTEXT + 20
    areas: list[list[int]] = []
    for match in pattern.finditer(text):
        if areas and match.start() - areas[-1][1] <= gap:
            areas[-1][1] = match.end()
        else:
            areas.append([match.start(), match.end()])
    out: Views = []
    for begin, end in areas:
        start = max(0, begin - _CONTEXT)
        if text[start - 1 : start] == "\\":
            start -= 1
        out.append((start, Decoded(text[start : end + _CONTEXT], pattern, decode)))
    return out


def unescaped(text: str) -> Views:
    """Return the parts with JSON escapes, without them."""
    return _windows(text, "escape", _json) if "\\" in text else []


def unquoted(text: str) -> Views:
    """Return the parts with ``%XX``, decoded."""
    return _windows(text, "percent", _percent) if "%" in text else []


def visible(text: str) -> Views:
    """Return the text without invisible characters and full-width forms when it has some."""
    if text.isascii() or not _re("rare").search(text):
        return []
    return [(0, Decoded(text, _re("odd"), _plain))]


def may_hold_base64(data: bytes) -> bool:
    """Return whether a run occurs at which base64 is looked for."""
    return _STRICT in data.translate(_BASE64_STRICT)


def base64_runs(text: str, data: bytes) -> list[tuple[int, int, str]]:
    """Return (start, end, decoded) of the base64 runs that hold text."""
    strict = data.translate(_BASE64_STRICT)
    at = strict.find(_STRICT)
    if at < 0:
        return []
    strict = strict.replace(_FRACTION, _FRACTION_MASK)
    at = strict.find(_STRICT)
    shape = data.translate(BASE64)
    out: list[tuple[int, int, str]] = []
    while at >= 0:
        end = shape.find(b"?", at)
        end = len(shape) if end < 0 else end
        start = at
        if at and data[at - 1] in b"+/_-":
            start = max(shape.rfind(b"?", max(0, at - _RUN_MAX), at) + 1, at - _RUN_MAX)
        decoded = decode_run(data[start:end]) if _RUN <= end - start <= _RUN_MAX else None
        if decoded is not None:
            out.append((start, end, decoded))
        at = strict.find(_STRICT, end)
    return out


def open_run(text: str) -> int:
    """Return where a base64 run of text begins that goes on to the end and may go on further; -1 when none does."""
    match = _tail().search(text, max(0, len(text) - _RUN_MAX))
    if match is None or len(match.group()) < 2:
        return -1
    run = match.group().encode()
    return match.start() if len(run) < _RUN or _text_of(run[:_RUN], partial=True) is not None else -1


@cache
def _tail() -> re.Pattern[str]:
    return re.compile(r"(?<![A-Za-z0-9+/_-])[A-Za-z0-9+/_-]++\Z")


def decode_run(run: bytes) -> str | None:
    """Return the text that a base64 run encodes, or None when it is no text."""
    probe = run[:_RUN]
    if b"-" in probe or b"_" in probe:
        probe = probe.replace(b"-", b"+").replace(b"_", b"/")
    try:
        raw = binascii.a2b_base64(probe)
    except binascii.Error:
        return None
    if not raw.isascii() and len(raw.decode("utf-8", "ignore").encode()) < len(raw) - 3:
        return None
    if _text_of(run[:_RUN], partial=True) is None:
        return None
    return _text_of(run[: len(run) - (1 if len(run) % 4 == 1 else 0)], partial=False)


def _text_of(run: bytes, *, partial: bool) -> str | None:
    if b"-" in run or b"_" in run:
        run = run.replace(b"-", b"+").replace(b"_", b"/")
    try:
        raw = binascii.a2b_base64(run + b"=" * (-len(run) % 4))
        text = raw.decode("utf-8")
    except binascii.Error:
        return None
    except UnicodeDecodeError as error:
        if not partial or error.start < len(raw) - 3:
            return None
        text = raw[: error.start].decode("utf-8")
    return None if any(c < " " and c not in "\n\r\t" for c in text) else text
