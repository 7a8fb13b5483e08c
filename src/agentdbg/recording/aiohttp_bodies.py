"""Bodies of ``aiohttp`` requests and responses: recorded as the agent reads them, and served from a record.

What each reading method of the response's ``content`` gives is one piece of the record. ``aiohttp`` itself receives
ahead of the agent, up to its buffer's limit, as it does without a recorder; nothing changes in that.
"""

from __future__ import annotations

import functools
import io
from collections.abc import Callable, Iterator
from contextlib import suppress
from http.client import responses
from importlib import import_module
from types import SimpleNamespace
from typing import Any

from agentdbg.model.records import Json
from agentdbg.recording.active import status_of
from agentdbg.recording.http_calls import HttpCall, ResponseHead, header
from agentdbg.recording.http_pieces import AsRead, PieceReader, class_of
from agentdbg.recording.http_served import ServedResponse

CHUNK_ENDS = "chunk_ends"
_EMPTY = "EmptyStreamReader"
_READS = ("readline", "readuntil", "read", "readany", "readchunk", "readexactly")
Failure = Callable[[], "BaseException | None"]


# -- requests -------------------------------------------------------------------------------------


def whole_body(request: Any) -> bytes | None:
    """A request's body when it is in memory, without reading what can be read once; ``None`` otherwise."""
    body = request.body
    return b"" if body is None else _bytes_of(body)


def _bytes_of(body: Any) -> bytes | None:
    if isinstance(body, bytes | bytearray | memoryview):
        return bytes(body)
    if hasattr(body, "_parts") and hasattr(body, "_boundary"):
        return _multipart(body)
    value = getattr(body, "_value", None)
    if isinstance(value, bytes | bytearray | memoryview):
        return bytes(value)
    if isinstance(value, io.BytesIO):
        return value.getvalue()[value.tell() :]
    return None


def _multipart(body: Any) -> bytes | None:
    line: bytes = b"--" + body._boundary
    found = b""
    for part, encoding, transfer_encoding in body._parts:
        content = None if encoding or transfer_encoding else _bytes_of(part)
        if content is None:
            return None
        found += b"".join((line, b"\r\n", part._binary_headers, content, b"\r\n"))
    return found + line + b"--\r\n"


# -- recording ------------------------------------------------------------------------------------


def watch_body(call: HttpCall, response: Any) -> None:
    """Record a response's head, and its body as it is read."""
    headers = [(_text(name), _text(value)) for name, value in response.raw_headers]
    encoding = header(headers, "content-encoding").lower()
    decoder = None if encoding in ("", "identity") else AsRead(encoding)
    if decoder is not None:
        decoder.raw = not getattr(response._session, "_auto_decompress", True)
    version = f"HTTP/{response.version.major}.{response.version.minor}"
    call.started(ResponseHead(response.status, response.reason or "", version, headers, decoder))
    content = response.content
    if type(content).__name__ == _EMPTY:
        call.finish()
        return
    response._agentdbg_body = _watched[id(content)] = _Watched(call, content)
    content.__class__ = _recorded_stream(class_of(content))
    response.__class__ = _recorded_response(class_of(response))


class _Watched:
    """What is known of one response while its body is read."""

    def __init__(self, call: HttpCall, content: Any) -> None:
        self.call = call
        self.reading = False
        self._key = id(content)
        self._ends: list[bool] = []

    def took(self, found: Any, *, ended: bool) -> None:
        """The agent got a piece; of ``readchunk``, with the word whether the other side's chunk ends there."""
        if isinstance(found, tuple):
            found, end = found
            self._ends.append(bool(end))
        self.call.feed(found)
        if ended:
            self.finish()

    def failed(self, error: BaseException) -> None:
        """Reading failed."""
        self._settle()
        self.call.finish(status_of(error), error)

    def finish(self) -> None:
        """The body is over."""
        self._settle()
        self.call.finish()

    def let_go(self, content: Any) -> None:
        """The agent closes the response, or gives its connection back."""
        if content is not None and content.at_eof():
            self.finish()
        else:
            self._settle()
            self.call.give_up()

    def _settle(self) -> None:
        _watched.pop(self._key, None)
        if self._ends:
            self.call.note(CHUNK_ENDS, list(self._ends))


_watched: dict[int, _Watched] = {}
"""By the id of the stream reader, which has no room for more; the response holds them too, and takes them out."""


@functools.cache
def _recorded_stream(base: Any) -> Any:
    members: dict[str, Any] = {"__slots__": (), "__module__": base.__module__, "__qualname__": base.__qualname__}
    for name in _READS:
        if hasattr(base, name):
            members[name] = _reading(getattr(base, name))
    original = base.read_nowait

    @functools.wraps(original)
    def read_nowait(self: Any, n: int = -1) -> bytes:
        data: bytes = original(self, n)
        watched = _watched.get(id(self))
        if watched is not None and not watched.reading:
            watched.took(data, ended=self.at_eof())
        return data

    members["read_nowait"] = read_nowait
    return type(base.__name__, (base,), members)


