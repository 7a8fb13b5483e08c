"""All file writing of one recording process: bounded open files, counted losses, a queue for when the disk is slow.

Nothing here raises into the agent, except ``make_dir`` and ``publish``. A disk that never answers holds up the one call
that met it first: a write that has begun cannot be called back. Every other thread goes on, and so does the process's
end.
"""

from __future__ import annotations

import contextlib
import contextvars
import errno
import os
import threading
from collections import OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass
from time import monotonic, sleep
from typing import NamedTuple

from agentdbg.store.descriptors import above_standard, flag, set_mode, sync, write_all

MAX_OPEN_FILES = 48
SLOW_WRITE_S = 0.25
QUEUE_BYTES = 32 * 1024 * 1024
QUIET_S = 1.0
"""So long must a queue have been empty before writes are direct again."""
RETRY_S = 1.0
TRUSTED_S = 0.02
"""So long after a closer look, a file is known by where its number stands, which is quicker to find out."""
LOST = -1
QUEUED = -2


@dataclass(slots=True)
class Stats:
    """What the recorder did in this process, for ``agentdbg.stats()``."""

    records: int = 0
    bytes: int = 0
    dropped: int = 0
    errors: int = 0
    queued: int = 0
    last_error: str = ""


@dataclass(slots=True)
class _File:
    """An open file, and how to tell that the number still means it: the agent may have closed it and opened another.

    Attributes:
        size: Its size after the last write, and so where the number stands as long as it means this file.
        checked: When it was last looked at more closely.
    """

    fd: int
    device: int
    inode: int
    size: int = 0
    checked: float = 0.0


class _Job(NamedTuple):
    """Something that a slow disk has still to do."""

    work: Callable[[], object]
    size: int
    records: int


