"""Tells a signal to the whole process group from one to the launcher alone, which the kernel does not.

``kill %1`` in a shell, and supervisors, signal the group: the program has got its signal then, and must not get it a
second time. A process of the group that holds all signals back is asked whether that one has reached it too.
"""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

_SETTLE_S = 0.003
"""A sender signals the processes of a group one after the other."""


class Witness:
    """That process. It ends with the launcher, however this ends."""

    def __init__(self) -> None:
        """Start it, from a process that has blocked all signals."""
        asked, self._asking = os.pipe()
        self._answers, answering = os.pipe()
        self._pid = os.fork()
        if self._pid == 0:
            try:
                os.close(self._asking)
                os.close(self._answers)
                _answer(asked, answering)
            finally:
                os._exit(0)
        os.close(asked)
        os.close(answering)

    def saw(self, number: int) -> bool:
        """Whether a signal was sent to the group; asked once for each."""
        time.sleep(_SETTLE_S)
        try:
            os.write(self._asking, bytes([number]))
            return os.read(self._answers, 1) == b"1"
        except OSError:
            return False  # somebody killed it

    def end(self) -> None:
        """Let it go."""
        os.close(self._asking)
        os.close(self._answers)
        with suppress(OSError):
            os.waitpid(self._pid, 0)


def _answer(asked: int, answering: int) -> None:
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nowhere, stream)  # who reads the program's output waits for its end alone
    while question := os.read(asked, 1):
        found = signal.sigtimedwait({question[0]}, 0)
        os.write(answering, b"0" if found is None else b"1")
