"""The processes of one replay, as one of them sees them: which starts are due, who is at work, what is among them.

A replay whose record has no Python children has one process and none of this.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from types import ModuleType
from typing import Any, Protocol

from agentdbg.recording import children, starts
from agentdbg.recording.hooks import on_standard_import
from agentdbg.recording.pins import ORIGINALS
from agentdbg.recording.start_commands import is_ours
from agentdbg.recording.starts import COMMAND, PROCESS, WORKER, Start

MARKER = "AGENTDBG_REPLAY"
"""Where the first process listens and what is replayed, in the environment of every process of a replay."""
BOOTSTRAP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bootstrap")
HELPER = "helper"
_HELPERS = re.compile(r"from multiprocessing\.(resource_tracker|forkserver) import main; ?main\([^\n]*\)\Z")
_SPAWNED = re.compile(r"from multiprocessing\.spawn import spawn_main; ?spawn_main\([^\n()]*\)\Z")
_DEEPEST = 64
_MAKES_ONE = ("os.fork", "os.posix_spawn", "_posixsubprocess.fork_exec")


class Others(Protocol):
    """The other processes of a replay, as those who keep its order ask for them."""

    def others(self) -> bool:
        """Whether any takes part."""

    def run(self) -> bool:
        """Whether one runs, or is about to."""

    def work(self) -> bool:
        """Whether somebody may wait for somebody else, so that time passes as it does."""


class Elsewhere:
    """They, as a process sees them that is not the first."""

    def others(self) -> bool:
        """The first one does."""
        return True

    def run(self) -> bool:
        """Whether one runs."""
        return others_run()

    def work(self) -> bool:
        """Somebody may wait for this one."""
        return True


class Kin:
    """What one process knows.

    Attributes:
        own: Places where sockets are the replay's own.
        address: Of the first process.
        role: ``first``, ``child``, or ``forkserver``, which may fork for others.
    """

    def __init__(self, address: str, own: Sequence[str], may_start: Callable[[Start], bool], role: str) -> None:
        self.address = address
        self.own = tuple(own)
        self.role = role
        self.may_start = may_start
        self.refuse: Callable[[str, str], None] = lambda event, detail: None
        self._granted: Start | None = None

    def settle(self) -> None:
        """From now on this process's starts are asked for here."""
        starts.ask = self._ask
        os.environ["PYTHONPATH"] = with_bootstrap(os.environ.get("PYTHONPATH", ""))
        children.follow(MARKER)
        on_standard_import("multiprocessing.util", self._keep_sockets)
        with suppress(ImportError):
            import subprocess

            vars(subprocess)["_time"] = ORIGINALS["monotonic"]  # who waits for a process waits in real time

    def _keep_sockets(self, _module: ModuleType) -> None:
        """``multiprocessing`` makes its sockets in a place where there is none of anybody else's."""
        from multiprocessing import process

        config = getattr(process.current_process(), "_config", {})
        if "tempdir" not in config:
            config["tempdir"] = place = os.path.join(self.own[0], "pymp")
            os.makedirs(place, mode=0o700, exist_ok=True)

    def _ask(self, start: Start) -> None:
        if self.role == "forkserver" and start.how == starts.FORK:
            return
        granted = self.may_start(start)
        self._granted = start if granted else None
        if not granted and start.how in (PROCESS, WORKER):
            self.refuse("multiprocessing.Process.start", start.what or "a worker of a pool")

    # -- the guard --------------------------------------------------------------------------------

    def allows(self, event: str, args: tuple[Any, ...]) -> bool:
        """Whether an effect stays among the processes of the replay, or is a start that is due."""
        if event in ("socket.connect", "socket.bind"):
            return self._is_own_address(args[1])
        if event == "os.kill":
            return _is_kin(args[0])
        if event == "os.fork" and self.role == "forkserver":
            return True
        if event == "_posixsubprocess.fork_exec" and (kind := _kind_of(args[0])):
            return (kind == "spawn" and self._uses(event)) or (kind == HELPER and self._helps())
        return self._uses(event)

    def _uses(self, event: str) -> bool:
        start = starts.now.start
        if start is None or start is not self._granted:
            return False
        if event == "subprocess.Popen":
            return start.how == COMMAND
        if event in _MAKES_ONE:
            self._granted = None
            return True
        return False

    def _helps(self) -> bool:
        return is_ours(os.environ) and self.may_start(Start(HELPER, ""))

    def _is_own_address(self, address: object) -> bool:
        text = os.fsdecode(address) if isinstance(address, str | bytes) else ""
        if text.startswith("\0"):
            return "@" + text[1:] == self.address
        path = os.path.realpath(text) if text else ""
        return any(path.startswith(place.rstrip("/") + "/") for place in self.own)


def with_bootstrap(path: str) -> str:
    """A PYTHONPATH with the bootstrap first."""
    kept = [place for place in path.split(os.pathsep) if place and place != BOOTSTRAP]
    return os.pathsep.join([BOOTSTRAP, *kept])


def _kind_of(argv: Any) -> str:
    """``helper`` or ``spawn`` for the command lines that ``multiprocessing`` itself starts."""
    words = [os.fsdecode(word) for word in argv]
    if not words or words[0] != sys.executable or "-c" not in words:
        return ""
    code = words[words.index("-c") + 1] if words.index("-c") + 1 < len(words) else ""
    if _HELPERS.match(code):
        return HELPER
    return "spawn" if _SPAWNED.match(code) else ""


def is_helper(argv: Sequence[str]) -> str:
    """``forkserver`` or ``resource_tracker`` for those processes of ``multiprocessing``; else empty."""
    found = next((match for word in argv if (match := _HELPERS.match(word))), None)
    return "" if found is None else found[1]


def _is_kin(pid: object) -> bool:
    """Whether a process is one of this replay, which are one session."""
    if not isinstance(pid, int) or pid <= 0:
        return False
    try:
        return os.getsid(pid) == os.getsid(0) or _is_below(pid)
    except OSError:
        return True  # it is gone, and the system will say so


def _is_below(pid: int) -> bool:
    """Whether this process, or one that it started, started another one."""
    for _ in range(_DEEPEST):
        if pid <= 1:
            return False
        with open(f"/proc/{pid}/stat", "rb") as file:
            pid = int(file.read().rpartition(b")")[2].split()[1])
        if pid == os.getpid():
            return True
    return False


def runs(pid: int) -> bool:
    """Whether a process runs, or was woken and waits for a processor, as far as the system says."""
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] in (b"R", b"D"):
                    return True
    return False


def others_run() -> bool:
    """Whether another process of the replay runs."""
    mine, session = os.getpid(), os.getsid(0)
    with suppress(OSError):
        for name in os.listdir("/proc"):
            if name.isdigit() and int(name) != mine:
                with suppress(OSError):
                    if os.getsid(int(name)) == session and runs(int(name)):
                        return True
    return False


def real_seconds() -> float:
    """The machine's clock."""
    found: float = ORIGINALS["monotonic"]()
    return found


def used(pid: int) -> int:
    """Processor time that a process has used, in the system's ticks."""
    with suppress(OSError, IndexError, ValueError), open(f"/proc/{pid}/stat", "rb") as file:
        numbers = file.read().rpartition(b")")[2].split()
        return int(numbers[11]) + int(numbers[12])
    return 0