class Disk:
    """Writes files for one process.

    A failed write is counted and reported once through ``warn``; further writes are tried again at most once a second.
    After a write that took longer than ``SLOW_WRITE_S`` everything goes through a bounded queue, written by a thread,
    until that has kept up for a while.
    """

    def __init__(self, warn: Callable[[str], None], *, durability: str = "none", group: bool = False) -> None:
        self.stats = Stats()
        self._warn = warn
        self._sync = durability == "always"
        self._batch = durability == "batch"
        self._file_mode, self._dir_mode = (0o640, 0o750) if group else (0o600, 0o700)
        self._files: OrderedDict[str, _File] = OrderedDict()
        self._lock = threading.RLock()
        self._failed_at = 0.0
        self._queue: deque[_Job] | None = None
        self._queue_lock = threading.RLock()
        self._queue_bytes = 0
        self._wake = threading.Event()
        self._last_sync = monotonic()
        self._temporary = f"{os.getpid()}.{os.urandom(4).hex()}"
        self._replaced = 0

    @property
    def queued(self) -> bool:
        """Whether records go through the queue of a slow disk."""
        return self._queue is not None

    @property
    def patience(self) -> float:
        """How long to wait for a lock whose holder may be stuck in a write, in seconds."""
        return 0.0 if self._queue is not None else 2 * SLOW_WRITE_S

    @property
    def failing(self) -> bool:
        """Whether the last write failed."""
        return bool(self._failed_at)

    def make_dir(self, path: str) -> None:
        """Create a private directory and its parents; later, when the disk is slow.

        Raises:
            FileExistsError: It exists.
            OSError: It cannot be created.
        """
        if self._queue is None or not self._enqueue(lambda: self._later(lambda: self._make_dir(path)), 0, 0):
            self._make_dir(path)

    def publish(self, draft: str, directory: str) -> None:
        """Give a directory that is complete its name; later, when the disk is slow.

        Raises:
            FileExistsError: That directory exists; the draft is gone.
            OSError: It cannot be renamed.
        """
        if self._queue is None or not self._enqueue(lambda: self._later(lambda: _publish(draft, directory)), 0, 0):
            _publish(draft, directory)

    def append(self, path: str, record: bytes, *, droppable: bool = False) -> int:
        """Append one record; returns the file's size after it, or ``LOST`` or ``QUEUED``."""
        if self._queue is not None and (found := self._append_later(path, record, droppable)) is not None:
            return found
        lock = self._lock
        if not lock.acquire(False) and not lock.acquire(timeout=SLOW_WRITE_S):
            self._start_queue()  # another thread's write hangs
            later = self._append_later(path, record, droppable)
            return LOST if later is None else later
        try:
            began = monotonic()
            if self._failed_at and began - self._failed_at < RETRY_S:
                self.stats.dropped += 1
                return LOST
            end = self._write(path, record, began)
            if monotonic() - began > SLOW_WRITE_S:
                self._start_queue()
            return end
        except OSError as error:
            self.stats.dropped += 1
            self.failed(error)
            return LOST
        finally:
            lock.release()

    def replace(self, path: str, data: bytes) -> bool:
        """Write a whole file atomically; ``False`` when it could not be written."""
        if self._queue is not None and self._enqueue(lambda: self._replace(path, data), len(data), 0):
            return True
        began = monotonic()
        done = self._replace(path, data)
        if monotonic() - began > SLOW_WRITE_S + len(data) / 20_000_000:
            self._start_queue()
        return done

    def close(self, path: str) -> None:
        """Close one file if it is open."""
        if self._queue is None or not self._enqueue(lambda: self._close(path), 0, 0):
            self._close(path)

    def drain(self, seconds: float) -> None:
        """Wait for the queue to empty, for at most ``seconds``."""
        deadline = monotonic() + seconds
        while self._queue and monotonic() < deadline:
            sleep(0.01)
        waiting = sum(job.records for job in list(self._queue or ()))
        if waiting:
            self.stats.dropped += waiting
            self._warn(f"{waiting} records were still waiting for a slow disk and are lost")

    def after_fork(self) -> None:
        """Forget the parent's files, locks and queue in a forked child."""
        self._lock, self._queue_lock = threading.RLock(), threading.RLock()
        for file in self._files.values():
            if _is(file):
                os.close(file.fd)
        self._files.clear()
        self._queue = None
        self._queue_bytes = 0
        self._wake = threading.Event()
        self._temporary = f"{os.getpid()}.{os.urandom(4).hex()}"

    def failed(self, error: OSError) -> None:
        """Count a write that failed; the first one is reported."""
        self.stats.errors += 1
        self.stats.last_error = f"{type(error).__name__}: {error.strerror or error}"
        self._failed_at = monotonic()
        self._warn(f"recording degraded, the agent goes on: {error.strerror or error} ({error.filename or 'store'})")

    # -- direct -----------------------------------------------------------------------------------

    def _write(self, path: str, record: bytes, now: float) -> int:
        file = self._files.get(path)
        if file is None or not self._still_means(path, file, now):
            file = self._open(path)
        fd, length = file.fd, len(record)
        written = os.write(fd, record)
        if written < length:
            write_all(fd, record[written:])
        file.size += length
        self._failed_at = 0.0
        stats = self.stats
        stats.records += 1
        stats.bytes += length
        if self._sync or (self._batch and monotonic() - self._last_sync > 1.0):
            sync(fd)
            self._last_sync = monotonic()
        return file.size

    def _still_means(self, path: str, file: _File, now: float) -> bool:
        """Whether the number of an open file still means the one that we opened.

        Raises:
            FileNotFoundError: It was deleted.
        """
        try:
            if now - file.checked < TRUSTED_S and os.lseek(file.fd, 0, os.SEEK_CUR) == file.size:
                return True
            found = os.fstat(file.fd)
        except OSError:
            found = None
        if found is None or found.st_ino != file.inode or found.st_dev != file.device:
            del self._files[path]  # the agent closed it: the number is somebody else's now
            return False
        if not found.st_nlink:
            self._close(path)
            raise FileNotFoundError(errno.ENOENT, "the run's files were deleted", path)
        file.size, file.checked = found.st_size, now
        return True

    def _open(self, path: str) -> _File:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | flag("O_CLOEXEC") | flag("O_NOFOLLOW") | flag("O_NONBLOCK")
        fd = above_standard(os.open(path, flags, self._file_mode))
        set_mode(fd, self._file_mode)
        found = os.fstat(fd)
        while len(self._files) >= MAX_OPEN_FILES:
            self._close(next(iter(self._files)))
        file = self._files[path] = _File(fd, found.st_dev, found.st_ino, found.st_size)
        return file

    def _close(self, path: str) -> None:
        with self._lock:
            file = self._files.pop(path, None)
            if file is not None and _is(file):
                os.close(file.fd)

    def _make_dir(self, path: str) -> None:
        parent = os.path.dirname(path)
        if parent and not os.path.isdir(parent):
            with contextlib.suppress(FileExistsError):  # another process was faster
                self._make_dir(parent)
        os.mkdir(path, self._dir_mode)
        os.chmod(path, self._dir_mode)

    def _later(self, work: Callable[[], object]) -> None:
        try:
            work()
        except FileExistsError:
            pass  # nobody waits for the answer any more
        except OSError as error:
            self.failed(error)

    def _replace(self, path: str, data: bytes) -> bool:
        self._replaced += 1
        temporary = f"{path}.{self._temporary}.{threading.get_ident()}.{self._replaced}.tmp"
        try:
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | flag("O_CLOEXEC") | flag("O_NOFOLLOW")
            fd = above_standard(os.open(temporary, flags, self._file_mode))
            try:
                set_mode(fd, self._file_mode)
                write_all(fd, data)
                if self._sync or self._batch:
                    sync(fd)
            finally:
                os.close(fd)
            os.replace(temporary, path)
        except OSError as error:
            self.failed(error)
            with contextlib.suppress(OSError):  # it was never created
                os.unlink(temporary)
            return False
        return True

    # -- through the queue ------------------------------------------------------------------------

    def _append_later(self, path: str, record: bytes, droppable: bool) -> int | None:
        with self._queue_lock:
            if self._queue is None:
                return None
            if self._queue_bytes + len(record) > QUEUE_BYTES * (1 if droppable else 2):
                self.stats.dropped += 1
                return LOST
            self._enqueue(lambda: self._append_now(path, record), len(record), 1)
            self.stats.queued += 1
        return QUEUED

    def _append_now(self, path: str, record: bytes) -> None:
        try:
            self._write(path, record, monotonic())
        except OSError as error:
            self.stats.dropped += 1
            self.failed(error)

    def _enqueue(self, work: Callable[[], object], size: int, records: int) -> bool:
        with self._queue_lock:
            if self._queue is None:
                return False
            self._queue_bytes += size
            self._queue.append(_Job(work, size, records))
        self._wake.set()
        return True

    def _start_queue(self) -> None:
        with self._queue_lock:
            if self._queue is not None:
                return
            self._queue = deque()
            thread = threading.Thread(target=self._consume, args=(self._queue,), name="agentdbg-writer", daemon=True)
        self._warn(f"a write took longer than {SLOW_WRITE_S * 1000:.0f} ms: recording goes on through a queue")
        contextvars.Context().run(thread.start)

    def _consume(self, queue: deque[_Job]) -> None:
        slow_at = monotonic()
        while queue is self._queue:
            if not queue:
                self._wake.wait(QUIET_S / 4)
                self._wake.clear()
                if monotonic() - slow_at > QUIET_S and self._stop_queue(queue):
                    return
                continue
            began = monotonic()
            job = queue[0]
            with self._lock:
                job.work()
            if monotonic() - began > SLOW_WRITE_S / 5:
                slow_at = monotonic()
            with self._queue_lock:
                queue.popleft()
                self._queue_bytes -= job.size

    def _stop_queue(self, queue: deque[_Job]) -> bool:
        with self._queue_lock:
            if queue:
                return False
            self._queue = None
            return True


def _publish(draft: str, directory: str) -> None:
    try:
        if os.path.lexists(directory):
            raise FileExistsError(errno.EEXIST, "it exists", directory)
        os.rename(draft, directory)
    except OSError as error:
        for path in (f"{draft}/run.json", f"{draft}/events", f"{draft}/bodies", draft):
            with contextlib.suppress(OSError):
                (os.unlink if path.endswith(".json") else os.rmdir)(path)
        if error.errno in (errno.EEXIST, errno.ENOTEMPTY):
            raise FileExistsError(errno.EEXIST, "it exists", directory) from error
        raise


def _is(file: _File) -> bool:
    try:
        found = os.fstat(file.fd)
    except OSError:
        return False
    return found.st_ino == file.inode and found.st_dev == file.device
