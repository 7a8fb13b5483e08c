"""Finds a run's bodies: by the place a reference hints at, else by searching, and never without checking the hash."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import threading
from pathlib import Path

from agentdbg.model.records import BodyRef
from agentdbg.store.files import StoreError, list_below, open_below, read_bounded
from agentdbg.store.protocols import BodyMissing
from agentdbg.store.records import RecordScanner, is_intact, iter_records, parse_record, read_line

MAX_BODY = 1 << 30
_OPEN_FILES = 8
_HEAD = re.compile(rb'\{"h":"([0-9a-f]{64})"')
_SHA = re.compile(r"[0-9a-f]{64}", re.ASCII)


class BodyFiles:
    """The bodies of one run directory. Thread-safe."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._lock = threading.RLock()
        self._fds: dict[str, int] = {}
        self._scanners: dict[str, RecordScanner] = {}
        self._found: dict[bytes, tuple[str, int]] = {}

    def read(self, ref: BodyRef) -> bytes:
        """The bytes of a body.

        Raises:
            BodyMissing: It is nowhere in the run, or what is there does not have the hash.
        """
        if not _SHA.fullmatch(ref.sha256):
            raise BodyMissing(f"{ref.sha256[:20]!r} is not a SHA-256 digest")
        with self._lock:
            reason = ""
            for attempt in (self._hinted, self._large, self._searched):
                try:
                    data = attempt(ref)
                except (OSError, StoreError) as problem:
                    reason = reason or _why(problem)
                    continue
                if data is not None:
                    return data
        raise BodyMissing(f"body {ref.sha256[:12]} ({ref.size:,} bytes) is not in the record{reason and f': {reason}'}")

    def close(self) -> None:
        """Close the files that are open."""
        with self._lock:
            for fd in self._fds.values():
                os.close(fd)
            self._fds.clear()

    def forget(self) -> None:
        """Drop what is known about the files, after they were replaced."""
        with self._lock:
            self.close()
            self._scanners.clear()
            self._found.clear()

    def _hinted(self, ref: BodyRef) -> bytes | None:
        folder, slash, name = ref.file.partition("/")
        if folder != "bodies" or not slash or ref.offset < 0:
            return None
        return _decode(read_line(self._open(name), ref.offset), ref.sha256)

    def _large(self, ref: BodyRef) -> bytes | None:
        try:
            fd = open_below(self._root, "large", ref.sha256)
        except FileNotFoundError:
            return None
        try:
            data = read_bounded(fd, MAX_BODY)
        finally:
            os.close(fd)
        if hashlib.sha256(data).hexdigest() != ref.sha256:
            raise StoreError(f"large/{ref.sha256[:12]}… does not have its hash")
        return data

    def _searched(self, ref: BodyRef) -> bytes | None:
        digest = bytes.fromhex(ref.sha256)
        if digest not in self._found:
            self._index()
        place = self._found.get(digest)
        if place is None:
            return None
        data = _decode(read_line(self._open(place[0]), place[1]), ref.sha256)
        if data is None:
            del self._found[digest]
            raise StoreError(f"bodies/{place[0]} does not hold what its record says")
        return data

    def _index(self) -> None:
        """Take note of every body record not seen yet."""
        for name, kind in list_below(self._root, "bodies"):
            if kind != "file" or not name.endswith(".jsonl"):
                continue
            scanner = self._scanners.setdefault(name, RecordScanner())
            for offset, line in iter_records(self._open(name), scanner):
                head = _HEAD.match(line)
                digest = head[1].decode() if head else (parse_record(line) or {}).get("h")
                if isinstance(digest, str) and _SHA.fullmatch(digest):
                    self._found.setdefault(bytes.fromhex(digest), (name, offset))

    def _open(self, name: str) -> int:
        fd = self._fds.get(name)
        if fd is None:
            if len(self._fds) >= _OPEN_FILES:
                os.close(self._fds.pop(next(iter(self._fds))))
            fd = self._fds[name] = open_below(self._root, "bodies", name)
        return fd


def _decode(line: bytes, digest: str) -> bytes | None:
    """The body in a record, when it is intact and has the digest."""
    record = parse_record(line) if is_intact(line) else None
    if record is None:
        return None
    text, encoded = record.get("b"), record.get("x")
    try:
        if isinstance(text, str):
            data = text.encode("utf-8", "surrogatepass")
        elif isinstance(encoded, str):
            data = base64.b64decode(encoded, validate=True)
        else:
            return None
    except (binascii.Error, ValueError):
        return None
    return data if hashlib.sha256(data).hexdigest() == digest else None


def _why(problem: OSError | StoreError) -> str:
    return (problem.strerror or type(problem).__name__) if isinstance(problem, OSError) else str(problem)
