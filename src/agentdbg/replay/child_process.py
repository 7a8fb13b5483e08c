"""The replay's child process from the parent's side: started, listened to, ended with everything it started."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import IO, Any

GRACE_S = 0.3
"""How long a program may go on after its replay is over: to unwind, not to try again."""
EXIT_S = 2.0
LOG_BYTES = 64 * 1024
MAX_MESSAGE = 4 * 1024 * 1024
_OVER = ("diverged", "refused", "record_ends", "done", "stopped")


@dataclass(slots=True)
class ChildReport:
    """Attributes:
    messages: What came over the control channel, in order.
    timed_out: The time was up before the replay was over.
    exit_code: As ``subprocess`` reports it; a signal is negative.
    log: The end of what the program wrote to its standard streams.
    """

    messages: list[dict[str, Any]] = field(default_factory=list)
    timed_out: bool = False
    exit_code: int | None = None
    log: str = ""

    def first(self, event: str) -> dict[str, Any] | None:
        """The first message of that kind."""
        return next((message for message in self.messages if message.get("event") == event), None)

    def all(self, event: str) -> list[dict[str, Any]]:
        """All messages of that kind."""
        return [message for message in self.messages if message.get("event") == event]

    def is_over(self) -> bool:
        """Whether nothing that the program does from now on counts."""
        return any(message.get("event") in _OVER for message in self.messages)

    @property
    def said_last(self) -> bool:
        """Whether the child has told how it ended, and is about to exit."""
        return self.first("done") is not None or self.first("stopped") is not None

    def ending(self) -> str:
        """How the process ended, in words."""
        code = self.exit_code
        if code is None or code >= 0:
            return f"ended with exit status {code}"
        try:
            return f"was ended by {signal.Signals(-code).name}"
        except ValueError:
            return f"was ended by signal {-code}"


class ControlPair:
    """The two ends of the control channel."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()

    def __enter__(self) -> ControlPair:
        return self

    def __exit__(self, *_: object) -> None:
        self.ours.close()
        self.theirs.close()


def run_child(
    command: Sequence[str], control: ControlPair, *, cwd: str, env: Mapping[str, str], timeout: float
) -> ChildReport:
    """Run the child to its end, or to the end of its time."""
    report = ChildReport()
    deadline = time.monotonic() + timeout
    child = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=dict(env),
        pass_fds=(control.theirs.fileno(),),
        start_new_session=True,
    )
    control.theirs.close()
    log = _Log(child.stdout)
    try:
        _listen(control.ours, report, deadline)
    finally:
        report.exit_code = _end(child, patient=not report.timed_out and (report.said_last or not report.is_over()))
        report.log = log.text()
    return report


class _Log:
    """Keeps the end of what a program writes, however much that is."""

    def __init__(self, stream: IO[bytes] | None) -> None:
        self._stream = stream
        self._kept = b""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def text(self) -> str:
        """What was kept; waits a moment for the last of it."""
        self._thread.join(GRACE_S)
        return self._kept[-LOG_BYTES:].decode("utf-8", "replace")

    def _read(self) -> None:
        if self._stream is None:
            return
        with self._stream as stream:
            while piece := os.read(stream.fileno(), LOG_BYTES):
                self._kept = (self._kept + piece)[-LOG_BYTES:]


def _listen(ours: socket.socket, report: ChildReport, deadline: float) -> None:
    """Read messages until the child is done, has ended, or its grace after the first stop is over."""
    pending = b""
    while True:
        ours.settimeout(max(0.001, deadline - time.monotonic()))
        try:
            data = ours.recv(65536)
        except TimeoutError:
            report.timed_out = not report.is_over()
            return
        except OSError:
            return
        if not data or len(pending) > MAX_MESSAGE:
            return
        *lines, pending = (pending + data).split(b"\n")
        was_over = report.is_over()
        report.messages += filter(None, map(_message, lines))
        if report.said_last:
            return
        if report.is_over() and not was_over:
            deadline = min(deadline, time.monotonic() + GRACE_S)


def _message(line: bytes) -> dict[str, Any] | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _end(child: subprocess.Popen[bytes], *, patient: bool) -> int:
    """Wait for the child, then end whatever is left of its session."""
    with suppress(subprocess.TimeoutExpired):  # it is ended below
        child.wait(EXIT_S if patient else 0.0)
    with suppress(ProcessLookupError, PermissionError):  # nothing is left
        os.killpg(child.pid, signal.SIGKILL)
    return child.wait()
