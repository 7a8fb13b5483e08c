"""The guard of an exact replay's child process: an effect that no seam served is stopped and named.

An audit hook cannot be removed, sees threads, tasks and libraries alike, and knows the Python stack, so it can say
*who* tried. It is a witness, not a wall. What gets past it, to be stopped by a kernel layer:

- Extension modules that do their own system calls: uvloop, psycopg and other libpq clients, gRPC, pycurl, pyzmq,
  dbm's C back ends, readline's history file, extensions loaded into SQLite. `leaky_modules` says which are loaded.
- cffi, and function pointers taken from ctypes before `Guard.arm`.
- Sockets and files opened before `Guard.arm`: using an open descriptor raises no event. Arm before agent code.
- ``multiprocessing``'s *spawn*, ``os.mkfifo``, ``os.mknod``, signals by pidfd, further interpreters and SQLite's
  ``ATTACH`` raise no event, or none in every version. `arm` replaces them by name (`agentdbg.replay.guard_seals`).
  An SQLite connection that sets its own authorizer, or is made through the class, escapes that; an ``ATTACH`` whose
  name is a parameter is refused wherever it points.
- A link that another thread or process swaps between the check and the call, and a hard link that was already there.
- Code that means to get out: it can reach into this very object.

Harmless on purpose: threads, sockets that stay unconnected, socket pairs, numeric host look-ups, ``mkdir`` of what
exists, signal 0 and signals to oneself, reading. While armed, imports write no byte code.
"""

from __future__ import annotations

import errno
import fnmatch
import re
import sys
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from agentdbg.recording.effect_events import Rules, nothing_to_start
from agentdbg.recording.frames import user_frame
from agentdbg.replay.guard_seals import Seals

if TYPE_CHECKING:
    from agentdbg.recording.effect_events import Check

_PROBE = "agentdbg.guard.probe"
_LEAKY = ("uvloop", "grpc", "pycurl", "psycopg", "psycopg2", "asyncpg", "zmq", "cffi", "_gdbm", "_dbm", "pymssql")


@dataclass(frozen=True, slots=True)
class Violation:
    """An effect that was stopped.

    Attributes:
        event: Name of the audit event, or of the replaced function.
        detail: What it reached for: ``host:port``, a resolved path, a command line.
        step: Id of the step under which it happened, or ``None`` for an ambient effect.
        frame: Innermost frame of the user's code as ``file:line function``.
        tolerated: Whether a pattern declared it as ambient; it was stopped all the same.
    """

    event: str
    detail: str
    step: str | None
    frame: str
    tolerated: bool


class Refused(BaseException):
    """Raised in place of an effect. Not an ``Exception``, so that retry loops and frameworks let it through."""

    def __init__(self, violation: Violation) -> None:
        super().__init__(f"agentdbg: an exact replay does not run this: {violation.event} {violation.detail}".rstrip())
        self.violation = violation


class _Local(threading.local):
    busy = False


class Guard:
    """Stops effects while armed."""

    def __init__(
        self,
        allow_write: Sequence[str],
        tolerate: Sequence[str],
        where: Callable[[], str | None],
        report: Callable[[Violation], None],
        allow: Callable[[str, tuple[object, ...]], bool] | None = None,
        started: Sequence[str] = (),
    ) -> None:
        """Prepare the guard.

        Args:
            allow_write: Files and directories that may be written, resolved now.
            tolerate: Patterns (``fnmatch``) over ``event detail``; a match raises ``PermissionError`` instead.
            where: Id of the step that the current context runs under.
            report: Called in the offending thread, before the effect's caller sees the exception. What it does
                itself is not judged.
            allow: Whether an effect, given as an audit event, may happen all the same: in a regression replay.
            started: Commands that were started when it was recorded: not to be taken for missing ones.
        """
        self._allow = allow
        self._started = frozenset(started)
        self._rules = Rules(allow_write)
        self._tolerate = [re.compile(fnmatch.translate(pattern)) for pattern in tolerate]
        self._where = where
        self._report = report
        self._local = _Local()
        self._found: list[Violation] = []
        self._seals = Seals(self._rules, self._refuse, self._is_allowed)
        self._installed = False
        self._armed = False

    @property
    def violations(self) -> tuple[Violation, ...]:
        """Everything stopped so far, in order, tolerated or not."""
        return tuple(self._found)

    def install(self) -> None:
        """Add the audit hook, which stays for the life of the process.

        Raises:
            RuntimeError: Another audit hook keeps new ones out.
        """
        if self._installed:
            return
        sys.addaudithook(self._hook())
        sys.audit(_PROBE, self)
        if not self._installed:
            raise RuntimeError("the audit hook of the replay guard could not be installed")

    def arm(self) -> None:
        """Stop effects from now on, in every thread."""
        self.install()
        self._seals.close()
        self._armed = True

    def refuse(self, event: str, detail: str) -> None:
        """Refuse what raises no event of its own; raises ``Refused``."""
        self._refuse(event, detail)

    def disarm(self) -> None:
        """Let everything through again; for tests."""
        self._armed = False
        self._seals.open()

    def _hook(self) -> Callable[[str, tuple[object, ...]], None]:
        # Everything that a harmless event touches is local: no look-up in globals, which may be gone at shutdown.
        guard, local, check_of = self, self._local, self._rules.checks.get
        probe = _PROBE

        def hook(event: str, args: tuple[object, ...]) -> None:
            check = check_of(event)
            if check is None:
                if event == probe and args == (guard,):
                    guard._installed = True
            elif guard._armed and not local.busy:
                guard._judge(event, check, args)

        return hook

    def _judge(self, event: str, check: Check, args: tuple[object, ...]) -> None:
        try:
            detail = check(args)
        except Exception as problem:
            detail = f"(not understood, so refused: {type(problem).__name__})"
        if detail is None or self._is_allowed(event, args):
            return
        missing = None if detail in self._started else nothing_to_start(event, args)
        if missing is not None:  # as it was when it was recorded: nothing happens
            raise missing
        self._refuse(event, detail)

    def _is_allowed(self, event: str, args: tuple[object, ...]) -> bool:
        if self._allow is None:
            return False
        self._local.busy = True
        try:
            return self._allow(event, args)
        except Exception:
            return False
        finally:
            self._local.busy = False

    def _refuse(self, event: str, detail: str) -> None:
        """Report and raise, unless disarmed or called from a report."""
        if not self._armed or self._local.busy:
            return
        self._local.busy = True
        try:
            violation = Violation(event, detail, self._step(), user_frame(), self._tolerated(event, detail))
            self._found.append(violation)
            problem = self._tell(violation)
        finally:
            self._local.busy = False
        if violation.tolerated:
            raise OSError(errno.EPERM, f"agentdbg: not during an exact replay: {event} {detail}".rstrip()) from problem
        raise Refused(violation) from problem

    def _tell(self, violation: Violation) -> Exception | None:
        try:
            self._report(violation)
        except Exception as problem:  # a report that fails must not let the effect through
            return problem
        return None

    def _step(self) -> str | None:
        try:
            return self._where()
        except Exception:
            return None

    def _tolerated(self, event: str, detail: str) -> bool:
        names = [f"{event} {detail}".rstrip()]
        if event == "socket.getaddrinfo":  # looking a host up is the first half of connecting to it
            names.append(f"socket.connect {detail}")
        return any(pattern.match(name) for pattern in self._tolerate for name in names)


def leaky_modules() -> tuple[str, ...]:
    """Loaded modules that are known to work past an audit hook, for the verdict to name."""
    return tuple(name for name in _LEAKY if name in sys.modules)
