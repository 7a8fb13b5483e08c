"""Runs a program as if the shell had started it: same group, terminal, streams and signal dispositions.

The launcher's process only waits. It passes on what was sent to it alone, stops when the program stops, and is to end
as the program ended.
"""

from __future__ import annotations

import errno
import os
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from agentdbg.recording.launch.witness import Witness

FAULTS = ("SIGSEGV", "SIGBUS", "SIGFPE", "SIGILL", "SIGTRAP", "SIGSYS")
"""Raised by a process's own mistakes, which cannot be put off."""
FROM_TERMINAL = ("SIGINT", "SIGQUIT", "SIGTSTP", "SIGTTIN", "SIGTTOU", "SIGWINCH", "SIGHUP")
_PYTHONS_OWN = ("SIGPIPE", "SIGXFSZ", "SIGXFZ")
"""Ignored in every Python; a program that a shell starts has them as they were."""
_LOOK_S = 0.5
_SETTLE_S = 0.05


class CannotRun(Exception):
    """The program cannot be started at all."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a program ended: its exit status, or the signal that it died of; and the process that it was."""

    status: int
    signal: int = 0
    pid: int = 0


def run(command: Sequence[str], environment: Mapping[str, str]) -> Ended:
    """Run a program to its end.

    Raises:
        CannotRun: There is no such program, or it may not be run.
    """
    if not hasattr(os, "fork"):
        return _run_simply(command, environment)
    path = find(command[0], environment.get("PATH", os.defpath))
    if not os.access(path, os.X_OK):
        raise CannotRun(f"{command[0]} is not executable; chmod +x it, or name its interpreter")
    waiter = _Waiter()
    try:
        return waiter.see_through(_start(path, command, environment, waiter.old_mask, waiter.old_child_action))
    finally:
        waiter.restore()


def end_like(ended: Ended) -> int:
    """The exit status to end with; does not return where the program died of a signal, but dies of it too."""
    if ended.signal:
        with suppress(OSError, ValueError):
            import resource

            resource.setrlimit(resource.RLIMIT_CORE, (1, 1))  # one byte: no second core, not even through a pipe
        with suppress(OSError, ValueError):
            signal.signal(ended.signal, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {ended.signal})
        os.kill(os.getpid(), ended.signal)
        return 128 + ended.signal  # of a signal that does not end processes
    return ended.status


def find(name: str, path: str) -> str:
    """Where a program lies, as a shell would look for it.

    Raises:
        CannotRun: It is not there.
    """
    if os.sep in name:
        found = name if os.path.exists(name) else ""
    else:
        places = [os.path.join(place or ".", name) for place in path.split(os.pathsep)]
        files = [place for place in places if os.path.isfile(place)]
        found = next((place for place in files if os.access(place, os.X_OK)), files[0] if files else "")
    if not found:
        raise CannotRun(f"there is no program {name}; check its name and PATH")
    if os.path.isdir(found):
        raise CannotRun(f"{name} is a directory, not a program")
    return found


