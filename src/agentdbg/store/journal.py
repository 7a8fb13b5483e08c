"""The writer of the run format: records, bodies, ``run.json``. Runs inside the agent's process and never raises into it.

Rules of the format stand in ``FORMAT.md``. One ``RunWriter`` writes one run from one process; all of a process share one ``Disk``,
which bounds open files, counts what was lost, and steps aside to a queue when the disk is slow.
"""

from __future__ import annotations

import base64
import json
import os
import threading
import zlib
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from time import monotonic, monotonic_ns, sleep
from time import time as wall_time
from typing import cast

from agentdbg.model.hashing import sha256_hex
from agentdbg.model.records import BodyRef

try:
    import orjson
except ImportError:
    orjson = None  # type: ignore[assignment]  # the agent's environment may lack it

FORMAT = "0.1"
LARGE_BODY = 256 * 1024
MAX_OPEN_FILES = 48
SLOW_WRITE_S = 0.25
QUEUE_BYTES = 32 * 1024 * 1024
RETRY_S = 1.0


def encode_record(members: Mapping[str, object]) -> bytes:
    """One journal record, newline before and after, checksum last."""
    head = _dumps(members)[:-1]
    return b'\n%b,"_c":"%08x"}\n' % (head, zlib.crc32(head))


def _dumps(members: Mapping[str, object]) -> bytes:
    if orjson is not None:
        try:
            return orjson.dumps(members)
        except TypeError:
            pass  # a lone surrogate or a large integer: written escaped below
    return json.dumps(members, separators=(",", ":"), ensure_ascii=True, default=str).encode()


@dataclass(slots=True)
class Stats:
    """What the recorder did in this process, for ``agentdbg.stats()``."""

    records: int = 0
    bytes: int = 0
    dropped: int = 0
    errors: int = 0
    queued: int = 0
    last_error: str = ""


class Disk:
    """All file writing of one process.

    A failed write is counted and reported once through ``warn``; further writes are tried again at most once a second. After a write that
    took longer than ``SLOW_WRITE_S`` records go through a bounded queue, written by a thread.
    """

    def __init__(self, warn: Callable[[str], None], *, durability: str = "none", group: bool = False) -> None:
        self.stats = Stats()
        self._warn = warn
        self._sync = durability == "always"
        self._batch = durability == "batch"
        self._file_mode, self._dir_mode = (0o640, 0o750) if group else (0o600, 0o700)
        self._fds: OrderedDict[str, int] = OrderedDict()
        self._lock = threading.RLock()
        self._failed_at = 0.0
        self._queue: deque[tuple[str, bytes, bool]] | None = None
        self._queue_bytes = 0
        self._wake = threading.Event()
        self._last_sync = monotonic()

    @property
    def queued(self) -> bool:
        """Whether records go through the queue of a slow disk."""
        return self._queue is not None

    def make_dir(self, path: str) -> None:
        """Create a private directory and its parents.

        Raises:
            FileExistsError: It exists.
            OSError: It cannot be created.
        """
        parent = os.path.dirname(path)
        if parent and not os.path.isdir(parent):
            try:
                self.make_dir(parent)
            except FileExistsError:
                pass  # another process was faster
        os.mkdir(path, self._dir_mode)
        os.chmod(path, self._dir_mode)

    def append(self, path: str, record: bytes, *, droppable: bool = False) -> int:
        """Append one record; returns the file's size after it, or -1 when it was dropped or queued. Never raises."""
        if self._queue is not None:
            self._enqueue(path, record, droppable)
            return -1
        with self._lock:
            began = monotonic()
            if self._failed_at and began - self._failed_at < RETRY_S:
                self.stats.dropped += 1
                return -1
            try:
                end = self._write(path, record)
            except OSError as error:
                self.failed(error)
                return -1
            if monotonic() - began > SLOW_WRITE_S:
                self._start_queue()
            return end

    def replace(self, path: str, data: bytes) -> bool:
        """Write a whole file atomically; ``False`` when it could not be written."""
        temporary = f"{path}.{os.getpid()}.{threading.get_ident()}.tmp"
        try:
            fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, self._file_mode)
            try:
                os.fchmod(fd, self._file_mode)
                _write_all(fd, data)
                if self._sync or self._batch:
                    os.fdatasync(fd)
            finally:
                os.close(fd)
            os.rename(temporary, path)
        except OSError as error:
            self.failed(error)
            try:
                os.unlink(temporary)
            except OSError:
                pass  # it was never created
            return False
        return True

    def close(self, path: str) -> None:
        """Close one file if it is open."""
        with self._lock:
            fd = self._fds.pop(path, None)
            if fd is not None:
                os.close(fd)

    def drain(self, seconds: float) -> None:
        """Wait for the queue to empty, for at most ``seconds``."""
        deadline = monotonic() + seconds
        while self._queue and monotonic() < deadline:
            sleep(0.01)
        if self._queue:
            self.stats.dropped += len(self._queue)
            self._warn(f"{len(self._queue)} records were still waiting for a slow disk and are lost")

    def after_fork(self) -> None:
        """Forget the parent's files and locks in a forked child."""
        self._lock = threading.RLock()
        for fd in self._fds.values():
            try:
                os.close(fd)
            except OSError:
                pass  # the agent closed it already
        self._fds.clear()
        self._queue = None
        self._wake = threading.Event()

    def _write(self, path: str, record: bytes) -> int:
        fd = self._fds.get(path)
        if fd is None:
            fd = self._open(path)
        else:
            self._fds.move_to_end(path)
        written = os.write(fd, record)
        if written < len(record):
            _write_all(fd, record[written:])
        self._failed_at = 0.0
        self.stats.records += 1
        self.stats.bytes += len(record)
        if self._sync or (self._batch and monotonic() - self._last_sync > 1.0):
            os.fdatasync(fd)
            self._last_sync = monotonic()
        return os.lseek(fd, 0, os.SEEK_CUR)

    def _open(self, path: str) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW
        fd = os.open(path, flags, self._file_mode)
        os.fchmod(fd, self._file_mode)
        while len(self._fds) >= MAX_OPEN_FILES:
            _, oldest = self._fds.popitem(last=False)
            os.close(oldest)
        self._fds[path] = fd
        return fd

    def failed(self, error: OSError) -> None:
        """Count a write that failed; the first one is reported."""
        first = not self.stats.errors
        self.stats.errors += 1
        self.stats.dropped += 1
        self.stats.last_error = f"{type(error).__name__}: {error.strerror or error}"
        self._failed_at = monotonic()
        if first:
            self._warn(f"recording degraded, the agent goes on: {error.strerror or error} ({error.filename or 'store'})")

    def _enqueue(self, path: str, record: bytes, droppable: bool) -> None:
        with self._lock:
            queue = self._queue
            if queue is None or self._queue_bytes + len(record) > QUEUE_BYTES * (1 if droppable else 2):
                self.stats.dropped += 1
                return
            self._queue_bytes += len(record)
            self.stats.queued += 1
            queue.append((path, record, droppable))
        self._wake.set()

    def _start_queue(self) -> None:
        if self._queue is None:
            self._queue = deque()
            self._warn(f"a write took longer than {SLOW_WRITE_S * 1000:.0f} ms: recording goes on through a queue")
            threading.Thread(target=self._consume, name="agentdbg-writer", daemon=True).start()

    def _consume(self) -> None:
        queue = self._queue
        while queue is not None and queue is self._queue:
            if not queue:
                self._wake.wait(0.5)
                self._wake.clear()
                continue
            path, record, _ = queue[0]
            try:
                self._write(path, record)
            except OSError as error:
                self.failed(error)
            queue.popleft()
            with self._lock:
                self._queue_bytes -= len(record)


