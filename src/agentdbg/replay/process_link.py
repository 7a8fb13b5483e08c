"""The line between the processes of one replay: JSON messages over a local socket, questions and answers among them."""

from __future__ import annotations

import _thread
import json
import os
import select
import socket
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, TypeAlias

Message: TypeAlias = "Mapping[str, Any]"
LONGEST = 4 * 1024 * 1024
_LOOK_S = 0.05
_exit = os._exit  # as it was before anything was put in its place


class Line:
    """One end of a connection. What is sent never blocks; ``read_all`` is for one thread."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection
        self._lock = _thread.allocate_lock()
        self._unsent = b""
        connection.setblocking(False)

    def send(self, message: Message) -> None:
        """Send a message; one to a process that is gone is dropped."""
        data = json.dumps(message, default=str).encode() + b"\n"
        with self._lock:
            self._unsent += data
            self._push()

    def _push(self) -> None:
        try:
            while self._unsent:
                self._unsent = self._unsent[self._connection.send(self._unsent) :]
        except BlockingIOError:
            return  # the rest goes when there is room
        except OSError:
            self._unsent = b""

    def read_all(self, take: Callable[[Message], None]) -> None:
        """Take messages until the other end is gone."""
        pending = b""
        while len(pending) <= LONGEST:
            more = [self._connection] if self._unsent else []
            try:
                readable, writable, _ = select.select([self._connection], more, [], _LOOK_S if more else None)
                if writable:
                    with self._lock:
                        self._push()
                if not readable:
                    continue
                data = self._connection.recv(65536)
            except BlockingIOError:
                continue
            except (OSError, ValueError):
                return
            if not data:
                return
            *lines, pending = (pending + data).split(b"\n")
            for line in lines:
                take(json.loads(line))

    def close(self) -> None:
        """Give the connection up in this process; another one may have it open still."""
        with suppress(OSError):
            self._connection.close()


class Link:
    """The end of a process that belongs to another one's replay."""

    def __init__(self, address: str, heard: Callable[[Message], None], *, gone: Callable[[], None]) -> None:
        """Connect.

        Args:
            address: As ``listen`` gave it.
            heard: Takes what comes unasked, on the link's own thread.
            gone: Called when the other end is gone.

        Raises:
            OSError: Nobody is there.
        """
        connection = socket.socket(socket.AF_UNIX)
        connection.connect(_raw(address))
        self._line = Line(connection)
        self._heard, self._gone = heard, gone
        self._lock = _thread.allocate_lock()
        self._waiting: dict[int, tuple[Any, list[Message]]] = {}
        self._next = 0
        _thread.start_new_thread(self._read, ())

    def send(self, message: Message) -> None:
        """Tell something."""
        self._line.send(message)

    def ask(self, message: Message) -> Message:
        """Ask something, and wait for the answer."""
        woken = _thread.allocate_lock()
        woken.acquire()
        found: list[Message] = []
        with self._lock:
            self._next += 1
            number = self._next
            self._waiting[number] = (woken, found)
        self._line.send({**message, "id": number})
        woken.acquire()
        return found[0]

    def close(self) -> None:
        """Give it up in this process."""
        self._gone = lambda: None
        self._line.close()

    def _read(self) -> None:
        self._line.read_all(self._take)
        self._gone()

    def _take(self, message: Message) -> None:
        number = message.get("answers")
        if number is None:
            self._heard(message)
            return
        with self._lock:
            woken, found = self._waiting.pop(number)
        found.append(message)
        woken.release()


def listen(address: str) -> socket.socket:
    """Wait for the other processes at an address. Raises OSError."""
    made = socket.socket(socket.AF_UNIX)
    made.bind(_raw(address))
    made.listen(128)
    return made


def _raw(address: str) -> str:
    """``@name`` is one that has no place in the file system."""
    return "\0" + address[1:] if address.startswith("@") else address


def leave() -> None:
    """End this process: the replay that it belongs to is over."""
    _exit(3)
