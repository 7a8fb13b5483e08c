"""What the kernel layers of a child stopped or contained, as messages among those that the child itself sends."""

from __future__ import annotations

import fnmatch
import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from agentdbg.replay.kernel.family import Family
from agentdbg.replay.kernel.paths import OPEN_ALREADY
from agentdbg.replay.kernel.supervisor import Asked, Supervisor, take_listener

MOST = 1_000
"""Of each kind, so that many writes hide no refusal."""
_HARMLESS = (
    "connect /var/run/nscd/*",
    "connect /run/nscd/*",
    "connect /run/systemd/userdb/*",
    "connect /var/run/dbus/system_bus_socket",
    "connect /var/run/uuidd/request",
    "connect /run/uuidd/request",
    "open* /var/lib/libuuid/clock*.txt",
    "open* /proc/self/*",
    "open* /proc/thread-self/*",
)
"""What the C library and runtimes ask the machine by themselves; stopped like the rest."""
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
SHARED_MEMORY = "/dev/shm"
"""Of its own, where it is among what is contained as a whole."""
NATIVE = "code below Python"


@dataclass(frozen=True, slots=True)
class Processes:
    """The processes that a replay's program may start.

    Attributes:
        interpreter: The program that may be executed.
        variables: What its variables have to begin with.
        address: Local address that the first process listens on.
        own: Places where sockets are the replay's own.
    """

    interpreter: str
    variables: Mapping[str, str]
    address: str
    own: tuple[str, ...]

    def family(self, first: int) -> Family:
        """The same with the first process."""
        return Family(first, os.path.realpath(self.interpreter), self.variables, self.address, self.own)


class KernelWatch:
    """Takes the filter's listener over once the child has one."""

    def __init__(
        self,
        tell: Callable[[dict[str, Any]], None],
        pid: int,
        tolerate: Sequence[str],
        may_connect: Callable[[str], bool] | None = None,
        processes: Processes | None = None,
    ) -> None:
        self._pid = pid
        self._processes = processes
        self._may_connect = may_connect
        self._tell = tell
        self._tolerate = (*_HARMLESS, *tolerate)
        self._contained: tuple[str, ...] = ()
        self._known: set[tuple[str, str, str]] = set()
        self._told: Counter[str] = Counter()

    def take_over(self, message: Mapping[str, Any], sent: int | None = None) -> bool:
        """Answer from now on for the child that sent ``message``, and waits; a second time is no child's of ours.

        Args:
            message: What it says of its layers.
            sent: The listener, where the child has sent it along.

        Returns:
            Whether the child is held; if not, it must not go on.
        """
        listener = message.get("listener") if sent is None else sent
        if self._contained or not isinstance(listener, int):
            return False
        self._contained = tuple(str(place) for place in message.get("contained") or ())
        writable = (*self._contained, *_DEVICES)
        try:
            taken = take_listener(self._pid, listener) if sent is None else listener
        except OSError as problem:
            reason = f"seccomp's questions do not reach this process: {problem.strerror}"
            self._tell({"event": "no_kernel", "reason": reason})
            return False
        alone = message.get("alone") is True
        Supervisor(
            taken,
            writable,
            self._looked_at,
            lambda path, pid: False,
            self._may_connect,
            alone=alone,
            family=None if self._processes is None else self._processes.family(self._pid),
        ).start()
        return True

    def _looked_at(self, asked: Asked) -> None:
        if asked.allowed and self._is_own(asked.detail):
            return
        told = self._message(asked)
        kind = str(told["event"])
        key = (kind, asked.call, asked.detail)
        if key in self._known or self._told[kind] >= MOST:
            return
        self._known.add(key)
        self._told[kind] += 1
        self._tell(told)

    def _message(self, asked: Asked) -> dict[str, object]:
        if asked.allowed:
            return {"event": "contained", "effect": asked.call, "detail": asked.detail}
        words = f"{asked.call} {asked.detail}".rstrip()
        tolerated = any(fnmatch.fnmatchcase(words, pattern) for pattern in self._tolerate)
        told = {"effect": asked.call, "detail": asked.detail, "frame": NATIVE, "step": None, "layer": "seccomp"}
        return {"event": "tolerated" if tolerated else "refused", **told}

    def _is_own(self, path: str) -> bool:
        """Whether a path is the replay's own scratch, its own shared memory, or a device."""
        own = () if self._processes is None else self._processes.own
        places = [self._contained[0], *own, *(place for place in self._contained if place == SHARED_MEMORY), *_DEVICES]
        return path.startswith(OPEN_ALREADY) or any(f"{path}/".startswith(f"{place}/") for place in places)