def _start(
    path: str, command: Sequence[str], environment: Mapping[str, str], mask: set[int], child_action: object
) -> int:
    """Fork and execute; returns the process id."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            _restore_signals(mask, child_action)
            _execute(path, command, environment)
        except OSError as error:
            os.write(writing, str(error.errno).encode())
        finally:
            os._exit(127)
    os.close(writing)
    with open(reading, "rb") as pipe:
        failed = pipe.read()
    if failed:
        os.waitpid(pid, 0)
        raise CannotRun(_reason(command[0], int(failed)))
    return pid


def _restore_signals(mask: set[int], child_action: object) -> None:
    for name in _PYTHONS_OWN:
        if hasattr(signal, name):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    signal.signal(signal.SIGCHLD, child_action)  # type: ignore[arg-type]  # as getsignal gave it
    signal.pthread_sigmask(signal.SIG_SETMASK, mask)


def _execute(path: str, command: Sequence[str], environment: Mapping[str, str]) -> None:
    try:
        os.execve(path, list(command), environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    os.execve("/bin/sh", ["sh", path, *command[1:]], environment)  # no #! line: shells run it themselves


def _reason(name: str, number: int) -> str:
    if number == errno.ENOENT:
        return f"{name} cannot be run: the interpreter in its first line is not there"
    if number == errno.E2BIG:
        return f"{name} cannot be run: the arguments are too long"
    return f"{name} cannot be run: {os.strerror(number).lower()}"


class _Waiter:
    """Blocks every signal that can be put off, and takes them one by one."""

    def __init__(self) -> None:
        self._stopped = False
        faults = {getattr(signal, name) for name in FAULTS if hasattr(signal, name)}
        self._waited = {*signal.valid_signals()} - faults - {signal.SIGKILL, signal.SIGSTOP}
        self.old_mask: set[int] = set(signal.pthread_sigmask(signal.SIG_BLOCK, self._waited))
        self.old_child_action = signal.getsignal(signal.SIGCHLD)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)  # ignored, it would take the child's status away
        self._witness = Witness() if hasattr(signal, "sigwaitinfo") else None

    def restore(self) -> None:
        """As it was."""
        if self._witness is not None:
            self._witness.end()
        signal.signal(signal.SIGCHLD, self.old_child_action)
        signal.pthread_sigmask(signal.SIG_SETMASK, self.old_mask)

    def see_through(self, pid: int) -> Ended:
        """Wait for the program's end."""
        ended: Ended | None = None
        while ended is None:
            number, passed_on = self._next(pid)
            if number == signal.SIGCHLD:
                ended = self._look(pid)
            elif number == signal.SIGCONT:
                ended = self._continue(pid)
            elif passed_on:
                with suppress(OSError):
                    os.kill(pid, number)
        return ended

    def _next(self, pid: int) -> tuple[int, bool]:
        """The next signal, and whether it came to this process alone."""
        if self._witness is not None:
            info = signal.sigtimedwait(self._waited, _LOOK_S)
            if info is None:  # another thread of this process may have got the signal
                return signal.SIGCHLD, False
            sent = info.si_code <= 0 and info.si_signo not in (signal.SIGCHLD, signal.SIGCONT)
            alone = sent and not self._witness.saw(info.si_signo) and not _is_below(info.si_pid, pid)
            return info.si_signo, alone
        number = signal.sigwait(self._waited)
        return number, signal.Signals(number).name not in FROM_TERMINAL or not _in_foreground()

    def _look(self, pid: int) -> Ended | None:
        """How the program ended; stops with it where it has stopped."""
        while True:
            try:
                found, status = os.waitpid(pid, os.WNOHANG | os.WUNTRACED | os.WCONTINUED)
            except ChildProcessError:
                return Ended(0, pid=pid)
            if found == 0:
                return None
            if os.WIFSTOPPED(status):
                self._stopped = True
                self._stop_too(os.WSTOPSIG(status))  # SIGCONT, which ends that, is waiting afterwards
            elif os.WIFCONTINUED(status):
                self._stopped = False
            elif os.WIFSIGNALED(status):
                return Ended(0, os.WTERMSIG(status), pid)
            else:
                return Ended(os.WEXITSTATUS(status), 0, pid)

    def _stop_too(self, number: int) -> None:
        """Stop as the program did, so that the shell takes the terminal back."""
        with suppress(OSError, ValueError):
            if number != signal.SIGSTOP:
                signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        if number != signal.SIGSTOP:
            signal.pthread_sigmask(signal.SIG_UNBLOCK, {number})
            signal.pthread_sigmask(signal.SIG_BLOCK, {number})

    def _continue(self, pid: int) -> Ended | None:
        """Let a stopped program go on, unless it does already: a shell continues the whole group."""
        end = time.monotonic() + _SETTLE_S
        while self._stopped and time.monotonic() < end:
            ended = self._look(pid)
            if ended is not None:
                return ended
            time.sleep(_SETTLE_S / 10)
        if self._stopped:
            with suppress(OSError):
                os.kill(pid, signal.SIGCONT)
        return None


def _is_below(sender: int, pid: int) -> bool:
    """Whether a signal came from the program itself or a child of it; what these send to us they mean for a group."""
    for _ in range(64):
        if sender == pid:
            return True
        try:
            with open(f"/proc/{sender}/stat", "rb") as file:
                sender = int(file.read().rpartition(b")")[2].split()[1])
        except (OSError, ValueError, IndexError):
            return False
        if sender <= 1:
            return False
    return False


def _in_foreground() -> bool:
    """Whether a terminal's keys reach this process and the program alike."""
    try:
        terminal = os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY)
    except OSError:
        return False
    try:
        return os.tcgetpgrp(terminal) == os.getpgrp()
    except OSError:
        return False
    finally:
        os.close(terminal)


def _run_simply(command: Sequence[str], environment: Mapping[str, str]) -> Ended:
    """Run a program where there are no groups and no signals to pass on."""
    import subprocess

    try:
        child = subprocess.Popen(command, env=environment, close_fds=False)
    except OSError as error:
        raise CannotRun(f"{command[0]} cannot be run: {(error.strerror or str(error)).lower()}") from error
    while True:
        with suppress(KeyboardInterrupt):  # the program has got it too
            return Ended(child.wait(), pid=child.pid)