def _write_all(fd: int, data: bytes) -> None:
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]


class RunWriter:
    """Writes one run from one process. Thread-safe and re-entrant; never raises after it was created."""

    def __init__(self, disk: Disk, directory: str, writer_id: str) -> None:
        self.directory = directory
        self.writer_id = writer_id
        self._disk = disk
        self._events = f"{directory}/events/{writer_id}.jsonl"
        self._bodies = f"{directory}/bodies/{writer_id}.jsonl"
        self._body_file = f"bodies/{writer_id}.jsonl"
        self._seq = 0
        self._lock = threading.RLock()
        self._refs: dict[str, BodyRef] = {}

    @classmethod
    def create(cls, disk: Disk, directory: str, writer_id: str) -> RunWriter:
        """Create the run directory and a writer in it.

        Raises:
            FileExistsError: A run of that id exists.
            OSError: The directory cannot be created.
        """
        disk.make_dir(directory)
        for name in ("events", "bodies"):
            disk.make_dir(f"{directory}/{name}")
        return cls(disk, directory, writer_id)

    def body(self, data: bytes) -> BodyRef:
        """Store a body once; later calls with the same bytes give the same reference."""
        digest = sha256_hex(data)
        known = self._refs.get(digest)
        if known is not None:
            return known
        ref = self._large(digest, data) if len(data) > LARGE_BODY else self._small(digest, data)
        if ref.offset >= 0 or len(data) > LARGE_BODY or self._disk.queued:
            self._refs[digest] = ref
        return ref

    def event(self, kind: str, members: Mapping[str, object]) -> int:
        """Append one event; returns its sequence number."""
        with self._lock:
            seq = self._seq
            self._seq = seq + 1
            event: dict[str, object] = {"e": kind, "seq": seq, "mono": monotonic_ns(), "wall": wall_time()}
            event.update(members)
            self._disk.append(self._events, encode_record(event))
        return seq

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

    def _small(self, digest: str, data: bytes) -> BodyRef:
        try:
            record = encode_record({"h": digest, "n": len(data), "b": data.decode()})
        except UnicodeDecodeError:
            record = encode_record({"h": digest, "n": len(data), "x": base64.b64encode(data).decode()})
        end = self._disk.append(self._bodies, record, droppable=True)
        return BodyRef(digest, len(data), self._body_file, end - len(record) + 1 if end >= 0 else -1)

    def _large(self, digest: str, data: bytes) -> BodyRef:
        folder = f"{self.directory}/large"
        try:
            self._disk.make_dir(folder)
        except OSError:
            pass  # it exists, or the write below reports what is wrong
        self._disk.replace(f"{folder}/{digest}", data)
        return BodyRef(digest, len(data), f"large/{digest}", -1)


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
