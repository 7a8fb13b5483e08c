"""Sees what a regression replay's program sends over Python's sockets, whatever client library it uses.

A connection says nothing of what is done with it, and one that a declared read opened may be used by others later. So
each piece is looked at before it goes out: to where, and which HTTP requests begin in it. In the child process, on the
standard library. Not seen: what code below Python sends, and sockets made from the C class itself.
"""

from __future__ import annotations

import functools
import os
import re
import socket
import stat
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Final
from weakref import WeakKeyDictionary

from agentdbg.recording.hooks import on_standard_import

SAFE: Final = frozenset(("GET", "HEAD", "OPTIONS", "TRACE", "CONNECT", "PRI"))
"""Methods that change nothing; ``PRI`` begins HTTP/2."""
_LINE: Final = re.compile(rb"(?:^|\n)([A-Z]{3,20}) (\S{1,8000}) HTTP/(\d)(?:\.\d)?\r?(?=\n)")
_HOST: Final = re.compile(rb"\nhost:[ \t]*([^\r\n]+)", re.IGNORECASE)
_TAIL: Final = 8192
_FAMILIES: Final = frozenset((socket.AF_INET, socket.AF_INET6, getattr(socket, "AF_UNIX", socket.AF_INET)))
_UNSEEN: Final = b"UNSEEN * HTTP/1.1\n"
"""Stands for what cannot be looked at."""
_TLS: Final = (b"\x14\x03", b"\x15\x03", b"\x16\x03", b"\x17\x03")


@dataclass(frozen=True, slots=True)
class Request:
    """The beginning of an HTTP request.

    Attributes:
        name: Method, host and path, as a step would be called.
    """

    method: str
    name: str


@dataclass(frozen=True, slots=True)
class Piece:
    """What is about to go out.

    Attributes:
        address: Of the other side: host and port, or a path; of TLS in memory the host alone.
        requests: The HTTP requests that begin in it.
        is_first: Nothing was sent over this connection before.
        is_sealed: It is encrypted already: what is in it was looked at before.
        is_http: The connection began with HTTP.
        is_second: That was HTTP/2, in which a library sends by itself.
    """

    address: object
    requests: tuple[Request, ...]
    is_first: bool
    is_sealed: bool
    is_http: bool
    is_second: bool


@dataclass(slots=True)
class _Line:
    """What one connection has sent so far: its unfinished line."""

    tail: bytes = b""
    began: bool = False
    http: bool = False
    second: bool = False


class Wire:
    """Shows every piece to ``judge``, which raises to keep it back."""

    def __init__(self, judge: Callable[[Piece], None]) -> None:
        self._judge = judge
        self._lines: WeakKeyDictionary[object, _Line] = WeakKeyDictionary()

    def install(self) -> None:
        """Replace the methods that send; for the life of the process."""
        for name in ("send", "sendall", "sendto"):
            self._replace(socket.socket, name, lambda args: (args[0],))
        if hasattr(socket.socket, "sendmsg"):
            self._replace(socket.socket, "sendmsg", lambda args: tuple(args[0]))
        on_standard_import("ssl", self._install_tls)
        self._install_descriptors()

    def _install_tls(self, module: ModuleType) -> None:
        for name in ("send", "write"):
            self._replace(module.SSLSocket, name, lambda args: (args[0],))
        self._replace(module.SSLObject, "write", lambda args: (args[0],))

    def _replace(self, owner: type, name: str, data: Callable[[tuple[Any, ...]], Iterable[Any]]) -> None:
        original = getattr(owner, name)

        @functools.wraps(original)
        def sends(connection: Any, *args: Any, **kwargs: Any) -> Any:
            if args:
                self.look(connection, data(args))
            return original(connection, *args, **kwargs)

        setattr(owner, name, sends)

    def _install_descriptors(self) -> None:
        """What goes to a socket's descriptor, past the socket: its bytes, a file's, or a file that is made of it."""
        write, writev, sendfile = os.write, getattr(os, "writev", None), getattr(os, "sendfile", None)

        def writes(descriptor: int, data: Any, /) -> int:
            self._look_below(descriptor, lambda: (data,))
            return write(descriptor, data)

        def writes_all(descriptor: int, pieces: Any, /) -> Any:
            self._look_below(descriptor, lambda: pieces)
            return writev(descriptor, pieces)  # type: ignore[misc]  # only where there is one

        def sends(out_fd: int, in_fd: int, offset: int | None, count: int, *more: Any, **kwargs: Any) -> Any:
            self._look_below(out_fd, lambda: (_of_file(in_fd, offset, count),))
            return sendfile(out_fd, in_fd, offset, count, *more, **kwargs)  # type: ignore[misc]

        ways: tuple[tuple[str, Any, Any], ...]
        ways = (("write", write, writes), ("writev", writev, writes_all), ("sendfile", sendfile, sends))
        for name, original, ours in ways:
            if original is not None:
                setattr(os, name, functools.wraps(original)(ours))
        sys.addaudithook(self._opened)

    def _opened(self, event: str, args: tuple[Any, ...]) -> None:
        """A file that writes to a socket's descriptor: nobody sees what."""
        if event == "open" and type(args[0]) is int and isinstance(args[1], str) and set(args[1]) & set("wa+"):
            self._look_below(args[0], lambda: (_UNSEEN,))

    def _look_below(self, descriptor: int, pieces: Callable[[], Iterable[Any]]) -> None:
        connection = None
        with suppress(OSError, TypeError):  # then the call itself says so
            if stat.S_ISSOCK(os.fstat(descriptor).st_mode):
                connection = socket.socket(fileno=os.dup(descriptor))
        if connection is not None:
            with connection:
                self.look(connection, pieces())

    def look(self, connection: Any, pieces: Iterable[Any]) -> None:
        """Have pieces judged that are about to be sent together."""
        address = _address(connection)
        if address is None:
            return
        data = b"".join(_bytes(each) for each in pieces)
        if not data:
            return
        line = self._lines.setdefault(connection, _Line())
        self._judge(_piece(line, address, data))


