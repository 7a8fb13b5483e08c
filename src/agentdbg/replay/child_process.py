"""The replay's child process from the parent's side: started, listened to, ended with everything it started."""

from __future__ import annotations

import json
import os
import secrets
import signal
import socket
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, Any, Protocol

from agentdbg.replay.child_report import ChildReport as ChildReport
from agentdbg.replay.kernel_watch import KernelWatch, Processes

GRACE_S = 0.3
"""How long a program may go on after its replay is over: to unwind, not to try again."""
EXIT_S = 2.0
EXIT_ELSEWHERE_S = 5.0
LOOK_S = 0.1
"""So often it is looked whether a kernel layer has stopped something."""
LOG_BYTES = 64 * 1024
MAX_MESSAGE = 4 * 1024 * 1024
_PASSING = ("step", "paused", "released", "inspected", "not_done", "no_call", "refused_by_hand")
"""Events for whoever watches; the verdict does not need them."""


class Watch(Protocol):
    """Somebody who follows a replay and may hold it. Called from the replay's threads; must not block."""

    def settings(self) -> Mapping[str, object]:
        """What the child starts with: ``pause``, ``target``, ``stops``."""

    def attached(self, control: ControlPair, made: Path) -> None:
        """The child is about to start; its record grows in a directory."""

    def heard(self, message: Mapping[str, Any]) -> None:
        """The child said something, or a kernel layer did."""

    def printed(self, data: bytes) -> None:
        """The program wrote to its standard streams."""

    def waits(self) -> bool:
        """Whether a person holds the program: its time stands still then."""

    def aborted(self) -> bool:
        """Whether the replay is to end now."""


class Parent(Protocol):
    """What a regression replay's child asks its parent for."""

    def reply(self, message: Mapping[str, Any]) -> Mapping[str, object]:
        """Answer a message; may ask a person."""

    def may_connect(self, address: str) -> bool:
        """Whether an address may be reached now; asked for the kernel's layer, from a thread of its own."""


class ControlPair:
    """The two ends of the control channel."""

    def __init__(self) -> None:
        self.ours, self.theirs = socket.socketpair()
        self.mark = secrets.token_hex(16).encode()
        self.ours.sendall(self.mark)
        self.pending = b""
        self._lock = threading.Lock()
        self._early: list[bytes] | None = []

    def send(self, command: Mapping[str, object]) -> None:
        """Send a command; one that comes before the child listens is kept, one that comes too late is dropped."""
        line = json.dumps(command).encode() + b"\n"
        with self._lock, suppress(OSError):  # the child is gone
            if self._early is None:
                self.ours.sendall(line)
            else:
                self._early.append(line)

    def open(self) -> None:
        """The child listens."""
        with self._lock, suppress(OSError):  # it is gone already
            early, self._early = self._early or [], None
            self.ours.sendall(b"".join(early))

    def __enter__(self) -> ControlPair:
        return self

    def __exit__(self, *_: object) -> None:
        self.ours.close()
        self.theirs.close()


class Starter(Protocol):
    """Starts the child in another place than directly below this process, and ends it there."""

    def start(self, channel: int) -> subprocess.Popen[bytes]:
        """Start it: what is returned speaks over that descriptor and writes what the program prints to ``stderr``."""

    def end(self, client: subprocess.Popen[bytes], report: ChildReport, patience: float) -> int:
        """Wait for the end for some seconds, then see to it; returns the child's exit status."""


def run_child(
    command: Sequence[str],
    control: ControlPair,
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    tolerate: Sequence[str] = (),
    watch: Watch | None = None,
    parent: Parent | None = None,
    starter: Starter | None = None,
    processes: Processes | None = None,
) -> ChildReport:
    """Run the child to its end, or to the end of its time.

    Args:
        command: What to execute.
        control: The control channel.
        cwd: Its working directory.
        env: All of its variables.
        timeout: Seconds.
        tolerate: Patterns of effects that are no refusal when a kernel layer stops them.
        watch: Follows the replay.
        parent: Answers what a regression replay asks.
        starter: Starts it elsewhere, with a command, a directory and variables that it knows already.
        processes: What the program may start; ``None``: nothing.
    """
    report = ChildReport()
    deadline = time.monotonic() + timeout
    theirs = control.theirs.fileno()
    child = _start(command, theirs, cwd, env) if starter is None else starter.start(theirs)
    control.theirs.close()
    log = _Log(child.stdout if starter is None else child.stderr, watch)
    try:
        reach = None if parent is None else parent.may_connect
        kernel = None if starter else KernelWatch(report.messages.append, child.pid, tolerate, reach, processes)
        _listen(control, report, deadline, kernel, watch, parent)
    except KeyboardInterrupt:
        report.messages.append({"event": "aborted"})
    finally:
        patient = not report.timed_out and (report.said_last or not report.is_over())
        if starter is None:
            report.exit_code = _end(child, patient=patient)
        else:
            report.exit_code = starter.end(child, report, EXIT_ELSEWHERE_S if patient else 0.0)
        _hear_out(control, report, processes)
        if watch is not None:
            _tell(watch, report)
        report.log = log.text()
    return report


