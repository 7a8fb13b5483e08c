"""The event files of a run directory.

Discovered, followed by ``stat``, read in small pieces, read again line by line.
"""

from __future__ import annotations

import os
import re
import stat
from collections import OrderedDict
from dataclasses import dataclass, field
from pathlib import Path

from agentdbg.store.columns import WriterRows
from agentdbg.store.files import StoreError, list_below, looseness, open_below, read_at, stat_below
from agentdbg.store.records import read_line, skim_record
from agentdbg.store.skeleton import Skeleton

PIECE = 256 * 1024
MAX_WRITERS = 10_000
_NAME = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]{0,63}\.jsonl")
_OPEN_FILES = 32
_BLOCK = 1 << 16
_BLOCKS = 32
_PROBE = 256


@dataclass(slots=True)
class _Followed:
    """One event file as it was when it was last looked at."""

    rows: WriterRows
    identity: tuple[int, int] = (0, 0)
    size: int = 0
    mtime_ns: int = -1
    loose: str = ""
    head: bytes = b""
    tail: bytes = b""

    def unread(self) -> int:
        scanner = self.rows.scanner
        return max(0, self.size - scanner.position - scanner.pending)


@dataclass(slots=True, eq=False)
class EventFiles:
    """Reads the files below ``events/`` into a skeleton.

    Attributes:
        refused: Entries that are not read, with the reason.
    """

    root: Path
    skeleton: Skeleton
    refused: dict[str, str] = field(default_factory=dict)
    _files: dict[str, _Followed] = field(default_factory=dict)
    _fds: OrderedDict[int, int] = field(default_factory=OrderedDict)
    _blocks: OrderedDict[tuple[int, int], bytes] = field(default_factory=OrderedDict)

    def look(self) -> bool:
        """Notice new and grown files.

        ``False`` when what was read is no longer what is there and all must be read again.
        """
        try:
            entries = list_below(self.root, "events")
        except (OSError, StoreError) as problem:
            self.refused["events"] = _reason(problem)
            return True
        for name, kind in entries:
            if name in self._files:
                continue
            if not _NAME.fullmatch(name) or kind != "file":
                self.refused[f"events/{name}"] = "not the file of a writer; it is not read"
            elif len(self._files) >= MAX_WRITERS:
                self.refused["events"] = f"more than {MAX_WRITERS:,} files; the others are not read"
            else:
                self._files[name] = _Followed(self.skeleton.add_writer(name.removesuffix(".jsonl")))
        same = [self._is_same(name, file) for name, file in self._files.items()]
        return all(same)

    def read_piece(self) -> bool:
        """Take in the next piece of the writer that is furthest behind.

        ``False`` when everything seen has been read.
        """
        behind = [file for file in self._files.values() if file.unread()]
        if not behind:
            return False
        file = min(behind, key=lambda f: f.rows.keys[-1] if len(f.rows) else -(2**63))
        rows, scanner = file.rows, file.rows.scanner
        before = scanner.position
        try:
            fd = self._open(file)
            for offset, number, line in scanner.read(fd, PIECE):
                record = skim_record(line)
                if record is None:
                    scanner.mark_bad(number)
                else:
                    self.skeleton.add(rows, offset, record)
            file.head = file.head or read_at(fd, min(_PROBE, scanner.position), 0)
            start = max(0, scanner.position - _PROBE)
            file.tail = read_at(fd, scanner.position - start, start)
        except (OSError, StoreError) as problem:
            self.refused[f"events/{rows.name}.jsonl"] = _reason(problem)
            file.size = scanner.position + scanner.pending
            return True
        if scanner.position == before:
            file.size = min(file.size, before + scanner.pending)
        return True

    def unread(self) -> int:
        """Bytes known of and not taken in yet."""
        return sum(file.unread() for file in self._files.values())

    def last_change(self) -> float:
        """When an event file last changed, in seconds since the epoch."""
        return max((file.mtime_ns for file in self._files.values()), default=0) / 1e9

    def line(self, writer: int, offset: int) -> bytes:
        """The record that begins at ``offset`` of a writer's file, or ``b""`` when it can no longer be read."""
        rows = self.skeleton.writers[writer]
        number, within = divmod(offset, _BLOCK)
        try:
            if (number + 1) * _BLOCK <= rows.scanner.position:
                block = self._block(rows, number)
                end = block.find(b"\n", within)
                if end >= 0:
                    return block[within:end]
            return read_line(self._open(self._files[f"{rows.name}.jsonl"]), offset)
        except (OSError, StoreError):
            return b""

    def problems(self, finished: bool) -> list[str]:
        """One line for each damaged or refused file."""
        found = [f"{name}: {reason}" for name, reason in sorted(self.refused.items())]
        for name, file in sorted(self._files.items()):
            rows, scanner = file.rows, file.rows.scanner
            if scanner.bad:
                lines = ", ".join(map(str, scanner.bad_lines[:10])) + (", …" if scanner.bad > 10 else "")
                found.append(f"events/{name}: {scanner.bad} unreadable: line{'s' * (scanner.bad > 1)} {lines}")
            if scanner.pending and finished:
                found.append(f"events/{name}: the last record is torn ({scanner.pending:,} bytes)")
            if rows.malformed:
                found.append(f"events/{name}: {rows.malformed} records without type or sequence number")
            if rows.odd_rows:
                found.append(f"events/{name}: {len(rows.odd_rows)} steps stand out of order")
            if not file.unread() and rows.missing() > scanner.bad + rows.malformed:
                found.append(f"events/{name}: {rows.missing() - scanner.bad - rows.malformed} records are missing")
            named = (rows.info or {}).get("writer")
            if isinstance(named, str) and named != rows.name:
                found.append(f"events/{name}: its first record names another writer")
        return found

    def loose(self) -> list[str]:
        """What of the run others on this machine can get at."""
        found: list[str] = []
        for name in ("", "run.json", "bodies"):
            try:
                status = stat_below(self.root, name) if name else self.root.stat()
            except (OSError, StoreError):
                continue
            if reason := looseness(status):
                found.append(f"{name or 'the run directory'}: {reason}")
        return found + [f"events/{name}: {file.loose}" for name, file in sorted(self._files.items()) if file.loose]

    def close(self) -> None:
        """Close the files that are open."""
        while self._fds:
            os.close(self._fds.popitem()[1])

    def _is_same(self, name: str, file: _Followed) -> bool:
        """Whether the file still begins and goes on as it was read."""
        try:
            status = stat_below(self.root, "events", name)
        except (OSError, StoreError) as problem:
            self.refused[f"events/{name}"] = f"it is gone: {_reason(problem)}"
            return True
        if not stat.S_ISREG(status.st_mode):
            self.refused[f"events/{name}"] = "no longer a regular file; it is not read"
            return not file.rows.scanner.position
        identity = (status.st_dev, status.st_ino)
        if file.mtime_ns >= 0 and identity != file.identity:
            return False
        if (status.st_size, status.st_mtime_ns) == (file.size, file.mtime_ns):
            return True
        file.identity = identity
        self.refused.pop(f"events/{name}", None)
        grown = status.st_size != file.size
        if status.st_size < file.rows.scanner.position or not self._begins_alike(file, grown):
            return False
        file.size, file.mtime_ns, file.loose = status.st_size, status.st_mtime_ns, looseness(status)
        return True

    def _begins_alike(self, file: _Followed, grown: bool) -> bool:
        """Compare both ends of what was read; all of it when the file was written to and has not grown."""
        scanner = file.rows.scanner
        if not scanner.position:
            return True
        try:
            fd = self._open(file)
            if not grown:
                return scanner.holds(fd)
            start = scanner.position - len(file.tail)
            return read_at(fd, len(file.head), 0) == file.head and read_at(fd, len(file.tail), start) == file.tail
        except (OSError, StoreError):
            return False

    def _open(self, file: _Followed) -> int:
        index = file.rows.index
        fd = self._fds.get(index)
        if fd is not None:
            self._fds.move_to_end(index)
            return fd
        fd = open_below(self.root, "events", f"{file.rows.name}.jsonl")
        status = os.fstat(fd)
        if (status.st_dev, status.st_ino) != file.identity:
            os.close(fd)
            raise StoreError("it was replaced while it was read")
        while len(self._fds) >= _OPEN_FILES:
            os.close(self._fds.popitem(last=False)[1])
        self._fds[index] = fd
        return fd

    def _block(self, rows: WriterRows, number: int) -> bytes:
        key = (rows.index, number)
        block = self._blocks.get(key)
        if block is None:
            block = read_at(self._open(self._files[f"{rows.name}.jsonl"]), _BLOCK, number * _BLOCK)
            self._blocks[key] = block
            if len(self._blocks) > _BLOCKS:
                self._blocks.popitem(last=False)
        else:
            self._blocks.move_to_end(key)
        return block


def _reason(problem: OSError | StoreError) -> str:
    return (problem.strerror or type(problem).__name__) if isinstance(problem, OSError) else str(problem)