def _of_file(descriptor: int, offset: int | None, count: int) -> bytes:
    """The beginning of what is about to be sent of a file."""
    try:
        at = os.lseek(descriptor, 0, os.SEEK_CUR) if offset is None else offset
        return os.pread(descriptor, min(count or _TAIL, _TAIL), at)
    except (OSError, TypeError):
        return _UNSEEN


def _piece(line: _Line, address: object, data: bytes) -> Piece:
    first, line.began = not line.began, True
    sealed = data.startswith(_TLS) and not line.http
    requests: tuple[Request, ...] = ()
    if not sealed:
        whole = line.tail + data
        requests = tuple(_requests(whole, address))
        if line.tail and not requests and _LINE.match(data):  # behind a body that ended in no line
            requests = tuple(_requests(data, address))
        line.tail = whole[whole.rfind(b"\n") :][:_TAIL] if b"\n" in whole else whole[:_TAIL]
        line.http = line.http or bool(requests)
        line.second = line.second or any(each.method == "PRI" for each in requests)
    return Piece(address, requests, first, sealed, line.http, line.second)


def _requests(data: bytes, address: object) -> Iterator[Request]:
    for found in _LINE.finditer(data):
        method, target = found[1].decode(), found[2].decode("latin-1")
        end = data.find(b"\r\n\r\n", found.end())
        host = _HOST.search(data, found.end(), end if end >= 0 else len(data))
        named = host[1].decode("latin-1").strip() if host is not None else place_of(address)
        if "://" in target:  # to a proxy
            named, _, target = target.partition("://")[2].partition("/")
            target = f"/{target}"
        yield Request(method, f"{method} {named}{target.partition('?')[0]}")


def place_of(address: object) -> str:
    """An address in words."""
    if isinstance(address, tuple) and len(address) > 1:
        host = f"[{address[0]}]" if ":" in str(address[0]) else address[0]
        return f"{host}:{address[1]}"
    return os.fsdecode(address) if isinstance(address, bytes) else str(address)


def _address(connection: Any) -> object:
    """Of the other side; ``None`` where nothing outside is reached."""
    try:
        if isinstance(connection, socket.socket):
            return (connection.getpeername() or None) if connection.family in _FAMILIES else None
        return connection.server_hostname or "an unnamed host"
    except (OSError, AttributeError):
        return None  # it is not connected


def _bytes(data: Any) -> bytes:
    try:
        return bytes(memoryview(data))
    except TypeError:
        return b""  # the call itself says so


__all__ = ["SAFE", "Piece", "Request", "Wire", "place_of"]