def _reading(original: Callable[..., Any]) -> Callable[..., Any]:
    from asyncio import IncompleteReadError  # loaded with aiohttp, not with the recorder

    @functools.wraps(original)
    async def read(self: Any, *args: Any, **kwargs: Any) -> Any:
        watched = _watched.get(id(self))
        if watched is None or watched.reading:  # one of them calls another
            return await original(self, *args, **kwargs)
        watched.reading = True
        try:
            found = await original(self, *args, **kwargs)
        except IncompleteReadError as error:
            watched.took(error.partial, ended=True)
            raise
        except BaseException as error:
            if not isinstance(error, ValueError):  # a line that is too long: the agent may read on
                watched.failed(error)
            raise
        finally:
            watched.reading = False
        watched.took(found, ended=self.at_eof())
        return found

    return read


@functools.cache
def _recorded_response(base: Any) -> Any:
    class ClientResponse(base):  # type: ignore[misc]  # aiohttp's class is known at run time only
        def close(self) -> None:
            self._agentdbg_body.let_go(self.content)
            super().close()

        def release(self) -> Any:
            self._agentdbg_body.let_go(self.content)
            return super().release()

        def __del__(self) -> None:
            with suppress(Exception):  # the interpreter may be ending
                self._agentdbg_body.let_go(self.content)
            super().__del__()

    ClientResponse.__module__, ClientResponse.__qualname__ = base.__module__, base.__qualname__
    ClientResponse.__name__ = base.__name__
    return ClientResponse


# -- serving --------------------------------------------------------------------------------------


def message(status: int, reason: str, version: str, headers: list[tuple[bytes, bytes]]) -> Any:
    """A response's head as ``aiohttp``'s parser makes it."""
    multidict = import_module("multidict")
    major, _, minor = version.rpartition("/")[2].partition(".")
    found = multidict.CIMultiDict([(_text(name), _text(value)) for name, value in headers])
    number = import_module("aiohttp.http").HttpVersion(
        int(major) if major.isdigit() else 1, int(minor) if minor.isdigit() else 1
    )
    return SimpleNamespace(
        code=status,
        reason=reason,
        version=number,
        headers=multidict.CIMultiDictProxy(found),
        raw_headers=tuple(headers),
    )


def served_head(found: ServedResponse) -> Any:
    """The head of a recorded response."""
    reason = found.extensions.get("reason_phrase", b"").decode("ascii", "replace") or responses.get(found.status, "")
    return message(found.status, reason, found.extensions["http_version"].decode("ascii", "replace"), found.headers)


def served_body(found: ServedResponse, failure: Failure, protocol: Any) -> Any:
    """A ``StreamReader`` that gives a recorded body."""
    from asyncio import get_running_loop

    ends = found.served.attrs.get(CHUNK_ENDS)
    body = _served_stream(import_module("aiohttp.streams").StreamReader)(protocol, 2**16, loop=get_running_loop())
    body._pieces = PieceReader(found, failure)
    body._ends = iter(ends if isinstance(ends, list) else [])
    return body


@functools.cache
def _served_stream(base: Any) -> Any:
    members = {name: member for name, member in vars(_ServedReads).items() if not name.startswith("__")}
    return type(base.__name__, (base,), {**members, "__module__": base.__module__, "__qualname__": base.__qualname__})


class _ServedReads:
    """The methods of a ``StreamReader`` that gives a recorded body; its base is known at run time only."""

    _pieces: PieceReader
    _ends: Iterator[Json]

    async def read(self, n: int = -1) -> bytes:
        if n == 0:
            return b""
        return await self._read(self._pieces.rest_async() if n < 0 else self._pieces.some_async(n))

    async def readany(self) -> bytes:
        return await self._read(self._pieces.some_async())

    async def readline(self, **_: Any) -> bytes:
        return await self._read(self._pieces.until(b"\n"))

    async def readuntil(self, separator: bytes = b"\n", **_: Any) -> bytes:
        return await self._read(self._pieces.until(separator))

    async def readchunk(self) -> tuple[bytes, bool]:
        data = await self.readany()
        return data, bool(next(self._ends, bool(data)))

    async def readexactly(self, n: int) -> bytes:
        from asyncio import IncompleteReadError  # loaded with aiohttp, not with the recorder

        found = b""
        while len(found) < n:
            data = await self.read(n - len(found))
            if not data:
                raise IncompleteReadError(found, n)
            found += data
        return found

    def read_nowait(self, n: int = -1) -> bytes:
        return self._given(self._pieces.now(n))

    def at_eof(self) -> bool:
        return self._pieces.ended and not self._pieces.left

    async def _read(self, reading: Any) -> bytes:
        exception = self._exception  # type: ignore[attr-defined]  # the base's
        if exception is not None:
            reading.close()
            raise exception
        found: bytes = self._given(await reading)
        return found

    def _given(self, data: bytes) -> bytes:
        if self.at_eof() and not self._eof:  # type: ignore[attr-defined]
            self.feed_eof()  # type: ignore[attr-defined]
        return data


def _text(value: bytes) -> str:
    return value.decode("utf-8", "surrogateescape")
