"""Descriptors that a program closes without knowing what they are: a replay's own stay open.

Who becomes a daemon, or wants to be sure, closes everything above standard error. The recorder opens its files again;
a replay's channel and record cannot be had again.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

_FIRST = 3
_close, _closerange = os.close, os.closerange


class KeptDescriptors:
    """Stands in for ``os.close`` and ``os.closerange``."""

    def __init__(self, kept: frozenset[int]) -> None:
        self._kept = set(kept)

    def close(self, fd: int) -> None:
        """``os.close``, but for what the replay holds open; its own code may close it."""
        if fd in self._kept:
            if not str(sys._getframe(1).f_globals.get("__name__")).startswith("agentdbg."):
                return
            self._kept.discard(fd)
        _close(fd)

    def closerange(self, fd_low: int, fd_high: int, /) -> None:
        """``os.closerange`` around what the replay holds open."""
        start = fd_low
        for each in sorted(fd for fd in self._kept if fd_low <= fd < fd_high):
            _closerange(start, each)
            start = each + 1
        _closerange(start, fd_high)


def keep() -> None:
    """Have what is open by now, above the standard streams, stay open."""
    made = KeptDescriptors(frozenset(_open_ones()))
    os.close, os.closerange = made.close, made.closerange


def _open_ones() -> Iterator[int]:
    try:
        names = os.listdir("/proc/self/fd" if os.path.isdir("/proc/self/fd") else "/dev/fd")
    except OSError:
        return
    for name in names:
        fd = int(name)
        if fd < _FIRST:
            continue
        try:
            os.fstat(fd)
        except OSError:
            continue  # that of the listing
        yield fd
