"""The processes that a replay's program may start, as the parent judges their system calls: Pythons under its guard.

What is looked at is read from the memory of the process that asks, as everything the parent judges.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from agentdbg.recording.launched import parsed
from agentdbg.recording.start_commands import WITHOUT_US, letters
from agentdbg.replay.kernel import memory, paths

MOST_WORDS = 8192


@dataclass(frozen=True, slots=True)
class Family:
    """Attributes:
    first: The first process, which leads the session of all.
    interpreter: The program that may be executed, resolved.
    variables: Names of variables, and what each has to begin with.
    address: Local address that the first process listens on.
    own: Places where sockets are the replay's own.
    """

    first: int
    interpreter: str
    variables: Mapping[str, str]
    address: str
    own: Sequence[str]

    def may_execute(self, path: str, pid: int, argv: int, environ: int) -> bool:
        """Whether a process becomes a Python of the replay; of what is not there the kernel says so itself."""
        if not os.path.lexists(f"/proc/{pid}/root{path}"):
            return True
        if path != self.interpreter:
            return False
        words = _strings(pid, argv)
        if not words or letters(parsed(words[1:]).options) & WITHOUT_US:
            return False
        given = dict(word.partition("=")[::2] for word in _strings(pid, environ))
        return all(given.get(name, "").startswith(start) for name, start in self.variables.items())

    def has(self, pid: int) -> bool:
        """Whether a process is one of the replay's."""
        try:
            return pid > 0 and os.getsid(pid) == self.first
        except ProcessLookupError:
            return True  # it is gone, and the kernel will say so
        except OSError:
            return False

    def is_own(self, address: str, pid: int) -> bool:
        """Whether a local address is one that a process of the replay listens on."""
        if address == self.address:
            return True
        if not address or address.startswith("@"):
            return False
        path = paths.resolved(pid, paths.AT_CWD, address, follow=True)
        return any(path.startswith(place.rstrip("/") + "/") for place in self.own)


def _strings(pid: int, at: int) -> list[str]:
    """An array of texts that ends with nothing."""
    found: list[str] = []
    while at and len(found) < MOST_WORDS:
        (place,) = struct.unpack("=Q", memory.read(pid, at, 8))
        if not place:
            return found
        found.append(memory.text(pid, place, 1 << 20))
        at += 8
    return found
