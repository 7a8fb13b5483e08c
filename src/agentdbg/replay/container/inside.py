"""The first process in a replay's container: starts the child, passes its messages on, and answers its kernel filter.

Runs on the standard library, in the image's Python. Standard input and output are the parent's control channel; what
the program prints goes to standard error.
"""

from __future__ import annotations

import json
import os
import re
import select
import socket
import subprocess
import sys
import threading
from collections.abc import Mapping
from contextlib import suppress
from typing import Any, Final, NoReturn

from agentdbg.replay.control import MARK
from agentdbg.replay.kernel_watch import KernelWatch

LOOK_S: Final = 0.1
MOST: Final = 4 * 1024 * 1024
"""Bytes of a line: what is longer is no message."""
_CERTIFICATES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE")
_OF_RESULTS: Final = re.compile(r"LANG|LANGUAGE|LC_[A-Z]+|TZ|PYTHON(?!HOME).*")
"""Variables of an image that change what a program computes: the record says what they are."""
LOAD: Final = """\
import os, site, sys
packages, sys.argv[1:] = sys.argv[1].split(os.pathsep), sys.argv[2:]
before = list(sys.path)
for place in packages:
    if place:
        site.addsitedir(place)
added = [place for place in sys.path if place not in before]
given = [os.getcwd(), *os.environ.get("PYTHONPATH", "").split(os.pathsep), ""]
at = next((n for n, place in enumerate(before) if place.endswith(("site-packages", "dist-packages"))
           and place not in given), len(before))
sys.path[:] = [*before[:at], *added, *before[at:]]
"""
"""Run ahead of the child's own start: this machine's packages, in front of the image's."""


class Inside:
    """One child, between its own channel and the parent's."""

    def __init__(self, told: Mapping[str, Any]) -> None:
        self._told = told
        self._lock = threading.Lock()
        self._mark = _read(MARK)
        self._watch: KernelWatch | None = None
        self._pending = b""
        self._descriptor: int | None = None
        self._ours, theirs = socket.socketpair()
        self._ours.sendall(self._mark)
        os.dup2(theirs.fileno(), told["channel"], inheritable=True)
        theirs.close()
        self._child = self._start()
        os.close(told["channel"])

    def _start(self) -> subprocess.Popen[bytes]:
        options, load, *rest = _split(self._told["command"])
        packages = os.pathsep.join(self._told["packages"])
        return subprocess.Popen(
            [sys.executable, *options, "-c", LOAD + load, packages, *rest],
            stdin=subprocess.DEVNULL,
            stdout=2,
            stderr=2,
            cwd=self._told["cwd"],
            env=environment(self._told["env"], os.environ),
            pass_fds=(self._told["channel"],),
            start_new_session=True,
        )

    def run(self) -> int:
        """Pass messages on until the child has ended; returns its exit status."""
        threading.Thread(target=self._pass_commands, daemon=True).start()
        while self._child.poll() is None:
            self._hear(LOOK_S)
        while self._hear(0.0):
            pass
        return self._child.wait()

    def tell(self, message: Mapping[str, object]) -> None:
        """A message of this process's own."""
        self._write(self._mark + json.dumps(message, default=str).encode() + b"\n")

    def _hear(self, seconds: float) -> bool:
        """Take in what the child says; whether there was anything."""
        if not select.select([self._ours], [], [], seconds)[0]:
            return False
        data, descriptors, _, _ = socket.recv_fds(self._ours, 65536, 1)
        if descriptors:
            self._descriptor = descriptors[0]
        *lines, self._pending = (self._pending + data).split(b"\n")
        for line in lines:
            self._take(line)
        if len(self._pending) > MOST:
            self._write(self._pending)
            self._pending = b""
        if not data:
            self._child.wait()
        return bool(data)

    def _take(self, line: bytes) -> None:
        message = _parsed(line, self._mark)
        if message is None or message.get("event") != "kernel":
            self._write(line + b"\n")
            return
        if self._watch is None:
            self._watch = KernelWatch(self.tell, self._child.pid, self._told["tolerate"])
            if self._descriptor is not None:
                self._watch.take_over(message, self._descriptor)
        self._write(line + b"\n")
        self._ours.sendall(b"g")

    def _pass_commands(self) -> None:
        """Pass the parent's commands on; end with it."""
        while data := os.read(0, 65536):
            with suppress(OSError):  # the child is gone
                self._ours.sendall(data)
        self._child.kill()
        os._exit(1)

    def _write(self, data: bytes) -> None:
        with self._lock, suppress(OSError):  # the parent is gone
            while data:
                data = data[os.write(1, data) :]


def environment(given: Mapping[str, str], image: Mapping[str, str]) -> dict[str, str]:
    """The child's variables: the parent's, and the image's where the parent has said nothing."""
    found = {name: value for name, value in image.items() if not _OF_RESULTS.fullmatch(name)}
    found |= given
    for name in _CERTIFICATES:
        if name in found and not os.path.exists(found[name]):
            del found[name]  # clients fail on a file that is not here; there is no network to use it on
    return found


def unheld() -> str:
    """What does not hold this container as it should; empty when all does."""
    try:
        others = [name for name in os.listdir("/sys/class/net") if name != "lo"]
    except OSError:
        others = []
    try:
        with open("/proc/net/route", encoding="ascii", errors="replace") as file:
            routes = len(file.readlines()) - 1
    except OSError:
        routes = 0
    if routes > 0:
        return f"the container has a network ({', '.join(others) or 'a route'})"
    status = _status()
    if status.get("NoNewPrivs", "1") != "1":
        return "the container can gain privileges"
    if int(status.get("CapEff", "0"), 16) or int(status.get("CapBnd", "0"), 16):
        return "the container has privileges"
    if not os.statvfs("/").f_flag & os.ST_RDONLY:
        return "the container's own files are not read-only"
    return ""


def main(place: str) -> NoReturn:
    """Run what a file tells of, and end the process."""
    with open(place, encoding="utf-8") as file:
        told = json.load(file)
    inside_problem = unheld()
    if inside_problem:
        mark = _read(MARK)
        os.write(1, mark + json.dumps({"event": "no_kernel", "reason": inside_problem}).encode() + b"\n")
        os._exit(3)
    inside = Inside(told)
    code = inside.run()
    inside.tell({"event": "inside_ended", "code": code})
    os._exit(code if code >= 0 else 128 - code)


def _status() -> dict[str, str]:
    with open("/proc/self/status", encoding="ascii", errors="replace") as file:
        pairs = [line.partition(":") for line in file]
    return {name: value.strip() for name, _, value in pairs}


def _split(command: list[str]) -> list[Any]:
    """Options of the interpreter, the code it runs, and the code's arguments."""
    at = command.index("-c")
    return [command[:at], command[at + 1], *command[at + 2 :]]


def _parsed(line: bytes, mark: bytes) -> dict[str, Any] | None:
    if not line.startswith(mark):
        return None
    try:
        found = json.loads(line[len(mark) :])
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _read(count: int) -> bytes:
    found = b""
    while len(found) < count and (more := os.read(0, count - len(found))):
        found += more
    return found
