"""Another process's memory, read by the parent of a replay."""

from __future__ import annotations

import os

_LONGEST_PATH = 4096


def read(pid: int, at: int, length: int) -> bytes:
    """Bytes from a place. Raises OSError."""
    fd = os.open(f"/proc/{pid}/mem", os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.pread(fd, length, at)
    finally:
        os.close(fd)


def text(pid: int, at: int, longest: int = _LONGEST_PATH) -> str:
    """A text, read up to the end of its page and then on."""
    found = b""
    while b"\0" not in found and len(found) < longest:
        step = 4096 - (at + len(found)) % 4096
        found += read(pid, at + len(found), step)
    return os.fsdecode(found.partition(b"\0")[0])
