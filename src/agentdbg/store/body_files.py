"""Finds a run's bodies: by the place a reference hints at, else by searching, and never without checking the hash."""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import threading
from collections.abc import Iterator
from contextlib import suppress
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
        self._again: dict[bytes, list[tuple[str, int]]] = {}

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
            self._again.clear()

    def _hinted(self, ref: BodyRef) -> bytes | None:
        if ref.offset < 0:
            return None
        if not ref.file:
            return self._beside(ref)
        folder, slash, name = ref.file.partition("/")
        if folder != "bodies" or not slash:
            return None
        return _decode(read_line(self._open(name), ref.offset), ref.sha256)

    def _beside(self, ref: BodyRef) -> bytes | None:
        """The body at that place in the file of whichever writer names it; as a rule there is only one."""
        for name in self._names():
            with suppress(OSError, StoreError):  # one that may not be read hides no other
                data = _decode(read_line(self._open(name), ref.offset), ref.sha256)
                if data is not None:
                    return data
        return None

    def _names(self) -> Iterator[str]:
        """Body files, those first that are open."""
        opened = tuple(self._fds)
        yield from opened
        for name, kind in list_below(self._root, "bodies"):
            if kind == "file" and name.endswith(".jsonl") and name not in opened:
                yield name

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
        refused = ""
        while (place := self._found.get(digest)) is not None:
            data = _decode(read_line(self._open(place[0]), place[1]), ref.sha256)
            if data is not None:
                return data
            refused = place[0]
            self._forget_place(digest)
        if refused:
            raise StoreError(f"bodies/{refused} does not hold what its record says")
        return None

    def _forget_place(self, digest: bytes) -> None:
        """Go on to the next record that says it holds the body."""
        others = self._again.get(digest)
        if others:
            self._found[digest] = others.pop(0)
        else:
            del self._found[digest]

    def _index(self) -> None:
        """Take note of every body record not seen yet."""
        for name, kind in list_below(self._root, "bodies"):
            if kind == "file" and name.endswith(".jsonl"):
                with suppress(OSError, StoreError):  # one that may not be read hides no other
                    self._index_file(name)

    def _index_file(self, name: str) -> None:
        scanner = self._scanners.setdefault(name, RecordScanner())
        for offset, line in iter_records(self._open(name), scanner):
            head = _HEAD.match(line)
            digest = head[1].decode() if head else (parse_record(line) or {}).get("h")
            if not isinstance(digest, str) or not _SHA.fullmatch(digest):
                continue
            place = (name, offset)
            if self._found.setdefault(bytes.fromhex(digest), place) != place:
                self._again.setdefault(bytes.fromhex(digest), []).append(place)

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
