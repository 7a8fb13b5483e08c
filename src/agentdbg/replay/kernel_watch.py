"""What the kernel layers of a child stopped or contained, as messages among those that the child itself sends."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from agentdbg.replay.child_report import ChildReport
from agentdbg.replay.kernel.supervisor import Asked, Supervisor, take_listener

MOST = 1_000
_HARMLESS = (
    "connect /var/run/nscd/*",
    "connect /run/nscd/*",
    "connect /run/systemd/userdb/*",
    "connect /var/run/dbus/system_bus_socket",
    "open* /proc/self/*",
    "open* /proc/thread-self/*",
)
"""What the C library and runtimes ask the machine by themselves; stopped like the rest."""
NATIVE = "code below Python"


class KernelWatch:
    """Takes the filter's listener over once the child has one."""

    def __init__(
        self, report: ChildReport, tolerate: Sequence[str], may_connect: Callable[[str], bool] | None = None
    ) -> None:
        self._may_connect = may_connect
        self._report = report
        self._tolerate = (*_HARMLESS, *tolerate)
        self._contained: tuple[str, ...] = ()
        self._known: set[tuple[str, str]] = set()

    def take_over(self, message: Mapping[str, Any]) -> None:
        """Answer from now on for the child that sent ``message``; it waits for that."""
        listener = message.get("listener")
        self._contained = tuple(str(place) for place in message.get("contained") or ())
        if not isinstance(listener, int):
            return
        writable = (*self._contained, "/dev/null", "/dev/zero", "/dev/full", "/dev/tty")
        taken = take_listener(int(message["pid"]), listener)
        Supervisor(taken, writable, self._looked_at, lambda path, pid: False, self._may_connect).start()

    def _looked_at(self, asked: Asked) -> None:
        key = (asked.call, asked.detail)
        if key in self._known or len(self._known) >= MOST:
            return
        self._known.add(key)
        if asked.allowed:
            if not self._is_own(asked.detail):
                self._report.messages.append({"event": "contained", "effect": asked.call, "detail": asked.detail})
            return
        words = f"{asked.call} {asked.detail}".rstrip()
        tolerated = any(fnmatch.fnmatchcase(words, pattern) for pattern in self._tolerate)
        told = {"effect": asked.call, "detail": asked.detail, "frame": NATIVE, "step": None, "layer": "seccomp"}
        self._report.messages.append({"event": "tolerated" if tolerated else "refused", **told})

    def _is_own(self, path: str) -> bool:
        """Whether a path is the replay's own scratch, or a device."""
        scratch = self._contained[0] if self._contained else ""
        return path == scratch or path.startswith((scratch + os.sep, "/dev/"))
