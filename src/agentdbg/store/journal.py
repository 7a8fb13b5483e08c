"""The writer of the run format: records, bodies, ``run.json``. Runs in the agent's process and never raises into it.

Rules of the format stand in ``FORMAT.md``. One ``RunWriter`` writes one run from one process; all runs of a process
share one ``Disk``.
"""

from __future__ import annotations

import base64
import json
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from itertools import count, islice
from time import monotonic_ns
from time import time as wall_time
from typing import cast
from zlib import crc32

from agentdbg.model.hashing import sha256_hex
from agentdbg.model.records import BodyRef
from agentdbg.store.disk import LOST, QUEUED, Disk
from agentdbg.store.disk import Stats as Stats

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]  # the agent's environment may lack it

FORMAT = "0.1"
LARGE_BODY = 256 * 1024
KNOWN_BODIES = 65_536


def encode_record(members: Mapping[str, object]) -> bytes:
    """One journal record, newline before and after, checksum last."""
    return _closed(_dumps(members)[:-1])


def encode_body(digest: str, data: bytes) -> bytes:
    """The record of a body."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return encode_record({"h": digest, "n": len(data), "x": base64.b64encode(data).decode()})
    return _closed(b'{"h":"%b","n":%d,"b":%b' % (digest.encode(), len(data), _dumps(text)))


def _closed(head: bytes) -> bytes:
    return b'\n%b,"_c":"%08x"}\n' % (head, crc32(head))


def _dumps(members: Mapping[str, object] | str) -> bytes:
    if orjson is not None:
        try:
            return orjson.dumps(members)
        except TypeError:
            pass  # a lone surrogate or a large integer: written escaped below
    return json.dumps(members, separators=(",", ":"), ensure_ascii=True, default=str).encode()


class RunWriter:
    """Writes one run from one process. Thread-safe and re-entrant; never raises after it was created."""

    def __init__(self, disk: Disk, directory: str, writer_id: str, hello: Mapping[str, object] | None = None) -> None:
        """Make a writer; no file is touched before something is written.

        Args:
            disk: What writes the files of this process.
            directory: The run's directory.
            writer_id: Twelve hex digits that no other writer of the run has.
            hello: Members of the ``writer`` record that goes ahead of the first event.
        """
        self.directory = directory
        self.writer_id = writer_id
        self._disk = disk
        self._events = f"{directory}/events/{writer_id}.jsonl"
        self._bodies = f"{directory}/bodies/{writer_id}.jsonl"
        self._hello = hello
        self._seqs = count()
        self._lock = threading.RLock()
        self._refs: dict[str, dict[str, object]] = {}
        self._lost = 0

    @classmethod
    def create(
        cls,
        disk: Disk,
        directory: str,
        writer_id: str,
        hello: Mapping[str, object] | None = None,
        meta: Mapping[str, object] | None = None,
    ) -> RunWriter:
        """Create the run directory, with ``meta`` as ``run.json``, and a writer. It appears as a whole or not at all.

        Raises:
            FileExistsError: A run of that id exists.
            OSError: The directory cannot be created.
        """
        parent, _, _ = directory.rpartition("/")
        draft = f"{parent}/.new-{writer_id}"
        for name in ("events", "bodies"):
            disk.make_dir(f"{draft}/{name}")
        if meta is not None:
            disk.replace(f"{draft}/run.json", _dumps(meta))
        disk.publish(draft, directory)
        return cls(disk, directory, writer_id, hello)

    def body(self, data: bytes) -> BodyRef:
        """Store a body once; later calls with the same bytes give the same reference."""
        ref = ref_from(self.store(data))
        assert ref is not None
        return ref if ref.file else replace(ref, file=f"bodies/{self.writer_id}.jsonl")

    def store(self, data: bytes, digest: str = "") -> dict[str, object]:
        """Like ``body``, but gives the reference as it stands in an event, to be left as it is.

        Args:
            data: The body.
            digest: Its SHA-256 in hex, where that is known already.
        """
        digest = digest or sha256_hex(data)
        known = self._refs.get(digest)
        if known is not None:
            return known
        ref = reference(data, digest)
        offset = self._large(digest, data) if "file" in ref else self._small(digest, data)
        if offset >= 0:
            ref["offset"] = offset
        if offset == LOST:
            return ref
        if len(self._refs) >= KNOWN_BODIES:
            with self._lock:
                self._refs = dict(islice(self._refs.items(), KNOWN_BODIES // 2, None))
        self._refs[digest] = ref
        return ref

    def event(self, kind: str, members: Mapping[str, object]) -> int:
        """Append one event; returns its sequence number."""
        lock = self._lock
        held = lock.acquire(False) or lock.acquire(timeout=self._disk.patience)  # its holder may be stuck in a write
        try:
            if self._hello is not None:
                hello, self._hello = self._hello, None
                self._append("writer", {"writer": self.writer_id, **hello})
            seq = self._append(kind, members)
            if self._lost and not self._disk.failing:
                lost, self._lost = self._lost, 0
                self._append("hole", {"of": None, "what": f"{lost} records could not be written"})
            return seq
        finally:
            if held:
                lock.release()

    def meta(self, meta: Mapping[str, object]) -> None:
        """Replace ``run.json``."""
        self._disk.replace(f"{self.directory}/run.json", _dumps(meta))

    def step_id(self, seq: int) -> str:
        """The permanent id of the step whose event has this sequence number."""
        return f"{self.writer_id}:{seq}"

    def close(self) -> None:
        """Close this run's files; they reopen by themselves when something is written later."""
        self._disk.close(self._events)
        self._disk.close(self._bodies)

    def _append(self, kind: str, members: Mapping[str, object]) -> int:
        seq = next(self._seqs)
        event = {"e": kind, "seq": seq, "mono": monotonic_ns(), "wall": wall_time(), **members}
        if self._disk.append(self._events, encode_record(event)) == LOST:
            self._lost += 1
        return seq

    def _small(self, digest: str, data: bytes) -> int:
        """Append a body; returns where its record begins, ``QUEUED`` or ``LOST``."""
        record = encode_body(digest, data)
        end = self._disk.append(self._bodies, record, droppable=True)
        if end == LOST:
            self._lost += 1
        return end if end < 0 else end - len(record) + 1

    def _large(self, digest: str, data: bytes) -> int:
        """Write a body to a file of its own; returns ``QUEUED``, as it has no place in another, or ``LOST``."""
        folder = f"{self.directory}/large"
        with suppress(OSError):  # it exists, or the write below reports what is wrong
            self._disk.make_dir(folder)
        if self._disk.replace(f"{folder}/{digest}", data):
            return QUEUED
        self._lost += 1
        return LOST


def reference(data: bytes, digest: str) -> dict[str, object]:
    """A reference to a body of that hash, stored or still to be stored: without its place in a file of many."""
    ref: dict[str, object] = {"sha256": digest, "size": len(data)}
    return {**ref, "file": f"large/{digest}"} if len(data) > LARGE_BODY else ref


def ref_members(ref: BodyRef) -> dict[str, object]:
    """A reference as it stands in an event."""
    return {"sha256": ref.sha256, "size": ref.size, "file": ref.file, "offset": ref.offset}


def ref_from(members: object) -> BodyRef | None:
    """Read a reference from an event; ``None`` when it is not one."""
    if not isinstance(members, dict) or not isinstance(members.get("sha256"), str):
        return None
    size, offset, file = members.get("size"), members.get("offset"), members.get("file")
    return BodyRef(
        cast(str, members["sha256"]),
        size if isinstance(size, int) else 0,
        file if isinstance(file, str) else "",
        offset if isinstance(offset, int) else -1,
    )
