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
from typing import IO, Any

from agentdbg.replay.child_report import ChildReport as ChildReport
from agentdbg.replay.kernel_watch import KernelWatch

GRACE_S = 0.3
"""How long a program may go on after its replay is over: to unwind, not to try again."""
EXIT_S = 2.0
LOOK_S = 0.1
"""So often it is looked whether a kernel layer has stopped something."""
LOG_BYTES = 64 * 1024
MAX_MESSAGE = 4 * 1024 * 1024


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
    command: Sequence[str],
    control: ControlPair,
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    tolerate: Sequence[str] = (),
) -> ChildReport:
    """Run the child to its end, or to the end of its time.

    Args:
        command: What to execute.
        control: The control channel.
        cwd: Its working directory.
        env: All of its variables.
        timeout: Seconds.
        tolerate: Patterns of effects that are no refusal when a kernel layer stops them.
    """
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
        _listen(control.ours, report, deadline, KernelWatch(report, tolerate))
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


def _listen(ours: socket.socket, report: ChildReport, deadline: float, kernel: KernelWatch) -> None:
    """Read messages until the child is done, has ended, or its grace after the first stop is over."""
    pending = b""
    was_over = False
    while True:
        if report.is_over() and not was_over:
            was_over, deadline = True, min(deadline, time.monotonic() + GRACE_S)
        ours.settimeout(max(0.001, min(LOOK_S, deadline - time.monotonic())))
        try:
            data = ours.recv(65536)
        except TimeoutError:
            if time.monotonic() < deadline:
                continue  # a kernel layer may have stopped something meanwhile
            report.timed_out = not report.is_over()
            return
        except OSError:
            return
        if not data or len(pending) > MAX_MESSAGE:
            return
        *lines, pending = (pending + data).split(b"\n")
        found = [message for message in map(_message, lines) if message is not None]
        report.messages += found
        for message in found:
            if message.get("event") == "kernel":
                kernel.take_over(message)
                ours.sendall(b"g")
        if report.said_last:
            return


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
