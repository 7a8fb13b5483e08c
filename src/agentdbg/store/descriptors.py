"""Open files by number: what the recorder's disk needs of them."""

from __future__ import annotations

import os


def flag(name: str) -> int:
    """A flag for opening files; none where the platform has not got it."""
    return int(getattr(os, name, 0))


def set_mode(fd: int, mode: int) -> None:
    """Set the mode of an open file, whatever the umask made of it."""
    if hasattr(os, "fchmod"):
        os.fchmod(fd, mode)


def sync(fd: int) -> None:
    """Wait until the disk has what was written."""
    getattr(os, "fdatasync", os.fsync)(fd)


def above_standard(fd: int) -> int:
    """Move a file off the numbers of the standard streams, which an agent may have closed and others write to."""
    if fd > 2:
        return fd
    import fcntl

    moved = fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(fd)
    return moved


def write_all(fd: int, data: bytes) -> None:
    """Write all of it, in as many pieces as it takes."""
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view) :]