def _start(command: Sequence[str], channel: int, cwd: str, env: Mapping[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd=cwd,
        env=dict(env),
        pass_fds=(channel,),
        start_new_session=True,
    )


class _Log:
    """Keeps the end of what a program writes, however much that is."""

    def __init__(self, stream: IO[bytes] | None, watch: Watch | None) -> None:
        self._stream = stream
        self._watch = watch
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
                if self._watch is not None:
                    self._watch.printed(piece)


def _listen(
    control: ControlPair,
    report: ChildReport,
    deadline: float,
    kernel: KernelWatch | None,
    watch: Watch | None,
    parent: Parent | None,
) -> None:
    """Read messages until the child is done, has ended, or its grace after the first stop is over."""
    ours = control.ours
    was_over = held = False
    looked = time.monotonic()
    while True:
        if watch is not None:
            _tell(watch, report)
            now = time.monotonic()
            held = watch.waits() and not was_over
            deadline += now - looked if held else 0.0
            looked = now
            if watch.aborted() and not report.is_over():
                report.messages.append({"event": "aborted"})
                control.send({"do": "abort"})
        if report.is_over() and not was_over:
            was_over, deadline = True, min(deadline, time.monotonic() + GRACE_S)
        ours.settimeout(LOOK_S if held else max(0.001, min(LOOK_S, deadline - time.monotonic())))
        try:
            data = ours.recv(65536)
        except TimeoutError:
            if held or time.monotonic() < deadline:
                continue  # a kernel layer may have stopped something meanwhile
            report.timed_out = not report.is_over()
            return
        except OSError:
            return
        if not data or len(control.pending) > MAX_MESSAGE:
            return
        for message in _heard(control, report, data):
            if watch is not None and message.get("event") in _PASSING:
                watch.heard(message)
            if (took := _answer(message, control, report, kernel, parent, watch)) is None:
                return
            deadline += took
        if report.said_last:
            return


def _answer(
    message: Mapping[str, Any],
    control: ControlPair,
    report: ChildReport,
    kernel: KernelWatch | None,
    parent: Parent | None,
    watch: Watch | None,
) -> float | None:
    """Answer what the child waits for; returns the seconds that a person took, or ``None`` when it cannot go on."""
    if message.get("event") == "kernel" and kernel is not None:
        if kernel.take_over(message):
            control.ours.sendall(b"g")
        elif report.first("no_kernel"):
            return None
    elif message.get("event") == "started":
        control.open()
    elif "ask" in message and parent is not None:
        began = time.monotonic()
        reply = parent.reply(message)
        if watch is None or not watch.aborted():  # else it ends there, without an answer
            control.send({**reply, "do": "reply", "ask": message["ask"]})
        return time.monotonic() - began
    return 0.0


def _tell(watch: Watch, report: ChildReport) -> None:
    """Tell what came in since."""
    messages = report.messages[report.told :]
    report.told += len(messages)
    for message in messages:
        watch.heard(message)


def _heard(control: ControlPair, report: ChildReport, data: bytes) -> list[dict[str, Any]]:
    """Messages that are whole now."""
    *lines, control.pending = (control.pending + data).split(b"\n")
    found = [message for line in lines if (message := _message(line, control.mark, report)) is not None]
    report.messages += [message for message in found if message.get("event") not in _PASSING]
    return found


def _hear_out(control: ControlPair, report: ChildReport, processes: Processes | None) -> None:
    """What a child that has ended said behind its last word: its interpreter's end may have been stopped too."""
    control.ours.setblocking(False)
    with suppress(OSError):  # nothing more is there
        while (data := control.ours.recv(65536)) and len(control.pending) <= MAX_MESSAGE:
            _heard(control, report, data)
    _end_others(report, processes)


def _message(line: bytes, mark: bytes, report: ChildReport) -> dict[str, Any] | None:
    """What a line says, if it is from the replay and not from the program."""
    if not line.startswith(mark):
        report.strange += 1
        return None
    try:
        found = json.loads(line[len(mark) :])
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


def _end_others(report: ChildReport, processes: Processes | None) -> None:
    """End processes of the replay that have left its session, which nothing keeps them from without seccomp."""
    for message in [] if processes is None else report.all("process"):
        pid = message.get("pid")
        with suppress(OSError, ValueError, TypeError):  # it is gone
            if _is_one(int(str(pid)), processes):
                os.kill(int(str(pid)), signal.SIGKILL)


def _is_one(pid: int, processes: Processes | None) -> bool:
    with open(f"/proc/{pid}/environ", "rb") as file:
        found = file.read().split(b"\0")
    known = {} if processes is None else processes.variables
    return any(os.fsencode(f"{name}={value}") in found for name, value in known.items())
