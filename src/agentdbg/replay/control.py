"""The child's end of the control channel: what the parent is told, and what a person may decide about a call."""

from __future__ import annotations

import _thread
import json
import os
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from math import inf
from typing import TYPE_CHECKING, Any, Protocol

from agentdbg.recording.calls import Call, ReplayStop

if TYPE_CHECKING:
    from agentdbg.model.records import Json

MAX_LINE = 4 * 1024 * 1024
MARK = 32
"""Bytes in front of each message of the child's, so that what the program writes to a descriptor is none."""
_exit = os._exit  # as it was before anything was put in its place


@dataclass(frozen=True, slots=True)
class Decision:
    """What becomes of a call.

    Attributes:
        action: ``go``: as without a person. ``live``, ``serve``, ``refuse``: that. ``result``: ``value`` in the place
            of the outcome. ``arguments``: it goes on with ``value`` in the place of its arguments.
        value: Edited arguments or result.
    """

    action: str = "go"
    value: Json = None


GO = Decision()


@dataclass(frozen=True, slots=True)
class Expected:
    """What an answerer knows of a call before it answers.

    Attributes:
        recorded: Id of the recorded step that it is taken for; ``None`` when the record has none.
        order: Place of the recorded outcome: of several held calls the one with the lowest is let go first.
        failed: The recorded outcome is an error.
        problem: Why the answerer is about to end the replay; empty when it is not.
        blocks: The event loop stood still during the recorded call.
        choices: Decisions beside ``go`` that the answerer can carry out for this call.
        arguments: The call's arguments as they are recorded, where they can be replaced.
    """

    recorded: str | None = None
    order: float = inf
    failed: bool = False
    problem: str = ""
    blocks: bool = False
    choices: tuple[str, ...] = ()
    arguments: Json = None


class Gatekeeper(Protocol):
    """Asked by every answerer ahead of its answer, once it knows what the record says and before anything happens."""

    def before(self, call: Call, expected: Expected) -> Decision:
        """Let a call through, at once or when a person has decided; blocks the thread until then."""

    async def before_async(self, call: Call, expected: Expected) -> Decision:
        """The same, suspending the task."""

    def release_all(self) -> None:
        """The replay is over: nobody is held any longer."""

    @property
    def holding(self) -> bool:
        """Whether a call is held now."""


class Aborted(ReplayStop):
    """A person has stopped the replay."""


class Control:
    """The control channel in the child."""

    def __init__(self, fd: int) -> None:
        """Take the channel over; the parent has sent ahead what it knows this process's messages by."""
        self._fd = fd
        self._lock = threading.Lock()
        os.set_inheritable(fd, False)
        self._channel = os.fstat(fd)
        self._mark = b""
        while len(self._mark) < MARK and (more := os.read(fd, MARK - len(self._mark))):
            self._mark += more

    def tell(self, message: Mapping[str, object], descriptor: int | None = None) -> None:
        """Send one message, with a descriptor or without; a parent that is gone is no reason to fail."""
        line = self._mark + json.dumps(message, default=str).encode() + b"\n"
        with self._lock, suppress(OSError):  # the parent ended first, or the program has closed what is not its own
            if not os.path.samestat(os.fstat(self._fd), self._channel):
                return  # another file under this number
            if descriptor is not None:
                import socket

                with socket.socket(fileno=os.dup(self._fd)) as channel:
                    line = line[socket.send_fds(channel, [line], [descriptor]) :]
            while line:
                line = line[os.write(self._fd, line) :]

    def close(self) -> None:
        """Give the channel up in this process, which is not the one that it was made for."""
        with suppress(OSError):
            os.close(self._fd)
        self._fd = -1

    def wait(self) -> None:
        """Wait until the parent says to go on."""
        os.read(self._fd, 1)

    def listen(self, take: Callable[[Mapping[str, Any]], None]) -> None:
        """Take commands from now on, and end this process with its parent.

        On a bare thread: the program that counts its threads shall find its own alone.
        """
        _thread.start_new_thread(self._listen, (take,))

    def _listen(self, take: Callable[[Mapping[str, Any]], None]) -> None:
        pending = b""
        while True:
            try:
                data = os.read(self._fd, 65536)
            except ConnectionError:
                break  # the parent is gone, and had not heard all
            except OSError:
                return  # the program has closed what is not its own
            if not data or len(pending) > MAX_LINE:
                break
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                with suppress(Exception):  # a command that means nothing
                    take(json.loads(line))
        with suppress(OSError):
            if not os.path.samestat(os.fstat(self._fd), self._channel):
                return  # another file under this number
        _exit(2)
