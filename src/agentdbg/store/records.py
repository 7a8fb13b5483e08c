"""Records of a journal file.

Split on newline bytes alone, checked by their checksum, bad lines counted and passed over.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import cast

from agentdbg.model.canonical import loads_json
from agentdbg.model.records import Json
from agentdbg.store.files import read_at

try:
    import orjson

    _quick_loads: Callable[[bytes], object] = orjson.loads
except ImportError:
    _quick_loads = json.loads

CHUNK = 1 << 20
MAX_LINE = 64 << 20
"""A longer line is passed over as one bad line, so that a file without newlines costs bounded memory."""
BAD_LINES_KEPT = 100

_DIGITS = bytes.maketrans(b"123456789", b"000000000")
_LONG_NUMBER = b"0" * 19
_TAIL = len(b',"_c":"01234567"}')
_LOOSE_TAIL = re.compile(rb',"_c"\s*:\s*"([0-9a-f]{8})"\s*\}\s*\Z')


def is_intact(line: bytes) -> bool:
    """Whether a line ends in the checksum of what stands before it."""
    if line[-_TAIL : -_TAIL + 7] == b',"_c":"' and line[-2:] == b'"}':
        return b"%08x" % zlib.crc32(line[:-_TAIL]) == line[-10:-2]
    found = _LOOSE_TAIL.search(line, max(0, len(line) - 200))
    return found is not None and b"%08x" % zlib.crc32(line[: found.start()].lstrip()) == found[1]


def parse_record(line: bytes) -> dict[str, Json] | None:
    """The members of an intact record without loss, or ``None`` when it is not a JSON object.

    Bytes that are not UTF-8 become replacement characters; big integers and lone surrogates are kept.
    """
    if _LONG_NUMBER not in line.translate(_DIGITS):
        try:
            return _object(_quick_loads(line))
        except (ValueError, RecursionError):
            pass  # NaN, lone surrogates and the like: the tolerant reader decides
    try:
        return _object(loads_json(line))
    except UnicodeDecodeError:
        return _parse_broken_text(line)
    except ValueError:
        return None


def skim_record(line: bytes) -> dict[str, Json] | None:
    """As ``parse_record``, faster, and with integers of 20 digits or more possibly inexact.

    For the skeleton's own members.
    """
    try:
        return _object(_quick_loads(line))
    except (ValueError, RecursionError):
        return parse_record(line)


def _object(value: object) -> dict[str, Json] | None:
    return cast("dict[str, Json]", value) if isinstance(value, dict) else None


def _parse_broken_text(line: bytes) -> dict[str, Json] | None:
    try:
        return _object(json.loads(line.decode("utf-8", "replace")))
    except (ValueError, RecursionError):
        return None


def split_lines(data: bytes) -> tuple[list[tuple[int, int, bytes]], int, int]:
    """Cut bytes into complete lines.

    Returns:
        ``(offset, line index, line)`` of each line that is not empty, the bytes consumed, and the number of lines
        consumed.
    """
    end = data.rfind(b"\n") + 1
    if not end:
        return [], 0, 0
    lines: list[tuple[int, int, bytes]] = []
    offset = 0
    pieces = data[: end - 1].split(b"\n")
    for index, piece in enumerate(pieces):
        if piece:
            lines.append((offset, index, piece))
        offset += len(piece) + 1
    return lines, end, len(pieces)


@dataclass(slots=True)
class RecordScanner:
    """Reads the records of one growing file, each once, from where the last call stopped.

    Attributes:
        position: Bytes consumed so far; everything before it is final.
        lines: Lines consumed so far.
        bad: Number of lines whose checksum or JSON was bad.
        bad_lines: Their line numbers, from 1, the first hundred.
        pending: Bytes after ``position`` that do not end in a newline yet.
        checksum: CRC-32 of everything before ``position``.
    """

    position: int = 0
    lines: int = 0
    bad: int = 0
    bad_lines: list[int] = field(default_factory=list)
    pending: int = 0
    checksum: int = 0

    def read(self, fd: int, chunk: int = CHUNK) -> list[tuple[int, int, bytes]]:
        """The next intact records as ``(offset, line number, line)``.

        Empty when there is nothing new but bad lines or half a line.

        At most ``chunk`` bytes are consumed unless one line is longer. Compare ``position`` before and after to see
        progress.
        """
        data = read_at(fd, chunk, self.position)
        while data and b"\n" not in data and len(data) >= chunk and len(data) <= MAX_LINE:
            more = read_at(fd, len(data), self.position + len(data))
            if not more:
                break
            data += more
        lines, consumed, count = split_lines(data)
        if not consumed:
            return self._unterminated(data)
        base, first = self.position, self.lines + 1
        self._consume(data[:consumed])
        self.lines += count
        self.pending = len(data) - consumed if len(data) < chunk else 0
        good: list[tuple[int, int, bytes]] = []
        for offset, index, line in lines:
            if is_intact(line):
                good.append((base + offset, first + index, line))
            else:
                self.mark_bad(first + index)
        if self.pending:
            good.extend(self._unterminated(data[consumed:]))
        return good

    def mark_bad(self, line: int) -> None:
        """Count a line that cannot be used."""
        self.bad += 1
        if len(self.bad_lines) < BAD_LINES_KEPT:
            self.bad_lines.append(line)

    def holds(self, fd: int) -> bool:
        """Whether the file still begins with exactly what was consumed."""
        checksum, at = 0, 0
        while at < self.position:
            data = read_at(fd, min(CHUNK, self.position - at), at)
            if not data:
                return False
            checksum = zlib.crc32(data, checksum)
            at += len(data)
        return checksum == self.checksum

    def _consume(self, data: bytes) -> None:
        self.checksum = zlib.crc32(data, self.checksum)
        self.position += len(data)
        self.pending = 0

    def _unterminated(self, data: bytes) -> list[tuple[int, int, bytes]]:
        """A last line without newline: taken when it is whole already, passed over when it is beyond all bounds."""
        self.pending = len(data)
        if len(data) > MAX_LINE:
            self.mark_bad(self.lines + 1)
            self._consume(data)
            return []
        if not data or not is_intact(data):
            return []
        offset = self.position
        self._consume(data)
        return [(offset, self.lines + 1, data)]


def iter_records(fd: int, scanner: RecordScanner | None = None) -> Iterator[tuple[int, bytes]]:
    """All intact records of an open file that stand there now."""
    scanner = scanner or RecordScanner()
    while True:
        before = scanner.position
        for offset, _, line in scanner.read(fd):
            yield offset, line
        if scanner.position == before:
            return


def read_line(fd: int, offset: int, limit: int = MAX_LINE) -> bytes:
    """The line that begins at ``offset``, without its newline; cut at ``limit``."""
    data = read_at(fd, 8192, offset)
    while (end := data.find(b"\n")) < 0:
        if len(data) >= limit:
            return data[:limit]
        more = read_at(fd, min(len(data), limit - len(data)), offset + len(data))
        if not more:
            return data
        data += more
    return data[:end]
